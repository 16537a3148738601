"""Tests of the event stream and of every output that is made from it."""

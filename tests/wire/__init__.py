"""Tests of the wire: lines, messages, transcript, process and peer."""

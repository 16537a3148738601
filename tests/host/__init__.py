"""Tests of the kit's imitation of a host."""

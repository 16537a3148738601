"""Tests of the contract as data."""

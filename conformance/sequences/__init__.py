"""Sequences of calls that nobody thought of, against a model of what the contract settles about leases and files."""

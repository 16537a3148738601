"""A small process beside each run that closes what the run leaves open, and the same by hand, later or elsewhere."""

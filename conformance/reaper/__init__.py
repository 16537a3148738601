"""A small process beside each run that closes what the run leaves open, and the same by hand, later or elsewhere."""

DONE = b"done"
"""The run's last word to its reaper when it has closed everything and left nothing."""

"""The host's own way of moving files: over commands, for providers without native sync and for leases that cannot."""

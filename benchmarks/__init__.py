"""How fast and how large the kit is, always as a ratio to something else in the same run: `python -m benchmarks`."""

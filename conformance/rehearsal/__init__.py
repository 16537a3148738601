"""Whole agent runs, in the order, with the params and with the parallelism of a recorded host."""

"""Outputs of a run, one module each, every one a pure function of the recorded event stream."""

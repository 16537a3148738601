"""Commands of `provider-conformance` that work on what a run left behind, one module each."""

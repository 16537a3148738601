"""Commands of `provider-conformance` that work on finished reports, one module each."""

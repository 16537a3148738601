"""The wire: lines, frames, JSON-RPC matching and the worker process, without knowledge of any method."""

"""Conformance test kit for Paperclip sandbox providers: it plays the host and judges what it sees."""

"""Streams, a part of Memory."""

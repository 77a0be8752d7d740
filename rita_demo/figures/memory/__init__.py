"""Figures of the cache and of streams."""

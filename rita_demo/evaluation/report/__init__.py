"""Stored rows as tables."""

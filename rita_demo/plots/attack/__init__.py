"""Figures of an attack."""

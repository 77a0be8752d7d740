"""The room Memory."""

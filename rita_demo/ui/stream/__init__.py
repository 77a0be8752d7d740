"""The tab Stream."""

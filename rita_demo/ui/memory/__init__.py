"""The tab Memory (cache)."""

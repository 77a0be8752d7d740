"""The tab *Arena*."""

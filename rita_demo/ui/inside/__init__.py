"""The tab Inside RITA."""

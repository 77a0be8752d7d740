"""One loaded model behind a few methods (``protocol.py``), numpy above it and torch below it. Importing this package loads
no torch."""

"""One loaded model behind a few methods (``engine.py``), numpy above it and torch below it. Importing this package loads no
torch; ``protocol.py`` has the engine as a type for those that load none."""

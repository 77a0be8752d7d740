"""The process: environment variables, logging, shutdown, CPU threads, freed memory."""

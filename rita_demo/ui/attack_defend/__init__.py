"""The Story with its form, and every way to a run."""

"""Files of a run folder: rows, attacked pictures, view features, tuned prompts."""

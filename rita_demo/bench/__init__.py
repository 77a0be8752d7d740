"""Speed, measured as ratios in one run: how close the engine is to what cannot be avoided."""

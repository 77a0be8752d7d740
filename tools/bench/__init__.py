"""Speed, as ratios measured in one run: the engine against the floor, the work that no implementation avoids."""

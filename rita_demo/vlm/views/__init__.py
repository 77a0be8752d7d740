"""Views of a picture: the whole square and seeded random crops, resized to the model's side."""

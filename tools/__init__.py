"""What a checkout has beside the package: measurements of speed, and the training of the embedded model."""

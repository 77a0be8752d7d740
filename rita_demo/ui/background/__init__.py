"""What is computed while the visitor does not wait for it."""

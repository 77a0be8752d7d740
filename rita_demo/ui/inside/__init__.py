"""The room Inside."""

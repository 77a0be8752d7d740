"""The Lab's page Terms."""

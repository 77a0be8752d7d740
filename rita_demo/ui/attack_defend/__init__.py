"""The form above the Story, and the Lab's tab This run."""

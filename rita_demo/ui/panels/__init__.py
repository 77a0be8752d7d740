"""What several tabs show."""

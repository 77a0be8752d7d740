"""What one visitor has: plain records."""

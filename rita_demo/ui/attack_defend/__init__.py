"""The tab Attack & defend."""

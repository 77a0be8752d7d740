"""The room Figures."""

"""Gradio components of our own, without a session."""

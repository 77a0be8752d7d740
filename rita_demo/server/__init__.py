"""The server: launch, request limits, patches of Gradio, cleanup."""

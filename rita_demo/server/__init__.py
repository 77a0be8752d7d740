"""The server: launch, request limits, connections, open pages, patches of Gradio, cleanup."""

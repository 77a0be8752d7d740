"""The server: launch, request limits, connections, open pages, patches of Gradio, cleanup."""

from rita_demo import ui  # imports Gradio without proxies

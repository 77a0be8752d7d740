"""The page: gradio only. The engine arrives as an argument; nothing here imports torch."""

import os

from rita_demo.process.environment import without_proxies

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
with without_proxies():
    import gradio  # makes its HTTP clients now

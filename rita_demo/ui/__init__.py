"""The page: gradio only. The engine arrives as an argument; nothing here imports torch."""

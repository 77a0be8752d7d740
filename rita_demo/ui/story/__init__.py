"""The Story: one scroll about the picture on screen. ``record`` says what it shows, ``view`` hands it to the browser."""

"""Everything that uses open_clip: loading a model, pictures to features, prompts to features. ``catalogue.py`` can be
imported without torch; start reading with ``backbone.py`` and ``registry.py``."""

"""The header: model menu, saving a run."""

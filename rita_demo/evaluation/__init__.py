"""Measuring methods on datasets: resumable runs, stored views, tables.

A run folder holds ``cells/`` (one folder per method, attack, memory protocol, settings and seed: what was
asked and one JSON line per picture), ``looks/`` (encoded views in half precision, shared by all cells that
look at the same pixels), ``tuned/`` (tuned prompts, likewise) and ``attacked/`` (the attacked squares as PNG). Everything is append-only: a run
that was killed is started again with the same command and goes on.
"""

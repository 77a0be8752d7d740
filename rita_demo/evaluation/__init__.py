"""Measuring methods on datasets: resumable runs, stored views, tables.

A run folder holds ``cells/`` (one folder per method, attack, cache protocol, settings and seed: a header and one JSON
line per picture), ``looks/`` (encoded views in half precision, shared by all cells on the same pixels), ``tuned/``
(tuned prompts) and ``attacked/`` (attacked squares as PNG). All files only grow, so the same command resumes a run.
"""

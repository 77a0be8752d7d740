"""Measuring methods on datasets: resumable runs, stored views, tables.

A run folder holds ``rows.sqlite``, everything that was measured (:mod:`rita_demo.evaluation.rows`), and ``artifacts.sqlite``,
what only saves time: encoded views, attacked squares and tuned prompts, shared by all methods on the same pixels.
"""

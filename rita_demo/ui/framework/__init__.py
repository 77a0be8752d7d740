"""Panels, events, queues, errors and stop buttons, without any knowledge of RITA."""

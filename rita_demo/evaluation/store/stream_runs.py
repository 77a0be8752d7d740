"""Streams under their name of before; goes with the reports of before."""

from rita_demo.evaluation.streams import StreamRun, traffic_words

__all__ = ["StreamRun", "traffic_words"]

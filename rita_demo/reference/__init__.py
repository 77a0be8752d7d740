"""A plain reading of the paper, as one would first write it: what ``bench`` compares the engine with."""

from rita_demo.reference.plain import Answer, PlainRita

__all__ = ["Answer", "PlainRita"]

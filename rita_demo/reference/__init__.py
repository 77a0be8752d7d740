"""A direct implementation of the paper. ``bench`` compares the speed of the engine with it, tests the results."""

from rita_demo.reference.algorithm1 import ReferenceRita

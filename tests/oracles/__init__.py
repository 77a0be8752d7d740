"""Second implementations of the method: slow, obvious, float64 numpy, written from the page alone.

None of them imports ``rita_demo`` beyond its settings, and none was written with the code it checks
in sight; where the two disagree, ``method.md`` decides.
"""

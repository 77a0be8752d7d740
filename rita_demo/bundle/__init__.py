"""A run as one zip file, written by ``write.py`` and read back, from whoever wrote it, by ``read.py``."""

from rita_demo.bundle.read import BundleError, Run, differences, read, read_file
from rita_demo.bundle.write import pack

__all__ = ["BundleError", "Run", "differences", "pack", "read", "read_file"]

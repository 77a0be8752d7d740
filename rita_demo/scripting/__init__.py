"""What ``from rita_demo import ...`` offers to scripts and notebooks; the command line uses the same functions."""

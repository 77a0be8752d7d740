"""The tab Figures of the paper."""

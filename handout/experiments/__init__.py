"""The lectures' experiments, run on your own ``lm``: ``python -m experiments 1``, up to 7, or ``all``."""

"""Commands that measure the grader and try to break it. Run by hand: ``python -m benchmarks.NAME``."""

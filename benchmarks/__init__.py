"""Commands that measure the grader and try to break it. They run by hand, on the repository: ``python -m benchmarks.X``."""

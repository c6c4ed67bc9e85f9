"""An autograder that never lets student code share a process with its tests."""

__version__ = "0.1.0"

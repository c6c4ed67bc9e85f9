"""A package to fill in."""

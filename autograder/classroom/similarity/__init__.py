"""Submissions that are more alike than the handout explains: a place to look, never a verdict."""

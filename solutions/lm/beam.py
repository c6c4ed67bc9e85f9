"""Beam search."""

from __future__ import annotations


def beam_search() -> None:
    """To come."""
    # BEGIN SOLUTION beam_search
    return None
    # END SOLUTION

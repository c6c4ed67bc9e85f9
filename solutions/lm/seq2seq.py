"""Sequence to sequence (Sutskever, Vinyals and Le, 2014)."""

from __future__ import annotations


def encode() -> None:
    """To come."""
    # BEGIN SOLUTION seq2seq
    return None
    # END SOLUTION

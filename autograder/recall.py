"""Outcomes of tests that go from one run to another: what a submission has in common with one that was graded before.

An item's outcomes may be recalled when its tests, what they compare with, and every file of the student's that they can
reach are the same bytes: ``classroom`` decides that, ``session`` takes the file's word for it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from .feedback.scores import Outcome

Key = tuple[str, str, str]  # of a case: file, function, case id


class ItemOutcomes(msgspec.Struct, frozen=True):
    """Every outcome of an item's tests, and the modules of the package that they asked for."""

    cases: tuple[tuple[Key, Outcome], ...]
    asked: tuple[str, ...]


def read_outcomes(path: Path) -> dict[str, ItemOutcomes]:
    """By slug."""
    return msgspec.json.decode(path.read_bytes(), type=dict[str, ItemOutcomes])


def write_outcomes(path: Path, outcomes: dict[str, ItemOutcomes]) -> None:
    """Write them, by slug."""
    path.write_bytes(msgspec.json.encode(outcomes))

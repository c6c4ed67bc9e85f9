"""The score card on a terminal: the only place of ``feedback`` that writes.

Plain ASCII in English, so that it survives a pipe and a cp1252 console.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from . import scores
from .assignment import Assignment
from .language import ENGLISH, Language
from .scores import Case, ItemScore, Outcome

WIDTH = 20
COLOURS = {scores.PASSED: "green", scores.NOT_STARTED: "yellow", scores.NOT_RUN: "yellow", scores.WAITING: "yellow"}
COLOURS |= {scores.UNFINISHED: "yellow", scores.SKIPPED: "yellow"}


class Writer(Protocol):
    """What is needed of pytest's terminal reporter."""

    def write_line(self, line: str, **markup: bool) -> None:
        """Write one line."""
        ...


class Lines(Protocol):
    """What is needed of pytest's terminal writer."""

    def line(self, line: str) -> None:
        """Write one line."""
        ...


@dataclass(frozen=True)
class FirstLine:
    """The part of pytest's ``longrepr`` that its short summary quotes."""

    message: str


class Told:
    """What pytest shows of a test that did not pass: the text itself, and in its short summary the first line.

    Of a plain text the summary repeats all, wherever the variable CI is set.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.reprcrash = FirstLine(text.partition("\n")[0])

    def __str__(self) -> str:
        return self.text

    def toterminal(self, out: Lines) -> None:
        """For pytest."""
        for line in self.text.split("\n"):
            out.line(line)


def failure_text(case: Case, outcome: Outcome, again: bool = False, say: Language = ENGLISH) -> str:
    """The few lines that pytest shows for a test that did not pass; ``again``: its message was shown before."""
    if outcome.state == scores.CANNOT_IMPORT and again:
        return say("as above: " + outcome.message.partition("\n")[0])
    if outcome.state == scores.NOT_STARTED:
        return say(f"not started: {outcome.message}" if outcome.message else "not started")
    if outcome.state == scores.GRADER_ERROR:
        return say(f"grader error (not your code): {outcome.detail}")
    hint = say(f"hint: {outcome.hint}") if outcome.hint else ""
    return "\n".join(part for part in (say.sentence(case.title), say(outcome.message), hint) if part)


def write(out: Writer, assignment: Assignment, rows: Sequence[ItemScore], seed: int, say: Language = ENGLISH) -> None:
    """One line an item, a bar a part, and what to do next."""

    def tell(line: str, **markup: bool) -> None:
        out.write_line(say(line), **markup)

    out.write_line("")
    ran = [row for row in rows if any(outcome.state != scores.NOT_RUN for _, outcome in row.cases)]
    for part in assignment.parts:
        inside = [row for row in ran if row.item.part == part.slug]
        if not inside:
            continue
        skipped = next((outcome for row in inside for _, outcome in row.cases if outcome.state == scores.SKIPPED), None)
        if skipped is not None:
            out.write_line(f"{part.number}  {say.title(part)}  {say(skipped.message)}", yellow=True)
            continue
        counted = [row for row in inside if not row.item.bonus] or inside
        share = sum(row.score for row in counted) / sum(row.item.points for row in counted)
        filled = int(share * WIDTH)
        out.write_line(f"{part.number}  {say.title(part)}  [{'#' * filled}{'-' * (WIDTH - filled)}]", bold=True)
        for row in inside:
            passed = sum(outcome.state == scores.PASSED for _, outcome in row.cases)
            title, checks = say.title(row.item), say(f"{passed} of {len(row.cases)} checks")
            line = f"  {row.item.number:5s} {fitted(title, -36)} {fitted(checks, 15)}   {say(row.label)}"
            out.write_line(line, **{COLOURS.get(row.state, "red"): True})
    tried = [row for row in ran if row.state != scores.SKIPPED]
    if tried and all(row.state == scores.PASSED for row in tried):
        count = sum(len(row.cases) for row in tried)
        hidden = any(case.hidden for row in tried for case, _ in row.cases)
        tell(f"all {count} checks pass" if hidden else f"all {count} local checks pass; {_REST}", green=True)
        return
    if tried and all(row.state == scores.NOT_STARTED for row in tried):
        tell('nothing is wrong: every function still says "not implemented"')
    first = next((row for row in ran if row.state not in _NOTHING_TO_DO), None)
    if first is not None:
        again = f" --seed {seed}" if seed else ""
        tell(f"next: {first.item.number} {say.title(first.item)}, in {assignment.package}/{first.item.file}")
        out.write_line(f"      python -m pytest --item {first.item.slug}{again}")


def fitted(text: str, width: int) -> str:
    """The text at the right end of so many columns, at the left one if the width is negative.

    A Chinese character is two columns wide.
    """
    blanks = " " * (abs(width) - len(text) - sum(unicodedata.east_asian_width(letter) in "WF" for letter in text))
    return blanks + text if width > 0 else text + blanks


_REST = "grading uses new inputs, and most points are given only there"
_NOTHING_TO_DO = (scores.PASSED, scores.NOT_RUN, scores.GRADER_ERROR, scores.SKIPPED)

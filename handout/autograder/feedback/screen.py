"""What ``check.py`` shows: parts and items, what is wrong and where, and how to go on. Makes lines, prints nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import scores
from .assignment import Assignment, Part
from .card import fitted
from .language import Language
from .places import function_place, line_of, stub_place
from .scores import Case, ItemScore, Outcome

Line = tuple[str, str]  # text, colour
BAR = 20
SHOWN_CHECKS = 3  # of one item; the others are counted
_FRAME = re.compile(r"  (\S+):(\d+) in .*")
_WHERE = re.compile(r"([A-Za-z_]\w*(?:\.\w+)+): ")
_MARKS = {scores.PASSED: "[ok]", scores.LATE: "[t]", scores.CANNOT_IMPORT: "[!]", scores.GRADER_ERROR: "[?]"}
_QUIET = (scores.PASSED, scores.NOT_STARTED, scores.NOT_RUN, scores.SKIPPED)
_COLOURS = {scores.PASSED: "green", scores.FAILED: "red", scores.LATE: "red", scores.CANNOT_IMPORT: "red"}


class Screen:
    """The view of one run.

    Args:
        home: the folder of the handout.
        assignment: what it says.
        say: the language.
        shares: of each item the part of its weight that the local checks carry, where that is known.
        seed: of the run, repeated in commands.
    """

    def __init__(
        self, home: Path, assignment: Assignment, say: Language, shares: Mapping[str, float], seed: int
    ) -> None:
        self._home, self._assignment, self._say, self._shares, self._seed = home, assignment, say, shares, seed
        self._package = home / assignment.package

    def lines(
        self,
        rows: Sequence[ItemScore],
        heading: str,
        seconds: float,
        traces: Mapping[tuple[str, str, str], str],
        single: bool,
    ) -> Iterator[Line]:
        """Everything, from top to bottom.

        Args:
            rows: the items that ran.
            heading: versions.
            seconds: how long it took.
            traces: of failing checks, to be shown with them.
            single: it was about chosen items only.
        """
        say = self._say
        yield f"{say.title(self._assignment)}    {say('local checks')}, {heading}    {seconds:.1f} s", "bold"
        broken: dict[str, list[ItemScore]] = {}
        for row in rows:
            if row.state == scores.CANNOT_IMPORT:
                broken.setdefault(row.item.file, []).append(row)
        for row in rows:
            alike = broken.get(row.item.file, [row])
            if row.state not in _QUIET and (row is alike[0] or row.state != scores.CANNOT_IMPORT):
                yield "", ""
                yield from self._failing(row, traces, alike if row is alike[0] else [row])
        yield "", ""
        for part in self._assignment.parts:
            inside = [row for row in rows if row.item.part == part.slug]
            if inside:
                yield from self._part(part, inside, single)
        yield from self._end(rows, single)

    def _failing(
        self, row: ItemScore, traces: Mapping[tuple[str, str, str], str], alike: Sequence[ItemScore]
    ) -> Iterator[Line]:
        """What is wrong with an item, or with all items of a broken file: a line for them, then check by check."""
        say, item = self._say, row.item
        wrong = [(case, outcome) for case, outcome in row.cases if outcome.state not in _QUIET]
        place = self._place(wrong)
        mark = _MARKS.get(row.state, "[x]") if row.state != scores.WAITING else "[ ]"
        colour = "yellow" if row.state in (scores.WAITING, scores.UNFINISHED) else "red"
        names = [f"{item.number} {say.title(item)}", *(other.item.number for other in alike[1:])]
        yield f"{mark} {', '.join(names)}    {say(row.label)}{f'    {place}' if place else ''}", colour
        said: set[str] = set()
        for case, outcome in self._told(wrong):
            for line in self._check(case, outcome, said):
                yield f"    {line}", ""
            for line in traces.get(case.key, "").splitlines():
                yield f"    | {line}", ""
        more = len(wrong) - len(self._told(wrong))
        if more:
            yield f"    {say(f'... and {more} more')}", ""
        yield f"    {say(f'again:  {self._command(item.number)}')}", ""

    def _told(self, wrong: Sequence[tuple[Case, Outcome]]) -> list[tuple[Case, Outcome]]:
        """The first failing case of each test, a few tests."""
        first: dict[tuple[str, str], tuple[Case, Outcome]] = {}
        for case, outcome in wrong:
            first.setdefault(case.key[:2], (case, outcome))
        return list(first.values())[:SHOWN_CHECKS]

    def _check(self, case: Case, outcome: Outcome, said: set[str]) -> Iterator[str]:
        say = self._say
        message = "grader error, not your code" if outcome.state == scores.GRADER_ERROR else outcome.message
        if outcome.state != scores.CANNOT_IMPORT:
            yield say.sentence(case.title) + ("" if message not in said else f" ({say('as above')})")
        if message not in said:
            said.add(message)
            for line in say(message).splitlines():
                yield f"  {line}"
            yield from self._code(message)
        if outcome.hint and outcome.hint not in said:
            said.add(outcome.hint)
            yield f"  {say(f'likely: {outcome.hint}')}"

    def _code(self, message: str) -> Iterator[str]:
        """The line of code that a message ends with."""
        frames = _FRAME.findall(message)
        if frames:
            file, number = frames[-1]
            code = line_of(self._home / file, int(number))
            if code:
                yield f"    {number} | {code}"

    def _part(self, part: Part, rows: Sequence[ItemScore], single: bool) -> Iterator[Line]:
        say = self._say
        cases = [outcome for row in rows for _, outcome in row.cases]
        passed = sum(outcome.state == scores.PASSED for outcome in cases)
        filled = passed * BAR // len(cases)
        states = Counter(row.state for row in rows)
        words = ", ".join(f"{number} {say(state)}" for state, number in states.items())
        bar = f"[{'#' * filled}{'-' * (BAR - filled)}]"
        skipped = next((outcome.message for outcome in cases if outcome.state == scores.SKIPPED), "")
        title = fitted(say.title(part), -28)
        colour = "green" if passed == len(cases) else "" if passed else "yellow"
        yield f"{part.number:>2} {title} {bar} {fitted(f'{passed}/{len(cases)}', 7)}   {say(skipped) or words}", colour
        for row in rows if single else ():
            good = sum(outcome.state == scores.PASSED for _, outcome in row.cases)
            checks = say(f"{good} of {len(row.cases)} checks")
            line = f"   {row.item.number:5} {fitted(say.title(row.item), -32)} {fitted(checks, 15)}   {say(row.label)}"
            yield line, _COLOURS.get(row.state, "yellow")

    def _end(self, rows: Sequence[ItemScore], single: bool) -> Iterator[Line]:
        """What all of it means, and where to go on."""
        say = self._say
        tried = [row for row in rows if row.state not in (scores.SKIPPED, scores.NOT_RUN)]
        if not tried:
            return
        count = sum(len(row.cases) for row in tried)
        if all(row.state == scores.PASSED for row in tried):
            yield say(f"all {count} local checks pass; grading uses new inputs"), "green"
            yield from self._only_there(tried)
            if not single:
                yield say("hand in:  python check.py submit"), ""
            return
        if all(row.state == scores.NOT_STARTED for row in tried):
            yield say('nothing is wrong: every function still says "not implemented"'), "yellow"
        yield from self._next(tried)

    def _only_there(self, rows: Sequence[ItemScore]) -> Iterator[Line]:
        """How many points these checks stand for."""
        if not self._shares:
            return
        items = [row.item for row in rows if not row.item.bonus] or [row.item for row in rows]
        points = sum(item.points for item in items)
        local = sum(item.points * self._shares.get(item.slug, 0.0) for item in items)
        text = f"they stand for {local:.1f} of {points:g} points; the rest is given in grading, on new inputs"
        yield self._say(text), ""

    def _next(self, rows: Sequence[ItemScore]) -> Iterator[Line]:
        say = self._say
        wrong = (row for row in rows if row.state not in (*_QUIET, scores.GRADER_ERROR, scores.WAITING))
        left = (row for row in rows if row.state not in (scores.PASSED, scores.GRADER_ERROR))
        row = next(wrong, None) or next(left, None)
        if row is None:
            return
        place = self._stub(row) or self._place([(case, o) for case, o in row.cases if o.state not in _QUIET])
        place = place or f"{self._assignment.package}/{row.item.file}"
        page = self._page(row.item.part)
        told = f"    {say('read:')} {page}" if page else ""
        word = "start here:" if row.state == scores.NOT_STARTED else "go on here:"
        yield f"{say(word)}  {place}  {row.item.number} {say.title(row.item)}{told}", ""
        yield f"{say('then run:')}    {self._command(row.item.number)}", ""

    def _stub(self, row: ItemScore) -> str:
        for _, outcome in row.cases:
            if outcome.state == scores.NOT_STARTED and outcome.message:
                return stub_place(self._package, row.item.file, outcome.message)
        return ""

    def _place(self, wrong: Sequence[tuple[Case, Outcome]]) -> str:
        """Where the function is that the first message is about."""
        for _, outcome in wrong:
            named, frames = _WHERE.match(outcome.message), _FRAME.findall(outcome.message)
            own = [place for place in frames if place[0].rpartition("/")[2] in self._assignment.files]
            if own:
                return ":".join(own[-1])
            if named is not None:
                return function_place(self._package, named[1])
        return ""

    def _page(self, part: str) -> str:
        number = next(one.number for one in self._assignment.parts if one.slug == part)
        pages = sorted(path.name for path in (self._home / "writeup").glob(f"{number}-*.md"))
        chinese = self._say.name == "zh"
        fitting = [name for name in pages if name.endswith(".zh.md") == chinese] or pages
        return f"writeup/{fitting[0]}" if fitting else ""

    def _command(self, number: str) -> str:
        return f"python check.py --item {number}" + (f" --seed {self._seed}" if self._seed else "")


def record(row: ItemScore, say: Language) -> dict[str, Any]:
    """An item for a program to read: notebooks and editors."""
    return {
        "number": row.item.number,
        "item": row.item.slug,
        "title": say.title(row.item),
        "state": row.state,
        "said": say(row.label),
        "checks": [
            {
                "name": case.name,
                "title": say.sentence(case.title),
                "state": outcome.state,
                "message": say(outcome.message),
                "hint": outcome.hint,
            }
            for case, outcome in row.cases
        ],
    }

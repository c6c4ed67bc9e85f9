"""A class that nobody taught: an export as Gradescope makes it, of invented students, and the truth about each of them.

``students`` says who they are and what they can do (the model of ability stands there), ``choices`` which mistake or
solution each item gets, ``pieces`` puts that into files, ``handwriting`` makes each student's files different from
everybody else's, ``export_writer`` writes the export. The same arguments give the same bytes.

Beside the export ``DIR`` stands ``DIR.truth.jsonl``, a ``Truth`` a line, in the order of the metadata. The scores in
the export are what such a class could have had before, not what grading gives: a solved item has its points, a mistake
half of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..archive import write_file
from ..feedback.assignment import Assignment, load_assignment
from ..feedback.errors import InputError
from .choices import Chooser, Work
from .export_writer import Exported, ExportWriter
from .handwriting import Hand
from .pieces import Pieces
from .records import lines_of
from .students import BLANK, HONEST, HOSTILE, TRIED, Student, difficulties, levels, students
from .troublemakers import Troublemakers

TRUTH = "truth.jsonl"
_FIRST = 100_000_000  # number of the first submission
_LEFT_OUT = 0.05  # share of students who do not hand in files that they have not begun
_STRAYS: Mapping[str, bytes] = {
    ".DS_Store": b"\0\0\0\1Bud1\0",
    "notes.txt": b"ask about the bonus\n",
    "__pycache__/scratch.cpython-311.pyc": b"\xa7\r\r\n\0\0\0\0",
    "scratch.py": b"print('hello')\n",
    "README.md": b"# My solution\n",
}


class Truth(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a simulated submission.

    Attributes:
        submission: name of its folder.
        student: number of the student or group, the same for all submissions of the same.
        people: email addresses.
        created_at: ISO 8601.
        active: the student's last.
        ability: theta of the model.
        items: slug -> "blank", "solved", "mistake:<id>" or "alternative:<id>"; empty for hostile ones.
        full: items that must get all points: they are solved, and so is all that they need.
        lost: items that must lose points: blank, or with a mistake.
        hostile: which attack it is; empty for an honest one.
        nothing: it has no submission file.
    """

    submission: str
    student: int
    people: tuple[str, ...]
    created_at: str
    active: bool
    ability: float
    items: dict[str, str] = {}
    full: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    hostile: str = ""
    nothing: bool = False


def simulate_class(
    home: Path,
    count: int,
    out: Path,
    *,
    seed: int = 0,
    submissions: int = 3,
    hostile: float = 0.02,
    every: bool = False,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> list[Truth]:
    """Write a class to ``out``, which must not exist or be empty; ``DIR.truth.jsonl`` goes beside it.

    Args:
        home: the repository.
        count: people.
        out: the export.
        seed: the same one gives the same bytes.
        submissions: the most that a student makes.
        hostile: share of students who mean harm.
        every: write folders for earlier submissions too, not only for the last.
        tell: is told (people done, people).

    Returns:
        What stands in that file.

    Raises:
        InputError: no catalogue in ``home``, a number that cannot be meant, or ``out`` cannot be written.
    """
    if count < 0 or submissions < 1 or not 0 <= hostile <= 1:
        raise InputError("a class has 0 people or more, 1 submission or more each, and a hostile share of 0 to 1")
    assignment = load_assignment(home / "assignment.toml")
    made = _Class(home, assignment, seed)
    truths: list[Truth] = []
    done = 0
    with ExportWriter(out) as export:
        for student in students(count, assignment, seed, submissions, hostile):
            made_of_them = list(made.submissions(student, submissions))
            for exported, files, truth in made_of_them if every else made_of_them[-1:]:
                export.add(exported, files)
                truths.append(truth)
            done += len(student.people)
            tell(done, count)
    write_file(truth_beside(out), lines_of(truths))
    return truths


def truth_beside(export: Path) -> Path:
    """Where the truth about an export lies."""
    return export.with_name(f"{export.name}.{TRUTH}")


class _Class:
    """What all students have in common."""

    def __init__(self, home: Path, assignment: Assignment, seed: int) -> None:
        self._assignment, self._seed = assignment, seed
        self._pieces = Pieces(home, assignment)
        self._chooser = Chooser(self._pieces, seed)
        self._trouble = Troublemakers(self._pieces)
        self._difficulty = difficulties(assignment, seed)

    def submissions(self, student: Student, most: int) -> Iterator[tuple[Exported, dict[str, bytes], Truth]]:
        """All of one student, earliest first."""
        rng = random.Random(f"{self._seed} hands in {student.number}")
        owner = f"{student.people[0].sid} " + rng.choice(("my solution", "homework", "final version", "自己写的", "v2"))
        hand = Hand(f"{self._seed} {student.number}", owner)
        layout = _Layout(rng, self._assignment.package, self._pieces.given)
        left_out = rng.random() < _LEFT_OUT
        history: list[tuple[int, Any, float | None]] = []
        before: Work | None = None
        for again, time in enumerate(student.times):
            number = _FIRST + student.number * most + again
            files: dict[str, bytes] = {}
            attack = ""
            choices: dict[str, str] = {}
            if student.kind == HOSTILE:
                attack, files = self._trouble.files(rng)
            elif student.kind == HONEST:
                before = self._chooser.choose(student, levels(student, self._difficulty, again), before)
                files = self._pieces.files(before.pieces, before.blank)
                choices = {s: f"{c.state}:{c.entry}" if c.entry else c.state for s, c in before.choices.items()}
                if left_out:
                    files = {name: text for name, text in files.items() if text != self._pieces.stubs.get(name)}
            stubs = self._pieces.stubs
            files = {n: c if c == stubs.get(n) else _in_hand(hand, n, c) for n, c in files.items()}
            score, results = self._results(before)
            yield (
                Exported(number, student.people, time, score, results, tuple(history)),
                layout.lay(files),
                Truth(
                    submission=f"submission_{number}",
                    student=student.number,
                    people=tuple(person.email for person in student.people),
                    created_at=time.isoformat(),
                    active=again + 1 == len(student.times),
                    ability=round(student.ability, 4),
                    items=choices,
                    full=tuple(self._full(before)) if before is not None else (),
                    lost=tuple(self._lost(before)) if before is not None else (),
                    hostile=attack,
                    nothing=not files,
                ),
            )
            history.append((number, time, score))

    def _full(self, work: Work) -> Iterator[str]:
        right: set[str] = set()
        for item in self._assignment.items:  # what an item needs stands before it
            if item.waived or (work.right(item.slug) and all(s in right for s in item.needs if s in work.choices)):
                right.add(item.slug)
                yield item.slug

    def _lost(self, work: Work) -> Iterator[str]:
        for item in self._assignment.items:
            if not item.waived and work.choices[item.slug].state in (BLANK, TRIED):
                yield item.slug

    def _results(self, work: Work | None) -> tuple[float, dict[str, Any]]:
        rows = []
        for item in self._assignment.items:
            state = work.choices[item.slug].state if work is not None else BLANK
            share = {BLANK: 0.0, TRIED: 0.5}.get(state, 1.0)
            shown = {BLANK: "not started", TRIED: "failed"}.get(state, "passed")
            rows.append(
                {
                    "name": item.title,
                    "number": item.number,
                    "score": round(share * item.points, 2),
                    "max_score": 0.0 if item.bonus else item.points,
                    "status": "passed" if share == 1 else "failed",
                    "output": "",
                    "extra_data": {"item": item.slug, "state": shown},
                }
            )
        score = round(sum(float(str(row["score"])) for row in rows), 2)
        return score, {"execution_time": 30.0, "output": "", "visibility": "visible", "tests": rows}


class _Layout:
    """How one student's uploads are laid out."""

    def __init__(self, rng: random.Random, package: str, given: Mapping[str, bytes]) -> None:
        draw = rng.random()
        self._given: dict[str, bytes] = {}
        if draw < 0.6:
            self._under = ""
        elif draw < 0.8:
            self._under = f"{package}/"
        elif draw < 0.9:
            self._under = rng.choice((f"handout/{package}/", "homework/", f"my-work/{package}/"))
        else:
            self._under = f"{package}/"
            self._given = dict(given)
        self._strays = {name: _STRAYS[name] for name in rng.sample(sorted(_STRAYS), 2) if rng.random() < 0.3}

    def lay(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """The files by path in the upload, and what else lies there; a note alone where there are none."""
        if not files:
            return {"notes.txt": b"sorry, I did not manage\n"}
        laid = {f"{self._under}{name}": content for name, content in files.items()}
        laid.update(self._given)
        # beside a lone folder a stray file would hide it from whoever looks into lone folders
        laid.update({f"{self._under}{name}": content for name, content in self._strays.items()})
        return laid


def _in_hand(hand: Hand, name: str, content: bytes) -> bytes:
    try:
        return hand.write(name, content)
    except UnicodeDecodeError:  # an attack with another encoding
        return content

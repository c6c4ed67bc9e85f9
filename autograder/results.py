"""results.json: typed rows, written whole before the first test and after each one.

Every text that reaches the file passes ``gradescope.clean``. The file is whole or absent: temporary file, rename,
and at the start and the end of a run fsync. There is no top-level score (it would override the sum), and no hidden
row (it would hide the total).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from . import gradescope
from .feedback import scores
from .feedback.errors import InputError
from .feedback.language import ENGLISH, Language
from .feedback.scores import Case, ItemScore, Outcome

SHOWN_TESTS, SHOWN_MESSAGES = 12, 2  # of one row, of one test


Known = dict[str, tuple[ItemScore, bool, dict[str, Any]]]  # by slug: a row, whether it was final, its entry


@dataclass(frozen=True)
class Heading:
    """What stands above the rows.

    Attributes:
        lines: what was received, versions, what was left out.
        final: False when tests are missing: then no row is a verdict.
        faults: what went wrong on our side, in words for students; staff read the details on stdout.
        unavailable: submission file -> why it could not be taken; its items say so.
        extra: machine-readable facts for staff.
    """

    lines: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    final: bool = True
    unavailable: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


def document(
    rows: Sequence[ItemScore],
    heading: Heading,
    leaderboard: Mapping[str, tuple[float | str, str]],
    seconds: float,
    say: Language = ENGLISH,
    known: Known | None = None,
) -> dict[str, Any]:
    """The results as the platform wants them, in a language.

    ``known`` is what the last document of the same run was made of: the entry of a row that is still the same object
    is taken from there, and new ones are put in.
    """
    received, *notes = heading.lines or ("",)
    lines = [*heading.faults, f"{received} Graded in {seconds:.0f} s.".strip(), *notes]
    entries = [
        {"name": gradescope.clean(name), "value": _plain(value), "order": order}
        for name, (value, order) in leaderboard.items()
    ]
    result: dict[str, Any] = {
        "execution_time": round(seconds, 2),
        "output": gradescope.clean(say("\n".join(lines))),
        "output_format": "text",
        "test_output_format": "text",
        "visibility": "visible",
        "extra_data": _clean(dict(heading.extra)),
        "tests": [_entry(row, heading, say, {} if known is None else known) for row in rows],
    }
    if entries:
        result["leaderboard"] = entries
    return result


def write(path: Path, results: Mapping[str, Any], durable: bool = True) -> None:
    """Write the file whole, or leave what was there.

    Args:
        path: of results.json.
        results: the document.
        durable: wait until it is on disk, for when the machine itself goes down. Between tests that would take longer
            than many tests, and a killed process, even by SIGKILL, loses nothing that it has written.

    Raises:
        InputError: the folder cannot be written to.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    content = msgspec.json.format(msgspec.json.encode(results), indent=1)
    try:
        with temporary.open("wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def remove_unfinished(path: Path) -> None:
    """Remove what killed runs have left half-written beside the file."""
    for left in path.parent.glob(f".{path.name}.*.tmp"):
        pid = left.name.split(".")[-2]
        if pid.isdecimal() and not _runs(int(pid)):
            with contextlib.suppress(OSError):
                left.unlink()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _entry(row: ItemScore, heading: Heading, say: Language, known: Known) -> dict[str, Any]:
    before = known.get(row.item.slug)
    if before is None or before[0] is not row or before[1] != heading.final:
        before = known[row.item.slug] = (row, heading.final, _row(row, heading, say))
    return before[2]


def _row(row: ItemScore, heading: Heading, say: Language) -> dict[str, Any]:
    item = row.item
    entry: dict[str, Any] = {
        "name": gradescope.clean(say.title(item)),
        "number": item.number,
        "score": row.score,
        "max_score": 0.0 if item.bonus else item.points,
        "output": gradescope.clean(say("\n".join(_text(row, heading)))),
        "extra_data": {
            "item": item.slug,
            "state": row.state,
            "tests": {f"{case.key[0]}::{case.name}": outcome.state for case, outcome in row.cases},
            "mistakes": sorted({name for _, outcome in row.cases for name in outcome.mistakes}),
        },
    }
    if heading.final and row.state not in (scores.GRADER_ERROR, scores.NOT_RUN):
        entry["status"] = "passed" if row.state == scores.PASSED else "failed"
    return entry


def _text(row: ItemScore, heading: Heading) -> list[str]:
    if row.item.waived:
        return ["This item is waived: full points for everybody."]
    if row.item.file in heading.unavailable and row.state != scores.PASSED:
        return [heading.unavailable[row.item.file]]
    passed = sum(outcome.state == scores.PASSED for _, outcome in row.cases)
    lines = [f"{row.label}: {passed} of {len(row.cases)} checks pass"]
    if not heading.final:
        lines.append("Part of the grader could not be loaded, so this is not final: staff have been told.")
    if row.state == scores.NOT_STARTED:
        return ['not started: the function still says "not implemented"']
    if row.state == scores.GRADER_ERROR:
        lines.append(
            "The grader itself failed here. This is not your code's fault: staff have been told and will regrade."
        )
    lines += _failures(row)
    return lines


def _failures(row: ItemScore) -> list[str]:
    """What each test that did not pass has to say: its cases together, a message that several share only once."""
    tests: dict[tuple[str, str], list[tuple[Case, Outcome]]] = {}
    for case, outcome in row.cases:
        tests.setdefault(case.key[:2], []).append((case, outcome))
    failing = {key: cases for key, cases in tests.items() if any(_is_wrong(outcome) for _, outcome in cases)}
    lines: list[str] = []
    said: set[str] = set()
    for (_, function), cases in list(failing.items())[:SHOWN_TESTS]:
        wrong = [outcome for _, outcome in cases if _is_wrong(outcome)]
        first = cases[0][0]
        count = f"{len(wrong)} of {len(cases)} cases, " if len(cases) > 1 else ""
        where = "hidden inputs" if first.hidden else f"also on your machine: pytest -k {function}"
        lines += ["", f"[x] {first.title}", f"    ({count}{where})"]
        messages = [_message(outcome) for outcome in wrong]
        for message in [text for text in dict.fromkeys(messages) if text and text not in said][:SHOWN_MESSAGES]:
            said.add(message)
            lines += [f"    {line}" for line in message.splitlines()]
        for hint in [text for text in dict.fromkeys(outcome.hint for outcome in wrong) if text and text not in said]:
            said.add(hint)
            lines.append(f"    hint: {hint}")
    if len(failing) > SHOWN_TESTS:
        lines.append(f"... and {len(failing) - SHOWN_TESTS} more")
    not_run = sum(outcome.state == scores.NOT_RUN for _, outcome in row.cases)
    if 0 < not_run < len(row.cases):
        lines += ["", f"{not_run} checks were not run"]
    return lines


def _is_wrong(outcome: Outcome) -> bool:
    return outcome.fraction < 1 and outcome.state != scores.NOT_RUN


def _message(outcome: Outcome) -> str:
    return "grader error, not your code" if outcome.state == scores.GRADER_ERROR else outcome.message


def _clean(value: Any) -> Any:
    """The same plain data with every text in it cleaned."""
    if isinstance(value, str):
        return gradescope.clean(value)
    if isinstance(value, Mapping):
        return {_clean(key): _clean(member) for key, member in value.items()}
    return [_clean(member) for member in value] if isinstance(value, (list, tuple)) else value


def _plain(value: float | str) -> float | str:
    return gradescope.clean(value) if isinstance(value, str) else float(value)

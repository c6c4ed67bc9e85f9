"""Grades one submission again and again with its tests in another order each time: the results must not change.

    python -m benchmarks.shuffle --rounds 20

The submission is the solved package with a few of the catalogue's mistakes in it, so that there is something to lose;
or a folder or zip of your own. Compared is everything in results.json and all that instructors read, but for times,
what was measured, and the run's number.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from autograder.build import package_members
from autograder.feedback.assignment import Assignment, load_assignment
from autograder.feedback.errors import GraderError, InputError
from autograder.grade import make_job, staged
from autograder.host import Host
from autograder.proof.catalogue import SOLUTIONS, apply, load_mistakes

ROOT = Path(__file__).parents[1]
AMPLE = {"call": 100.0, "test": 200.0, "item": 800.0, "run": 1600.0}  # what a busy machine is late with is no result
_RUN = re.compile(r"\bRun [0-9a-f]+\.( Graded in \d+ s\.)?")
_MEASURED = ("worker_start_ms", "longest_call_s")


def with_mistakes(home: Path, assignment: Assignment, into: Path) -> list[str]:
    """Write a submission in which each second item has the first mistake of the catalogue; their ids."""
    package = {path: member.content for path, member in package_members(home, assignment, None).items()}
    wrong: list[str] = []
    mistakes = [entry for entry in load_mistakes(home / "tests" / "mistakes", assignment) if entry.base == SOLUTIONS]
    for item in assignment.items[::2]:
        for entry in mistakes:
            if entry.items != (item.slug,):
                continue
            try:
                package = apply(entry, package)
            except InputError:  # it changes what another one has changed
                continue
            wrong.append(entry.id)
            break
    folder = into / assignment.package
    folder.mkdir(parents=True)
    for path, content in package.items():
        name = path.rpartition("/")[2]
        if name in assignment.files:
            (folder / name).write_bytes(content)
    return wrong


def comparable(document: dict[str, Any], staff: str) -> str:
    """What must be the same in two gradings of one submission, as text with a line for each fact."""
    kept = json.loads(json.dumps(document))
    kept["execution_time"] = 0
    kept["output"] = _RUN.sub("Run.", kept["output"])
    for name in _MEASURED:
        kept["extra_data"]["isolation"].pop(name)
    said = [line for line in staff.splitlines() if not any(name in line for name in _MEASURED)]
    return json.dumps(kept, indent=1, ensure_ascii=False) + "\n" + "\n".join(said)


def grade_shuffled(submission: Path, home: Path, host: Host, shuffle: int | None) -> tuple[dict[str, Any], str]:
    """(results, what instructors read) with the tests in the order of this seed; None for their own.

    Raises:
        InputError: the submission is unusable.
        GraderError: nothing could be graded.
    """
    assignment = load_assignment(home / "assignment.toml")
    with staged(submission, home, assignment) as (staging, taken):
        job = make_job(assignment, home, staging, taken, staging / "results.json")
        job = msgspec.structs.replace(job, shuffle=shuffle, budgets=AMPLE)
        answer = host.run(job, 2 * AMPLE["run"])
        if not Path(job.results).is_file():
            raise GraderError(answer.stderr or answer.stdout)
        return json.loads(Path(job.results).read_bytes()), answer.stdout + answer.stderr


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. 0 when all gradings give the same."""
    about = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shuffle", description=about)
    parser.add_argument("submission", type=Path, nargs="?", help="default: the solutions with some mistakes")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--home", type=Path, default=ROOT, help="of the assignment (default: this repository)")
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="shuffle-"))
    host = Host()
    try:
        submission = options.submission
        if submission is None:
            submission = folder / "submission"
            wrong = with_mistakes(options.home, load_assignment(options.home / "assignment.toml"), submission)
            print(f"with mistakes: {', '.join(wrong)}")
        first, staff = grade_shuffled(submission, options.home, host, None)
        expected = comparable(first, staff)
        scores = [row["score"] for row in first["tests"]]
        print(f"in their own order: {sum(scores):g} points, {staff.count('FAULT OF THE GRADER')} faults", flush=True)
        off = 0
        for shuffle in range(1, options.rounds + 1):
            got = comparable(*grade_shuffled(submission, options.home, host, shuffle)).splitlines()
            if got != expected.splitlines():
                off += 1
                changed = [(a, b) for a, b in zip(expected.splitlines(), got, strict=False) if a != b][:3]
                print(f"order {shuffle}: {len(got)} lines; {changed}", flush=True)
    finally:
        host.close()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{options.rounds} shuffled gradings: {off} off")
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())

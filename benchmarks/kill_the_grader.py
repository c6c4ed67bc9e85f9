"""Kills the grader at random moments, and looks whether results.json holds what was earned and nothing lives on.

    python -m benchmarks.kill_the_grader --rounds 200

Linux, as root. By turns SIGKILL hits what the platform starts (``entry``), a ``session`` of `autograder grade`, its
``host``, and the ``zygote`` that forks the workers. A round grades the solutions from the start; the moment of the kill
is drawn between the first results.json and the end of an undisturbed run. Each round must leave:

* a results.json that keeps every rule of the platform, with every item;
* each test that had ended when the kill came, as ``witness.py`` saw it; each item all of whose tests had, in full;
* no process: this one is the subreaper of all that it starts, so that none can hide.

A zygote that dies before the sandbox is proved ends the run as a refusal: nothing was graded, it says so, exits with 3
and removes results.json. Such a round is looked at, counted apart and drawn again.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import ctypes
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from autograder.feedback import scores
from autograder.feedback.assignment import load_assignment
from autograder.grade import make_job, staged
from tests.staff.runs import ROOT, children, command_line, copy_home, is_alive, read, wait_until, write_submission

VICTIMS = ("entry", "session", "host", "zygote")
END_SECONDS = 600.0  # for a whole run on a busy machine
GONE_SECONDS = 10.0  # for what is orphaned to end by itself
WITNESS = Path(__file__).with_name("witness.py")
_PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Grading:
    """One grading of the solutions that runs now."""

    process: subprocess.Popen[bytes]
    results: Path
    witness: Path
    output: Path

    def victim(self, name: str) -> int | None:
        """The process of that name; None when it is not there, or no longer."""
        top = self.process.pid
        if name in ("entry", "host"):
            return top if self.process.poll() is None else None
        if name == "session" and b"entry" in command_line(top).split(b"\0"):
            return top
        zygote = name == "zygote"
        return next((pid for pid in children(top) if (b"zygote.py" in command_line(pid)) == zygote), None)

    def seen(self) -> list[dict[str, str]]:
        """The tests that have ended, as the witness wrote them down."""
        whole = self.witness.read_bytes().rpartition(b"\n")[0]
        return [json.loads(line) for line in whole.splitlines()]


class Arena:
    """A place in which the solutions of an assignment can be graded again and again.

    Args:
        home: of the assignment.
        folder: empty, ours; other users may pass through it.
    """

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self._folder = home, folder
        self.assignment = load_assignment(home / "assignment.toml")
        self._source = copy_home(folder / "source", home)
        shutil.copytree(ROOT / "autograder", self._source / "autograder", ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(self._source / "autograder", quiet=2)  # as setup.sh does
        for private in ("solutions", "tests"):  # as setup.sh does
            (self._source / private).chmod(0o700)
        self._submission = write_submission(folder / "submission", home)
        self._round = 0

    @contextmanager
    def grading(self, *, platform: bool) -> Iterator[Grading]:
        """Begin to grade: as the platform does, or as `autograder grade` does. All of it is removed on leaving."""
        self._round += 1
        root = self._folder / f"round{self._round}"
        for folder in (root, root / "tmp"):
            folder.mkdir()
            folder.chmod(0o711)
        (root / "results").mkdir(mode=0o700)
        results, witness = root / "results" / "results.json", root / "witness"
        witness.touch()
        with contextlib.ExitStack() as stack:
            program, job = "entry", b""
            if platform:
                (root / "source").symlink_to(self._source)
                shutil.copytree(self._submission / self.assignment.package, root / "submission")
            else:
                staging, taken = stack.enter_context(staged(self._submission, self.home, self.assignment))
                program = "host"
                job = msgspec.json.encode(make_job(self.assignment, self.home, staging, taken, results)) + b"\n"
            output = root / "output"  # no pipe: nobody would read it meanwhile
            with output.open("wb") as file:
                process = subprocess.Popen(
                    [sys.executable, "-I", "-B", str(WITNESS), str(self._source), str(witness), program],
                    env={**os.environ, "AUTOGRADER_ROOT": str(root), "TMPDIR": str(root / "tmp")},
                    stdin=subprocess.PIPE,
                    stdout=file,
                    stderr=file,
                )
            assert process.stdin is not None
            process.stdin.write(job)
            process.stdin.close()
            try:
                yield Grading(process, results, witness, output)
            finally:
                process.kill()
                process.wait()
                shutil.rmtree(root)


@dataclass(frozen=True)
class Undisturbed:
    """What a whole run does: its seconds after the first results.json, and the tests of each item."""

    seconds: float
    tests: dict[str, frozenset[str]]


def undisturbed(arena: Arena, *, platform: bool) -> Undisturbed:
    """Grade without a kill, to know what a run has."""
    with arena.grading(platform=platform) as grading:
        wait_until(grading.results.is_file)
        began = time.monotonic()
        grading.process.wait(END_SECONDS)
        seconds = time.monotonic() - began
        if grading.process.returncode != 0:
            raise SystemExit(f"the solutions cannot be graded:\n{grading.output.read_text()}")
        tests: dict[str, set[str]] = {}
        for told in grading.seen():
            tests.setdefault(told["item"], set()).add(told["test"])
    return Undisturbed(seconds, {item: frozenset(names) for item, names in tests.items()})


@dataclass(frozen=True)
class Round:
    """What one kill left behind. ``problems`` is empty when all is as it must be."""

    victim: str
    refused: bool  # nothing was graded, and it says so
    ended: int  # tests that had ended
    items: int  # items whose tests had all ended
    last_gone: float  # seconds until nothing was left
    half_written: int  # temporary files beside results.json
    problems: tuple[str, ...]


def kill_once(arena: Arena, victim: str, delay: float, whole: Undisturbed) -> Round | None:
    """Kill ``victim`` so many seconds after the first results.json; None when the run was over before."""
    with arena.grading(platform=victim == "entry") as grading:
        wait_until(grading.results.is_file)
        time.sleep(delay)
        pid = grading.victim(victim)
        if pid is None or not is_alive(pid):
            return None
        ours = descendants()
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return None
        before = grading.seen()
        grading.process.wait(END_SECONDS)  # after a zygote's end the session still says so of every test
        killed = time.monotonic()
        problems = []
        left = _left_after(GONE_SECONDS)
        if left:
            problems.append(f"alive afterwards: {[command_line(pid) for pid in left]}")
            for process in left:
                os.kill(process, signal.SIGKILL)
        gone = time.monotonic() - killed
        for process in {*ours, *left}:
            with contextlib.suppress(ChildProcessError):
                if process != grading.process.pid:
                    os.waitpid(process, os.WNOHANG)
        refused = victim == "zygote" and not before and "NOT GRADED" in grading.output.read_text()
        if refused:
            problems += ["refused, and left results.json"] if grading.results.exists() else []
            return Round(victim, True, 0, 0, gone, 0, tuple(problems))
        passed = {told["test"] for told in before if told["state"] == scores.PASSED}
        finished = [item for item, tests in whole.tests.items() if tests <= passed]
        problems += _problems(grading, arena, passed, finished, victim == "zygote")
        temporary = sum(path != grading.results for path in grading.results.parent.iterdir())
        return Round(victim, False, len(before), len(finished), gone, temporary, tuple(problems))


def _problems(grading: Grading, arena: Arena, passed: set[str], finished: Sequence[str], zygote: bool) -> list[str]:
    try:
        run = read(json.loads(grading.results.read_bytes()), arena.home)  # with every rule of the platform
    except (OSError, ValueError, AssertionError) as error:
        return [f"results.json is not valid: {type(error).__name__}: {error}"]
    # a test whose worker nobody can sweep any more is a fault of ours, and keeps its points
    kept = (scores.PASSED, scores.GRADER_ERROR) if zygote else (scores.PASSED,)
    problems = [f"{test} had passed and is lost" for test in passed if run.tests.get(test) not in kept]
    for slug in finished:
        if run.rows[slug].score != arena.assignment.by_slug[slug].points:
            problems.append(f"{slug} was finished and has {run.rows[slug].score:g} points")
    return problems


def descendants() -> list[int]:
    """Every live process that this one has started, directly or not."""
    found, new = [], [os.getpid()]
    while new:
        new = [child for parent in new for child in children(parent)]
        found += new
    return [pid for pid in found if is_alive(pid)]


def _left_after(seconds: float) -> list[int]:
    deadline = time.monotonic() + seconds
    while (left := descendants()) and time.monotonic() < deadline:
        time.sleep(0.005)
    return left


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. 0 when every round is as it must be."""
    about = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kill_the_grader", description=about)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--home", type=Path, default=ROOT, help="of the assignment (default: this repository)")
    options = parser.parse_args(arguments)
    if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        parser.error("this needs Linux: no subreaper here")
    draw = random.Random(options.seed)
    folder = Path(tempfile.mkdtemp(prefix="kill-the-grader-"))
    folder.chmod(0o711)
    rounds: list[Round] = []
    try:
        arena = Arena(options.home, folder)
        whole = {platform: undisturbed(arena, platform=platform) for platform in (True, False)}
        over, refused, counted = 0, 0, 0
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        while counted < options.rounds:
            victim = VICTIMS[counted % len(VICTIMS)]
            run = whole[victim == "entry"]
            done = kill_once(arena, victim, draw.uniform(0, run.seconds), run)
            if done is None:  # the machine has become faster since
                over += 1
                whole[victim == "entry"] = replace(run, seconds=0.8 * run.seconds)
                continue
            for problem in done.problems:
                print(f"round {len(rounds) + 1}, {victim}: {problem}", flush=True)
            rounds.append(done)
            refused += done.refused
            counted = len(rounds) - refused
            if not done.refused and counted % 20 == 0:
                print(f"{counted} of {options.rounds}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        if not rounds:
            return 130
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return _report(rounds, over, sum(map(len, whole[True].tests.values())))


def _report(rounds: Sequence[Round], over: int, tests: int) -> int:
    bad = [done for done in rounds if done.problems]
    graded = [done for done in rounds if not done.refused]
    victims = ", ".join(f"{count} {name}" for name, count in Counter(done.victim for done in graded).items())
    ended = sorted(done.ended for done in graded)
    print(f"{len(graded)} kills ({victims}): {len(bad)} off")
    print(f"drawn again: {over} were over before their kill, {len(rounds) - len(graded)} refused to grade")
    print(f"tests ended when the kill came: {ended[0]} to {ended[-1]} of {tests}, median {ended[len(ended) // 2]}")
    print(f"finished items kept their points: {sum(done.items for done in rounds)} in all")
    print(f"last process gone after at most {max(done.last_gone for done in rounds):.2f} s")
    print(f"half-written files beside a whole results.json: {sum(done.half_written for done in rounds)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

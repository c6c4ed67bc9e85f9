"""``python check.py``: the local checks with a friendly face, and the zip to hand in.

The tests are the same as with ``pytest``, and so is what they say; this only asks for less knowledge and shows more of
where to go on. Exit code: 0 when all checks pass, 1 when some do not, 2 when there is nothing to check, 130 after
Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from . import handing_in, language, scores, screen
from .assignment import LANGUAGES, Assignment, load_assignment
from .errors import InputError
from .facts import facts_in
from .graded import GradedSession
from .language import Language
from .plugin import CASE, SESSION, find_item
from .scores import ItemScore

EXAMPLES = """examples:
  python check.py                     everything
  python check.py --item 2.4          one item, by its number or its name
  python check.py --item 2.4 -v       with the trace of what your code raised
  python check.py --watch             again after each save
  python check.py submit              checks your files and makes submission.zip
"""


@dataclass
class Found:
    """What a run of the local checks came to.

    Attributes:
        rows: every item of which something ran.
        seconds: how long it took.
        traces: of failing checks, by the case's key.
        interrupted: where Ctrl-C met the student's code, or "" when nobody pressed it.
        problem: why nothing ran.
    """

    rows: list[ItemScore] = field(default_factory=list)
    seconds: float = 0.0
    traces: dict[tuple[str, str, str], str] = field(default_factory=dict)
    interrupted: str | None = None
    problem: str = ""


def main(home: Path, arguments: Sequence[str] | None = None) -> int:
    """The command. ``home`` is the folder of the handout."""
    _survive_the_console()
    options = _parser().parse_args(arguments)
    try:
        assignment = load_assignment(home / "assignment.toml")
        lang = language.chosen(options.lang, assignment.language)
        if not _can_show(language.SAMPLE[lang]):
            print(f"check.py: this console cannot show {lang}: chcp 65001 and PYTHONIOENCODING=utf-8 help on Windows")
            lang = "en"
        say = Language(lang, language.words_in([home / "tests"]))
        for name in options.item:
            find_item(assignment, name)
        if options.watch:
            return _watch(home, assignment, arguments or sys.argv[1:])
        if options.command == "submit":
            return _submit(home, assignment, say)
        return _check(home, assignment, say, options)
    except InputError as error:
        print(f"check.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python check.py",
        description="Check your work on this machine.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", nargs="?", choices=["submit"], help="make submission.zip")
    parser.add_argument("--item", action="append", default=[], metavar="ITEM", help="only this item, by number or name")
    parser.add_argument("--seed", type=int, default=0, help="other inputs for the checks that draw them (default: 0)")
    parser.add_argument("--lang", choices=LANGUAGES, help="English or Chinese (default: this machine's)")
    parser.add_argument("--watch", action="store_true", help="check again whenever a file of yours is saved")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the traces, too")
    parser.add_argument("--json", action="store_true", help="print what was found for a program to read")
    return parser


def _check(home: Path, assignment: Assignment, say: Language, options: argparse.Namespace) -> int:
    found = run(home, say.name, options.item, options.seed, options.verbose, progress=not options.json)
    if found.problem:
        raise InputError(found.problem)
    if options.json:
        print(json.dumps([screen.record(row, say) for row in found.rows], ensure_ascii=False, indent=1))
    else:
        view = screen.Screen(home, assignment, say, facts_in(home / "tests").shares, options.seed)
        heading = f"Python {platform.python_version()}, numpy {_version('numpy')}"
        for line, colour in view.lines(found.rows, heading, found.seconds, found.traces, bool(options.item)):
            _print(line, colour)
        if found.interrupted is not None:
            _print(say(f"interrupted{f' in {found.interrupted}' if found.interrupted else ''}"), "yellow")
    if found.interrupted is not None:
        return 130
    good = (scores.PASSED, scores.SKIPPED)
    return 0 if all(row.state in good for row in found.rows) else 1


def run(
    home: Path,
    lang: str = "en",
    items: Sequence[str] = (),
    seed: int = 0,
    verbose: bool = False,
    progress: bool = False,
) -> Found:
    """Run the local checks in this process."""
    collector = _Collector(progress and sys.stderr.isatty(), verbose)
    arguments = ["-c", str(home / "pyproject.toml"), "--rootdir", str(home), "--lang", lang, "--seed", str(seed)]
    arguments += [part for name in items for part in ("--item", name)]
    arguments += ["-p", "no:cacheprovider", "-p", "no:terminal", "-o", "addopts=--import-mode=importlib"]
    started = time.perf_counter()
    os.environ.setdefault("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # what else is installed here has no say
    code = pytest.main([*arguments, str(home / "tests")], plugins=[collector])
    found = collector.found
    found.seconds = time.perf_counter() - started
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
        found.problem = "nothing was checked: see the lines above" if collector.graded is None else "nothing to check"
    return found


class _Collector:
    """Takes down what the run came to, and moves a bar on a terminal."""

    def __init__(self, bar: bool, verbose: bool) -> None:
        self.found = Found()
        self.graded: GradedSession | None = None
        self._bar, self._verbose, self._done = bar, verbose, 0

    def pytest_configure(self, config: pytest.Config) -> None:
        config.option.verbose = int(self._verbose)
        config.option.tbstyle = "short"

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.graded = session.config.stash[SESSION]
        self._count = sum(CASE in item.stash for item in session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and self._bar:
            self._done += 1
            print(f"\r{self._done}/{self._count} ", end="", file=sys.stderr, flush=True)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        report: Any = yield
        if self._verbose and report.failed and CASE in item.stash:
            self.found.traces[item.stash[CASE].key] = report.longreprtext
        return report  # type: ignore[no-any-return]

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        assert self.graded is not None
        package = self.graded.submission / self.graded.assignment.package
        places = [
            f"{package.name}/{Path(str(entry.path)).name}:{entry.lineno + 1}"
            for entry in excinfo.traceback
            if Path(str(entry.path)).parent == package
        ]
        self.found.interrupted = places[-1] if places else ""

    def pytest_sessionfinish(self) -> None:
        if self._bar:
            print("\r" + " " * 20 + "\r", end="", file=sys.stderr, flush=True)
        if self.graded is not None:
            self.found.rows = [
                row
                for row in self.graded.item_scores()
                if any(outcome.state != scores.NOT_RUN for _, outcome in row.cases)
            ]


def _submit(home: Path, assignment: Assignment, say: Language) -> int:
    looked = handing_in.look(home, assignment)
    for name, text, colour in handing_in.told(looked, assignment):
        _print(f"  {name:16} {say(text)}" if name else f"  {say(text)}", colour)
    if not looked.files:
        raise InputError(f"there is nothing to hand in: no {', '.join(assignment.files)}")
    found = run(home, say.name, progress=True)
    path = handing_in.write(home, looked)
    passed = sum(outcome.state == scores.PASSED for row in found.rows for _, outcome in row.cases)
    count = sum(len(row.cases) for row in found.rows)
    _print(say(f"local checks: {passed} of {count} pass"), "")
    _print(say(f"wrote {path.name} ({path.stat().st_size / 1000:.0f} kB). Upload this file to Gradescope."), "green")
    return int(bool(looked.refused or any(looked.problems.values())))


def _watch(home: Path, assignment: Assignment, arguments: Sequence[str]) -> int:
    """Check in a process of its own, again and again: whatever a file does, the next run starts afresh."""
    again = [part for part in arguments if part != "--watch"]
    for _ in saves(home / assignment.package):
        print("-" * 72, flush=True)
        subprocess.run([sys.executable, str(home / "check.py"), *again], check=False)
        print("watching; Ctrl-C ends", flush=True)
    return 0


def saves(folder: Path, wait: Callable[[], None] = lambda: time.sleep(0.3)) -> Iterator[None]:
    """Once at the start, and once after each change of a Python file in the folder."""
    before: dict[str, float] | None = None
    while True:
        now = {path.name: path.stat().st_mtime for path in folder.glob("*.py")}
        if now != before:
            before = now
            yield
        wait()


def _version(name: str) -> str:
    from importlib.metadata import version

    return version(name)


_COLOURS = {"red": "31", "green": "32", "yellow": "33", "bold": "1"}


def _print(line: str, colour: str) -> None:
    wanted = os.environ.get("FORCE_COLOR") or (sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
    print(f"\x1b[{_COLOURS[colour]}m{line}\x1b[0m" if colour and wanted else line)


def _can_show(text: str) -> bool:
    """Whether the console's encoding has these characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _survive_the_console() -> None:
    """A console that knows no Chinese shows question marks, and loses nothing else."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")

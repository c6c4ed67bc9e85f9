"""One isolated run, in a trusted process of its own: start the workers, run pytest, keep results.json up to date.

Called in a fork of ``host`` or, on the platform, by ``entry``. It may be killed at any
moment: what was earned so far is on disk, and the workers end with it.
"""

from __future__ import annotations

import contextlib
import os
import platform
import random
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from . import gradescope, results
from .canaries import Isolation
from .confine import hide_from_others
from .deadlines import Deadlines
from .feedback import plugin as feedback
from .feedback import scores
from .feedback.assignment import Assignment, Item, load_assignment
from .feedback.errors import GraderError, InputError
from .feedback.graded import GradedSession
from .feedback.handles import Student
from .feedback.language import Language
from .feedback.scores import Case, Outcome
from .pool import Given, Pool, Zygote
from .recall import ItemOutcomes, Key, read_outcomes, write_outcomes

OK, GRADER_FAILED = 0, 3
SPARE_SECONDS = 20.0  # beyond an item's budget, in which a worker is ended: then it is the test itself that hangs
FAULT = (
    "The grader itself failed in part of this run. This is not your code's fault: staff have been told, and rows "
    "without a status will be graded again."
)

CUT_SHORT = (
    "This run was cut short before its end. That is not your code's fault: rows without a status were not finished, "
    "and will be graded again."
)


class Job(msgspec.Struct, frozen=True):
    """What to grade.

    Attributes:
        home: holds assignment.toml, solutions/ and tests/.
        staging: holds submission/ (the student's package) and scratch/.
        results: where results.json goes.
        secret: seed of the hidden inputs, in hexadecimal.
        items: only these items, by slug; empty for all.
        lines: what to say above the rows.
        unavailable: submission file -> why it could not be taken.
        tests: only these tests, as "file::function" (for the audit); empty for all.
        minimum: the rung of the sandbox ladder below which nothing is graded; empty for none.
        budgets: seconds in place of those of assignment.toml ("call", "test", ...), so that hanging attacks hang less.
        shuffle: run the tests in an order drawn from this seed, to show that it does not matter.
        enough: an item that has lost is not tried any further, and results.json is written at the end only (for the
            audit, which asks for nothing else and loses nothing with it).
        recalled: file with outcomes of items that need not be run again (``recall``); empty for none.
        outcomes: where to write the outcomes at the end; empty for nowhere.
    """

    home: str
    staging: str
    results: str
    secret: str
    items: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    unavailable: dict[str, str] = {}
    tests: tuple[str, ...] = ()
    minimum: str = ""
    budgets: dict[str, float] = {}
    shuffle: int | None = None
    enough: bool = False
    recalled: str = ""
    outcomes: str = ""


@dataclass
class Isolated:
    """The pytest plugin of an isolated run."""

    job: Job
    assignment: Assignment
    pool: Pool
    deadlines: Deadlines
    began: float = field(default_factory=time.monotonic)
    faults: list[str] = field(default_factory=list)  # for staff
    graded: GradedSession | None = None
    sandbox: Isolation | None = None
    finished: bool = False
    collected: bool = True
    unwritten: str = ""  # why results.json is not up to date
    lost: set[str] = field(default_factory=set)  # items of which a test did not pass
    known: results.Known = field(default_factory=dict)
    asked: dict[str, set[str]] = field(default_factory=dict)  # item -> modules of the package

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.option.tbstyle = "native"  # no row shows a traceback, and pytest's own takes longer than the test
        graded = self.graded = config.stash[feedback.SESSION]
        graded.secret = bytes.fromhex(self.job.secret)
        graded.open_student = self._open
        graded.open_reference = lambda: self.pool.reference_student(graded.reference_package)
        graded.listeners.append(self._after)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        assert self.graded is not None
        for test in items:
            if feedback.CASE not in test.stash:
                self.faults.append(f"{test.nodeid} is no graded test: it has no @item")
        if self.job.tests:
            graded = [test for test in items if feedback.CASE in test.stash]
            items[:] = [test for test in graded if _name(test.stash[feedback.CASE]) in self.job.tests]
        elif not self.job.items:
            self._check_coverage(self.graded)
        if self.job.recalled:
            items[:] = self._without_recalled(items, self.graded)
        if self.job.shuffle is not None:
            random.Random(self.job.shuffle).shuffle(items)
        self.save()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Do not even start a test whose time is used up."""
        case = item.stash.get(feedback.CASE, None)
        refusal = self.deadlines.refusal(case.item) if case is not None else "no graded test"
        if case is not None and self.job.enough and case.item in self.lost:
            refusal = "the item has lost already"
        if not refusal:
            _watch(self.assignment.budgets.item + SPARE_SECONDS)
            return None
        if case is not None and self.graded is not None:
            self.graded.outcomes[case.key] = Outcome(scores.LATE, 0.0, refusal)
            self.save()
        # what the last test left open for this one's module, the next one may not want
        item.session._setupstate.teardown_exact(nextitem)
        return True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.collected = False
            self.faults.append(f"cannot collect {report.nodeid}: {report.longreprtext.strip().splitlines()[-1:]}")

    def pytest_internalerror(self, excrepr: Any) -> None:
        self.faults.append(f"internal error: {str(excrepr).strip().splitlines()[-1:]}")

    def write(self) -> None:
        """Write the first results.json. Raises InputError where it cannot be written."""
        results.remove_unfinished(Path(self.job.results))
        results.write(Path(self.job.results), self.document())

    def save(self, *, durable: bool = False) -> None:
        """Bring results.json up to date. Where that fails the old one stays, and the run goes on.

        The next one may succeed: a disk that is full of a worker's files has room again when they are gone.
        """
        path = Path(self.job.results)
        document = self.document()
        self.unwritten = ""
        try:
            with contextlib.suppress(OSError):
                path.parent.mkdir(mode=0o700, exist_ok=True)  # it was there at the start
            results.write(path, document, durable)
        except InputError as error:
            self.unwritten = str(error)

    def document(self) -> dict[str, Any]:
        """The results as things stand."""
        graded = self.graded
        rows = graded.item_scores() if graded is not None else scores.score_items(self.assignment, (), {})
        broken = bool(self.faults) or any(row.state == scores.GRADER_ERROR for row in rows)
        heading = results.Heading(
            lines=self.job.lines,
            faults=(*((FAULT,) if broken else ()), *(() if self.finished else (CUT_SHORT,))),
            final=self.collected,
            unavailable=self.job.unavailable,
            extra={"version": self.assignment.version, "isolation": self.isolation(), "faults": self.faults},
        )
        leaderboard = graded.leaderboard if graded is not None else {}
        say = graded.language if graded is not None else Language(self.assignment.language)
        return results.document(rows, heading, leaderboard, time.monotonic() - self.began, say, self.known)

    def isolation(self) -> dict[str, Any]:
        """What the workers did, as plain data."""
        report = self.pool.report
        starts = sorted(report.start_seconds)
        return {
            "rung": self.sandbox.rung if self.sandbox is not None else None,
            "landlock": report.confinement.landlock,
            "canaries_through": list(self.sandbox.through) if self.sandbox is not None else [],
            "workers": report.workers,
            "calls": report.calls,
            "leftovers": report.leftovers,
            "worker_start_ms": round(starts[len(starts) // 2] * 1000, 2) if starts else None,
            "longest_call_s": round(report.longest_call, 3),
            "torch_in_trusted_process": feedback.torch_is_loaded(),
        }

    @contextlib.contextmanager
    def _open(self, item: Item) -> Iterator[Student]:
        __tracebackhide__ = True
        with self.pool.open(item) as student:
            try:
                yield student
            finally:
                named = {str(sent[1]) for sent in student.sent if sent[0] in ("module", "like")}
                self.asked.setdefault(item.slug, set()).update(named)

    def _without_recalled(self, tests: list[pytest.Item], graded: GradedSession) -> list[pytest.Item]:
        """Take the recalled outcomes of the items that have all of theirs; what is left to be run."""
        known = read_outcomes(Path(self.job.recalled))
        for slug, item in known.items():
            if {key for key, _ in item.cases} == {case.key for case in graded.cases.values() if case.item == slug}:
                graded.outcomes.update(item.cases)
                self.asked[slug] = set(item.asked)
        return [test for test in tests if test.stash[feedback.CASE].key not in graded.outcomes]

    def outcomes(self) -> dict[str, ItemOutcomes]:
        """What came out, for another run."""
        assert self.graded is not None
        found: dict[str, list[tuple[Key, Outcome]]] = {}
        for case in self.graded.cases.values():
            if case.key in self.graded.outcomes:
                found.setdefault(case.item, []).append((case.key, self.graded.outcomes[case.key]))
        return {
            slug: ItemOutcomes(tuple(cases), tuple(sorted(self.asked.get(slug, ())))) for slug, cases in found.items()
        }

    def _after(self, case: Case, outcome: Outcome) -> None:
        if outcome.state != scores.PASSED:
            self.lost.add(case.item)
        if not (self.job.enough or self.job.outcomes):  # who wants the outcomes grades again what was cut short
            self.save()

    def not_run(self) -> int:
        """How many tests that should run have not."""
        if self.graded is None:
            return 0
        wanted = [case for case in self.graded.cases.values() if not self.job.tests or _name(case) in self.job.tests]
        return sum(case.key not in self.graded.outcomes for case in wanted)

    def _check_coverage(self, graded: GradedSession) -> None:
        """An item without hidden tests, or with too large a public part, is a fault of ours."""
        shares = scores.public_shares(graded.cases.values())
        for item in self.assignment.items:
            share = shares.get(item.slug)
            if share is None:
                self.faults.append(f"item {item.slug!r} has no test")
            elif share > scores.PUBLIC_SHARE + 1e-9:
                self.faults.append(f"item {item.slug!r}: public tests carry {share:.0%}, more than a third")


def run(job: Job, zygotes: Mapping[bool, Zygote] | None = None) -> int:
    """Run a job to its end. Returns OK or GRADER_FAILED; results.json is whole either way.

    Args:
        zygotes: those of a host that keeps them for the next job, by whether they have PyTorch.

    Raises:
        InputError: assignment.toml or the results path is unusable.
    """
    with contextlib.suppress(OSError):
        hide_from_others()
    home, staging = Path(job.home), Path(job.staging)
    assignment = load_assignment(home / "assignment.toml")
    overrides: dict[str, Any] = job.budgets
    assignment = replace(assignment, budgets=replace(assignment.budgets, **overrides))
    deadlines = Deadlines(assignment.budgets)
    given = given_files(assignment, staging)
    folders = (staging / "submission", staging / "scratch")
    with contextlib.closing(Pool(assignment, *folders, deadlines, home / "solutions", given, zygotes)) as pool:
        plugin = Isolated(job, assignment, pool, deadlines)
        plugin.write()  # every item is present before anything can go wrong
        try:
            plugin.sandbox = pool.prove(*_out_of_bounds(job))
            if job.minimum and not plugin.sandbox.at_least(job.minimum):
                return _refuse(
                    job, f"it isolates student code too little: {plugin.sandbox.line()}; needed: {job.minimum}"
                )
            pool.precompile()
        except GraderError as error:
            return _refuse(job, f"no worker can be had: {error}")
        try:
            code = pytest.main(_arguments(job, home, staging, assignment.language), plugins=[plugin])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    plugin.finished = True
    fine = [pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED]
    if job.recalled:
        fine.append(pytest.ExitCode.NO_TESTS_COLLECTED)  # none was left to be run
    if code not in fine:
        plugin.faults.append(f"pytest ended with {code!r}")
    elif plugin.not_run():  # whatever ends pytest without a word, such as pytest.exit
        plugin.faults.append(f"{plugin.not_run()} tests were not run")
    document = plugin.document()
    plugin.save(durable=not job.enough)
    if job.outcomes and plugin.graded is not None:
        write_outcomes(Path(job.outcomes), plugin.outcomes())
    if plugin.unwritten:
        plugin.faults.append(f"results.json lacks the end of this run: {plugin.unwritten}")
    _tell_staff(plugin)
    failed = bool(plugin.faults) or any(row["extra_data"]["state"] == scores.GRADER_ERROR for row in document["tests"])
    return GRADER_FAILED if failed else OK


def given_files(assignment: Assignment, staging: Path) -> Given | None:
    """What a zygote may import: none where even the package's start is a student's."""
    folder = staging / "given"
    whole = (folder / assignment.package / "__init__.py").is_file()
    return Given(folder, assignment.package) if whole else None


def _watch(seconds: float) -> None:
    """Let what runs in this process for longer raise a GraderError: calls have deadlines, our own code has none."""

    def ring(number: int, frame: object) -> None:
        raise GraderError(f"the test itself did not end within {seconds:g} s")

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _out_of_bounds(job: Job) -> tuple[list[Path], list[Path]]:
    """What no worker may read, and where none may write."""
    home, results = Path(job.home), Path(job.results)
    tests, solutions = home / "tests" / "hidden", home / "solutions"
    secrets = [
        home / "secret",
        tests,
        *sorted(tests.glob("*.py"))[:1],
        solutions,
        *sorted(solutions.glob("*/*.py"))[:1],
    ]
    platform_files = [results.parent.parent / "submission_metadata.json", results]
    return [path for path in (*secrets, *platform_files) if path.exists()], [home, results.parent]


def _refuse(job: Job, why: str) -> int:
    """Grade nothing: without results.json the platform records a failure of the autograder, and not a score."""
    Path(job.results).unlink(missing_ok=True)
    sys.stdout.write(f"NOT GRADED. The fault is this machine's, no student's: {gradescope.clean(why)}\n")
    return GRADER_FAILED


# unraisableexception collects all garbage, twice
_NOT_NEEDED = "cacheprovider doctest faulthandler junitxml pastebin setuponly setupplan stepwise terminal".split()
_NOT_NEEDED += ["threadexception", "unraisableexception"]


def _arguments(job: Job, home: Path, staging: Path, language: str) -> list[str]:
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # what else is installed here is none of our business
    arguments = ["-c", os.devnull, "--rootdir", str(home), "--confcutdir", str(home / "tests"), "--noconftest"]
    for plugin in _NOT_NEEDED:
        arguments += ["-p", f"no:{plugin}"]
    arguments += ["-p", "autograder.feedback.plugin", "--import-mode=importlib", "--assert=plain", "--capture=no"]
    arguments += ["--continue-on-collection-errors", "-o", f"assignment={home / 'assignment.toml'}"]
    arguments += [
        "--lang",
        language,
        "--submission",
        str(staging / "submission"),
        "--reference",
        str(home / "solutions"),
    ]
    arguments += [part for slug in job.items for part in ("--item", slug)]
    # nothing else need be collected; a public test is named as in the handout, which has no folder for them
    chosen = [name if name.startswith("hidden/") else f"public/{name}" for name in job.tests]
    return [*arguments, *(str(home / "tests" / name) for name in chosen or ("public", "hidden"))]


def _name(case: Case) -> str:
    return f"{case.key[0]}::{case.key[1]}"


_IN_THE_LINE = ("rung", "landlock", "canaries_through")


def _tell_staff(plugin: Isolated) -> None:
    """Standard output is for instructors only: what the rows must not say."""
    facts = plugin.isolation()
    say = [
        f"isolation: {plugin.sandbox.line() if plugin.sandbox is not None else 'not tried'}",
        "  " + " | ".join(f"{name} {value}" for name, value in facts.items() if name not in _IN_THE_LINE),
        f"python {platform.python_version()} | numpy {np.__version__} | pytest {pytest.__version__}",
        *(f"FAULT OF THE GRADER: {fault}" for fault in plugin.faults),
    ]
    if plugin.graded is not None:
        for case in plugin.graded.cases.values():
            outcome = plugin.graded.outcomes.get(case.key)
            if outcome is not None and outcome.state != scores.PASSED:
                detail = outcome.detail or outcome.message.partition("\n")[0]
                say.append(f"{case.item}: {_name(case)} [{case.key[2]}] {outcome.state}: {detail}")
    for line in say:
        sys.stdout.write(gradescope.clean(line) + "\n")
    sys.stdout.flush()

"""The proof of the grader: what is right passes, what is wrong loses exactly its own points, each item stands alone.

Six kinds of submissions are made from the sources and graded like a student's:

=============  ==========================================================================================
reference      the solutions: full points
stubs          the handout as it is: no points, every item "not started"
one-item-only  the handout with one item (and what it needs) solved: that item in full
alternatives   right solutions written another way: full points
mistakes       known wrong solutions: exactly the items that the entry names lose points
attacks        hostile submissions: what each of them says (``attacks``); graded where we are root
=============  ==========================================================================================

Mistakes and alternatives are graded on the tests that execute the function that they change and on those of the items
about a file that they replace, attacks on one test of every other item as well; ``full`` takes all. What a student
would read of any of them holds no line of a solution or a hidden test, no secret and no path.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from . import attacks
from .archive import Member
from .attacks import Attack
from .build import package_members
from .catalogue import SOLUTIONS, Alternative, Mistake, apply, changed_functions, load_alternatives, load_mistakes
from .confine import can_change_uid
from .executed import executed
from .feedback import scores
from .feedback.assignment import Assignment, load_assignment
from .feedback.errors import GraderError, InputError
from .grade import Graded, grade
from .host import Host
from .secret import secret_of

KINDS = ("reference", "stubs", "one-item-only", "alternatives", "mistakes", "attacks")
LOST, KEPT, BROKEN, UNTRIED = "lost", "kept", "grader error", "not run"
_RIGHT = (scores.PASSED, scores.NOT_RUN)


@dataclass(frozen=True)
class Trial:
    """One submission to grade, and what must come out.

    Attributes:
        loses: items that must lose points; every other one that is tried must not.
        items, tests: grade only these; empty for all.
        states: item -> state that it must have, where points do not say all.
    """

    kind: str
    id: str
    package: Mapping[str, bytes]
    loses: frozenset[str] = frozenset()
    items: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    states: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""  # known before grading
    tried: frozenset[str] = frozenset()  # items of which at least one test must run; of an attack, empty for all
    attack: Attack | None = None


@dataclass(frozen=True)
class Verdict:
    """What came out of a trial. ``problems`` is empty when all is as it must be."""

    kind: str
    id: str
    items: Mapping[str, str]  # slug -> LOST, KEPT, BROKEN or UNTRIED
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether all is as it must be."""
        return not self.problems


def audit(
    home: Path,
    *,
    only: Iterable[str] = (),
    full: bool = False,
    jobs: int | None = None,
    secret: bytes | None = None,
    told: Callable[[Verdict, int, int], None] | None = None,
) -> list[Verdict]:
    """Grade every trial and compare.

    Args:
        home: the repository.
        only: kinds, or ids of single trials; empty for all.
        full: grade mistakes and alternatives on all tests.
        jobs: how many at a time; None for one a core.
        secret: seed of the hidden inputs, and what picks the variants; None for the development secret.
        told: called with (verdict, how many are done, of how many) as they come in.

    Raises:
        InputError: the sources are unusable, or ``only`` names nothing.
    """
    assignment = load_assignment(home / "assignment.toml")
    only = tuple(only)
    trials = _chosen(list(_trials(home, assignment, full, secret or secret_of(home))), only)
    if not can_change_uid() and ("attacks" in only or any(trial.attack and trial.id in only for trial in trials)):
        raise InputError("attacks need root: student code must run as another user")
    if not can_change_uid():
        trials = [trial for trial in trials if trial.attack is None]
    secrets = attacks.Secrets(home, secret)
    verdicts: list[Verdict] = []
    with ExitStack() as stack:
        hosts = [stack.enter_context(closing(Host())) for _ in range(jobs or os.cpu_count() or 1)]
        free: SimpleQueue[Host] = SimpleQueue()
        for host in hosts:
            free.put(host)
        executor = stack.enter_context(ThreadPoolExecutor(len(hosts)))  # left first: no thread waits for a closed host
        try:
            for verdict in executor.map(lambda trial: _try(trial, home, assignment, secret, secrets, free), trials):
                verdicts.append(verdict)
                if told is not None:
                    told(verdict, len(verdicts), len(trials))
        except BaseException:  # Ctrl-C: nobody waits for the trials that run
            for host in hosts:
                host.stop()
            raise
    return verdicts


def as_json(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """The verdicts as plain data."""
    return [
        {
            "kind": verdict.kind,
            "id": verdict.id,
            "ok": verdict.ok,
            "items": dict(verdict.items),
            "problems": list(verdict.problems),
        }
        for verdict in verdicts
    ]


def _trials(home: Path, assignment: Assignment, full: bool, secret: bytes) -> Iterator[Trial]:
    everything = frozenset(assignment.by_slug)
    solved = _contents(package_members(home, assignment, None, secret))
    yield Trial("reference", SOLUTIONS, solved)
    not_started = {item.slug: scores.NOT_STARTED for item in assignment.items if not item.waived}
    stubs = _contents(package_members(home, assignment, (), secret))
    yield Trial("stubs", "handout", stubs, loses=frozenset(not_started), states=not_started)
    for item in assignment.items:
        kept = _with_needs(assignment, item.slug)
        package = _contents(package_members(home, assignment, kept, secret))
        yield Trial("one-item-only", item.slug, package, items=(item.slug,))
    alternatives = load_alternatives(home / "tests" / "alternatives", assignment)
    mistakes = load_mistakes(home / "tests" / "mistakes", assignment)
    reached = {} if full else executed(home)
    slugs = attacks.items_of_tests(home)
    about = {test: assignment.by_slug[slug].file for test, slug in slugs.items() if slug in assignment.by_slug}
    for alternative in alternatives:
        yield _entry("alternatives", alternative, solved, alternatives, reached, about, frozenset(), full)
    for mistake in mistakes:
        loses = frozenset(mistake.items) & everything
        yield _entry("mistakes", mistake, solved, alternatives, reached, about, loses, full)
    for attack in attacks.load_attacks(home / "tests" / "attacks", assignment):
        tests = () if full else attacks.chosen_tests(attack, reached, slugs)
        tried = frozenset(slugs[test] for test in tests if test in slugs)
        yield Trial("attacks", attack.id, solved, frozenset(attack.loses), tests=tests, tried=tried, attack=attack)


def _entry(
    kind: str,
    entry: Mistake | Alternative,
    solved: Mapping[str, bytes],
    alternatives: list[Alternative],
    reached: Mapping[str, frozenset[str]],
    about: Mapping[str, str],
    loses: frozenset[str],
    full: bool,
) -> Trial:
    package = apply(entry, solved, alternatives)
    if full:
        return Trial(kind, entry.id, package, loses)
    changed = changed_functions(entry)
    files = {made.name for made in entry.files}
    base = next((other for other in alternatives if other.id == entry.base), None)
    while base is not None:
        changed |= changed_functions(base)
        files |= {made.name for made in base.files}
        base = next((other for other in alternatives if other.id == base.base), None)
    chosen = {test for test, functions in reached.items() if functions & changed}
    chosen |= {test for test, file in about.items() if file in files}
    tests = tuple(sorted(chosen))
    problem = "" if tests else f"no test executes {', '.join(sorted(changed | files))}"
    return Trial(kind, entry.id, package, loses, tests=tests, problem=problem)


def _chosen(trials: list[Trial], only: tuple[str, ...]) -> list[Trial]:
    for name in only:
        if name not in KINDS and all(trial.id != name for trial in trials):
            raise InputError(f"nothing to audit is called {name!r}; kinds are {', '.join(KINDS)}")
    return [trial for trial in trials if not only or trial.kind in only or trial.id in only]


def _with_needs(assignment: Assignment, slug: str) -> set[str]:
    kept: set[str] = set()
    waiting = [slug]
    while waiting:
        current = waiting.pop()
        if current not in kept and current in assignment.by_slug:
            kept.add(current)
            waiting += assignment.by_slug[current].needs
    return kept


def _contents(members: Mapping[str, Member]) -> dict[str, bytes]:
    return {path: member.content for path, member in members.items()}


def _try(
    trial: Trial,
    home: Path,
    assignment: Assignment,
    secret: bytes | None,
    secrets: attacks.Secrets,
    hosts: SimpleQueue[Host],
) -> Verdict:
    if trial.problem:
        return Verdict(trial.kind, trial.id, {}, (trial.problem,))
    host = hosts.get()
    try:
        if trial.attack is not None:
            return _try_attack(trial, trial.attack, home, assignment, secret, secrets, host)
        graded = _grade(trial, home, secret, host)
        verdict = _judge(trial, graded, assignment)
        return replace(verdict, problems=(*verdict.problems, *attacks.shown(graded, secrets)))
    finally:
        hosts.put(host)


def _grade(trial: Trial, home: Path, secret: bytes | None, host: Host) -> Graded:
    with tempfile.TemporaryDirectory(prefix="audit-") as folder:
        for path, content in trial.package.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        enough = trial.kind == "mistakes"  # whether an item loses is all that is asked
        return grade(Path(folder), home, secret=secret, items=trial.items, tests=trial.tests, host=host, enough=enough)


def _try_attack(
    trial: Trial,
    attack: Attack,
    home: Path,
    assignment: Assignment,
    secret: bytes | None,
    secrets: attacks.Secrets,
    host: Host,
) -> Verdict:
    items: Mapping[str, str] = {}
    known = attacks.strays_now()  # of somebody else's run, on a machine with several
    with tempfile.TemporaryDirectory(prefix="audit-") as folder:
        submission = attacks.hand_in(attack, home, trial.package, assignment, Path(folder))
        try:
            graded = grade(submission, home, secret=secret, tests=trial.tests, host=host, budgets=attacks.BUDGETS)
        except InputError as error:
            problems = attacks.refusal_problems(attack, error)
        except GraderError as error:
            problems = [f"nothing was graded: {error}"]
        else:
            problems = attacks.invalid(graded, assignment)
            if not problems:  # forged results need not even have rows
                verdict = _judge(trial, graded, assignment)
                items = verdict.items
                problems = [*verdict.problems, *attacks.problems(attack, graded, secrets)]
                tried = trial.tried or items.keys()
                problems += [f"{slug}: was not tried" for slug in items if slug in tried and items[slug] == UNTRIED]
    problems += [f"process {pid} of a worker is alive" for pid in attacks.strays(known)]
    return Verdict(trial.kind, trial.id, items, tuple(dict.fromkeys(problems)))


def _judge(trial: Trial, graded: Graded, assignment: Assignment) -> Verdict:
    found: dict[str, str] = {}
    problems: list[str] = []
    states = graded.states
    for row in graded.results["tests"]:
        slug, tests = row["extra_data"]["item"], row["extra_data"]["tests"]
        wrong = sorted(name for name, state in tests.items() if state not in _RIGHT)
        if any(state == scores.GRADER_ERROR for state in tests.values()):
            found[slug] = BROKEN
        elif wrong:
            found[slug] = LOST
        elif any(state == scores.PASSED for state in tests.values()):
            found[slug] = KEPT
        else:
            found[slug] = UNTRIED
        if found[slug] == BROKEN:
            problems.append(f"{slug}: the grader failed")
        elif slug in trial.loses and found[slug] != LOST:
            problems.append(f"{slug}: not caught")
        elif slug not in trial.loses and found[slug] == LOST:
            problems.append(f"{slug}: loses points in {', '.join(wrong[:3])}")
        if slug in trial.states and states[slug] != trial.states[slug]:
            problems.append(f"{slug}: {states[slug]}, expected {trial.states[slug]}")
        if not trial.tests and (not trial.items or slug in trial.items) and found[slug] == UNTRIED:
            problems.append(f"{slug}: was not tried")
        if trial.kind == "stubs" and not assignment.by_slug[slug].waived and row["score"] != 0:
            problems.append(f"{slug}: a stub earns {row['score']}")
    if graded.failed:
        problems.append(
            f"the grader failed: {'; '.join(graded.results['extra_data']['faults']) or graded.staff[-200:]}"
        )
    return Verdict(trial.kind, trial.id, found, tuple(problems))

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
about a file that they replace, attacks on one test of some other items as well. A mistake must be caught by hidden
tests, so the public ones of its items are left out. What a student would read of any of them holds no line of a
solution or a hidden test, no secret and no path.

Alternatives and mistakes are rehearsed (``rehearsal``): a test says the same in both ways of running it. To show that
it does, one alternative and one mistake of every item, others for every secret, are graded in isolation as well and
must come to the same in every test. ``full`` grades everything in isolation and on all tests. With several secrets, the
reference, the alternatives and the mistakes are tried on the others too, so that nothing passes or is caught by luck.
"""

from __future__ import annotations

import os
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from ..confine import can_change_uid
from ..feedback import scores
from ..feedback.assignment import Assignment, load_assignment
from ..feedback.errors import GraderError, InputError
from ..grade import Graded, grade
from ..host import Host
from ..secret import secret_of
from ..variants import home_of
from . import attacks, rehearsal
from .attacks import Attack
from .executed import executed
from .rehearsal import Rehearsal
from .trials import AGAIN, KINDS, Sources, Trial, entry_trials, plain_trials

__all__ = ["BROKEN", "KEPT", "KINDS", "LOST", "UNTRIED", "Verdict", "as_json", "audit"]

LOST, KEPT, BROKEN, UNTRIED = "lost", "kept", "grader error", "not run"
_RIGHT = (scores.PASSED, scores.NOT_RUN)


@dataclass(frozen=True)
class Verdict:
    """What came out of a trial. ``problems`` is empty when all is as it must be.

    Attributes:
        items: slug -> LOST, KEPT, BROKEN or UNTRIED.
        secret: number of the secret that it was tried on, from 1.
        seconds: how long it took.
    """

    kind: str
    id: str
    items: Mapping[str, str]
    problems: tuple[str, ...]
    secret: int = 1
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether all is as it must be."""
        return not self.problems


@dataclass(frozen=True)
class Desk:
    """What one thread grades with."""

    host: Host
    rehearsal: Rehearsal

    def stop(self) -> None:
        """End both; may be called from another thread."""
        self.host.stop()
        self.rehearsal.stop()

    def close(self) -> None:
        """End both."""
        self.host.close()
        self.rehearsal.close()


def audit(
    home: Path,
    *,
    only: Iterable[str] = (),
    full: bool = False,
    jobs: int | None = None,
    secret: bytes | None = None,
    secrets: int = 1,
    told: Callable[[Verdict, int, int], None] | None = None,
) -> list[Verdict]:
    """Grade every trial and compare.

    Args:
        home: the repository.
        only: kinds, or ids of single trials; empty for all.
        full: grade everything in isolation, on all tests.
        jobs: how many at a time; None for one a core.
        secret: seed of the hidden inputs, and what picks the variants; None for the development secret.
        secrets: how many secrets to try: that one, and others drawn from it.
        told: called with (verdict, how many are done, of how many) as they come in.

    Raises:
        InputError: the sources are unusable, or ``only`` names nothing.
        GraderError: the reference does not pass its own tests.
    """
    assignment = load_assignment(home / "assignment.toml")
    only = tuple(only)
    first = secret or secret_of(home)
    sources = Sources(home, assignment, first)
    chosen = sources.chosen(only)
    if not can_change_uid():
        if "attacks" in only or any(kind == "attacks" and name in only for kind, name in chosen):
            raise InputError("attacks need root: student code must run as another user")
        chosen = [(kind, name) for kind, name in chosen if kind != "attacks"]
    again = [(kind, name) for kind, name in chosen if kind in AGAIN]
    total = len(chosen) + (secrets - 1) * len(again)
    verdicts: list[Verdict] = []

    def one_more(verdict: Verdict) -> None:
        verdicts.append(verdict)
        if told is not None:
            told(verdict, len(verdicts), total)

    reached: Mapping[str, frozenset[str]] = {}
    for number in range(1, secrets + 1):
        if number > 1:
            sources = Sources(home, assignment, another_secret(first, number))
            chosen = again
        run = _Run(sources, number, full, jobs or os.cpu_count() or 1)
        reached = run.all(chosen, reached, one_more)
    return verdicts


def another_secret(secret: bytes, number: int) -> bytes:
    """The number-th secret of an audit that begins with this one."""
    return blake2b(secret, digest_size=32, person=f"audit {number}".encode()[:16]).hexdigest().encode()


def as_json(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """The verdicts as plain data."""
    return [
        {
            "kind": verdict.kind,
            "id": verdict.id,
            "ok": verdict.ok,
            "items": dict(verdict.items),
            "problems": list(verdict.problems),
            "secret": verdict.secret,
            "seconds": round(verdict.seconds, 3),
        }
        for verdict in verdicts
    ]


class _Run:
    """The trials of one secret."""

    def __init__(self, sources: Sources, number: int, full: bool, jobs: int) -> None:
        self._sources, self._number, self._jobs = sources, number, jobs
        self._isolated = full or not rehearsal.available()
        self._everything = full
        self._seen = attacks.Secrets(sources.home, sources.secret)
        # of each item one alternative and one mistake, which ones differs from secret to secret
        mine: dict[tuple[str, str], list[str]] = {}
        for alternative in sources.alternatives:
            mine.setdefault(("alternatives", alternative.item), []).append(alternative.id)
        for mistake in sources.mistakes:
            mine.setdefault(("mistakes", mistake.items[0]), []).append(mistake.id)
        draw = zlib.crc32(sources.secret)
        self._twice = {names[draw % len(names)] for names in mine.values()}

    def all(
        self,
        chosen: list[tuple[str, str]],
        reached: Mapping[str, frozenset[str]],
        told: Callable[[Verdict], None],
    ) -> Mapping[str, frozenset[str]]:
        """Try those that are chosen. Returns which test executes what, found out on the way where it was not known."""
        sources = self._sources
        wanted = set(chosen)
        with ExitStack() as stack:
            varied = stack.enter_context(home_of(sources.home, sources.assignment, sources.secret))
            desks = [Desk(Host(), Rehearsal(varied, sources.secret)) for _ in range(self._jobs)]
            free: SimpleQueue[Desk] = SimpleQueue()
            for desk in desks:
                stack.enter_context(closing(desk))
                free.put(desk)
            executor = stack.enter_context(ThreadPoolExecutor(len(desks)))  # left first: no thread waits for a desk
            try:
                waiting = [executor.submit(self._try, trial, free) for trial in plain_trials(sources)
                           if (trial.kind, trial.id) in wanted]  # fmt: skip
                if any(kind in ("alternatives", "mistakes", "attacks") for kind, _ in wanted):
                    if not (reached or self._everything):
                        desk = free.get()
                        try:
                            reached = executed(desk.rehearsal, sources.solved)
                        finally:
                            free.put(desk)
                    trials = entry_trials(sources, {} if self._everything else reached)
                    waiting += [
                        executor.submit(self._try, trial, free) for trial in trials if (trial.kind, trial.id) in wanted
                    ]
                for future in waiting:
                    told(future.result())
            except BaseException:  # Ctrl-C: nobody waits for the trials that run
                for future in waiting:
                    future.cancel()
                for desk in desks:
                    desk.stop()
                raise
        return reached

    def _try(self, trial: Trial, desks: SimpleQueue[Desk]) -> Verdict:
        if trial.problem:
            return Verdict(trial.kind, trial.id, {}, (trial.problem,), self._number)
        desk = desks.get()
        began = time.monotonic()
        try:
            if trial.attack is not None:
                verdict = self._try_attack(trial, trial.attack, desk.host)
            else:
                verdict = self._try_ours(trial, desk)
        finally:
            desks.put(desk)
        return replace(verdict, secret=self._number, seconds=time.monotonic() - began)

    def _try_ours(self, trial: Trial, desk: Desk) -> Verdict:
        rehearsed = not self._isolated and trial.kind in ("alternatives", "mistakes")
        package = trial.package()
        if not rehearsed:
            graded = self._grade(trial, package, desk.host, enough=trial.kind == "mistakes")
        else:
            twice = trial.id in self._twice
            enough = trial.kind == "mistakes" and not twice  # whether an item loses is all that is asked
            graded = desk.rehearsal.play(package, tests=trial.tests, items=trial.items, enough=enough)
        verdict = _judge(trial, graded, self._sources.assignment)
        problems = attacks.shown(graded, self._seen)
        if rehearsed and trial.id in self._twice:
            problems += differences(graded, self._grade(trial, package, desk.host))
        return replace(verdict, problems=(*verdict.problems, *problems))

    def _grade(self, trial: Trial, package: Mapping[str, bytes], host: Host, enough: bool = False) -> Graded:
        with tempfile.TemporaryDirectory(prefix="audit-") as folder:
            for path, content in package.items():
                file = Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            home, secret = self._sources.home, self._sources.secret
            tests, items = trial.tests, trial.items
            return grade(Path(folder), home, secret=secret, items=items, tests=tests, host=host, enough=enough)

    def _try_attack(self, trial: Trial, attack: Attack, host: Host) -> Verdict:
        items: Mapping[str, str] = {}
        home, assignment = self._sources.home, self._sources.assignment
        known = attacks.strays_now()  # of somebody else's run, on a machine with several
        with tempfile.TemporaryDirectory(prefix="audit-") as folder:
            submission = attacks.hand_in(attack, home, trial.package(), assignment, Path(folder))
            try:
                secret, tests, budgets = self._sources.secret, trial.tests, attacks.BUDGETS
                graded = grade(submission, home, secret=secret, tests=tests, host=host, budgets=budgets)
            except InputError as error:
                problems = attacks.refusal_problems(attack, error)
            except GraderError as error:
                problems = [f"nothing was graded: {error}"]
            else:
                problems = attacks.invalid(graded, assignment)
                if not problems:  # forged results need not even have rows
                    verdict = _judge(trial, graded, assignment)
                    items = verdict.items
                    problems = [*verdict.problems, *attacks.problems(attack, graded, self._seen)]
                    tried = trial.tried or items.keys()
                    problems += [f"{slug}: was not tried" for slug in items if slug in tried and items[slug] == UNTRIED]
        problems += [f"process {pid} of a worker is alive" for pid in attacks.strays(known)]
        return Verdict(trial.kind, trial.id, items, tuple(dict.fromkeys(problems)))


def differences(rehearsed: Graded, isolated: Graded) -> list[str]:
    """Where the two ways of running the same tests do not come to the same."""
    found = []
    for mine, theirs in zip(rehearsed.results["tests"], isolated.results["tests"], strict=True):
        there = theirs["extra_data"]["tests"]
        for test, state in mine["extra_data"]["tests"].items():
            if there.get(test, scores.NOT_RUN) != state:
                found.append(f"{test}: {state} in a rehearsal, {there.get(test, scores.NOT_RUN)} in isolation")
        if mine["extra_data"]["mistakes"] != theirs["extra_data"]["mistakes"]:
            found.append(f"{mine['extra_data']['item']}: other hints in a rehearsal than in isolation")
    return found


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
            f"the grader failed: {'; '.join(graded.results['extra_data'].get('faults', ())) or graded.staff[-200:]}"
        )
    return Verdict(trial.kind, trial.id, found, tuple(problems))

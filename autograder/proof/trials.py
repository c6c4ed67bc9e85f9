"""The submissions of an audit: what is handed in, what it is graded on, and what must come out.

Seven kinds, the ``audit`` says what each proves. A trial's package is made when it is graded, by whoever grades it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..build import package_members, source_members
from ..feedback import scores
from ..feedback.assignment import Assignment
from ..feedback.errors import InputError
from . import attacks
from .attacks import Attack
from .catalogue import SOLUTIONS, Alternative, Mistake, apply, changed_functions, load_alternatives, load_mistakes

KINDS = ("reference", "stubs", "one-item-only", "alternatives", "mistakes", "attacks")
AGAIN = ("reference", "alternatives", "mistakes")  # what another secret is tried on
Package = Mapping[str, bytes]


@dataclass(frozen=True)
class Trial:
    """One submission to grade, and what must come out.

    Attributes:
        package: makes it.
        loses: items that must lose points; every other one that is tried must not.
        items, tests: grade only these; empty for all.
        states: item -> state that it must have, where points do not say all.
        problem: known before grading.
        tried: items of which at least one test must run; of an attack, empty for all.
    """

    kind: str
    id: str
    package: Callable[[], Package]
    loses: frozenset[str] = frozenset()
    items: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    states: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    tried: frozenset[str] = frozenset()
    attack: Attack | None = None


class Sources:
    """What the trials are made of.

    Args:
        home: the repository.
        assignment: of that home.
        secret: what picks the variants.
    """

    def __init__(self, home: Path, assignment: Assignment, secret: bytes) -> None:
        self.home, self.assignment, self.secret = home, assignment, secret
        self.solved = self.package(None)
        self.alternatives = load_alternatives(home / "tests" / "alternatives", assignment)
        self.mistakes = load_mistakes(home / "tests" / "mistakes", assignment)
        self.attacks = attacks.load_attacks(home / "tests" / "attacks", assignment)
        self.items_of_tests = attacks.items_of_tests(home)

    def package(self, kept: tuple[str, ...] | set[str] | None) -> Package:
        """The package with the solutions of these items; None for all."""
        members = package_members(self.home, self.assignment, kept, self.secret)
        return {path: member.content for path, member in members.items()}

    @property
    def written(self) -> Package:
        """The solved package as it is written, markers and all."""
        members = source_members(self.home, self.assignment, self.secret)
        return {path: member.content for path, member in members.items()}

    def applied(self, entry: Mistake | Alternative) -> Package:
        """The package with an entry of the catalogue."""
        return apply(entry, self.solved, self.alternatives)

    def chain(self, entry: Mistake | Alternative) -> Iterator[Mistake | Alternative]:
        """An entry and the alternatives that it stands on."""
        yield entry
        base = next((other for other in self.alternatives if other.id == entry.base), None)
        if base is not None:
            yield from self.chain(base)

    def chosen(self, only: tuple[str, ...]) -> list[tuple[str, str]]:
        """(kind, id) of the trials that ``only`` names, by kind, id or item; of all when it is empty.

        Raises:
            InputError: it names none.
        """
        every = [("reference", SOLUTIONS, ""), ("stubs", "handout", "")]
        every += [("one-item-only", item.slug, item.slug) for item in self.assignment.items]
        every += [("alternatives", entry.id, entry.item) for entry in self.alternatives]
        every += [("mistakes", entry.id, entry.items[0]) for entry in self.mistakes]
        every += [("attacks", attack.id, "") for attack in self.attacks]
        for name in only:
            if all(name not in known for known in every) and name not in KINDS:
                raise InputError(f"nothing to audit is called {name!r}; kinds are {', '.join(KINDS)}")
        wanted = set(only)
        return [(kind, name) for kind, name, item in every if not only or wanted & {kind, name, item}]


def plain_trials(sources: Sources) -> Iterator[Trial]:
    """Those that are made of the solutions alone."""
    assignment = sources.assignment
    yield Trial("reference", SOLUTIONS, lambda: sources.solved)
    not_started = {item.slug: scores.NOT_STARTED for item in assignment.items if not item.waived}
    yield Trial("stubs", "handout", partial(sources.package, ()), loses=frozenset(not_started), states=not_started)
    for item in assignment.items:
        package = partial(sources.package, _with_needs(assignment, item.slug))
        yield Trial("one-item-only", item.slug, package, items=(item.slug,))


def entry_trials(sources: Sources, reached: Mapping[str, frozenset[str]]) -> Iterator[Trial]:
    """Those of the catalogue and the attacks.

    Args:
        sources: what they are made of.
        reached: test -> the functions that it executes; empty to grade on all tests.
    """
    everything = frozenset(sources.assignment.by_slug)
    slugs = sources.items_of_tests
    for alternative in sources.alternatives:
        yield _entry("alternatives", alternative, sources, reached, frozenset())
    for mistake in sources.mistakes:
        yield _entry("mistakes", mistake, sources, reached, frozenset(mistake.items) & everything)
    for attack in sources.attacks:
        heavy = {item.slug for item in sources.assignment.items if item.torch}
        tests = attacks.chosen_tests(attack, reached, slugs, heavy) if reached else ()
        tried = frozenset(slugs[test] for test in tests if test in slugs)
        loses = frozenset(attack.loses)
        yield Trial("attacks", attack.id, lambda: sources.solved, loses, tests=tests, tried=tried, attack=attack)


def _entry(
    kind: str,
    entry: Mistake | Alternative,
    sources: Sources,
    reached: Mapping[str, frozenset[str]],
    loses: frozenset[str],
) -> Trial:
    package = partial(sources.applied, entry)
    if not reached:
        return Trial(kind, entry.id, package, loses)
    chosen = noticing(entry, sources, reached)
    # what a public test catches a student may have mended to its letter: a hidden one has to
    slugs = sources.items_of_tests
    tests = tuple(sorted(test for test in chosen if test.startswith("hidden/") or slugs.get(test) not in loses))
    problem = ""
    if not tests:
        changed = {name for link in sources.chain(entry) for name in changed_functions(link)}
        files = {made.name for link in sources.chain(entry) for made in link.files}
        problem = f"no {'hidden ' if chosen else ''}test executes {', '.join(sorted(changed | files))}"
    return Trial(kind, entry.id, package, loses, tests=tests, problem=problem)


def noticing(entry: Mistake | Alternative, sources: Sources, reached: Mapping[str, frozenset[str]]) -> set[str]:
    """The tests that can notice an entry: that execute what it changes, or are of items about a file it replaces."""
    changed = {name for link in sources.chain(entry) for name in changed_functions(link)}
    files = {made.name for link in sources.chain(entry) for made in link.files}
    items = sources.assignment.by_slug
    about = {test: items[slug].file for test, slug in sources.items_of_tests.items() if slug in items}
    chosen = {test for test, functions in reached.items() if functions & changed}
    return chosen | {test for test, file in about.items() if file in files}


def _with_needs(assignment: Assignment, slug: str) -> set[str]:
    kept: set[str] = set()
    waiting = [slug]
    while waiting:
        current = waiting.pop()
        if current not in kept and current in assignment.by_slug:
            kept.add(current)
            waiting += assignment.by_slug[current].needs
    return kept

"""Contestants in one process, timed in turn: only the ratios of one run mean anything.

One thread each, OpenBLAS's own choice of kernels, no garbage collection of what was there before the race (a full
collection with PyTorch loaded takes longer than any step timed here, and strikes at random).
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from types import ModuleType
from typing import Any

from rich.console import Console
from rich.table import Table

from autograder.build import package_members
from autograder.feedback.assignment import load_assignment
from autograder.proof.catalogue import apply, load_alternatives

ROOT = Path(__file__).parents[1]
ROUNDS = 11
SECONDS = 0.1  # of one sample, at least
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


@dataclass(frozen=True)
class Goal:
    """``contestant`` takes at most ``ratio`` times as long as ``against``."""

    contestant: str
    against: str
    ratio: float


def protocol(module: str) -> None:
    """Start ``python -m module`` again, unless this process has the environment already."""
    wanted = {name: value for name, value in os.environ.items() if name not in _UNSET} | _ONE_THREAD
    if os.environ != wanted:
        os.execve(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]], wanted)


@contextmanager
def packages(*variants: Sequence[str]) -> Iterator[list[ModuleType]]:
    """The student's package, solved, once for each variant: a list of alternatives that are applied one after another.

    An empty list is solutions/ as it is. Each package is imported under a name of its own, without its modules:
    ``importlib.import_module(".tape", package.__name__)`` is its tape.
    """
    assignment = load_assignment(ROOT / "assignment.toml")
    solved = {name: member.content for name, member in package_members(ROOT, assignment, None).items()}
    catalogue = load_alternatives(ROOT / "tests" / "alternatives", assignment)
    known = {entry.id: entry for entry in catalogue}
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        try:
            modules = []
            for number, variant in enumerate(variants):
                members = solved
                for alternative in variant:
                    members = apply(known[alternative], members, catalogue)
                name = f"{assignment.package}_{number}"
                for path, content in members.items():
                    file = Path(folder, name, path.partition("/")[2])
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(content)
                modules.append(importlib.import_module(name))
            yield modules
        finally:
            sys.path.remove(folder)


def race(contestants: Mapping[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, float]:
    """The median time of one call of each, in seconds; samples are taken in turn."""
    gc.collect()
    gc.freeze()
    calls = {}
    for name, contestant in contestants.items():
        contestant()
        started = perf_counter()
        contestant()
        calls[name] = max(1, int(SECONDS / max(perf_counter() - started, 1e-7)))
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, contestant in contestants.items():
            started = perf_counter()
            for _ in range(calls[name]):
                contestant()
            samples[name].append((perf_counter() - started) / calls[name])
    return {name: median(times) for name, times in samples.items()}


def report(title: str, times: Mapping[str, float], against: str, goals: Sequence[Goal], unit: str) -> int:
    """Print the table and the goals. The exit code: 1 when a goal is missed."""
    console = Console(width=100, highlight=False)
    table = Table("contestant", unit, f"x {against}", title=title, title_justify="left")
    for name, seconds in sorted(times.items(), key=lambda pair: pair[1]):
        table.add_row(name, f"{seconds * 1e6:,.1f}", f"{seconds / times[against]:.3f}")
    console.print(table)
    missed = 0
    for goal in goals:
        ratio = times[goal.contestant] / times[goal.against]
        missed += ratio > goal.ratio
        word = "missed" if ratio > goal.ratio else "met"
        console.print(f"{word}: {goal.contestant} {ratio:.3f} x {goal.against}, goal {goal.ratio:.2f}")
    return 1 if missed else 0

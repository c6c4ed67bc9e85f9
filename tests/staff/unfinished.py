"""A package in which some items are not done yet, as a student has it halfway, and the experiments run on it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from autograder.build import package_members
from autograder.feedback.assignment import load_assignment

ROOT = Path(__file__).resolve().parents[2]

SOME = """
import sys
from importlib import import_module
from experiments.__main__ import NAMES, main

number, steps = sys.argv[1], sys.argv[2].split()
module = import_module(f"experiments.{NAMES[number]}")
module.STEPS = [step for step in module.STEPS if step.__name__ in steps]
sys.exit(main([number, "--quick"]))
"""


def package(folder: Path, done: Collection[str] | None) -> None:
    """Write a package where only the items ``done`` are solved, or all (None), and the experiments beside it."""
    for name, member in package_members(ROOT, load_assignment(ROOT / "assignment.toml"), keep=done).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(member.content)
    (folder / "experiments").symlink_to(ROOT / "solutions" / "experiments")


def environment_of(folder: Path, lang: str = "en") -> dict[str, str]:
    """Of a process that finds the package of this folder."""
    return {
        **os.environ,
        "PYTHONPATH": str(folder),
        "OMP_NUM_THREADS": "1",
        "AUTOGRADER_LANG": lang,
        "PYTHONIOENCODING": "utf-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def experiment(
    folder: Path, number: str, done: Collection[str], steps: Collection[str] | None = None, lang: str = "en"
) -> subprocess.CompletedProcess[str]:
    """``python -m experiments NUMBER --quick`` on a package where only the items ``done`` are solved, in a folder.

    Args:
        folder: an empty one.
        number: of the experiment.
        done: slugs of items.
        steps: names of the steps to run, where not all of them are wanted.
        lang: "en" or "zh".
    """
    package(folder, done)
    return run_on(folder, number, steps, lang)


def run_on(
    folder: Path, number: str, steps: Collection[str] | None = None, lang: str = "en"
) -> subprocess.CompletedProcess[str]:
    """The same on a package that is there already."""
    arguments = ["-m", "experiments", number, "--quick"] if steps is None else ["-c", SOME, number, " ".join(steps)]
    command, environment = [sys.executable, *arguments], environment_of(folder, lang)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)

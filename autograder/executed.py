"""Which functions of the package each graded test executes, recorded once on the reference.

The audit grades a mistake only on the tests that execute the function it changes: no other test can tell. Runs the
solved package inline in a process of its own, started with the home folder as its argument; prints JSON.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])

import ast
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from autograder.feedback import plugin as feedback
from autograder.feedback.errors import GraderError


def executed(home: Path) -> dict[str, frozenset[str]]:
    """Test ("hidden/test_x.py::test_y") -> the functions ("module.Class.method") that it executes.

    Raises:
        GraderError: the reference itself does not pass.
    """
    command = [sys.executable, "-I", "-B", __file__, str(Path(__file__).parents[1]), str(home)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise GraderError(
            f"the reference does not pass its own tests inline: {(done.stderr or done.stdout).strip()[-300:]}"
        )
    found: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return {test: frozenset(functions) for test, functions in found.items()}


class Recorder:
    """A pytest plugin that watches the calls of each graded test."""

    def __init__(self, folder: Path) -> None:
        self.names = dict(_functions(folder))
        self.found: dict[str, set[str]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        case = item.stash.get(feedback.CASE, None)
        seen = self.found.setdefault(f"{case.key[0]}::{case.key[1]}" if case is not None else item.nodeid, set())

        def watch(frame: FrameType, event: str, argument: Any) -> None:
            if event == "call":
                name = self.names.get((frame.f_code.co_filename, frame.f_code.co_firstlineno))
                if name is not None:
                    seen.add(name)

        sys.setprofile(watch)
        try:
            return (yield)
        finally:
            sys.setprofile(None)


def _functions(folder: Path) -> Iterator[tuple[tuple[str, int], str]]:
    """(file, first line) -> qualified name, for every function in the package."""
    for file in sorted(folder.glob("*.py")):
        yield from _inside(ast.parse(file.read_text(encoding="utf-8")), str(file), file.stem)


def _inside(node: ast.AST, file: str, prefix: str) -> Iterator[tuple[tuple[str, int], str]]:
    for child in ast.iter_child_nodes(node):
        name = prefix
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{prefix}.{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield (file, min([child.lineno, *(mark.lineno for mark in child.decorator_list)])), name
        yield from _inside(child, file, name)


def _main(home: Path) -> int:
    from autograder.feedback.assignment import load_assignment

    package = load_assignment(home / "assignment.toml").package
    recorder = Recorder((home / "solutions" / package).resolve())
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    arguments = ["-c", os.devnull, "--rootdir", str(home), "--noconftest", "-p", "no:cacheprovider", "-q"]
    arguments += ["-p", "autograder.feedback.plugin", "--import-mode=importlib", "--assert=plain"]
    arguments += ["-o", f"assignment={home / 'assignment.toml'}", "--submission", str(home / "solutions")]
    arguments += ["--reference", str(home / "solutions"), str(home / "tests/public"), str(home / "tests/hidden")]
    code = pytest.main(arguments, plugins=[recorder])
    sys.stdout.write("\n" + json.dumps({test: sorted(found) for test, found in recorder.found.items()}) + "\n")
    return int(code)


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[2]).resolve()))

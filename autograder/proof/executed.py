"""Which functions of the package each graded test executes, recorded once on the reference.

A mistake is graded only on the tests that execute the function it changes: no other test can tell. The package says it
itself: a copy of it, in which every function first calls ``builtins._functions_seen`` with its own name, is played.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from ..feedback import scores
from ..feedback.errors import GraderError
from ..syntax import parse
from .rehearsal import Rehearsal
from .stage import SEEN


def executed(rehearsal: Rehearsal, package: Mapping[str, bytes]) -> dict[str, frozenset[str]]:
    """Test ("hidden/test_x.py::test_y") -> the functions ("module.Class.method") that it executes.

    Args:
        rehearsal: where the package is played.
        package: "lm/rnn.py" -> content of the solved package.

    Raises:
        GraderError: the reference itself does not pass.
    """
    told = {name: telling(name, content) for name, content in package.items() if name.endswith(".py")}
    played = rehearsal.play({**package, **told})
    found: dict[str, set[str]] = {}
    for case in played.cases:
        if case.state != scores.PASSED:
            why = case.detail or case.message or case.state
            raise GraderError(f"the reference does not pass its own tests inline: {case.test} [{case.case}]: {why}")
        found.setdefault(case.test, set()).update(case.functions)
    return {test: frozenset(functions) for test, functions in found.items()}


def telling(name: str, content: bytes) -> bytes:
    """A file of the package whose functions say that they are executed."""
    tree = parse(content)
    for function, qualname in list(_functions(tree, name.rpartition("/")[2].removesuffix(".py"))):
        has_docstring = ast.get_docstring(function, clean=False) is not None
        call = parse(f'__import__("builtins").{SEEN}({qualname!r})').body[0]
        function.body.insert(1 if has_docstring else 0, call)
    return ast.unparse(ast.fix_missing_locations(tree)).encode("utf-8")


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    for child in ast.iter_child_nodes(node):
        name = prefix
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{prefix}.{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield child, name
        yield from _functions(child, name)

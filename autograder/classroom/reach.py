"""Which files of a student's package an item's tests can reach: what its outcomes can depend on.

By reading, never by running. A file reaches what it imports, and what that imports. Code that may reach further (it
opens files, imports by a name that it makes, or uses a module that can) reaches the whole package. Who hides that well
enough, such as by ``().__class__``, is told of an unchanged item what it got before: that is nothing to gain.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import lru_cache

from ..syntax import parse

# what honest solutions import; anything else may open files
_CLOSED = frozenset(
    "__future__ abc bisect collections copy dataclasses decimal enum fractions functools heapq itertools math numbers "
    "numpy operator random re statistics string torch typing warnings".split()
)
_OPENERS = frozenset(
    "__builtins__ __dict__ __file__ __import__ __loader__ __spec__ __subclasses__ DataSource breakpoint compile eval "
    "exec from_file fromfile genfromtxt getattr globals import_module load loadtxt locals memmap open open_memmap _os "
    "vars".split()
)


def reached(files: Mapping[str, bytes], given: Iterable[str], package: str, roots: Iterable[str]) -> frozenset[str]:
    """The files of a submission that a test can reach which imports the modules ``roots``.

    Args:
        files: the submission files that were handed in, by name.
        given: names of the package's given files, which reach no submission file unless they import one.
        package: the package's name.
        roots: names of files: "ngram.py".

    Returns:
        Names of submission files, handed in or not: all of ``files`` where one may reach further than can be told.
    """
    ours = set(given)
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in found or name in ours:
            continue
        found.add(name)
        if not name.endswith(".py") or name not in files:
            continue
        imported = _imports(files[name], package)
        if imported is None:
            return frozenset({*files, *found})
        waiting += imported
    return frozenset(found)


@lru_cache(maxsize=256)  # the items of a submission share its files
def _imports(source: bytes, package: str) -> tuple[str, ...] | None:
    """The files of the package that a file imports; None where it may reach others."""
    try:
        tree = parse(source.decode("utf-8"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()  # nothing of it runs
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level > 1 or any(alias.name in _OPENERS for alias in node.names):
                return None
            base = ".".join(filter(None, [package if node.level else "", node.module]))
            modules = [base, *(f"{base}.{alias.name}" for alias in node.names)] if base == package else [base]
        else:
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            if name in _OPENERS:
                return None
            continue
        for module in modules:
            top, _, rest = module.partition(".")
            if top == package:
                found += [f"{rest.partition('.')[0]}.py"] if rest else []
            elif top not in _CLOSED:
                return None
    return tuple(found)

"""``ast.parse`` where several threads may want it at once.

Trusted side; pure. Before Python 3.11.5 the depth of a tree is counted for all threads together, and two of them that
parse at the same time may end in "SystemError: AST constructor recursion depth mismatch" (CPython issue 106905).
"""

from __future__ import annotations

import ast
from threading import Lock

_LOCK = Lock()


def parse(source: str | bytes) -> ast.Module:
    """The tree of a program. Raises what ``ast.parse`` raises."""
    with _LOCK:
        return ast.parse(source)

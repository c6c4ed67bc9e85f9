"""What a test says of itself: ``@item`` and the decorators of gradescope-utils, read once and checked at collection.

gradescope-utils only sets attributes on functions; its runner is never used, so its bugs (a score that survives into
the next case, full points for a test that set its score and then failed) do not exist here.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class BadTest(Exception):
    """A test says something that cannot be graded; ``str()`` is one line for its author."""


def item(slug: str) -> Callable[[F], F]:
    """Say which item of assignment.toml a test belongs to. Every graded test has exactly one."""

    def mark(function: F) -> F:
        if hasattr(function, "__item__"):
            raise BadTest(f"{function.__name__} has two @item marks")
        function.__item__ = slug  # type: ignore[attr-defined]
        return function

    return mark


@dataclass(frozen=True)
class Marks:
    """The marks of one test function.

    Attributes:
        item: slug of its item.
        weight: its share within the item, relative to the item's other tests.
        partial: it sets its own score by ``set_score``, from 0 to ``weight``.
        leaderboard: column and order of a leaderboard entry, whose value it sets by ``set_leaderboard_value``.
        hidden_message: shown instead of the failure's own message.
        tags: shown with the item.
    """

    item: str
    weight: float = 1.0
    partial: bool = False
    leaderboard: tuple[str, str] | None = None
    hidden_message: str | None = None
    tags: tuple[str, ...] = ()


def read_marks(function: Callable[..., Any], parametrized: bool) -> Marks:
    """The marks of a test function.

    Raises:
        BadTest: no item, or a mark that would lose or leak points.
    """
    name = getattr(function, "__name__", "?")
    slug = _attribute(function, "__item__")
    if not isinstance(slug, str):
        raise BadTest(f"{name} has no @item")
    if _attribute(function, "__visibility__") not in (None, "visible"):
        raise BadTest(f"{name}: one row that is not visible hides every student's total; drop @visibility")
    if _attribute(function, "__number__") is not None:
        raise BadTest(f"{name}: numbers follow from assignment.toml; drop @number")
    weight = _attribute(function, "__weight__")
    weight = 1.0 if weight is None else weight
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < math.inf:
        raise BadTest(f"{name}: a weight is a positive number, not {weight!r}")
    partial = _sets_score(function)
    if partial and parametrized:
        raise BadTest(f"{name}: @partial_credit and parametrize do not go together")
    column = _attribute(function, "__leaderboard_column__")
    order = _attribute(function, "__leaderboard_sort_order__") or "desc"
    return Marks(
        item=slug,
        weight=float(weight),
        partial=partial,
        leaderboard=None if column is None else (str(column), str(order)),
        hidden_message=_attribute(function, "__hide_errors__"),
        tags=tuple(_attribute(function, "__tags__") or ()),
    )


def _attribute(function: Callable[..., Any], name: str) -> Any:
    """An attribute of a function or of what it wraps: stacked decorators leave it on the inner one."""
    current: Any = function
    while current is not None:
        if name in vars(current):
            return vars(current)[name]
        current = getattr(current, "__wrapped__", None)
    return None


def _sets_score(function: Callable[..., Any]) -> bool:
    """Whether @partial_credit is among the decorators: its wrapper closes over ``set_score``."""
    current: Any = function
    while current is not None:
        if "set_score" in current.__code__.co_freevars:
            return True
        current = getattr(current, "__wrapped__", None)
    return False


def clear_scores(function: Callable[..., Any]) -> None:
    """Forget what an earlier run of this function set: gradescope-utils keeps it on the function object."""
    current: Any = function
    while current is not None:
        for name in ("__score__", "__leaderboard_value__"):
            vars(current).pop(name, None)
        current = getattr(current, "__wrapped__", None)


def refuse_broad_raises(source: str, name: str) -> None:
    """``pytest.raises(Exception)`` would accept the student's NameError as well as what the test means.

    Raises:
        BadTest: naming the line.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "raises" and node.args:
            first = node.args[0]
            classes = first.elts if isinstance(first, ast.Tuple) else [first]
            for cls in classes:
                broad = ast.unparse(cls).rpartition(".")[2]
                if broad in ("Exception", "BaseException", "StudentError"):
                    raise BadTest(f"{name}:{node.lineno}: raises({broad}) accepts any mistake; name the exception")

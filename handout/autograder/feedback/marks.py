"""What a test says of itself: ``@item`` and the decorators of gradescope-utils, read once and checked at collection.

gradescope-utils only sets attributes on functions; its runner is never used, so its bugs (a score that survives into
the next case, full points for a test that set its score and then failed) do not exist here.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class BadTest(Exception):
    """A test says something that cannot be graded; ``str()`` is one line for its author."""


def item(slug: str) -> Callable[[F], F]:
    """Say which item of assignment.toml a test belongs to. Every graded test has exactly one."""
    if not isinstance(slug, str):
        raise BadTest('@item takes a slug: @item("...")')

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
    weights = {_weight(value, name) for value in _attributes(function, "__weight__")} or {1.0}
    partial = _sets_score(function)
    if partial and parametrized:
        raise BadTest(f"{name}: @partial_credit and parametrize do not go together")
    if len(weights) > 1:
        raise BadTest(f"{name}: two weights, {' and '.join(f'{value:g}' for value in sorted(weights))}")
    column = _attribute(function, "__leaderboard_column__")
    order = _attribute(function, "__leaderboard_sort_order__") or "desc"
    if column is not None and (not isinstance(column, str) or not column or order not in ("asc", "desc")):
        raise BadTest(f"{name}: @leaderboard takes a column's name, and asc or desc")
    hidden_message = _attribute(function, "__hide_errors__")
    if not isinstance(hidden_message, (str, type(None))):
        raise BadTest(f"{name}: @hide_errors takes a text, not {hidden_message!r}")
    return Marks(
        item=slug,
        weight=weights.pop(),
        partial=partial,
        leaderboard=None if column is None else (column, order),
        hidden_message=hidden_message,
        tags=tuple(_attribute(function, "__tags__") or ()),
    )


def set_value(function: Callable[..., Any], name: str) -> Any:
    """What a test set while it ran: its ``__score__`` or ``__leaderboard_value__``, None when it set none."""
    return _attribute(function, name)


def clear_values(function: Callable[..., Any]) -> None:
    """Forget what an earlier run of this function set: gradescope-utils keeps it on the function object."""
    for layer in _layers(function):
        for name in ("__score__", "__leaderboard_value__"):
            vars(layer).pop(name, None)


def _layers(function: Callable[..., Any]) -> Iterator[Any]:
    """A function and what it wraps: stacked decorators leave their attributes on different ones."""
    current: Any = function
    while current is not None:
        yield current
        current = getattr(current, "__wrapped__", None)


def _attributes(function: Callable[..., Any], name: str) -> list[Any]:
    return [vars(layer)[name] for layer in _layers(function) if name in vars(layer)]


def _attribute(function: Callable[..., Any], name: str) -> Any:
    """The outermost one, as gradescope-utils' own runner sees it; None when there is none."""
    return next(iter(_attributes(function, name)), None)


def _weight(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise BadTest(f"{name}: a weight is a positive number, not {value!r}")
    return float(value)


def _sets_score(function: Callable[..., Any]) -> bool:
    """Whether @partial_credit is among the decorators: its wrapper closes over ``set_score``."""
    return any("set_score" in layer.__code__.co_freevars for layer in _layers(function))


_BROAD = frozenset({"Exception", "BaseException", "StudentError"})
_RAISES = frozenset({"raises", "RaisesExc"})


def refuse_broad_raises(source: str, name: str) -> None:
    """``pytest.raises(Exception)`` would accept the student's NameError as well as what the test means.

    Raises:
        BadTest: naming the line.
    """
    if not any(broad in source for broad in _BROAD):
        return  # nearly every file: walking its tree would take longer than collecting it
    tree = ast.parse(source)
    aliases: dict[str, set[str]] = {}
    for alias, meant in _aliases(tree):
        aliases.setdefault(alias, set()).update(meant)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or _meant(node.func, aliases).isdisjoint(_RAISES):
            continue
        expected = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "expected_exception")]
        for part in (part for cls in expected for part in ast.walk(cls)):
            for broad in sorted(_meant(part, aliases) & _BROAD):
                raise BadTest(f"{name}:{node.lineno}: raises({broad}) accepts any mistake; name the exception")


def _aliases(tree: ast.AST) -> Iterator[tuple[str, set[str]]]:
    """Other names of things: ``from pytest import raises as throws``, ``ANY = (Exception,)``, parametrize."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((alias.asname, {alias.name}) for alias in node.names if alias.asname)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from ((name, _names_in(node.value)) for name in _names_in(target))
        elif isinstance(node, ast.Call) and "parametrize" in _last_name(node.func) and len(node.args) > 1:
            words = (part.value for part in ast.walk(node.args[0]) if isinstance(part, ast.Constant))
            for name in ",".join(str(word) for word in words).split(","):
                yield name.strip(), _names_in(node.args[1])


def _names_in(node: ast.AST) -> set[str]:
    return {name for part in ast.walk(node) for name in _last_name(part)}


def _meant(node: ast.AST, aliases: dict[str, set[str]]) -> set[str]:
    """What a name or attribute may stand for: its own last part, and everything that it is another name of."""
    meant: set[str] = set()
    ask = _last_name(node)
    while ask:
        name = ask.pop()
        if name not in meant:
            meant.add(name)
            ask += aliases.get(name, ())
    return meant


def _last_name(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Attribute):
        return [node.attr]
    return [node.id] if isinstance(node, ast.Name) else []

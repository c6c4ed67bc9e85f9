"""The weights of graded tests, read from their source: nothing is run, so a handout can be built anywhere.

Trusted side; pure; imports ``feedback`` only. A test's weight stands in its decorators, and the cases of a
parametrised test share it, so functions are all that has to be found. A staff test compares this with what pytest
collects.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from .feedback.errors import InputError


def public_shares(public: Iterable[str], hidden: Iterable[str]) -> dict[str, float]:
    """Slug -> the part of the item's weight that public tests carry.

    Args:
        public, hidden: the sources of the test files.

    Raises:
        InputError: a weight is no plain number.
    """
    seen: dict[str, float] = {}
    total: dict[str, float] = {}
    for sources, is_public in ((public, True), (hidden, False)):
        for source in sources:
            for slug, weight in _weights(source):
                total[slug] = total.get(slug, 0.0) + weight
                seen[slug] = seen.get(slug, 0.0) + (weight if is_public else 0.0)
    return {slug: seen[slug] / total[slug] for slug in total}


def _weights(source: str) -> Iterable[tuple[str, float]]:
    tree = ast.parse(source)
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        said = {_name(call): call.args[0] for call in node.decorator_list if isinstance(call, ast.Call) and call.args}
        if "item" in said:
            weight = said.get("partial_credit", said.get("weight", ast.Constant(1.0)))
            slug, number = (_value(constants.get(getattr(told, "id", ""), told)) for told in (said["item"], weight))
            if not isinstance(slug, str) or not isinstance(number, (int, float)):
                raise InputError(f"{node.name}: its item and weight should be plain values that can be read here")
            yield slug, float(number)


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _value(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None

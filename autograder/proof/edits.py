"""The small changes that make a mutant: the bytes of one node of the syntax tree are replaced, in a solution's region.

==========  ==========================================  ==========  ================================================
operator    changes                                     operator    changes
==========  ==========================================  ==========  ================================================
arithmetic  + to -, @ to *; -x to x                     loop        break dropped or to continue, continue to break
augmented   x += a to x -= a, to x = a                  deletion    a statement; the ``with`` around a block
operand     a + b to a, to b; a and b as well           return      None instead of the value
comparison  < to <=, to >=; is to is not                swap        two arguments, two results
boolean     and to or; not dropped                      keyword     a keyword argument dropped
condition   negated, True, False                        call        f(x) to x, x.f() to x
constant    numbers, True and False, texts              name        max to min; x.T to x
bounds      of slices and ranges: by one, or dropped    index       x[i] to x[i - 1]
==========  ==========================================  ==========  ================================================

Left alone are docstrings, annotations, decorators, f-strings, and what is raised or asserted with; and a change that
cannot run, or that another one amounts to: an assignment that gives a name its only value is not deleted, and neither
is the only statement of an ``if``, since its condition becomes False, or of a loop.

Trusted side; pure; imports ``regions`` and ``spans``. A change need not compile: whoever uses it looks (``operators``).
"""

from __future__ import annotations

import ast
import builtins
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from ..regions import Region, Scope
from .spans import Edit, Source

_LEFT_ALONE = {"annotation", "returns", "decorator_list", "type_params", "msg"}


def edits(source: Source, region: Region) -> Iterator[tuple[str, Edit]]:
    """(function, change) of a region, in no particular order; the same every time."""
    name = ".".join(filter(None, [source.module, region.name]))
    for function, edit in _block(source, region.statements, name, region.function):
        yield function, source.apart(edit)


def _block(
    source: Source, block: Sequence[ast.stmt], name: str, scope: ast.AST | None, alone: bool = False
) -> Iterator[tuple[str, Edit]]:
    """``alone`` says that the block is one statement, and that what is around it can be deleted or made False."""
    for statement in block:
        if _is_text(statement):
            continue
        if not alone:
            for edit in _deleted(source, statement, scope):
                yield name, edit
        called = source.span(statement.value) if isinstance(statement, ast.Expr) else None
        for function, edit in _node(source, statement, name, scope):
            if edit.operator != "call" or (edit.start, edit.end) != called:  # as good as deleted
                yield function, edit


def _node(source: Source, node: ast.AST, name: str, scope: ast.AST | None) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, (ast.Raise, ast.JoinedStr)):
        return
    for operator in _OPERATORS.get(type(node), ()):
        for edit in operator(source, node):
            yield name, edit
    if isinstance(node, Scope):
        name, scope = f"{name}.{node.name}", node
    for field, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        if children and isinstance(children[0], ast.stmt):
            sole = len(children) == 1 and isinstance(node, (ast.If, ast.For, ast.While)) and not node.orelse
            yield from _block(source, children, name, scope, alone=sole)
        elif field not in _LEFT_ALONE:
            for child in children:
                if isinstance(child, ast.AST):
                    yield from _node(source, child, name, scope)


def _deleted(source: Source, node: ast.stmt, scope: ast.AST | None) -> Iterator[Edit]:
    span = source.span(node)
    if isinstance(node, ast.With) and not any(item.optional_vars for item in node.items):
        behind = source.between(source.span(node.items[-1].context_expr)[1], span[1])
        colon = next(token for token in behind if token.text == ":")
        yield Edit("deletion", "drop-with", span[0], colon.start, "if True")
    elif isinstance(node, ast.Break):
        yield Edit("loop", "drop-break", *span, "pass")
    elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        if node.value is not None and not _needed(source, node, scope):
            yield Edit("deletion", "delete", *span, "pass")
    elif isinstance(node, (ast.Expr, ast.Delete, ast.For, ast.While, ast.Assert)):
        yield Edit("deletion", "delete", *span, "pass")


def _needed(source: Source, node: ast.stmt, scope: ast.AST | None) -> bool:
    """Whether an assignment gives a name its only value, so that what uses the name cannot run without."""
    if scope is None:
        return True
    often = Counter(_stored(scope))
    outside = {*dir(builtins), *_names_of(source.tree)}
    return any(often[name] == 1 and name not in outside for name in _stored(node))


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a text and nothing else, as a docstring is."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _stored(node: ast.AST) -> Iterator[str]:
    """The names that get a value anywhere inside, each as often as it does."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.arg):
            yield inner.arg
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id


def _names_of(module: ast.Module) -> Iterator[str]:
    for statement in module.body:
        if isinstance(statement, Scope):
            yield statement.name
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in statement.names)
        else:
            yield from _stored(statement)


# The operators: each gives the changes of one node.


_SIGNS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul"}
_OTHER_SIGNS = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "/", "%": "/", "**": "*", "@": "*"}
_COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_NEGATION = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_NEGATION |= {"is": "is not", "is not": "is", "in": "not in", "not in": "in"}
_OTHER_NAMES = dict(
    pair.split("-")
    for pair in """
    sum-mean mean-sum max-min min-max maximum-minimum minimum-maximum argmax-argmin argmin-argmax any-all all-any
    zeros-ones ones-zeros zeros_like-ones_like ones_like-zeros_like sin-cos cos-sin exp-expm1 log-log2 tanh-sinh
    """.split()
)
_OTHER_TEXTS = {"left": "right", "right": "left", "ignore": "raise"}
_SYMMETRIC = {"max", "min", "maximum", "minimum", "add", "multiply", "hypot", "equal", "isclose", "allclose"}
_CLOSED = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.ListComp, ast.GeneratorExp)


def _arithmetic(source: Source, node: ast.BinOp) -> Iterator[Edit]:
    span, sign = source.span(node), source.sign(node.left, node.right)
    left, right = source.before(node, sign.start), source.after(node, sign.end)
    other = _OTHER_SIGNS.get(sign.text, "")
    change = f"{_SIGNS.get(sign.text)}-{_SIGNS.get(other)}"
    if sign.text == "**":  # * binds less
        yield Edit("arithmetic", change, *span, f"({left} * {right})")
    elif other:
        yield Edit("arithmetic", change, sign.start, sign.end, other)
    yield Edit("operand", "left", *span, left)
    yield Edit("operand", "right", *span, right)


def _augmented(source: Source, node: ast.AugAssign) -> Iterator[Edit]:
    sign = source.sign(node.target, node.value)
    name, other = _SIGNS.get(sign.text[:-1]), _OTHER_SIGNS.get(sign.text[:-1], "")
    if other:
        yield Edit("augmented", f"{name}-{_SIGNS[other]}", sign.start, sign.end, f"{other}=")
    yield Edit("augmented", "assign", sign.start, sign.end, "=")


def _unary(source: Source, node: ast.UnaryOp) -> Iterator[Edit]:
    if isinstance(node.op, (ast.USub, ast.Not)):
        first, last = source.span(node)
        operator, sign = ("arithmetic", "-") if isinstance(node.op, ast.USub) else ("boolean", "not")
        change = "drop-minus" if sign == "-" else "drop-not"
        yield Edit(operator, change, first, last, source.after(node, first + len(sign)))


def _boolean(source: Source, node: ast.BoolOp) -> Iterator[Edit]:
    for left, right in pairwise(node.values):
        sign = source.sign(left, right)
        other = "or" if sign.text == "and" else "and"
        yield Edit("boolean", f"{sign.text}-{other}", sign.start, sign.end, other)
        if len(node.values) == 2:
            yield Edit("operand", "left", *source.span(node), source.before(node, sign.start))
            yield Edit("operand", "right", *source.span(node), source.after(node, sign.end))


def _comparison(source: Source, node: ast.Compare) -> Iterator[Edit]:
    for left, right in pairwise([node.left, *node.comparators]):
        sign = source.sign(left, right)
        for other in filter(None, [_BOUNDARY.get(sign.text), _NEGATION[sign.text]]):
            change = "-".join(_COMPARISONS.get(text, text.replace(" ", "-")) for text in (sign.text, other))
            yield Edit("comparison", change, sign.start, sign.end, other)


def _condition(source: Source, node: ast.If | ast.IfExp | ast.While) -> Iterator[Edit]:
    yield from _test(source, node.test, endless=isinstance(node, ast.While))


def _filters(source: Source, node: ast.comprehension) -> Iterator[Edit]:
    for test in node.ifs:
        yield from _test(source, test)


def _test(source: Source, test: ast.expr, endless: bool = False) -> Iterator[Edit]:
    span = source.span(test)
    single = isinstance(test, ast.Compare) and len(test.ops) == 1
    if not single and not isinstance(test, ast.UnaryOp):  # their own operators negate these
        yield Edit("condition", "negate", *span, f"not ({source.of(test)})")
    if not endless:
        yield Edit("condition", "true", *span, "True")
    yield Edit("condition", "false", *span, "False")


def _constant(source: Source, node: ast.Constant) -> Iterator[Edit]:
    span, value = source.span(node), node.value
    if isinstance(value, bool):
        yield Edit("constant", "flip", *span, str(not value))
    elif isinstance(value, int):
        yield Edit("constant", "plus-one", *span, str(value + 1))
        if value > 0:
            yield Edit("constant", "minus-one", *span, str(value - 1))
    elif isinstance(value, float):
        if value in (0.0, 1.0):
            yield Edit("constant", "one" if value == 0 else "zero", *span, str(1.0 - value))
        if value and math.isfinite(2 * value):
            yield Edit("constant", "double", *span, repr(2 * value))
    elif isinstance(value, str):
        yield Edit("constant", "text", *span, repr(_OTHER_TEXTS.get(value, value[1:] or f"{value}x")))


def _slice(source: Source, node: ast.Slice) -> Iterator[Edit]:
    first, last = source.span(node)
    for name, bound in (("start", node.lower), ("stop", node.upper), ("step", node.step)):
        if bound is not None:
            yield Edit("bounds", f"drop-{name}", *source.span(bound), "")
            yield from _moved(source, bound, name, "+")
    if node.upper is not None and node.lower is None:
        yield Edit("bounds", "start-at-one", first, first, "1")
    if node.lower is not None and node.upper is None and node.step is None:
        yield Edit("bounds", "stop-before-last", last, last, "-1")


def _moved(source: Source, bound: ast.expr, name: str, *signs: str) -> Iterator[Edit]:
    """A bound that is computed, by one; for one that is written out there are constants."""
    if not isinstance(bound, (ast.Constant, ast.UnaryOp, ast.Starred)):
        for sign in signs:
            text = source.of(bound)
            if not isinstance(bound, (*_CLOSED, ast.BinOp)):
                text = f"({text})"
            change = f"{name}-plus-one" if sign == "+" else f"{name}-minus-one"
            yield Edit("bounds", change, *source.span(bound), f"{text} {sign} 1")


def _index(source: Source, node: ast.Subscript) -> Iterator[Edit]:
    for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        if isinstance(part, ast.Name):
            yield Edit("index", "minus-one", *source.span(part), f"{part.id} - 1")


def _call(source: Source, node: ast.Call) -> Iterator[Edit]:
    span, (_, paren) = source.span(node), source.span(node.func)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in _OTHER_NAMES and (isinstance(node.func, ast.Attribute) or name != "sum"):  # there is no mean()
        change = f"{name}-{_OTHER_NAMES[name]}".replace("_", "-")
        yield Edit("name", change, paren - len(name.encode("utf-8")), paren, _OTHER_NAMES[name])
    if name == "range" and node.args:
        yield from _moved(source, node.args[:2][-1], "stop", "-", "+")
        if len(node.args) > 1:
            yield from _moved(source, node.args[0], "start", "+")
    if len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
        text = source.of(node.args[0])
        yield Edit("call", "unwrap", *span, text if isinstance(node.args[0], _CLOSED) else f"({text})")
    elif not node.args and isinstance(node.func, ast.Attribute):
        dot = source.between(*source.span(node.func))[-2]
        yield Edit("call", "unwrap", *span, source.before(node, dot.start))
    if name not in _SYMMETRIC:
        yield from _swapped(source, node.args, "arguments")
    for keyword in node.keywords:
        if keyword.arg is not None:
            yield from _dropped(source, node, keyword)


def _dropped(source: Source, node: ast.Call, keyword: ast.keyword) -> Iterator[Edit]:
    """A keyword argument with the comma ahead of it, or else the one behind it."""
    first, last = source.span(keyword)
    ahead = source.between(source.span(node.func)[1], first)[-1]
    behind = source.between(last, source.span(node)[1])
    if ahead.text == ",":
        first = ahead.start
    elif behind[0].text == ",":
        last = behind[1].start
    yield Edit("keyword", f"drop-{keyword.arg}", first, last, "")


def _transpose(source: Source, node: ast.Attribute) -> Iterator[Edit]:
    if node.attr == "T":
        dot = source.between(*source.span(node))[-2]
        yield Edit("name", "drop-T", *source.span(node), source.before(node, dot.start))


def _result(source: Source, node: ast.Return | ast.Yield) -> Iterator[Edit]:
    if node.value is None:
        return
    if not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield Edit("return", "none", *source.span(node.value), "None")
    if isinstance(node.value, ast.Tuple):
        yield from _swapped(source, node.value.elts, "results")


def _swapped(source: Source, nodes: Sequence[ast.expr], what: str) -> Iterator[Edit]:
    for place, (left, right) in enumerate(pairwise(nodes), 1):
        if not isinstance(left, ast.Starred) and not isinstance(right, ast.Starred):
            (first, middle), (other, last) = source.span(left), source.span(right)
            text = source.of(right) + source.text(middle, other) + source.of(left)
            yield Edit("swap", f"swap-{what}-{place}-{place + 1}", first, last, text)


def _loop(source: Source, node: ast.Break | ast.Continue) -> Iterator[Edit]:
    name, other = ("break", "continue") if isinstance(node, ast.Break) else ("continue", "break")
    yield Edit("loop", f"{name}-{other}", *source.span(node), other)


_OPERATORS: dict[type[ast.AST], tuple[Callable[[Source, Any], Iterator[Edit]], ...]] = {
    ast.BinOp: (_arithmetic,),
    ast.AugAssign: (_augmented,),
    ast.UnaryOp: (_unary,),
    ast.BoolOp: (_boolean,),
    ast.Compare: (_comparison,),
    ast.If: (_condition,),
    ast.IfExp: (_condition,),
    ast.While: (_condition,),
    ast.comprehension: (_filters,),
    ast.Constant: (_constant,),
    ast.Slice: (_slice,),
    ast.Subscript: (_index,),
    ast.Call: (_call,),
    ast.Attribute: (_transpose,),
    ast.Return: (_result,),
    ast.Yield: (_result,),
    ast.Break: (_loop,),
    ast.Continue: (_loop,),
}

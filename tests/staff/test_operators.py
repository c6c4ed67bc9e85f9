"""Mechanical mutants: every kind of change, what is left alone, and the list of equivalent ones."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from autograder.feedback.assignment import Assignment, Budgets, Item, load_assignment
from autograder.feedback.errors import InputError
from autograder.proof import edits
from autograder.proof.operators import Equivalent, Mutant, explained, load_equivalents, mutants
from autograder.proof.spans import Edit

ROOT = Path(__file__).parents[2]
TOY = Assignment(
    title="Toy",
    title_zh="Toy",
    version="1",
    package="toy",
    parts=(),
    files={"maths.py": 1000, "weights.npz": 1000},
    budgets=Budgets(),
    by_slug={"total": Item("total", "t", "t", 1, "maths.py")},
)


def of(body: str, *, head: str = "def f(x, y):") -> list[Mutant]:
    """The mutants of a function with this solution."""
    solution = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    source = f"{head}\n    # BEGIN SOLUTION total\n{solution}\n    # END SOLUTION\n"
    return mutants({"toy/maths.py": source.encode()}, TOY)


def afters(body: str, operator: str, head: str = "def f(x, y):") -> list[str]:
    """The changed lines by one operator, in order."""
    return [mutant.after for mutant in of(body, head=head) if mutant.operator == operator]


@cache
def real() -> tuple[dict[str, bytes], list[Mutant]]:
    """The solved package, and its mutants."""
    folder = ROOT / "solutions" / "lm"
    package = {f"lm/{path.name}": path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    return package, mutants(package, load_assignment(ROOT / "assignment.toml"))


TESTS = ("not (y)", "True", "False")
CHANGES = [
    ("add", "arithmetic", "x = x + y", ["x = x - y"]),
    ("sub", "arithmetic", "x = x - y", ["x = x + y"]),
    ("mul", "arithmetic", "x = x * y", ["x = x / y"]),
    ("div", "arithmetic", "x = x / y", ["x = x * y"]),
    ("floordiv", "arithmetic", "x = x // y", ["x = x / y"]),
    ("mod", "arithmetic", "x = x % y", ["x = x / y"]),
    ("matmul", "arithmetic", "x = x.a @ y", ["x = x.a * y"]),
    ("pow_binds_tighter", "arithmetic", "x = y / x**2", ["x = y * x**2", "x = y / (x * 2)"]),
    ("minus", "arithmetic", "return-x", ["return x"]),
    ("parentheses", "arithmetic", "x = (x + 1) * (y)", ["x = (x - 1) * (y)", "x = (x + 1) / (y)"]),
    ("augmented", "augmented", "x += y", ["x -= y", "x = y"]),
    ("augmented_product", "augmented", "x.grad *= (y)", ["x.grad /= (y)", "x.grad = (y)"]),
    ("augmented_bits", "augmented", "x |= y", ["x = y"]),
    ("operand", "operand", "x = (x.a @ y.b)", ["x = (x.a)", "x = (y.b)"]),
    ("operand_with_parentheses", "operand", "x = (y.a) ^ (x)", ["x = (y.a)", "x = (x)"]),
    ("operand_of_and", "operand", "x = x and y", ["x = x", "x = y"]),
    ("less", "comparison", "x = x < y", ["x = x <= y", "x = x >= y"]),
    ("greater_or_equal", "comparison", "x = x >= y", ["x = x > y", "x = x < y"]),
    ("equal", "comparison", "x = x == y", ["x = x != y"]),
    ("is_not", "comparison", "x = x is  not None", ["x = x is None"]),
    ("in", "comparison", "x = x in y", ["x = x not in y"]),
    ("chain", "comparison", "x = 0 == x != y", ["x = 0 != x != y", "x = 0 == x == y"]),
    ("and", "boolean", "x = x and y and x", ["x = x or y and x", "x = x and y or x"]),
    ("not", "boolean", "return not(x)", ["return (x)"]),
    ("if", "condition", "if x:\n    y = 1", ["if not (x):", "if True:", "if False:"]),
    ("if_comparison", "condition", "if x is y:\n    y = 1", ["if True:", "if False:"]),
    ("while_is_never_endless", "condition", "while x:\n    x = y", ["while not (x):", "while False:"]),
    ("if_expression", "condition", "x = x if y else 1", [f"x = x if {t} else 1" for t in TESTS]),
    ("filter", "condition", "x = [a for a in x if y]", [f"x = [a for a in x if {t}]" for t in TESTS]),
    ("zero", "constant", "x = 0", ["x = 1"]),
    ("number", "constant", "x = 2", ["x = 3", "x = 1"]),
    ("float", "constant", "x = 0.5", ["x = 1.0"]),
    ("float_one", "constant", "x = 1.0", ["x = 0.0", "x = 2.0"]),
    ("float_zero", "constant", "x = 0.0", ["x = 1.0"]),
    ("flag", "constant", "x = y.sum(keepdims=True)", ["x = y.sum(keepdims=False)"]),
    ("text", "constant", 'x = "iu"', ["x = 'u'"]),
    ("text_of_one_letter", "constant", 'x = "a"', ["x = 'ax'"]),
    ("text_with_an_opposite", "constant", 'x = y(side="right")', ["x = y(side='left')"]),
    ("slice", "bounds", "x = x[y : x.n]", [f"x = x[{s}]" for s in (" : x.n", "y + 1 : x.n", "y : ", "y : x.n + 1")]),
    ("slice_without_start", "bounds", "x = x[:y]", ["x = x[1:y]", "x = x[:]", "x = x[:y + 1]"]),
    ("slice_without_stop", "bounds", "x = x[1:]", ["x = x[:]", "x = x[1:-1]"]),
    ("range", "bounds", "x = range(x, y)", [f"x = range({a})" for a in ("x + 1, y", "x, y - 1", "x, y + 1")]),
    ("index", "index", "x = y[:, x, 0]", ["x = y[:, x - 1, 0]"]),
    ("break", "loop", "for a in y:\n    if a:\n        x = a\n        break", ["pass", "continue"]),
    ("break_alone", "loop", "for a in y:\n    if a:\n        break", ["continue"]),
    ("continue", "loop", "for a in y:\n    if a:\n        continue\n    x(a)", ["break"]),
    ("call", "deletion", "x.append(y)", ["pass"]),
    ("second_value", "deletion", "x = 1\ny.n = 2\nz = 3", ["pass", "pass"]),
    ("loop", "deletion", "for a in x:\n    y(a)", ["pass"]),
    ("with", "deletion", "with x(y):\n    y = 1", ["if True:", "pass"]),
    ("with_a_name", "deletion", "with x as y:\n    y(1)", ["pass"]),
    ("else", "deletion", "if x:\n    y(1)\nelse:\n    y(2)", ["pass", "pass"]),
    ("alone_in_if", "deletion", "if x:\n    y(1)", []),
    ("return", "return", "return x", ["return None"]),
    ("nothing_to_return", "return", "if x:\n    return None\nreturn", []),
    ("yield", "return", "yield x", ["yield None"]),
    ("arguments", "swap", "x = y(x, y.n, z=1)", ["x = y(y.n, x, z=1)"]),
    ("arguments_in_pairs", "swap", "x = y(1, 2, 3)", ["x = y(2, 1, 3)", "x = y(1, 3, 2)"]),
    ("symmetric", "swap", "x = max(x, y)", []),
    ("starred", "swap", "x = y(x, *y)", []),
    ("results", "swap", "return x, (y)", ["return y, (x)"]),
    ("keywords", "keyword", "x = y(x, a=1, b=2)", ["x = y(x, b=2)", "x = y(x, a=1)"]),
    ("first_keyword", "keyword", "x = y(a=1, **x)", ["x = y(**x)"]),
    ("only_keyword", "keyword", "x = y(a=(1, 2))", ["x = y()"]),
    ("function", "call", "x = float(x + y) * 2", ["x = (x + y) * 2"]),
    ("generator", "call", "x = tuple(a for a in y)", ["x = (a for a in y)"]),
    ("method", "call", "x = (x + y).sum(axis=0)", ["x = (x + y)"]),
    ("statement_is_deleted_instead", "call", "x.append(y)", []),
    ("words_stay_apart", "call", "x = float(y)if x else 1", ["x = y if x else 1"]),
    ("name", "name", "x = y.max()", ["x = y.min()"]),
    ("function_name", "name", "x = sum(any(a) for a in y)", ["x = sum(all(a) for a in y)"]),
    ("transpose", "name", "x = (x @ y).T", ["x = (x @ y)"]),
]


@pytest.mark.parametrize(
    ("operator", "body", "expected"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES]
)
def test_operator_changes_exactly_this(operator: str, body: str, expected: list[str]) -> None:
    """Each operator gives these lines, in this order, and no others."""
    assert afters(body, operator) == expected


@pytest.mark.parametrize(
    "body",
    [
        "x: list[int]\n'''A text.'''",
        "raise ValueError(f'{x + 1} and not ' + str(-y))",
        "z = f'{y + 1}'",
        "import math\npass",
        "@x(1, 2)\ndef g(a: x[0]) -> x[1]:\n    '''A text.'''",
    ],
    ids=["text", "raise", "f-string", "import", "decorator"],
)
def test_left_alone(body: str) -> None:
    """Docstrings, annotations, decorators, f-strings and what is raised have no mutants."""
    assert of(body) == []


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("z = x", []),
        ("z, x.n = x", []),
        ("z: int = x", []),
        ("z = x\nz = y", ["z = x", "z = y"]),
        ("x = y", ["x = y"]),
        ("max = x", ["max = x"]),
    ],
    ids=["only value", "only value of one", "annotated", "two values", "argument", "a builtin"],
)
def test_only_value_of_a_name_is_not_deleted(body: str, left: list[str]) -> None:
    """Without it nothing could run: a builtin, an argument or another value is still there."""
    assert [mutant.before for mutant in of(body) if mutant.operator == "deletion"] == left


MARKED = '''\
"""Module. 1 + 1"""
LIMIT = 1 + 1


class Scale:
    """Scales."""

    by = 2

    def of(self, x, k=1):
        """x times the factor: 1 + 1."""
        x = x + 0
        # BEGIN SOLUTION total
        word = "é中" + x  # à gauche
        return word * self.by
        # END SOLUTION


# BEGIN SOLUTION total
def helper(x):
    def inner(y):
        return y + 1

    return inner(x)


# END SOLUTION


def other(x):
    """Off."""
    # BEGIN SOLUTION gone
    return x + 1
    # END SOLUTION
'''


def marked() -> list[Mutant]:
    package = {"toy/maths.py": MARKED.encode(), "toy/given.py": b"x = 1 + 1\n", "toy/weights.npz": b"\xff"}
    return mutants(package, TOY)


def test_changes_stay_between_the_markers_of_items_that_are_on() -> None:
    """Line by line, all else is as it was."""
    old = MARKED.split("\n")
    inside = {13, 14, 21, 23}
    changed = set()
    for mutant in marked():
        new = mutant.source.decode().split("\n")
        different = {line for line, (a, b) in enumerate(zip(old, new, strict=True)) if a != b}
        assert len(different) == 1, mutant.id
        assert mutant.path == "toy/maths.py"
        changed |= different
    assert changed == inside


def test_function_is_named_as_in_the_catalogue() -> None:
    """module.qualname; a nested function by its own name."""
    assert {mutant.function for mutant in marked()} == {"maths.Scale.of", "maths.helper", "maths.helper.inner"}
    assert {mutant.item for mutant in marked()} == {"total"}


def test_places_are_counted_in_bytes_and_comments_left_out() -> None:
    """Text that is not ASCII moves nothing; before and after are code, the file keeps its comments."""
    found = {mutant.after: mutant for mutant in marked() if mutant.before == 'word = "é中" + x'}
    assert list(found) == ["word = '中' + x", 'word = "é中"', "word = x", 'word = "é中" - x']
    assert MARKED.replace("+ x  # à", "- x  # à").encode() == found['word = "é中" - x'].source


def test_lines_ahead_make_a_line_unique() -> None:
    """Two equal lines in a function: the line ahead tells which one it is."""
    found = of("if x:\n    y.n = 1\nelse:\n    y.n = 1")
    assert [mutant.before for mutant in found if mutant.operator == "deletion"] == [
        "if x:\n    y.n = 1",
        "else:\n    y.n = 1",
    ]


def test_what_has_the_same_tree_is_dropped() -> None:
    """``x + x`` has one operand, and a constant's sign cannot be dropped where a test is True already."""
    assert afters("y = x + x", "operand") == ["y = x"]
    assert afters("y = x if True else y", "condition") == ["y = x if not (True) else y", "y = x if False else y"]


@pytest.mark.parametrize("text", ["(", "break"], ids=["parsed", "compiled"])
def test_what_does_not_compile_is_dropped(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Whatever an operator does: no mutant dies of its syntax."""
    broken = Edit("loop", "broken", 44, 49, text)
    fine = Edit("loop", "fine", 44, 49, "pass")
    monkeypatch.setattr("autograder.proof.operators.edits", lambda *_: [("maths.f", broken), ("maths.f", fine)])
    assert [(mutant.id, mutant.before, mutant.after) for mutant in of("x = y")] == [("maths.f/1-fine", "x = y", "pass")]


@pytest.mark.parametrize(
    "body",
    [
        "with x(1):\n    @y\n    def g(): return 1",
        "x = y((a := x), y=1)",
        "x = [*y][0](x)",
        "return x[y:y] if (yield) else -(-y)",
        "x = (x  # one\n     + y)  # two",
        "x.a(1); y.b(2)",
        "match x:\n    case -1 | 2.5:\n        y = 1\n    case {'a': 1}: x = 1",
    ],
    ids=["decorator", "walrus", "called", "yield", "comments", "two on a line", "match"],
)
def test_unusual_code(body: str) -> None:
    """Each has mutants, all of which compile as whole files."""
    assert of(body)
    for mutant in of(body):
        compile(mutant.source, mutant.id, "exec")


def test_no_warning_of_a_mutant_is_seen() -> None:
    """``1(2)`` is worth a warning to Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "x = 1(2)" in afters("x = float(1)(2)", "call")


def test_mutants_are_the_same_every_time() -> None:
    """Ids, order and texts."""
    assert marked() == marked()


def test_id_stays_while_its_function_does() -> None:
    """An edit of another function changes no id."""
    changed = MARKED.replace('"é中" + x', "2 + 3 + x")
    again = mutants({"toy/maths.py": changed.encode()}, TOY)
    assert [mutant.id for mutant in again if "inner" in mutant.id] == [
        "maths.helper.inner/1-none",
        "maths.helper.inner/2-left",
        "maths.helper.inner/3-right",
        "maths.helper.inner/4-add-sub",
        "maths.helper.inner/5-plus-one",
        "maths.helper.inner/6-minus-one",
    ]


def test_numbers_go_on_in_the_next_region_of_a_function() -> None:
    """A function may have several regions; its mutants are counted through."""
    body = "return x\n# END SOLUTION\n# BEGIN SOLUTION total\nreturn x"
    assert [mutant.id for mutant in of(body)] == ["maths.f/1-none", "maths.f/2-none"]


def test_stripped_package_is_refused() -> None:
    """Without markers there would be no mutant, and nothing would be proved."""
    with pytest.raises(InputError, match="no solution markers"):
        mutants({"toy/maths.py": b"x = 1\n"}, TOY)


def test_real_mutants_compile_and_differ() -> None:
    """Unique ids that any shell takes, unique lines; every seventh compiled as a whole file."""
    package, found = real()
    assert len(found) > 1500
    assert max(Counter(mutant.id for mutant in found).values()) == 1
    assert max(Counter((mutant.function, mutant.before, mutant.after) for mutant in found).values()) == 1
    assert all(re.fullmatch(r"[A-Za-z0-9_.]+/[0-9]+-[A-Za-z0-9_-]+", mutant.id) for mutant in found)
    trees = {path: ast.dump(ast.parse(source)) for path, source in package.items() if path.endswith(".py")}
    for mutant in found[::7]:
        compile(mutant.source, mutant.path, "exec", dont_inherit=True)
        assert ast.dump(ast.parse(mutant.source)) != trees[mutant.path]


def test_every_operator_is_tested_and_in_the_table() -> None:
    """The docstring of edits.py names what the code has, and each stands in the table above."""
    named = {
        word for pair in re.findall(r"^(\w+)  +\S|  (\w+)  +\S", edits.__doc__ or "", re.MULTILINE) for word in pair
    }
    assert named - {"", "operator"} == {operator for _, operator, _, _ in CHANGES}
    assert {mutant.operator for mutant in real()[1]} <= named


ENTRY = """
[[equivalent]]
function = "maths.f"
before = "x = x + 0"
after = "x = x - 0"
reason = "nothing is added, and nothing subtracted"
"""


def loaded(tmp_path: Path, text: str) -> list[Equivalent]:
    path = tmp_path / "equivalent.toml"
    path.write_text(text, encoding="utf-8")
    return load_equivalents(path, TOY)


def test_equivalent_mutant_is_found_by_its_text(tmp_path: Path) -> None:
    """An entry explains the one mutant with its function and lines."""
    entries = loaded(tmp_path, ENTRY)
    found = of("x = x + 0")
    assert explained(found, entries) == {mutant.id: entries[0] for mutant in found if mutant.after == "x = x - 0"}
    assert len(explained(found, entries)) == 1


def test_stale_entry_is_refused(tmp_path: Path) -> None:
    """The line has changed since: somebody must look again."""
    with pytest.raises(InputError, match=r"maths\.f: no mutant is like this equivalent one any more: x = x - 0"):
        explained(of("x = x + 1"), loaded(tmp_path, ENTRY))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("equivalent = 1", "equivalent.toml: equivalent is a list of"),
        ("[[equivalents]]", "equivalent.toml: unknown key 'equivalents'; did you mean 'equivalent'?"),
        ("[[equivalent", "equivalent.toml: "),
        (ENTRY.replace("reason", "reasons"), "equivalent.toml: entry 1: unknown key 'reasons'; did you mean 'reason'?"),
        (ENTRY.replace("nothing is added, and nothing subtracted", " "), "entry 1: needs reason"),
        (ENTRY.replace('"x = x + 0"', "1"), "entry 1: needs before"),
        (ENTRY.replace("maths.f", "given.f"), "entry 1: 'given.f' is in no file that students hand in"),
        (ENTRY.replace("x - 0", "x + 0"), "entry 1: before and after are the same text"),
        (ENTRY + ENTRY, "entry 2: stands twice"),
    ],
    ids=["no list", "top key", "no toml", "key", "no reason", "type", "file", "same", "twice"],
)
def test_malformed_entry_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    """One line that names the entry."""
    with pytest.raises(InputError) as caught:
        loaded(tmp_path, text)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_list_is_refused(tmp_path: Path) -> None:
    """A misspelt path would call every survivor a gap."""
    with pytest.raises(InputError, match="No such file"):
        load_equivalents(tmp_path / "none.toml", TOY)


def test_real_entries_are_not_stale() -> None:
    """tests/equivalent.toml speaks of mutants that there are."""
    entries = load_equivalents(ROOT / "tests" / "equivalent.toml", load_assignment(ROOT / "assignment.toml"))
    assert len(explained(real()[1], entries)) == len(entries)

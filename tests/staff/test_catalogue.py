"""The loader of known mistakes and alternatives, on a package of two functions; and the real entries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder.feedback.assignment import Assignment, load_assignment
from autograder.feedback.errors import InputError
from autograder.proof.catalogue import (
    Alternative,
    Change,
    Mistake,
    apply,
    changed_functions,
    load_alternatives,
    load_mistakes,
)

ROOT = Path(__file__).parents[2]

TOY_ASSIGNMENT = """
[assignment]
title = "Toy"
title_zh = "Toy"
version = "1"
package = "toy"

[files]
"maths.py" = 10

[[parts]]
slug = "one"
number = "1"
title = "One"
title_zh = "One"
items = [
    {slug = "total", title = "t", title_zh = "t", points = 1, file = "maths.py"},
    {slug = "scale", title = "s", title_zh = "s", points = 1, file = "maths.py"},
    {slug = "gone", title = "g", title_zh = "g", points = 1, file = "maths.py", off = true},
]
"""

SOURCE = '''\
"""Toy."""

from functools import lru_cache


class Scale:
    """Scales."""

    def __init__(self, by):
        self.by = by

    def of(self, x):
        """x times the factor.

        return x * self.by
        """
        # BEGIN SOLUTION scale
        # the factor comes last
        y = x
        return y * self.by
        # END SOLUTION


@lru_cache
def total(*numbers):
    """Their sum."""
    # BEGIN SOLUTION total
    result = 0
    for number in numbers:
        if number:
            result += number

    return result
    # END SOLUTION


def outer():
    """Has a function inside."""

    def inner():
        return 1

    return inner


def short(): return 1
'''
PACKAGE = {"toy/__init__.py": b"", "toy/maths.py": SOURCE.encode()}

MISTAKE = """
id = "starts-at-one"
base = "solutions"
function = "maths.total"
old = '''
result = 0
'''
new = '''
result = 1
'''
items = ["total"]
hint = "What is the sum of nothing?"
hint_zh = "没有数时和是零。"
source = "observed"
"""

ALTERNATIVE = """
id = "by-sum"
base = "solutions"
function = "maths.total"
old = ''
new = '''
return sum(numbers)
'''
"""


@pytest.fixture
def toy(tmp_path: Path) -> Assignment:
    """The toy assignment."""
    path = tmp_path / "assignment.toml"
    path.write_text(TOY_ASSIGNMENT, encoding="utf-8")
    return load_assignment(path)


def write(folder: Path, *texts: str, item: str = "total") -> Path:
    """A catalogue folder with these entries, each in the file that its id asks for."""
    (folder / item).mkdir(parents=True, exist_ok=True)
    for text in texts:
        name = re.search(r'^id = "(.*)"', text, re.MULTILINE)
        assert name is not None
        (folder / item / f"{name[1]}.toml").write_text(text, encoding="utf-8")
    return folder


def change(function: str = "maths.total", old: str = "", new: str = "return 1") -> Alternative:
    """An entry in memory."""
    return Alternative("e", "alternatives/total/e.toml", "total", (Change(function, old, new),))


def text(files: dict[str, bytes]) -> str:
    """The toy module."""
    return files["toy/maths.py"].decode()


def call(files: dict[str, bytes], expression: str) -> object:
    """The value of an expression over the toy module."""
    names: dict[str, object] = {}
    exec(text(files), names)
    return eval(expression, names)


def test_a_mistake_is_loaded_and_applied(tmp_path: Path, toy: Assignment) -> None:
    """What the file says is what the entry says, and the changed function gives the wrong answer."""
    (entry,) = load_mistakes(write(tmp_path / "mistakes", MISTAKE), toy)
    assert entry == Mistake(
        id="starts-at-one",
        file="mistakes/total/starts-at-one.toml",
        items=("total",),
        hint="What is the sum of nothing?",
        hint_zh="没有数时和是零。",
        source="observed",
        changes=(Change("maths.total", "result = 0", "result = 1"),),
        base="solutions",
    )
    changed = apply(entry, PACKAGE)
    assert call(changed, "total(1, 2)") == 4
    assert call(changed, "Scale(3).of(2)") == 6
    assert changed_functions(entry) == {"maths.total"}


def test_the_given_package_is_left_alone(tmp_path: Path, toy: Assignment) -> None:
    """apply returns a copy; files without a change keep their bytes."""
    before = dict(PACKAGE)
    (entry,) = load_mistakes(write(tmp_path / "mistakes", MISTAKE), toy)
    changed = apply(entry, PACKAGE)
    assert before == PACKAGE
    assert changed["toy/__init__.py"] == b""


WITH_A_FILE = """
id = "reversed"
base = "solutions"

[[files]]
name = "weights.npz"
make = "{make}"
"""
MAKE = """
def backwards(solved):
    return solved["weights.npz"][::-1]


def same(solved):
    return solved["weights.npz"]
"""


@pytest.fixture
def with_weights(tmp_path: Path, toy: Assignment) -> Assignment:
    """The toy assignment with a submission file that is not Python."""
    path = tmp_path / "assignment.toml"
    path.write_text(TOY_ASSIGNMENT.replace('"maths.py" = 10', '"maths.py" = 10\n"weights.npz" = 10'), encoding="utf-8")
    (tmp_path / "alternatives").mkdir()
    (tmp_path / "alternatives" / "make.py").write_text(MAKE, encoding="utf-8")
    return load_assignment(path)


def test_a_file_that_is_not_python_is_made(tmp_path: Path, with_weights: Assignment) -> None:
    """By the function that the entry names, from the files that it would replace; also on top of a base."""
    on_top = ALTERNATIVE.replace('"by-sum"', '"both"').replace('"solutions"', '"reversed"')
    folder = write(tmp_path / "alternatives", WITH_A_FILE.format(make="backwards"), on_top)
    alternatives = load_alternatives(folder, with_weights)
    package = {**PACKAGE, "toy/weights.npz": b"abc"}
    both, alone = sorted(alternatives, key=lambda entry: entry.id)
    assert apply(alone, package) == {**package, "toy/weights.npz": b"cba"}
    assert apply(both, package, alternatives)["toy/weights.npz"] == b"cba"
    assert "return sum(numbers)" in text(apply(both, package, alternatives))
    assert changed_functions(alone) == set()
    with pytest.raises(InputError, match=r"reversed\.toml: the package has no weights\.npz$"):
        apply(alone, PACKAGE)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('make = "backwards"', 'make = "forwards"', "make.py has no function 'forwards'"),
        ('make = "backwards"', "", 'needs make = "..."'),
        ("weights.npz", "maths.py", "maths.py is no submission file that is not Python"),
        ("weights.npz", "other.npz", "other.npz is no submission file that is not Python"),
        ("[[files]]", "[files]", "files is a list of [[files]] tables"),
        ('make = "backwards"', 'make = "backwards"\ncontent = ""', "unknown key 'content'"),
    ],
    ids=["no-such-function", "no-maker", "python", "no-such-file", "one-table", "content"],
)
def test_a_malformed_file_is_refused(
    old: str, new: str, problem: str, tmp_path: Path, with_weights: Assignment
) -> None:
    """With the file of the entry."""
    entry = WITH_A_FILE.format(make="backwards").replace(old, new)
    with pytest.raises(InputError, match=rf"reversed\.toml: .*{re.escape(problem)}"):
        load_alternatives(write(tmp_path / "alternatives", entry), with_weights)


def test_a_file_that_stays_the_same_is_refused(tmp_path: Path, with_weights: Assignment) -> None:
    """Nothing would be tried; and without a make.py nothing can be made."""
    folder = write(tmp_path / "alternatives", WITH_A_FILE.format(make="same"))
    (entry,) = load_alternatives(folder, with_weights)
    with pytest.raises(InputError, match=r"weights\.npz: the change changes nothing"):
        apply(entry, {**PACKAGE, "toy/weights.npz": b"abc"})
    (folder / "make.py").unlink()
    with pytest.raises(InputError, match=r"there is no make\.py"):
        load_alternatives(folder, with_weights)


def test_an_empty_old_replaces_the_body_and_keeps_docstring_and_decorator() -> None:
    """Everything after the docstring goes, comments and markers too."""
    changed = text(apply(change("maths.Scale.of", new="return self.by * x"), PACKAGE))
    assert '        return x * self.by\n        """\n        return self.by * x\n' in changed
    assert "the factor comes last" not in changed
    assert "SOLUTION" not in changed
    assert "@lru_cache\ndef total" in text(apply(change(), PACKAGE))


@pytest.mark.parametrize("markers", [True, False], ids=["with-markers", "without-markers"])
def test_markers_make_no_difference(markers: bool) -> None:
    """A package with solution markers and the same one without give the same result."""
    plain = "\n".join(line for line in SOURCE.split("\n") if "SOLUTION" not in line)
    package = PACKAGE if markers else {"toy/__init__.py": b"", "toy/maths.py": plain.encode()}
    changed = text(apply(change("maths.Scale.of", "y = x", "y = 2 * x"), package))
    assert changed == plain.replace("y = x", "y = 2 * x")


def test_new_lines_get_the_indentation_of_the_old_ones() -> None:
    """A block is matched at any depth and put back at that depth, its own inner indentation kept."""
    entry = change(old="if number:\n    result += number", new="if number:\n    # twice\n    result += 2 * number")
    changed = apply(entry, PACKAGE)
    assert "        if number:\n            # twice\n            result += 2 * number\n" in text(changed)
    assert call(changed, "total(1, 2)") == 6


def test_a_block_may_end_further_left_than_it_begins() -> None:
    """Indentation is common to the block, not that of its first line."""
    entry = change(old="        result += number\n\nreturn result", new="        result += 1\nreturn result")
    assert call(apply(entry, PACKAGE), "total(5, 5)") == 2


def test_a_nested_function_is_found_by_its_qualified_name() -> None:
    """outer.inner, without <locals>."""
    assert call(apply(change("maths.outer.inner", "return 1", "return 2"), PACKAGE), "outer()()") == 2


def test_a_line_of_the_docstring_does_not_count() -> None:
    """The same text in a docstring is no second occurrence, and is never replaced."""
    source = SOURCE.replace("return y * self.by", "return x * self.by")
    changed = text(apply(change("maths.Scale.of", "return x * self.by", "return 7"), {"toy/maths.py": source.encode()}))
    assert changed.count("return x * self.by") == 1
    assert "        return 7\n" in changed


def test_windows_line_ends_are_read() -> None:
    """A package with CRLF gives what the same one with LF gives."""
    crlf = {name: text.replace(b"\n", b"\r\n") for name, text in PACKAGE.items()}
    assert apply(change(), crlf)["toy/maths.py"] == apply(change(), PACKAGE)["toy/maths.py"]


def test_several_changes_are_applied_in_order(tmp_path: Path, toy: Assignment) -> None:
    """[[changes]] tables; a later one sees what an earlier one made."""
    text = """
id = "two-steps"
base = "solutions"
[[changes]]
function = "maths.total"
old = ''
new = 'return sum(numbers)'
[[changes]]
function = "maths.total"
old = 'return sum(numbers)'
new = 'return sum(numbers) + 10'
[[changes]]
function = "maths.Scale.of"
old = ''
new = 'return self.by'
"""
    (entry,) = load_alternatives(write(tmp_path / "alternatives", text), toy)
    changed = apply(entry, PACKAGE)
    assert (call(changed, "total(1)"), call(changed, "Scale(4).of(1)")) == (11, 4)
    assert changed_functions(entry) == {"maths.total", "maths.Scale.of"}


def test_a_mistake_may_stand_on_an_alternative(tmp_path: Path, toy: Assignment) -> None:
    """The base is applied first; its functions are not among those that the mistake changes."""
    text = MISTAKE.replace('"solutions"', '"by-sum"')
    text = text.replace("result = 0", "return sum(numbers)").replace("result = 1", "return sum(numbers, 5)")
    (entry,) = load_mistakes(write(tmp_path / "mistakes", text), toy)
    alternatives = load_alternatives(write(tmp_path / "alternatives", ALTERNATIVE), toy)
    assert call(apply(entry, PACKAGE, alternatives), "total(1)") == 6
    with pytest.raises(InputError, match="base 'by-sum' is no alternative"):
        apply(entry, PACKAGE)


def test_entries_come_in_the_order_of_the_items(tmp_path: Path, toy: Assignment) -> None:
    """By item as in assignment.toml, then by id."""
    folder = tmp_path / "alternatives"
    other = ALTERNATIVE.replace("maths.total", "maths.Scale.of").replace("sum(numbers)", "x * self.by")
    write(folder, other.replace("by-sum", "a-scale"), item="scale")
    write(folder, ALTERNATIVE, ALTERNATIVE.replace("by-sum", "a-first"))
    assert [entry.id for entry in load_alternatives(folder, toy)] == ["a-first", "by-sum", "a-scale"]


def test_entries_of_an_item_that_is_off_are_left_out(tmp_path: Path, toy: Assignment) -> None:
    """They are checked all the same; a mistake over two items keeps the one that is on."""
    assert load_alternatives(write(tmp_path / "alternatives", ALTERNATIVE, item="gone"), toy) == []
    gone = MISTAKE.replace('["total"]', '["gone"]')
    assert load_mistakes(write(tmp_path / "off", gone, item="gone"), toy) == []
    both = MISTAKE.replace('["total"]', '["total", "gone"]')
    assert [entry.items for entry in load_mistakes(write(tmp_path / "both", both), toy)] == [("total",)]
    with pytest.raises(InputError, match="unknown key"):
        load_mistakes(write(tmp_path / "wrong", gone + "\nx = 1", item="gone"), toy)


@pytest.mark.parametrize(
    ("find", "put", "message"),
    [
        ("hint =", "hnit =", r"unknown key 'hnit'; did you mean 'hint'\?"),
        ('id = "starts-at-one"', 'id = "starts-at-two"', "id 'starts-at-two' is not the file's name"),
        ('items = ["total"]', 'items = ["totla"]', r"'totla' is no item; did you mean 'total'\?"),
        ('items = ["total"]', 'items = ["scale"]', "items must name 'total', the folder"),
        ('items = ["total"]', 'items = ["total", "total"]', "none twice"),
        ('items = ["total"]', "items = []", r'needs items = \["..."\]'),
        ('items = ["total"]', 'items = "total"', r'needs items = \["..."\]'),
        ('items = ["total"]\n', "", r'needs items = \["..."\]'),
        ('hint = "What is the sum of nothing?"', 'hint = " "', 'needs hint = "..."'),
        ("没有数时和是零。", "What is the sum of nothing? ", "hint and hint_zh are the same"),
        ('hint_zh = "没有数时和是零。"', "hint_zh = 3", 'needs hint_zh = "..."'),
        ('source = "observed"', "", 'needs source = "..."'),
        ('base = "solutions"', "", 'needs base = "..."'),
        ('function = "maths.total"', "", 'needs function = "..."'),
        ("maths.total", "math.total", r"math.py is not handed in by students; did you mean 'maths'\?"),
        ("maths.total", "maths", "function 'maths' is not module.qualname"),
        ("maths.total", "maths.total.<locals>", "is not module.qualname"),
        ("result = 1", "result = 0", "old and new are the same text"),
        ("new = '''\nresult = 1\n'''", "", 'needs new = "..."'),
        ("items =", "changes = []\nitems =", r"either function, old and new, or \[\[changes\]\]"),
        ('hint = "', "hint = ", "Invalid value"),
    ],
    ids=[
        "unknown-key", "other-id", "unknown-item", "not-the-folder", "item-twice", "no-items", "items-is-text",
        "items-missing", "hint-empty", "hints-equal", "hint-no-text", "source-missing", "base-missing",
        "function-missing", "unknown-module", "no-qualname", "locals", "no-change", "new-missing", "both-forms",
        "no-toml",
    ],
)  # fmt: skip
def test_a_malformed_mistake_is_refused(tmp_path: Path, toy: Assignment, find: str, put: str, message: str) -> None:
    """One line that names the file and what is wrong with it."""
    folder = write(tmp_path / "mistakes", MISTAKE)
    assert MISTAKE.count(find) >= 1
    (folder / "total" / "starts-at-one.toml").write_text(MISTAKE.replace(find, put), encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        load_mistakes(folder, toy)
    assert str(caught.value).startswith("mistakes/total/starts-at-one.toml: ")
    assert "\n" not in str(caught.value)


def test_an_alternative_has_no_hint(tmp_path: Path, toy: Assignment) -> None:
    """Keys of mistakes are unknown to alternatives."""
    with pytest.raises(InputError, match=r"by-sum\.toml: unknown key 'hint'"):
        load_alternatives(write(tmp_path / "alternatives", ALTERNATIVE + '\nhint = "x"'), toy)


def test_an_id_stands_once(tmp_path: Path, toy: Assignment) -> None:
    """Not twice in the folders of two items either."""
    folder = write(write(tmp_path / "alternatives", ALTERNATIVE), ALTERNATIVE, item="scale")
    with pytest.raises(InputError, match=r"scale/by-sum\.toml: alternatives/total/by-sum\.toml has the same id"):
        load_alternatives(folder, toy)


@pytest.mark.parametrize("name", ["solutions", "By-Sum", "by_sum", "-by"], ids=str)
def test_an_id_is_words_with_hyphens(tmp_path: Path, toy: Assignment, name: str) -> None:
    """And never the word that stands for the solutions."""
    with pytest.raises(InputError, match="an id is words of a-z and 0-9"):
        load_alternatives(write(tmp_path / "alternatives", ALTERNATIVE.replace("by-sum", name)), toy)


def test_an_entry_outside_an_item_folder_is_refused(tmp_path: Path, toy: Assignment) -> None:
    """Neither directly in the folder, nor two levels down, nor in a folder that is no item."""
    folder = tmp_path / "alternatives"
    folder.mkdir()
    (folder / "by-sum.toml").write_text(ALTERNATIVE, encoding="utf-8")
    with pytest.raises(InputError, match=r"alternatives/by-sum\.toml: entries are <item>/<id>\.toml"):
        load_alternatives(folder, toy)
    with pytest.raises(InputError, match=r"entries are <item>/<id>\.toml"):
        load_alternatives(write(tmp_path / "deep", ALTERNATIVE, item="total/old"), toy)
    with pytest.raises(InputError, match=r"'totals' is no item; did you mean 'total'\?"):
        load_alternatives(write(tmp_path / "other", ALTERNATIVE, item="totals"), toy)


def test_a_missing_folder_is_refused(tmp_path: Path, toy: Assignment) -> None:
    """An empty catalogue would prove nothing."""
    with pytest.raises(InputError, match="none: no such folder"):
        load_mistakes(tmp_path / "none", toy)


def test_a_base_must_lead_to_the_solutions(tmp_path: Path, toy: Assignment) -> None:
    """An unknown base, or one that leads back to the entry, is refused on loading."""
    unknown = ALTERNATIVE.replace('"solutions"', '"by-sums"')
    with pytest.raises(InputError, match=r"base 'by-sums' is no alternative; did you mean 'by-sum'\?"):
        load_alternatives(write(tmp_path / "a", unknown), toy)
    circle = write(
        tmp_path / "b",
        ALTERNATIVE.replace('"solutions"', '"two"'),
        ALTERNATIVE.replace("by-sum", "two").replace('"solutions"', '"by-sum"'),
    )
    with pytest.raises(InputError, match="leads back"):
        load_alternatives(circle, toy)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (change(old="result = 5"), "old occurs 0 times"),
        (change(old="result"), "old occurs 0 times"),
        (change("maths.Scale.of", "return x * self.by"), "old occurs 0 times"),
        (change("maths.totl"), r"no such function; did you mean 'total'\?"),
        (change("maths.Scale"), "no such function"),
        (change(old="result = 0", new="result = ("), "the result does not parse"),
        (change(old="result = 0", new="# nothing\nresult  =  0"), "the change changes nothing"),
        (change("maths.short"), "the body stands on the line of def"),
        (change("toy.total"), "the package has no toy.py"),
    ],
    ids=[
        "absent", "part-of-a-line", "only-in-docstring", "misspelt-function", "a-class", "syntax-error",
        "only-comments", "one-line-body", "no-such-module",
    ],
)  # fmt: skip
def test_a_change_that_does_not_fit_is_refused(entry: Alternative, message: str) -> None:
    """One line that names file and function."""
    with pytest.raises(InputError, match=message) as caught:
        apply(entry, PACKAGE)
    assert str(caught.value).startswith(f"alternatives/total/e.toml: {entry.changes[0].function}")


def test_text_that_occurs_twice_is_refused() -> None:
    """It would be a guess which one is meant."""
    line = "            result += number\n"
    source = SOURCE.replace(line, line + line)
    with pytest.raises(InputError, match="old occurs 2 times, it must occur once"):
        apply(change(old="result += number", new="pass"), {"toy/maths.py": source.encode()})


def test_a_function_that_stands_twice_is_refused() -> None:
    """For example in both branches of an if."""
    source = b"if 1:\n    def f():\n        return 1\nelse:\n    def f():\n        return 2\n"
    with pytest.raises(InputError, match="2 such functions"):
        apply(change("maths.f"), {"toy/maths.py": source})


# the real catalogue


@pytest.fixture(scope="module")
def assignment() -> Assignment:
    """The real assignment."""
    return load_assignment(ROOT / "assignment.toml")


@pytest.fixture(scope="module")
def package(assignment: Assignment) -> dict[str, bytes]:
    """The solved package."""
    folder = ROOT / "solutions" / assignment.package
    return {f"{folder.name}/{path.name}": path.read_bytes() for path in sorted(folder.glob("*.*"))}


def test_every_entry_fits_the_solutions(assignment: Assignment, package: dict[str, bytes]) -> None:
    """All entries load, apply, and differ from the solutions and from each other."""
    alternatives = load_alternatives(ROOT / "tests" / "alternatives", assignment)
    mistakes = load_mistakes(ROOT / "tests" / "mistakes", assignment)
    entries: list[Mistake | Alternative] = [*alternatives, *mistakes]
    made: dict[tuple[bytes, ...], str] = {}
    for entry in entries:
        result = tuple(apply(entry, package, alternatives).values())
        assert made.setdefault(result, entry.id) == entry.id, f"{entry.id} is the same as {made[result]}"


def test_every_item_has_mistakes_and_two_alternatives(assignment: Assignment) -> None:
    """Without them nothing would prove that an item's tests are neither too weak nor too strict."""
    alternatives = [entry.item for entry in load_alternatives(ROOT / "tests" / "alternatives", assignment)]
    mistakes = [slug for entry in load_mistakes(ROOT / "tests" / "mistakes", assignment) for slug in entry.items]
    assert [item.slug for item in assignment.items if alternatives.count(item.slug) < 2] == []
    assert [item.slug for item in assignment.items if mistakes.count(item.slug) < 2] == []


def test_hints_are_one_sentence_in_their_language(assignment: Assignment) -> None:
    """hint is English, hint_zh has Chinese characters; both are one line that ends a sentence."""
    for entry in load_mistakes(ROOT / "tests" / "mistakes", assignment):
        assert not re.search(r"[\u4e00-\u9fff]", entry.hint), entry.id
        assert re.search(r"[\u4e00-\u9fff]", entry.hint_zh), entry.id
        assert re.search(r"[.?!]$", entry.hint), entry.id
        assert re.search(r"[\u3002\uff01\uff1f]$", entry.hint_zh), entry.id
        assert "\n" not in entry.hint + entry.hint_zh, entry.id

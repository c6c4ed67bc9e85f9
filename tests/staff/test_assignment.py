"""assignment.toml: what it says, and everything that it must not say."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.feedback.assignment import Assignment, Budgets, load_assignment
from autograder.feedback.errors import InputError

ROOT = Path(__file__).parents[2]

HEAD = """
[assignment]
title = "Toy"
title_zh = "Toy"
version = "1"
package = "toy"

[files]
"maths.py" = 10
"words.py" = 20
"""
FIRST = """
[[parts]]
slug = "one"
number = "1"
title = "One"
title_zh = "One"

[[parts.items]]
slug = "total"
title = "A total"
title_zh = "A total"
points = 3
file = "maths.py"
"""
SECOND = """
[[parts.items]]
slug = "scale"
title = "Scaling"
title_zh = "Scaling"
points = 2.5
file = "words.py"
needs = ["total"]
"""
BUDGETS = """
[budgets]
call = 1
test = 2
item = 3
run = 4
platform = 5
memory = 6
torch_memory = 7
"""
WHOLE = HEAD + BUDGETS + FIRST + SECOND


def load(folder: Path, text: str) -> Assignment:
    path = folder / "assignment.toml"
    path.write_text(text, encoding="utf-8")
    return load_assignment(path)


def item(slug: str, **keys: str) -> str:
    """One more item; values are TOML."""
    told = {"slug": f'"{slug}"', "title": '"t"', "title_zh": '"t"', "points": "1", "file": '"maths.py"', **keys}
    return "\n[[parts.items]]\n" + "".join(f"{key} = {value}\n" for key, value in told.items())


def part(slug: str, number: str, *, off: bool = False) -> str:
    """One more part, without items."""
    switch = "off = true\n" if off else ""
    return f'\n[[parts]]\nslug = "{slug}"\nnumber = "{number}"\ntitle = "t"\ntitle_zh = "t"\n{switch}'


def test_everything_that_is_said_is_read(tmp_path: Path) -> None:
    """Titles, files in bytes, budgets, points and needs arrive as they were written."""
    read = load(tmp_path, WHOLE)
    assert (read.title, read.version, read.package) == ("Toy", "1", "toy")
    assert read.files == {"maths.py": 10_000, "words.py": 20_000}
    assert read.budgets == Budgets(call=1, test=2, item=3, run=4, platform=5, memory=6, torch_memory=7)
    assert [(entry.slug, entry.number, entry.points, entry.part) for entry in read.items] == [
        ("total", "1.1", 3, "one"),
        ("scale", "1.2", 2.5, "one"),
    ]
    assert read.by_slug["scale"].needs == ("total",)
    assert read.by_slug["scale"].file == "words.py"
    assert read.dropped == ()


def test_what_is_not_said_has_a_default(tmp_path: Path) -> None:
    """Without budgets and switches an item is an ordinary one and the usual limits hold."""
    read = load(tmp_path, HEAD + FIRST)
    entry = read.by_slug["total"]
    assert read.budgets == Budgets()
    assert (read.hints, read.slots.bonus) == ("all", 0)
    assert (entry.bonus, entry.waived, entry.off, entry.torch, entry.tolerance, entry.needs) == (
        False,
        False,
        False,
        False,
        1.0,
        (),
    )


def test_hints_and_the_bonus_are_read(tmp_path: Path) -> None:
    """Public tests tell theirs where "public" stands, and hidden ones with "all" only."""
    hints = HEAD.replace('version = "1"', 'version = "1"\nhints = "{}"')
    told = {}
    for value in ("off", "public", "all"):
        read = load(tmp_path, hints.format(value) + "[slots]\nbonus = 2.5\n" + FIRST)
        told[value] = (read.tells_hints(hidden=False), read.tells_hints(hidden=True))
        assert read.slots.bonus == 2.5
    assert told == {"off": (False, False), "public": (True, False), "all": (True, True)}


def test_numbers_follow_from_the_order(tmp_path: Path) -> None:
    """The tenth item of part 1 is 1.10, and each part counts from 1."""
    many = "".join(item(f"extra_{index}") for index in range(9))
    read = load(tmp_path, HEAD + FIRST + many + part("two", "B") + item("last"))
    assert [entry.number for entry in read.items] == [*(f"1.{index}" for index in range(1, 11)), "B.1"]
    assert [entry.part for entry in read.items] == ["one"] * 10 + ["two"]


def test_numbers_close_up_over_an_item_that_is_off(tmp_path: Path) -> None:
    """An item that is switched off leaves no gap; its slug is remembered as dropped."""
    read = load(tmp_path, HEAD + FIRST + item("gone", off="true") + SECOND)
    assert [(entry.slug, entry.number) for entry in read.items] == [("total", "1.1"), ("scale", "1.2")]
    assert read.dropped == ("gone",)


def test_a_part_that_is_off_takes_its_items_with_it(tmp_path: Path) -> None:
    """All its items are dropped, and the other parts keep their own numbers."""
    read = load(tmp_path, HEAD + part("zero", "0", off=True) + item("early") + item("late") + FIRST)
    assert [entry.number for entry in read.items] == ["1.1"]
    assert [entry.slug for entry in read.parts] == ["one"]
    assert read.dropped == ("early", "late")


def test_a_part_whose_items_are_all_off_is_no_part(tmp_path: Path) -> None:
    """A heading without rows is not shown."""
    read = load(tmp_path, HEAD + FIRST + part("two", "2") + item("gone", off="true"))
    assert [entry.slug for entry in read.parts] == ["one"]


def test_files_that_nothing_needs_any_more_go(tmp_path: Path) -> None:
    """Those of items that are all off, handed in or given; a file that one other item is about stays."""
    gone = part("two", "2", off=True) + 'given = ["tables.py"]\n' + item("late") + item("later", file='"words.py"')
    read = load(tmp_path, HEAD + FIRST + gone)
    assert read.left_out == {"words.py", "tables.py"}
    assert read.files == {"maths.py": 10_000}
    assert read.parts_off == ("two",)


def test_what_imports_torch(tmp_path: Path) -> None:
    """The files of a torch part, handed in and given."""
    heavy = part("two", "2") + 'torch = true\ngiven = ["tables.py"]\n' + item("late", file='"words.py"')
    read = load(tmp_path, HEAD + FIRST + heavy)
    assert read.torch_files == {"words.py", "tables.py"}
    assert [entry.torch for entry in read.items] == [False, True]


def test_an_item_may_need_one_that_is_off(tmp_path: Path) -> None:
    """Switching an item off must not break the items that build on it."""
    read = load(tmp_path, HEAD + FIRST + item("gone", off="true") + item("after", needs='["gone"]'))
    assert read.by_slug["after"].needs == ("gone",)


def test_a_bonus_adds_nothing_to_the_points(tmp_path: Path) -> None:
    """The points of an assignment are those of its items that are no bonus, waived ones included."""
    read = load(tmp_path, WHOLE + item("extra", bonus="true", points="4") + item("free", waived="true", points="2"))
    assert read.points == 3 + 2.5 + 2
    assert read.by_slug["extra"].bonus
    assert read.by_slug["free"].waived


def test_items_know_whether_their_part_needs_torch(tmp_path: Path) -> None:
    """torch is said once, for a part."""
    read = load(tmp_path, HEAD + FIRST + part("two", "2") + "torch = true\n" + item("deep"))
    assert [entry.torch for entry in read.items] == [False, True]


def test_this_repository_has_an_assignment() -> None:
    """The real file is read, and its points add up to a round number."""
    read = load_assignment(ROOT / "assignment.toml")
    assert read.points == round(read.points)
    assert set(read.files) >= {entry.file for entry in read.items}


REFUSED = [
    ("no-toml", "assignment", "[assignment\n", "line 2"),
    ("section-misspelt", "[budgets]", "[budget]", r"the file: unknown key 'budget'; did you mean 'budgets'\?"),
    (
        "title-misspelt",
        'title = "Toy"',
        'titel = "Toy"',
        r"\[assignment\]: unknown key 'titel'; did you mean 'title'\?",
    ),
    ("title-missing", 'title = "Toy"\n', "", r'\[assignment\] needs title = "..."'),
    ("title-no-text", 'title = "Toy"', "title = 3", r'\[assignment\] needs title = "..."'),
    ("head-no-table", HEAD.partition("[files]")[0], "assignment = 3\n", r"\[assignment\] should be a table"),
    ("hints-unknown", 'version = "1"', 'version = "1"\nhints = "none"', "hints is one of off, public, all, not 'none'"),
    ("hints-truth", 'version = "1"', 'version = "1"\nhints = false', "hints is one of off, public, all, not False"),
    ("slots-misspelt", "[budgets]", "[slots]\nbouns = 5\n[budgets]", r"\[slots\]: unknown key 'bouns'; did you mean"),
    ("bonus-text", "[budgets]", '[slots]\nbonus = "5"\n[budgets]', r"\[slots\]: bonus should be a number, not '5'"),
    ("bonus-negative", "[budgets]", "[slots]\nbonus = -1\n[budgets]", r"\[slots\]: bonus must be 0 or more"),
    ("bonus-endless", "[budgets]", "[slots]\nbonus = inf\n[budgets]", r"\[slots\]: bonus must be 0 or more"),
    ("package-no-name", '"toy"', '"../toy"', r"'../toy' cannot be the name of a package"),
    ("files-empty", HEAD.partition("[files]")[2], "", r"'maths.py' is not among \[files\]"),
    ("file-size-text", '"maths.py" = 10', '"maths.py" = "10"', r"\[files\] 'maths.py': a plain name and a size in kB"),
    ("file-size-truth", '"maths.py" = 10', '"maths.py" = true', "a plain name and a size in kB"),
    ("file-size-zero", '"maths.py" = 10', '"maths.py" = 0', "a plain name and a size in kB"),
    ("file-in-folder", '"maths.py" = 10', '"a/maths.py" = 10', "'a/maths.py': a plain name"),
    ("file-in-windows-folder", '"maths.py" = 10', "'a\\maths.py' = 10", "a plain name"),
    ("file-is-the-parent", '"maths.py" = 10', '".." = 10', "'..': a plain name"),
    ("budget-misspelt", "item = 3", "itme = 3", r"\[budgets\]: unknown key 'itme'; did you mean 'item'\?"),
    ("budget-text", "item = 3", 'item = "3"', r"\[budgets\]: item should be a number, not '3'"),
    ("budget-fraction", "memory = 6", "memory = 6.5", r"\[budgets\]: memory should be a whole number, not 6.5"),
    ("budget-negative", "call = 1", "call = -1", r"\[budgets\]: call must be positive"),
    ("budget-nan", "call = 1", "call = nan", r"\[budgets\]: call must be positive"),
    ("budget-endless", "platform = 5", "platform = inf", r"\[budgets\]: platform must be positive"),
    ("memory-zero", "memory = 6", "memory = 0", r"\[budgets\]: memory must be positive"),
    ("call-over-test", "call = 1", "call = 2.5", "call <= test <= item <= run < platform must hold"),
    ("test-over-item", "test = 2", "test = 3.5", "call <= test <= item <= run < platform must hold"),
    ("item-over-run", "item = 3", "item = 4.5", "call <= test <= item <= run < platform must hold"),
    ("run-up-to-the-platform", "run = 4", "run = 5", "call <= test <= item <= run < platform must hold"),
    ("no-parts", FIRST + SECOND, "", "no item is switched on"),
    ("part-misspelt", 'number = "1"', 'nubmer = "1"', r"part 'one': unknown key 'nubmer'; did you mean 'number'\?"),
    ("part-number-no-text", 'number = "1"', "number = 1", "part 'one': number should be a text, not 1"),
    ("part-without-title", 'title = "One"\n', "", "part 'one' needs title"),
    ("item-misspelt", "points = 3", "point = 3", r"item 'total': unknown key 'point'; did you mean 'points'\?"),
    ("item-sets-number", "points = 3", 'points = 3\nnumber = "7"', "item 'total': unknown key 'number'"),
    ("item-sets-torch", "points = 3", "points = 3\ntorch = true", "item 'total': unknown key 'torch'"),
    ("item-without-points", "points = 3\n", "", "item 'total' needs points"),
    ("item-without-most", 'title = "A total"\ntitle_zh = "A total"\n', "", "item 'total' needs title, title_zh"),
    ("points-text", "points = 3", 'points = "3"', "item 'total': points should be a number, not '3'"),
    ("points-truth", "points = 3", "points = true", "item 'total': points should be a number, not True"),
    ("points-zero", "points = 3", "points = 0", "item 'total': points must be positive"),
    ("points-negative", "points = 3", "points = -3", "item 'total': points must be positive"),
    ("points-nan", "points = 3", "points = nan", "item 'total': points must be positive"),
    ("points-endless", "points = 3", "points = inf", "item 'total': points must be positive"),
    ("bonus-text", "points = 3", 'points = 3\nbonus = "yes"', "item 'total': bonus should be true or false, not 'yes'"),
    ("tolerance-zero", "points = 3", "points = 3\ntolerance = 0", "item 'total': tolerance must be positive"),
    ("tolerance-nan", "points = 3", "points = 3\ntolerance = nan", "item 'total': tolerance must be positive"),
    ("slug-no-name", 'slug = "total"', 'slug = "to-tal"', "a slug is letters, digits and underscores"),
    ("slug-like-a-number", 'slug = "total"', 'slug = "1.1"', "a slug is letters, digits and underscores"),
    ("slug-twice", 'slug = "scale"', 'slug = "total"', "item 'total' stands twice"),
    (
        "file-unknown",
        'file = "words.py"',
        'file = "word.py"',
        r"'word.py' is not among \[files\]; did you mean 'words.py'\?",
    ),
    (
        "needs-unknown",
        '["total"]',
        '["totla"]',
        r"item 'scale' needs 'totla', which is no item; did you mean 'total'\?",
    ),
    ("needs-no-list", '["total"]', '"total"', "item 'scale': needs should be a list of slugs"),
    ("needs-numbers", '["total"]', "[1]", "item 'scale': needs should be a list of slugs"),
    ("needs-itself", '["total"]', '["scale"]', "item 'scale' needs 'scale', which does not stand before it"),
    (
        "needs-a-later-one",
        "points = 3",
        'points = 3\nneeds = ["scale"]',
        "'total' needs 'scale', which does not stand before",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    """What cannot be meant is refused in one line that names the file and the place."""
    assert old in WHOLE
    with pytest.raises(InputError, match=message) as caught:
        load(tmp_path, WHOLE.replace(old, new, 1))
    assert str(caught.value).startswith(("assignment.toml: ", f"{tmp_path}/assignment.toml: "))
    assert "\n" not in str(caught.value)


BROKEN = [
    ("part-slug-twice", FIRST + part("one", "2") + item("more"), "part 'one': another part has this slug or number"),
    ("part-number-twice", FIRST + part("two", "1") + item("more"), "part 'two': another part has this slug or number"),
    ("slug-twice-in-two-parts", FIRST + part("two", "2") + item("total"), "item 'total' stands twice"),
    ("slug-of-one-that-is-off", FIRST + item("total", off="true"), "item 'total' stands twice"),
    ("all-off", part("one", "1", off=True) + item("total"), "no item is switched on"),
    ("only-empty-parts", part("one", "1"), "no item is switched on"),
    ("items-no-tables", part("one", "1") + "items = 3\n", "part 'one': items should be a list of tables"),
    ("items-of-numbers", part("one", "1") + "items = [3]\n", "part 'one': items should be a list of tables"),
    ("part-without-slug", '\n[[parts]]\nnumber = "1"\n', "part None needs slug, title, title_zh"),
]


@pytest.mark.parametrize(("parts", "message"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_refused_parts(tmp_path: Path, parts: str, message: str) -> None:
    """Parts and items that stand twice, are empty or are no tables are refused."""
    with pytest.raises(InputError, match=message):
        load(tmp_path, HEAD + parts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("parts = 3\n" + HEAD, r"\[\[parts\]\] should be a list of tables"),
        ("files = 3\n" + HEAD.partition("[files]")[0], r"\[files\] should be a table"),
        ("budgets = 3\n" + HEAD, r"\[budgets\] should be a table"),
        ("", r'\[assignment\] needs title = "..."'),
    ],
    ids=["parts", "files", "budgets", "empty-file"],
)
def test_sections_of_the_wrong_kind(tmp_path: Path, text: str, message: str) -> None:
    """A number where a section belongs is one clear line, never a traceback of ours."""
    with pytest.raises(InputError, match=message):
        load(tmp_path, text)


def test_no_such_file(tmp_path: Path) -> None:
    """A missing file is named by its whole path."""
    with pytest.raises(InputError, match=r"nowhere/assignment.toml: No such file"):
        load_assignment(tmp_path / "nowhere" / "assignment.toml")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """A folder in its place is refused like a missing file."""
    with pytest.raises(InputError, match="Is a directory"):
        load_assignment(tmp_path)


def test_no_utf8(tmp_path: Path) -> None:
    """A file of another encoding is refused in one line."""
    path = tmp_path / "assignment.toml"
    path.write_bytes("title = 'Übung'".encode("latin-1"))
    with pytest.raises(InputError, match="utf-8"):
        load_assignment(path)

"""``autograder new``: what it makes, what it leaves alone, and that nothing unfinished passes."""

from __future__ import annotations

import difflib
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from autograder.authoring.excerpt import excerpt
from autograder.authoring.inserting import imported, item_in_part, section, submission_file
from autograder.authoring.scaffold import NewItem, new_item
from autograder.build import package_members
from autograder.cli import main
from autograder.feedback.assignment import load_assignment
from autograder.feedback.errors import InputError
from autograder.proof.catalogue import apply, load_alternatives, load_mistakes
from tests.staff.runs import POCKET, ROOT, copy_home, run_and_read

PAGES = {
    "solutions/writeup/1-numbers.md": "# Numbers <!-- part numbers -->\n\n## Doubling <!-- item double -->\n\nTwo.\n\n"
    "### More\n\n```sh\n# no heading\n```\n\n## When it works\n\nGood.\n",
    "solutions/writeup/1-numbers.zh.md": "# 数 <!-- part numbers -->\n\n## 加倍 <!-- item double -->\n\n两倍。\n",
}
MEDIAN = ("median", "--part", "1", "--file", "alpha.py", "--function", "median", "--arguments", "values")


def call(home: Path, *arguments: object) -> Result:
    """Run the command in this process."""
    result = CliRunner().invoke(main, ["--home", str(home), *map(str, arguments)], prog_name="autograder")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def made(home: Path, *arguments: object) -> str:
    """What a command prints that must succeed."""
    result = call(home, *arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The small assignment, with two pages of a writeup."""
    return copy_home(tmp_path / "home", changes=PAGES)


def texts(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def added(before: bytes, after: bytes) -> list[str]:
    """The lines that are new in a file; no other may be gone."""
    lines = list(difflib.ndiff(before.decode().splitlines(), after.decode().splitlines()))
    assert [line for line in lines if line.startswith("- ")] == []
    return [line[2:] for line in lines if line.startswith("+ ")]


# --- an item


def test_an_item_is_eight_files_and_no_line_is_lost(home: Path) -> None:
    """A row, a solution, two tests, two entries, two sections; all that was there stays."""
    before = texts(home)
    made(home, "new", "item", *MEDIAN, "--title", "The median", "--title-zh", "中位数")
    after = texts(home)
    changed = {name: added(before.get(name, b""), after[name]) for name in after if after[name] != before.get(name)}
    assert before.keys() <= after.keys()
    assert sorted(changed) == [
        "assignment.toml",
        "solutions/pocket/alpha.py",
        "solutions/writeup/1-numbers.md",
        "solutions/writeup/1-numbers.zh.md",
        "tests/alternatives/median/median-another-way.toml",
        "tests/hidden/test_alpha.py",
        "tests/mistakes/median/median-first-mistake.toml",
        "tests/public/test_alpha.py",
    ]
    assert [line for line in changed["assignment.toml"] if line] == [
        "[[parts.items]]",
        'slug = "median"',
        'title = "The median"',
        'title_zh = "中位数"',
        "points = 2",
        'file = "alpha.py"',
    ]
    item = load_assignment(home / "assignment.toml").by_slug["median"]
    assert (item.number, item.part, item.points, item.file) == ("1.4", "numbers", 2, "alpha.py")


def test_the_stub_of_a_new_item_is_not_started(home: Path) -> None:
    """The builder takes the new region as any other."""
    made(home, "new", "item", *MEDIAN)
    stub = package_members(home, load_assignment(home / "assignment.toml"))["pocket/alpha.py"].content.decode()
    assert 'raise NotImplementedError("median: median")' in stub


def test_sections_stand_behind_the_last_item_of_the_part(home: Path) -> None:
    """Not behind "When it works", and not inside code."""
    made(home, "new", "item", *MEDIAN, "--title-zh", "中位数")
    english = (home / "solutions/writeup/1-numbers.md").read_text(encoding="utf-8")
    chinese = (home / "solutions/writeup/1-numbers.zh.md").read_text(encoding="utf-8")
    assert re.findall(r"^## .*", english, re.MULTILINE) == [
        "## Doubling <!-- item double -->",
        "## Median <!-- item median -->",
        "## When it works",
    ]
    assert english.index("### More") < english.index("## Median")
    assert chinese.startswith(PAGES["solutions/writeup/1-numbers.zh.md"] + "\n## 中位数 <!-- item median -->\n\nTODO")


def test_a_part_without_a_page_is_said(home: Path) -> None:
    """Where there is no page, none is invented."""
    said = made(home, "new", "item", "longest", "--part", "words", "--file", "beta.py", "--function", "longest")
    assert said.count("NOTE: no page solutions/writeup/*") == 2
    assert len(list((home / "solutions/writeup").iterdir())) == 2


def test_a_new_file_is_handed_in_and_its_tests_are_made(home: Path) -> None:
    """A file that nobody knew is put into [files]; its tests have the imports that a linter wants."""
    made(home, "new", "item", "push", "--part", "2", "--file", "stack.py", "--function", "push", "--points", "0.5")
    assignment = load_assignment(home / "assignment.toml")
    assert assignment.files["stack.py"] == 200_000
    assert assignment.by_slug["push"].points == 0.5
    assert "pocket/stack.py" in package_members(home, assignment)
    for name in ("tests/public/test_stack.py", "tests/hidden/test_stack.py", "solutions/pocket/stack.py"):
        to_do = set() if name.startswith("solutions") else {"F821 Undefined name `TODO`"}
        assert linted(home / name) == to_do, name


def linted(path: Path) -> set[str]:
    """What this repository's linter says of a file."""
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "concise"]
    command += ["--config", str(ROOT / "pyproject.toml"), str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return set(re.findall(r":\d+:\d+: ([A-Z]+\d+ .*)", done.stdout))


def test_what_is_to_do_is_listed(home: Path) -> None:
    """Each line that says TODO and is new is named with its place, and the next commands can be pasted."""
    with (home / "solutions/pocket/alpha.py").open("a", encoding="utf-8") as file:
        file.write("# TODO: of somebody else\n")
    said = made(home, "new", "item", *MEDIAN)
    for path, number, line in re.findall(r"^  (\S+):(\d+): (.*)$", said, re.MULTILINE):
        assert (home / path).read_text(encoding="utf-8").splitlines()[int(number) - 1].strip() == line
    assert said.count("TODO") >= 10
    assert "somebody else" not in said
    assert "  assignment.toml:43: title_zh = " in said
    assert "autograder audit --only median --only median-first-mistake --only median-another-way\n" in said


# --- nothing unfinished passes

SOLUTION = "return sorted(values)[len(values) // 2]"
PUBLIC = """    got = student.alpha.median([5, 1, 3])
    check.equal(got, 3, "the median")
"""
HIDDEN = """    x = rng.normal(size=7).tolist()
    check.close(student.alpha.median(x), reference.alpha.median(x), "the median")
"""


def replace(path: Path, *pairs: tuple[str, str]) -> None:
    """Change texts that occur once."""
    text = path.read_text(encoding="utf-8")
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def fill_code(home: Path, *, public: bool = True, hidden: bool = True) -> None:
    """Write the solution and the tests of the new item."""
    replace(home / "solutions/pocket/alpha.py", ('raise NotImplementedError("TODO: the solution of median")', SOLUTION))
    for wanted, kind, text in ((public, "public", PUBLIC), (hidden, "hidden", HIDDEN)):
        path = home / f"tests/{kind}/test_alpha.py"
        whole = path.read_text(encoding="utf-8")
        start = whole.rindex('when it is not."""\n') + len('when it is not."""\n')
        if wanted:
            path.write_text(whole[:start] + text, encoding="utf-8")


@pytest.mark.parametrize(
    ("code", "public", "hidden"),
    [(False, False, False), (True, False, True), (True, True, False)],
    ids=["nothing", "no-public-test", "no-hidden-test"],
)
def test_a_test_that_is_to_do_fails(home: Path, code: bool, public: bool, hidden: bool) -> None:
    """The solutions lose the item until solution and both tests are written."""
    made(home, "new", "item", *MEDIAN)
    if code:
        fill_code(home, public=public, hidden=hidden)
    assert run_and_read(home / "solutions", home, items=["median"]).rows["median"].score < 2


def test_entries_are_refused_until_they_are_filled_in_and_then_the_audit_is_green(home: Path) -> None:
    """What is missing is one line, with its file; each line filled in brings the next, and the last one green."""
    made(home, "new", "item", *MEDIAN)
    fill_code(home)
    ids = ("median", "median-first-mistake", "median-another-way", "reference")
    command = ("audit", "--jobs", "1", *(word for name in ids for word in ("--only", name)))

    def refused() -> str:
        result = call(home, *command)
        assert result.exit_code == 2
        return result.stderr.removeprefix("autograder: ").rstrip("\n")

    other = home / "tests/alternatives/median/median-another-way.toml"
    wrong = home / "tests/mistakes/median/median-first-mistake.toml"
    assert refused() == "alternatives/median/median-another-way.toml: old and new are the same text"
    replace(other, ("new = ''", "new = 'return sorted(values, reverse=True)[len(values) // 2]'"))
    assert refused() == "mistakes/median/median-first-mistake.toml: old and new are the same text"
    replace(wrong, ("new = ''", "new = 'return max(values)'"))
    for key, text in (("hint", "Not the end, the middle."), ("hint_zh", "不是末尾，是中间。"), ("source", "observed")):
        assert refused() == f'mistakes/median/median-first-mistake.toml: needs {key} = "..."'
        replace(wrong, (f'{key} = ""', f'{key} = "{text}"'))
    result = call(home, *command)
    assert result.exit_code == 0, result.output
    assert "1 reference, 1 one-item-only, 1 alternatives, 1 mistakes: all as they must be" in result.stdout


def test_nothing_here_is_left_to_do() -> None:
    """No TODO of a template stands in this repository's sources, tests or catalogue."""
    places = [ROOT / "assignment.toml"]
    for folder in ("solutions", "tests/public", "tests/hidden", "tests/mistakes", "tests/alternatives"):
        places += [path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".toml", ".md")]
    assert len(places) > 100
    assert [str(path) for path in places if b"TODO" in path.read_bytes()] == []


# --- a mistake, an alternative


def test_a_mistake_begins_with_the_present_body(home: Path) -> None:
    """Without docstring and markers; what is edited applies as it stands."""
    said = made(home, "new", "mistake", "1.2", "mean-is-doubled")
    path = home / "tests/mistakes/mean/mean-is-doubled.toml"
    body = 'if not values:\n    raise ValueError("the mean of nothing")\nreturn total(values) / len(values)\n'
    assert f"old = '''\n{body}'''\nnew = '''\n{body}'''\n" in path.read_text(encoding="utf-8")
    assert "autograder audit --only mean-is-doubled" in said
    assignment = load_assignment(home / "assignment.toml")
    with pytest.raises(InputError, match="old and new are the same text"):
        load_mistakes(home / "tests/mistakes", assignment)
    text = path.read_text(encoding="utf-8").replace('""', '"x"').replace('hint_zh = "x"', 'hint_zh = "y"')
    head, new, tail = text.partition("new = '''")
    path.write_text(head + new + tail.replace("/ len(values)", "* 2"), encoding="utf-8")
    mistake = next(entry for entry in load_mistakes(home / "tests/mistakes", assignment) if entry.id == path.stem)
    package = {name: member.content for name, member in package_members(home, assignment, None).items()}
    assert b"return total(values) * 2" in apply(mistake, package)["pocket/alpha.py"]


def test_an_alternative_of_a_named_function(home: Path) -> None:
    """--function picks it; texts with three quotes and backslashes survive TOML."""
    source = '''def join(words):
    """Joined."""
    # BEGIN SOLUTION double
    text = \'\'\'a\\n"b"\'\'\'
    return "'".join(words) + text + "\\\\" + """
    x"""
    # END SOLUTION
'''
    with (home / "solutions/pocket/alpha.py").open("a", encoding="utf-8") as file:
        file.write("\n\n" + source)
    refused = call(home, "new", "alternative", "double", "double-in-words")
    assert refused.exit_code == 2
    assert refused.stderr == "autograder: give --function: the solution of 'double' is in alpha.double, alpha.join\n"
    made(home, "new", "alternative", "double", "double-in-words", "--function", "alpha.join")
    path = home / "tests/alternatives/double/double-in-words.toml"
    text = path.read_text(encoding="utf-8")
    head, new, tail = text.partition("\nnew = ")
    path.write_text(head + new + tail.replace("join(words)", "join(list(words))"), encoding="utf-8")
    assignment = load_assignment(home / "assignment.toml")
    entry = next(e for e in load_alternatives(home / "tests/alternatives", assignment) if e.id == path.stem)
    package = {name: member.content for name, member in package_members(home, assignment, None).items()}
    assert b"join(list(words))" in apply(entry, package)["pocket/alpha.py"]


# --- bad input

BASE = ("--part", "1", "--file", "alpha.py", "--function", "median")
BAD: dict[str, tuple[tuple[str, ...], str]] = {
    "known-slug": (("item", "mean", *BASE), "item 'mean' is there already"),
    "slug-with-a-hyphen": (("item", "the-median", *BASE), "a slug is a-z, 0-9 and underscores"),
    "slug-is-a-path": (("item", "../median", *BASE), "a slug is a-z, 0-9 and underscores"),
    "no-such-part": (("item", "median", "--part", "3", *BASE[2:]), "no part '3'; there are 1 numbers, 2 words"),
    "given-file": (("item", "median", *BASE[:2], "--file", "given.py", *BASE[4:]), "given.py is given to students"),
    "file-is-a-path": (("item", "median", *BASE[:2], "--file", "../a.py", *BASE[4:]), "not a name of a Python module"),
    "file-is-no-python": (("item", "median", *BASE[:2], "--file", "a.npz", *BASE[4:]), "not a name of a Python module"),
    "function-is-a-keyword": (("item", "median", *BASE[:5], "class"), "not a name that Python takes"),
    "function-has-a-dot": (("item", "median", *BASE[:5], "A.b"), "not a name that Python takes"),
    "function-is-there": (("item", "median", *BASE[:5], "mean"), "solutions/pocket/alpha.py: 'mean' is there already"),
    "arguments-are-none": (("item", "median", *BASE, "--arguments", "a b"), "not what may stand between the brackets"),
    "points-are-infinite": (("item", "median", *BASE, "--points", "inf"), "points"),
    "entry-is-there": (("item", "median", *BASE, "--mistake", "double-adds-two"), "has that id already"),
    "ids-are-the-same": (("item", "median", *BASE, "--mistake", "a", "--alternative", "a"), "id 'a' is given twice"),
    "mistake-is-there": (("mistake", "double", "double-adds-two"), "double-adds-two.toml has that id already"),
    "mistake-is-an-alternative": (("mistake", "double", "double-by-addition"), "has that id already"),
    "bad-id": (("mistake", "double", "Double_it"), "an id is words of a-z and 0-9"),
    "no-such-item": (("mistake", "doubel", "a"), "no item 'doubel'"),
    "no-such-function": (("alternative", "double", "a", "--function", "alpha.twice"), "no function 'twice'"),
    "function-of-a-given-file": (("mistake", "double", "a", "--function", "given.total"), "not handed in by students"),
    "function-without-module": (("mistake", "double", "a", "--function", "double"), "is not module.qualname"),
}


@pytest.mark.parametrize(("arguments", "complaint"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_writes_nothing(home: Path, arguments: tuple[str, ...], complaint: str) -> None:
    """Exit code 2, one line, and not a byte anywhere."""
    before = texts(home)
    result = call(home, "new", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert complaint in result.stderr
    assert texts(home) == before


def test_the_same_item_twice_is_refused(home: Path) -> None:
    """Nor a test of that name, nor a file of the catalogue, when the row alone was taken out again."""
    row = (home / "assignment.toml").read_bytes()
    made(home, "new", "item", *MEDIAN)
    assert "item 'median' is there already" in call(home, "new", "item", *MEDIAN).stderr
    (home / "assignment.toml").write_bytes(row)
    other = [*MEDIAN[:-3], "middle"]
    before = texts(home)
    assert "'test_median_by_hand' is there already" in call(home, "new", "item", *other).stderr
    for kind in ("public", "hidden"):
        shutil.copyfile(POCKET / f"tests/{kind}/test_alpha.py", home / f"tests/{kind}/test_alpha.py")
        before = texts(home)
    assert "median-first-mistake.toml has that id already" in call(home, "new", "item", *other).stderr
    assert texts(home) == before


# --- the pieces


@pytest.mark.parametrize(
    ("text", "part", "found"),
    [
        (
            "[[parts]]\nslug = 1\n\n# of b\n[[parts]]\nslug = 2\n",
            0,
            "[[parts]]\nslug = 1\n\nITEM\n\n# of b\n[[parts]]\n",
        ),
        ("[[parts]]\nslug = 1\n", 0, "[[parts]]\nslug = 1\n\nITEM\n"),
        ("[[parts]]\n[[parts.items]]\na = 1\n[budgets]\nb = 2\n", 0, "a = 1\n\nITEM\n[budgets]\nb = 2\n"),
    ],
    ids=["comment-above-the-next", "last", "another-table-follows"],
)
def test_an_item_goes_behind_its_part(text: str, part: int, found: str) -> None:
    """A comment above the next part stays above it."""
    assert found.replace("ITEM", "[[parts.items]]\nslug = 3") in item_in_part(
        text, part, "\n[[parts.items]]\nslug = 3\n"
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda: item_in_part("parts = [{slug = 1}]\n", 0, "[[parts.items]]\nslug = 3\n"),
        lambda: item_in_part('[[parts]]\na = """\n[x]"""\n', 0, "[[parts.items]]\nslug = 3\n"),
        lambda: submission_file('files = {"a.py" = 1}\n', "b.py", 2),
    ],
    ids=["inline-parts", "a-text-like-a-table", "inline-files"],
)
def test_toml_that_cannot_be_added_to_is_refused(change: Callable[[], str]) -> None:
    """What is written in another way is left to its author."""
    with pytest.raises(InputError, match=r"^assignment\.toml: "):
        change()


@pytest.mark.parametrize(
    "before",
    ["", '"""Doc."""\n', "import math\n", "import numpy as np\n", "import math\n\nfrom autograder import wire\n"],
    ids=["nothing", "docstring", "standard", "other", "standard-and-ours"],
)
@pytest.mark.parametrize("module", ["gradescope_utils.a", "autograder.feedback", "os"])
def test_imports_go_where_a_linter_wants_them(before: str, module: str, tmp_path: Path) -> None:
    """Groups in order, a blank line between; a name that is there already is left alone."""
    text = imported(before + "\n\ndef f():\n    pass\n", module, "name")
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--isolated", "--select", "I"]
    command += ["--config", 'lint.isort.known-first-party = ["autograder"]', str(tmp_path / "a.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, text
    assert f"from {module} import name\n" in text
    assert imported(text, "elsewhere", "name") == text


def test_a_page_of_another_part_is_left_alone() -> None:
    """The heading decides, wherever else the part is mentioned."""
    assert section("# A <!-- part a -->\n\n```\n# B <!-- part b -->\n```\n", "b", set(), "new\n") is None


def test_an_excerpt_is_the_function_that_was_asked_for() -> None:
    """Decorators and nested functions; a body on the line of def is none."""
    source = "class A:\n    @property\n    # why\n    def b(self):\n        '''Doc.\n\n        More.\n        '''\n" + (
        "        def c(): return 1  # one\n        return c\n"
    )
    assert excerpt(source, "A.b", "x").lines == (
        *("@property", "def b(self):", '    """Doc."""'),
        *("    def c(): return 1", "    return c"),
    )
    assert excerpt(source, "A.b.c", "x").body == ()
    with pytest.raises(InputError, match=r"x: no function 'A\.d'"):
        excerpt(source, "A.d", "x")


# --- the page for authors


def test_the_worked_example_makes_what_the_page_says(tmp_path: Path) -> None:
    """The first command of docs/authors.md, on this repository, prints the lines below it."""
    shutil.copyfile(ROOT / "assignment.toml", tmp_path / "assignment.toml")
    for folder in ("solutions", "tests/public", "tests/hidden"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "*.npz"))
    page = (ROOT / "docs/authors.md").read_text(encoding="utf-8")
    command, output = re.findall(r"^```(?:sh)?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[:2]
    said = made(tmp_path, *shlex.split(command.replace("\\\n", ""))[1:])
    assert said.startswith(output)
    with pytest.raises(InputError, match="there already"):
        new_item(tmp_path, NewItem("coverage", "1", "metrics.py", "coverage"))

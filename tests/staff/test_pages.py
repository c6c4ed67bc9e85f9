"""autograder/pages.py and the writeup: numbers and points come from assignment.toml, both languages say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder.feedback.assignment import load_assignment
from autograder.feedback.errors import InputError
from autograder.pages import render
from tests.staff import toy

ROOT = Path(__file__).resolve().parents[2]
WRITEUP = ROOT / "solutions" / "writeup"
KIT = ROOT / "solutions" / "kit"
PAGE = """# Powers <!-- part powers -->

Text.

```sh
# no heading <!-- here -->
```

## Squares <!-- item square -->

### Deeper

About squares.

## Cubes <!-- item cube -->

About cubes.

## Last

The end.
"""


def assignment(tmp_path, *edits):
    """The toy assignment with some text replaced."""
    toy.write(tmp_path, {"assignment.toml": toy.FILES["assignment.toml"]})
    for old, new in edits:
        toy.edit(tmp_path, "assignment.toml", old, new)
    return load_assignment(tmp_path / "assignment.toml")


def headings(text):
    """The headings outside of code blocks."""
    return re.findall(r"^#+ .*$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), flags=re.MULTILINE)


def test_headings_get_number_and_points(tmp_path):
    """Nothing else changes."""
    page = render(PAGE, "1.md", assignment(tmp_path))
    assert headings(page) == [
        "# 1 Powers (4.5 points)",
        "## 1.1 Squares (3 points)",
        "### Deeper",
        "## 1.2 Cubes (1.5 points)",
        "## Last",
    ]
    assert [line for line in page.split("\n") if line not in PAGE.split("\n")] == [
        line for line in headings(page) if re.match(r"#+ 1", line)
    ]


def test_points_are_said_in_the_language_of_the_page(tmp_path):
    """One point is no plural; a bonus is named."""
    plain = assignment(tmp_path, ("points = 3\n", "points = 1\n"), ("points = 1.5\n", "points = 1.5\nbonus = true\n"))
    assert headings(render(PAGE, "1.md", plain)) == [
        "# 1 Powers (1 point, 1.5 bonus points)",
        "## 1.1 Squares (1 point)",
        "### Deeper",
        "## 1.2 Cubes (1.5 bonus points)",
        "## Last",
    ]
    assert headings(render(PAGE, "1.zh.md", plain))[:2] == ["# 1 Powers（1 分，附加 1.5 分）", "## 1.1 Squares（1 分）"]


def test_sections_of_switched_off_items_go(tmp_path):
    """Up to the next heading of the same level; what follows moves up in number."""
    page = render(PAGE, "1.md", assignment(tmp_path, ("points = 3\n", "points = 3\noff = true\n")))
    assert headings(page) == ["# 1 Powers (1.5 points)", "## 1.1 Cubes (1.5 points)", "## Last"]
    assert "squares" not in page
    assert "About cubes." in page


def test_the_page_of_a_switched_off_part_goes(tmp_path):
    """With nothing left of it."""
    other = '\n[[parts]]\nslug = "other"\nnumber = "2"\ntitle = "O"\ntitle_zh = "O"\n[[parts.items]]\nslug = "root"\n'
    other += 'title = "R"\ntitle_zh = "R"\npoints = 1\nfile = "ops.py"\n'
    toy.write(tmp_path, {"assignment.toml": toy.FILES["assignment.toml"] + other})
    toy.edit(tmp_path, "assignment.toml", 'slug = "powers"\n', 'slug = "powers"\noff = true\n')
    assert render(PAGE, "1.md", load_assignment(tmp_path / "assignment.toml")) == ""


def test_a_line_about_what_is_off_goes(tmp_path):
    """In text, tables and code blocks; with it on, only the mark goes."""
    page = "A cube <!-- with cube -->\nof a square. <!-- with square -->\n\n```sh\nmake cubes <!-- with cube -->\n```\n"
    assert render(page, "1.md", assignment(tmp_path)) == "A cube\nof a square.\n\n```sh\nmake cubes\n```\n"
    off = assignment(tmp_path, ("points = 1.5\n", "points = 1.5\noff = true\n"))
    assert render(page, "1.md", off) == "of a square.\n\n```sh\n```\n"


REFUSED = {
    "unknown_condition": ("# A\n\nText <!-- with nix -->", "1.md:3: 'nix' is no part or item of the assignment"),
    "unknown_item": ("# A <!-- item nix -->", "1.md:1: 'nix' is no item of the assignment"),
    "unknown_part": (
        "x\n\n# A <!-- part nix -->\n## B <!-- item cube -->",
        "1.md:3: 'nix' is no part of the assignment",
    ),
    "mark_in_text": ("# A\n\nText <!-- item cube -->", "1.md:3: a mark stands at the end of a heading"),
    "no_heading": ("#A <!-- item cube -->", "1.md:1: a mark stands at the end of a heading"),
}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_marks_that_mean_nothing_are_refused(case, tmp_path):
    """With file and line."""
    page, problem = REFUSED[case]
    with pytest.raises(InputError) as refused:
        render(page, "1.md", assignment(tmp_path))
    assert str(refused.value) == problem


# The repository's own pages.


@pytest.mark.parametrize("page", sorted(path.name for path in WRITEUP.glob("*.zh.md")), ids=str)
def test_both_languages_have_the_same_sections_formulas_and_code(page):
    """Headings by level and mark, display formulas without their words, code blocks and tables by size."""
    shapes = []
    for name in (page, page.replace(".zh.md", ".md")):
        text = (WRITEUP / name).read_text(encoding="utf-8")
        blocks = re.findall(r"```(\w*)\n(.*?)```", text, flags=re.DOTALL)
        marks = [(line.split(" ")[0], "".join(re.findall(r"<!--.*", line))) for line in headings(text)]
        rows = [line.count("|") for line in text.split("\n") if line.startswith("|")]
        shapes.append((marks, [(kind, re.sub(r"\\text\{[^{}$]*\}", "", block)) for kind, block in blocks], rows))
    assert shapes[0] == shapes[1]


def test_every_page_has_both_languages():
    """And each links to the other."""
    for folder in (WRITEUP, KIT):
        chinese = {path.name for path in folder.glob("*.zh.md")}
        assert {path.name for path in folder.glob("*.md")} == chinese | {name.replace(".zh", "") for name in chinese}
        for name in chinese:
            assert f"[English]({name.replace('.zh', '')})" in (folder / name).read_text(encoding="utf-8")
            assert f"[中文]({name})" in (folder / name.replace(".zh", "")).read_text(encoding="utf-8")


def test_both_readmes_have_the_same_commands():
    """And as many sections."""
    texts = [(KIT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh.md")]
    assert re.findall(r"```.*?```", texts[0], flags=re.DOTALL) == re.findall(r"```.*?```", texts[1], flags=re.DOTALL)
    assert [line.split()[0] for line in headings(texts[0])] == [line.split()[0] for line in headings(texts[1])]


@pytest.mark.parametrize("ending", [".md", ".zh.md"], ids=["english", "chinese"])
def test_every_item_has_a_section_that_is_called_as_in_the_assignment(ending):
    """So that writeup and score card use one name."""
    real = load_assignment(ROOT / "assignment.toml")
    titles = {}
    for path in WRITEUP.glob("*.md"):
        if path.name.endswith(".zh.md") == (ending == ".zh.md"):
            titles.update(re.findall(r"^#+ (.*?) <!-- item (\w+) -->$", path.read_text(encoding="utf-8"), re.MULTILINE))
    wanted = {item.title_zh if ending == ".zh.md" else item.title: item.slug for item in real.items}
    assert titles == wanted


def test_formulas_in_a_line_stand_after_a_space():
    """GitHub leaves those as they are that follow other characters, full-width punctuation among them."""
    for path in WRITEUP.glob("*.md"):
        text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for formula in re.finditer(r"\$[^$\n]+\$", text):
            before, after = text[formula.start() - 1], text[formula.end()]
            assert before.isspace(), f"{path.name}: {formula[0]}"
            assert not (after.isalnum() and after.isascii()), f"{path.name}: {formula[0]}"


def test_links_of_the_handout_lead_somewhere():
    """From every page to a file that the handout has."""
    for folder, under in ((KIT, ""), (WRITEUP, "writeup/")):
        for path in folder.glob("*.md"):
            for target in re.findall(r"\]\((?!http)([^)#]+)\)", path.read_text(encoding="utf-8")):
                place = Path(under) / target
                source = WRITEUP / place.name if place.parts[0] == "writeup" else KIT / place
                assert source.is_file(), f"{path.name}: {target}"

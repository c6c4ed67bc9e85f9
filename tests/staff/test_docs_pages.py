"""autograder/docs: what becomes of a page on the web, where links lead, what is refused, what is left behind."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from autograder.cli import main
from autograder.docs import html, pandoc
from autograder.docs.making import make
from autograder.feedback.errors import InputError
from tests.staff import toy

PAGE = """# Powers <!-- part powers -->

[中文](1-powers.zh.md) · [start](../README.md)

A square is $x^2$, see [cubes](#12-cubes-15-points) and [roots](2-roots.md#the-root).

## Squares <!-- item square -->

```math
\\sum_i x_i^2 = \\lVert x \\rVert^2
```

| what | here |
| --- | ---: |
| $x$ | a number |

```python
y = x * x  # "squared"
```

## Cubes <!-- item cube -->

Three times; $`x^3`$ is GitHub's other way. [The code](../toy/ops.py), [the world](https://example.org/a?b=1&c).
"""
CHINESE = """# 幂 <!-- part powers -->

[English](1-powers.md)

平方是： $x^2$，
第二行。

## 平方 <!-- item square -->

## 立方 <!-- item cube -->
"""
PAGES = {
    "solutions/kit/README.md": "# Read me\n\n[Powers](writeup/1-powers.md), [licence](LICENSE).\n",
    "solutions/kit/README.zh.md": "# 自述\n\n[幂](writeup/1-powers.zh.md)\n",
    "solutions/writeup/1-powers.md": PAGE,
    "solutions/writeup/1-powers.zh.md": CHINESE,
    "solutions/writeup/2-roots.md": "# Roots\n\n## The root\n\nBack to [squares](1-powers.md#square).\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The toy assignment with three English pages and two Chinese ones."""
    return toy.write(tmp_path / "course", {**toy.FILES, **PAGES})


def pages(root: Path, out: str = "out") -> dict[str, str]:
    """The web pages of an assignment, by name."""
    folder = root.parent / out
    make(root, folder, with_pdf=False, tell=lambda _: None)
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}


def links(page: str) -> list[str]:
    """Where the links of a page's own text lead."""
    body = page[page.index("<main>") : page.index("</main>")]
    return re.findall(r'href="([^"]*)"', re.sub(r"<(nav|details).*?</\1>", "", body, flags=re.DOTALL))


# --- what a page says


def test_every_page_becomes_one_at_its_place(root: Path) -> None:
    """README is the index; a page that is not translated has no Chinese version."""
    assert sorted(pages(root)) == [
        "index.html",
        "index.zh.html",
        "writeup/1-powers.html",
        "writeup/1-powers.zh.html",
        "writeup/2-roots.html",
    ]


def test_formulas_tables_and_code_come_out_right(root: Path) -> None:
    """Each of GitHub's three ways to write a formula is MathML; wide things stand in a box that scrolls."""
    page = pages(root)["writeup/1-powers.html"]
    assert page.count("<math ") == 4
    assert re.search(r'<div class="wide" tabindex="0">\s*<p>\s*<math display="block"', page)
    assert re.search(r'<div class="wide" tabindex="0">\s*<table>', page)
    assert '<td style="text-align: right;">a number</td>' in page
    assert re.search(r'<pre class="sourceCode python">.*<span class="co"># &quot;squared&quot;</span>', page, re.DOTALL)
    assert 'id="cb' not in page
    assert "$" not in re.sub(r"<annotation.*?</annotation>|<style>.*?</style>", "", page, flags=re.DOTALL)


def test_headings_have_numbers_points_and_the_anchors_of_their_items(root: Path) -> None:
    """GitHub's own anchor works, and the item's slug."""
    page = pages(root)["writeup/1-powers.html"]
    assert "<title>1 Powers (4.5 points) · Powers</title>" in page
    assert '<h2 id="12-cubes-15-points"><span id="cube"></span>1.2 Cubes (1.5 points)</h2>' in page
    assert '<li><a href="#11-squares-3-points">1.1 Squares (3 points)</a></li>' in page


def test_links_lead_to_pages(root: Path) -> None:
    """From .md to .html, README to the index; the words of a link to a file that is no page stay."""
    found = pages(root)
    assert links(found["writeup/1-powers.html"]) == [
        "../index.html",
        "#12-cubes-15-points",
        "2-roots.html#the-root",
        "https://example.org/a?b=1&amp;c",
    ]
    assert "The code," in found["writeup/1-powers.html"]
    assert links(found["index.html"]) == ["writeup/1-powers.html"]
    assert links(found["index.zh.html"]) == ["writeup/1-powers.zh.html"]
    assert links(found["writeup/2-roots.html"]) == ["1-powers.html#square"]


def test_every_address_is_there(root: Path) -> None:
    """Bar, list of pages, neighbours and language switch: each leads to a page of the folder and an id in it."""
    found = pages(root)
    for name, page in found.items():
        for address in re.findall(r'href="([^"]*)"', page):
            if address.startswith("https:"):
                continue
            path, _, identifier = address.partition("#")
            place = (Path(name).parent / path).as_posix() if path else name
            place = place.replace("writeup/../", "")
            assert place in found, f"{name}: {address}"
            assert not identifier or f'id="{identifier}"' in found[place], f"{name}: {address}"


def test_languages_lead_to_each_other(root: Path) -> None:
    """To the same page where there is one, else to that language's index; Chinese readers get English pages, too."""
    found = pages(root)
    assert '<a href="1-powers.zh.html" lang="zh-CN" hreflang="zh-CN">中文</a>' in found["writeup/1-powers.html"]
    assert '<a href="../index.zh.html" lang="zh-CN" hreflang="zh-CN">中文</a>' in found["writeup/2-roots.html"]
    assert '<html lang="zh-CN">' in found["writeup/1-powers.zh.html"]
    assert '<a href="writeup/2-roots.html">Roots</a>' in found["index.zh.html"]
    assert "中文" not in found["writeup/1-powers.html"].partition("<main>")[2]


def test_chinese_is_set_without_the_spaces_that_markdown_needs(root: Path) -> None:
    """Neither where a line of the source ends, nor between full-width punctuation and a formula."""
    page = pages(root)["writeup/1-powers.zh.html"]
    assert re.search(r"<p>平方是：<math.*?</math>，第二行。</p>", page)


def test_a_long_formula_may_go_on_in_the_next_line(root: Path) -> None:
    """It is cut before relations that stand in no group, and only then; a short one stays whole."""
    assert html._pieces("a = b") == ["a = b"]
    long = r"f(x_1, x_2, x_3, x_4) = \frac{a = b}{c} + x_5 + x_6 \approx \left( y = z \right)"
    assert html._pieces(long) == [
        "f(x_1, x_2, x_3, x_4) ",
        r"= \frac{a = b}{c} + x_5 + x_6 ",
        r"\approx \left( y = z \right)",
    ]
    toy.edit(root, "solutions/writeup/2-roots.md", "Back", f"${long}$ Back")
    page = pages(root)["writeup/2-roots.html"]
    assert page.count("</math><wbr><math") == 2


def test_a_logarithm_keeps_its_distance(root: Path) -> None:
    """log x has a thin space, log(x) has none."""
    toy.edit(root, "solutions/writeup/2-roots.md", "Back", r"$\log x$ and $\log(x)$ Back")
    page = pages(root)["writeup/2-roots.html"]
    assert re.findall(r"<mo( rspace=\"0.167em\")?>&#8289;</mo></mrow><m(\w+)", page) == [
        (' rspace="0.167em"', "i"),
        ("", "o"),
    ]


def test_nothing_is_fetched_and_nothing_runs(root: Path) -> None:
    """No script, no address of a style sheet, a font or a picture elsewhere."""
    for name, page in pages(root).items():
        assert not re.search(r"<script|<iframe|@import|url\(|<link rel=\"stylesheet|src=", page), name
        assert page.count("<style>") == 1


def test_pictures_travel(root: Path) -> None:
    """A picture of the writeup is at the same place beside the pages."""
    picture = '<svg xmlns="http://www.w3.org/2000/svg"/>'
    toy.write(root, {"solutions/writeup/figures/root.svg": picture})
    toy.edit(root, "solutions/writeup/2-roots.md", "Back", "![A root](figures/root.svg) Back")
    assert '<img src="figures/root.svg" alt="A root" />' in pages(root)["writeup/2-roots.html"]
    assert (root.parent / "out/writeup/figures/root.svg").read_text(encoding="utf-8") == picture


def test_a_part_that_is_switched_off_leaves_no_page(root: Path) -> None:
    """The words of links to it stay, without a link."""
    other = '\n[[parts]]\nslug = "other"\nnumber = "2"\ntitle = "O"\ntitle_zh = "O"\n[[parts.items]]\nslug = "root"\n'
    other += 'title = "R"\ntitle_zh = "R"\npoints = 1\nfile = "ops.py"\n'
    toy.edit(root, "assignment.toml", "[[parts]]", other + "\n[[parts]]")
    toy.edit(root, "assignment.toml", 'slug = "powers"\n', 'slug = "powers"\noff = true\n')
    found = pages(root)
    assert sorted(found) == ["index.html", "index.zh.html", "writeup/2-roots.html"]
    assert links(found["index.html"]) == []
    assert "<p>Powers, licence.</p>" in found["index.html"]


def test_a_course_without_a_readme_gets_a_list_of_pages(root: Path) -> None:
    """Under the assignment's title."""
    (root / "solutions/kit/README.md").unlink()
    toy.edit(root, "solutions/writeup/1-powers.md", " · [start](../README.md)", "")
    page = pages(root)["index.html"]
    assert "<h1>Powers</h1>" in page
    assert '<li><a href="writeup/2-roots.html">Roots</a></li>' in page


# --- what is refused


ROOTS = "solutions/writeup/2-roots.md"
REFUSED = {
    "formula": (
        "$\\foo{x}$",
        rf"{ROOTS}:5: this formula cannot be converted: \foo{{x}} (unexpected control sequence \foo)",
    ),
    "unclosed formula": ("cost $x and", f"{ROOTS}:5: $x has a $ that begins or ends no formula"),
    "html": ("a <kbd>b</kbd>", f"{ROOTS}:5: <kbd> is HTML, which the PDF cannot show; in code it would be text"),
    "link": ("[a](3-no.md)", f"{ROOTS}:5: the link 3-no.md leads to no file of the handout"),
    "anchor": (
        "[a](1-powers.md#no)",
        f"{ROOTS}:5: the link 1-powers.md#no leads to no heading of solutions/writeup/1-powers.md",
    ),
    "picture": (
        "![a](https://example.org/a.png)",
        f"{ROOTS}:5: the picture https://example.org/a.png is no .png or .svg file of the handout",
    ),
}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_what_would_look_wrong_is_refused(case: str, root: Path) -> None:
    """With file and line, and nothing is written."""
    text, problem = REFUSED[case]
    toy.edit(root, ROOTS, "Back to", f"{text} Back to")
    with pytest.raises(InputError) as refused:
        pages(root)
    assert str(refused.value) == problem
    assert not (root.parent / "out").exists()


def test_a_page_begins_with_a_title(root: Path) -> None:
    """Browser and PDF show it."""
    toy.edit(root, ROOTS, "# Roots\n\n", "")
    with pytest.raises(InputError, match=r"^solutions/writeup/2-roots\.md: a page begins with its title: # Title$"):
        pages(root)


def test_an_unknown_language_is_refused(root: Path) -> None:
    """A name says English or Chinese."""
    toy.write(root, {"solutions/writeup/1-powers.fr.md": "# Puissances\n"})
    with pytest.raises(InputError, match=r"^solutions/writeup/1-powers\.fr\.md: a page is called NAME\.md, or"):
        pages(root)


# --- what is left behind


def test_the_same_sources_give_the_same_bytes(root: Path) -> None:
    """In any folder."""
    first = pages(root)
    moved = root.rename(root.parent / "moved")
    assert pages(moved, "elsewhere") == first


def test_an_old_page_goes_and_a_foreign_folder_stays(root: Path) -> None:
    """A second run leaves nothing of the first; a folder with other things in it is refused, and untouched."""
    pages(root)
    (root / ROOTS).unlink()
    toy.edit(root, "solutions/writeup/1-powers.md", "[roots](2-roots.md#the-root)", "roots")
    assert "writeup/2-roots.html" not in pages(root)
    foreign = root.parent / "foreign"
    toy.write(foreign, {"index.html": "<p>mine</p>"})
    with pytest.raises(InputError, match="foreign holds other things: give --out a new folder"):
        make(root, foreign, with_pdf=False, tell=lambda _: None)
    assert [path.name for path in foreign.iterdir()] == ["index.html"]


def call(root: Path, *arguments: object) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, ["--home", str(root), "docs", *map(str, arguments)], prog_name="autograder")


def test_the_command_says_what_it_does_and_what_it_made(root: Path) -> None:
    """Progress goes to the error stream, a line for each file at the top; the last says what to open."""
    result = call(root, "--no-pdf")
    assert result.exit_code == 0, result.output
    assert result.stderr == "making pages ...\nreading the pages ...\nwriting the web pages ...\n"
    made = result.stdout.splitlines()
    assert [line.split()[0] for line in made[:-1]] == ["index.html", "index.zh.html"]
    assert made[-1] == f"5 pages in 2 languages; open {root / 'dist/docs/index.html'}"


def test_bad_input_is_one_line(root: Path) -> None:
    """Exit code 2."""
    toy.edit(root, ROOTS, "Back", "$x Back")
    result = call(root, "--no-pdf")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1] == f"autograder: {ROOTS}:5: $x has a $ that begins or ends no formula"


@pytest.mark.parametrize("package", ["pypandoc", "typst"])
def test_a_missing_package_is_one_line(package: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the command that installs both."""
    monkeypatch.setitem(sys.modules, package, None)
    pandoc._program.cache_clear()
    result = call(root)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == (
        "autograder: pages need pandoc and typst: pip install -e '.[docs]' -c constraints.txt"
    )

"""The web pages of the writeup in a real browser: maths shows, nothing is fetched, a phone is wide enough.

And the helper that drives the browser, on pages that go wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.docs.making import make
from tests.staff.browser import INSTALL, Browser

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [*(ROOT / "solutions/kit").glob("*.md"), *(ROOT / "solutions/writeup").glob("*.md")]
FORMULA_SIZES = """[...document.querySelectorAll('math')].map(math => {
    const box = math.getBoundingClientRect();
    return [math.textContent, Math.min(box.width, box.height)];
})"""
STICKS_OUT = """[...document.querySelectorAll('body *')]
    .filter(element => !element.closest('.wide, pre') && element.getBoundingClientRect().right > innerWidth + 0.5)
    .map(element => element.textContent.slice(0, 60))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all pages."""
    with Browser() as running:
        yield running


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The assignment's own pages."""
    folder = tmp_path_factory.mktemp("site") / "docs"
    make(ROOT, folder, with_pdf=False, tell=lambda _: None)
    return folder


def page_of(source: Path) -> str:
    """The page that is made of a source."""
    folder = "writeup/" if source.parent.name == "writeup" else ""
    return folder + source.name.replace("README", "index").replace(".md", ".html")


@pytest.mark.parametrize("name", sorted(map(page_of, SOURCES)))
def test_page_is_readable_on_a_phone(name: str, site: Path, browser: Browser) -> None:
    """Without JavaScript and 360 pixels wide: each formula has a size, nothing is fetched, no error, no scrolling."""
    page = browser.open(site / name, width=360, script=False)
    sizes = page.evaluate(FORMULA_SIZES)
    assert len(sizes) == (site / name).read_text(encoding="utf-8").count("<math ")
    assert [text for text, size in sizes if not size > 2] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360, page.evaluate(STICKS_OUT)
    assert page.requests == [(site / name).as_uri()]
    assert page.messages == []
    page.close()


def test_the_pages_have_formulas(site: Path) -> None:
    """The check above looks at many: the writeup is not without."""
    assert sum(path.read_text(encoding="utf-8").count("<math ") for path in site.rglob("*.html")) > 200


def test_wide_things_scroll_in_their_own_box(site: Path, browser: Browser) -> None:
    """On a phone some table, some formula and some code is wider than its box, which scrolls."""
    page = browser.open(site / "writeup/2-backprop.html", width=360)
    for selector in (".wide:has(math)", "pre"):
        scrolled = page.evaluate(
            f"[...document.querySelectorAll({selector!r})].filter(box => box.scrollWidth > box.clientWidth)"
            ".map(box => { box.scrollLeft = 30; return box.scrollLeft; })"
        )
        assert scrolled, selector
        assert set(scrolled) == {30}, selector


def test_lines_of_a_formula_are_aligned(site: Path, browser: Browser) -> None:
    """What stands before the = ends at it, in each line."""
    page = browser.open(site / "writeup/4-rnn.html")
    gaps = page.evaluate(
        "[...document.querySelectorAll('mtd[columnalign=right]')].filter(cell => cell.lastElementChild).map("
        "cell => cell.getBoundingClientRect().right - cell.lastElementChild.getBoundingClientRect().right)"
    )
    assert len(gaps) > 1
    assert max(gaps) < 2


def test_readers_change_the_language_by_a_click(site: Path, browser: Browser) -> None:
    """There and back, to the same page."""
    page = browser.open(site / "writeup/2-backprop.html", width=360)
    page.click(".language a")
    page.wait("document.documentElement.lang == 'zh-CN' && document.readyState == 'complete'")
    assert page.evaluate("location.pathname").endswith("/2-backprop.zh.html")
    page.click(".language a")
    page.wait("document.documentElement.lang == 'en' && document.readyState == 'complete'")
    assert page.evaluate("location.pathname").endswith("/2-backprop.html")


def brightness(page: str) -> str:
    """A script that says how bright the colour of a property of the body is, from 0 to 765."""
    return f"getComputedStyle(document.body).{page}.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_colours_follow_the_reader(dark: bool, site: Path, browser: Browser) -> None:
    """Dark letters on a bright page, or the other way round, with a clear difference."""
    page = browser.open(site / "index.html", dark=dark)
    difference = page.evaluate(f"{brightness('backgroundColor')} - {brightness('color')}")
    assert -difference > 500 if dark else difference > 500


def test_print_has_the_text_alone(site: Path, browser: Browser, tmp_path: Path) -> None:
    """No bar on paper, and long code wraps; on the screen the bar is there."""
    page = browser.open(site / "writeup/1-ngrams.html")
    shown = "getComputedStyle(document.querySelector('.bar')).display"
    assert page.evaluate(shown) == "flex"
    page.ask("Emulation.setEmulatedMedia", media="print")
    assert page.evaluate(shown) == "none"
    assert page.evaluate("getComputedStyle(document.querySelector('pre')).whiteSpace") == "pre-wrap"
    page.print_to(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF-")


# --- the helper


def test_requests_and_complaints_are_heard(browser: Browser, tmp_path: Path) -> None:
    """What a page fetches, what it writes to the console, and what goes wrong in it."""
    path = tmp_path / "bad.html"
    path.write_text(
        '<!DOCTYPE html><link rel="stylesheet" href="gone.css"><script>console.warn("so", 2); nobody();</script>'
        "<button onclick=\"this.textContent = 'clicked'\">b</button><p style='width: 900px'>wide</p>",
        encoding="utf-8",
    )
    page = browser.open(path, width=360)
    assert page.requests == [path.as_uri(), (tmp_path / "gone.css").as_uri()]
    assert "warning: so 2" in page.messages
    assert any(message.startswith("exception: ReferenceError: nobody") for message in page.messages)
    assert any(message.startswith("error: Failed to load resource") for message in page.messages)
    assert page.evaluate("document.documentElement.scrollWidth") > 360
    page.click("button")
    assert page.evaluate("document.querySelector('button').textContent") == "clicked"
    page.resize(1000)
    assert page.evaluate("innerWidth") == 1000
    with pytest.raises(AssertionError, match="nothing here is #nobody"):
        page.click("#nobody")


def test_without_javascript_the_page_runs_none(browser: Browser, tmp_path: Path) -> None:
    """But can still be asked things."""
    path = tmp_path / "script.html"
    path.write_text("<!DOCTYPE html><p>a</p><script>document.body.textContent = 'b'</script>", encoding="utf-8")
    assert browser.open(path, script=False).evaluate("document.querySelector('p').textContent") == "a"
    assert browser.open(path).evaluate("document.querySelector('p')") is None


def test_without_a_browser_the_line_of_the_readme_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same line, and nothing else."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pytest.fail.Exception) as failed:
        Browser()
    assert failed.value.msg == INSTALL
    assert INSTALL in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()

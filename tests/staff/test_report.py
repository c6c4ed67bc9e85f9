"""The report on a graded class: its figures against another computation on the journal, and the page in a browser."""

from __future__ import annotations

import html
import json
import math
import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from autograder.classroom.records import write_grades
from autograder.classroom.report.page import LIMIT, page_of
from autograder.classroom.report.words import WORDS
from autograder.cli import main
from tests.staff.browser import Browser
from tests.staff.graded_class import HOSTILE, synthetic, synthetic_outline

SIZES = (1, 30, 1000)


def text_of(markup: str) -> str:
    """What a reader sees of a piece of HTML."""
    return html.unescape(re.sub(r"<[^>]*>", "", markup)).strip()


def tiles(page: str, section: str) -> dict[str, str]:
    """The figures of a section by their names."""
    body = page.partition(f'<section id="{section}">')[2].partition("</section>")[0]
    return {text_of(name): text_of(value) for name, value in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", body)}


def table(page: str, name: str) -> list[list[str]]:
    """The rows of a table."""
    body = page.partition(f'<table id="{name}"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL)
    return [[text_of(cell) for cell in re.split(r"<td[^>]*>", row)[1:]] for row in rows]


def near(shown: str, value: float) -> bool:
    """Whether a shown number is this one, to its last digit."""
    return math.isclose(float(shown), value, abs_tol=0.5001 * 10 ** -len(shown.partition(".")[2]))


class Raw:
    """The same class, read from its files with nothing of ours: who counts, and with what."""

    def __init__(self, folder: Path) -> None:
        def lines(name: str) -> list[dict[str, Any]]:
            return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]

        self.items = json.loads((folder / "assignment.json").read_text(encoding="utf-8"))["items"]
        entries = {entry["content"]: entry for entry in lines("journal.jsonl")}
        latest: dict[str, dict[str, Any]] = {}
        for at, one in enumerate(one for one in lines("roster.jsonl") if one.get("active", True)):
            for person in one.get("people") or [{}]:
                key = person.get("email", "").casefold() or person.get("sid") or person.get("name") or f"nobody {at}"
                if key not in latest or one.get("created_at", "") >= latest[key].get("created_at", ""):
                    latest[key] = one
        found = [(entries.get(one.get("content", "")), one) for one in latest.values()]
        self.students = len(found)
        self.absent = sum(entry is None and not one.get("content") for entry, one in found)
        scored = [entry for entry, _ in found if entry and entry["status"] in ("graded", "refused")]
        self.totals = [round(sum(row["score"] for row in entry["rows"]), 2) for entry in scored]
        submissions = {one["submission"]: entry for entry, one in found if entry and entry["status"] == "graded"}
        self.graded = [{row["item"]: row for row in entry["rows"]} for entry in submissions.values()]

    def points(self, slug: str) -> list[float]:
        """The verdicts on an item."""
        return [rows[slug]["score"] for rows in self.graded if rows[slug]["state"] not in ("grader error", "not run")]

    def complete(self) -> tuple[list[str], list[list[float]]]:
        """The main items, and the scores of those with a verdict on each."""
        slugs = [one["slug"] for one in self.items if not one.get("bonus") and not one.get("waived")]
        rows = [
            [rows[slug]["score"] for slug in slugs]
            for rows in self.graded
            if all(rows[slug]["state"] not in ("grader error", "not run") for slug in slugs)
        ]
        return slugs, rows


@pytest.fixture(scope="module", params=SIZES, ids=str)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Raw, str]:
    """A class on disk, and the page about it."""
    folder = tmp_path_factory.mktemp("grades")
    write_grades(folder, synthetic(request.param, seed=3))
    done = CliRunner().invoke(main, ["report", str(folder), "--lang", "en"])
    assert done.exit_code == 0, done.output
    return Raw(folder), (folder / "report.html").read_text(encoding="utf-8")


def test_scores_are_those_of_the_journal(made: tuple[Raw, str]) -> None:
    """Students, mean, median, deviation, and who handed in nothing."""
    raw, page = made
    assert int(tiles(page, "broken")["Students"].replace(",", "")) == raw.students
    assert int(tiles(page, "broken")["not handed in"]) == raw.absent
    shown = tiles(page, "distribution")
    assert int(shown["students with a score"]) == len(raw.totals)
    if raw.totals:
        assert near(shown["mean"], statistics.fmean(raw.totals))
        assert near(shown["median"], statistics.median(raw.totals))
    if len(raw.totals) > 1:
        assert near(shown["standard deviation"], statistics.stdev(raw.totals))


def test_items_are_those_of_the_journal(made: tuple[Raw, str]) -> None:
    """Difficulty, full points, discrimination and points lost of every item."""
    raw, page = made
    slugs, complete = raw.complete()
    for item, row in zip(raw.items, table(page, "items-table"), strict=True):
        got = raw.points(item["slug"])
        if item.get("waived") or not got:
            assert row[2] == row[3] == row[5] == "–"
            continue
        assert near(row[2], statistics.fmean(got) / item["points"])
        assert near(row[3].removesuffix("\u202f%"), 100 * sum(score == item["points"] for score in got) / len(got))
        assert near(row[5], item["points"] - statistics.fmean(got))
        if item["slug"] in slugs and len(complete) > 2:
            at = slugs.index(item["slug"])
            own, rest = [line[at] for line in complete], [sum(line) - line[at] for line in complete]
            assert near(row[4], statistics.correlation(own, rest))


def test_alpha_is_that_of_the_journal(made: tuple[Raw, str]) -> None:
    """From the variances; its interval holds it; none where it cannot be."""
    raw, page = made
    slugs, complete = raw.complete()
    shown = tiles(page, "reliability")
    if len(complete) < 2:
        assert shown["Cronbach's alpha"] == "–"
        return
    items = sum(statistics.variance([line[at] for line in complete]) for at in range(len(slugs)))
    total = statistics.variance([sum(line) for line in complete])
    alpha = len(slugs) / (len(slugs) - 1) * (1 - items / total)
    assert near(shown["Cronbach's alpha"], alpha)
    low, high = (float(side) for side in shown["95 % interval"].split(" – "))
    assert low < alpha < high


def test_mistakes_are_those_of_the_journal(made: tuple[Raw, str]) -> None:
    """The most frequent hints stand first, each with as many students as were shown it."""
    raw, page = made
    shown = [(int(row[0].replace(",", "")), row[4]) for row in table(page, "hints")]
    assert [count for count, _ in shown] == sorted((count for count, _ in shown), reverse=True)
    if len(raw.graded) > 100:
        assert len(shown) == 12


def test_a_class_in_which_nobody_handed_in() -> None:
    """Empty, or all absent: a page, dashes, and no division by zero."""
    for grades in (synthetic(0, seed=1), synthetic(12, seed=1, handed_in=False)):
        page = page_of(grades).decode("utf-8")
        assert "there is nothing to judge" in page
        assert tiles(page, "distribution")["mean"] == "–"
        assert "NaN" not in page.partition("<script>")[0]
        assert "inf" not in re.sub(r"[a-z]+inf|inf[a-z]+", "", text_of(page.partition("<script>")[0].lower()))


OUTSIDE = r"""(?:src|href)\s*=\s*["']?(?!#)[^"'\s>]+|url\((?!#)|@import"""


@pytest.mark.parametrize("students", [1000, 6000])
def test_it_is_one_small_file_that_asks_for_nothing(students: int) -> None:
    """Under 1 MB for 1,000 students and 52 items, a row each; so many that they do not fit stand in bands of points."""
    page = page_of(synthetic(students, seed=2, outline=synthetic_outline(52)), "zh")
    assert len(page) < LIMIT
    text = page.decode("utf-8")
    assert not re.findall(OUTSIDE, text.partition("<script>")[0])
    assert (len(table(text, "students")) >= 1000) == (students == 1000)


def test_without_names_nobody_is_in_it() -> None:
    """No name, address, number or submission of a student; with --names each of them."""
    grades = synthetic(30, seed=5)
    plain, named = page_of(grades).decode("utf-8"), html.unescape(page_of(grades, named=True).decode("utf-8"))
    body = plain.partition("<main>")[2].partition("<script>")[0]
    people = [person for one in grades.handed for person in one.people]
    assert len(people) >= 30
    for person in people:
        assert not person.email or person.email not in plain
        assert not person.sid or person.sid not in body
        assert not person.name or html.escape(person.name[:60]) not in body
    assert not [one for one in grades.handed if one.submission in body]
    assert all(person.email[:40] in named for person in people if person.email and person.email.isascii())


def test_both_languages_have_the_same_sections_and_say_everything() -> None:
    """Each text has both; the pages differ in words, not in structure."""
    assert all(english and chinese for english, chinese in WORDS.values())
    holes = {key: [sorted(re.findall(r"{\w+}", text)) for text in both] for key, both in WORDS.items()}
    assert [key for key, (english, chinese) in holes.items() if english != chinese] == []
    pages = [page_of(synthetic(30, seed=1), language).decode("utf-8") for language in ("en", "zh")]
    shapes = [re.findall(r"<(section|h2|h3|table|math|svg)\b", page) for page in pages]
    assert shapes[0] == shapes[1]
    assert len(re.findall("<section", pages[0])) == 8


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    """A folder that holds no grades, and a place that cannot be written."""
    done = CliRunner().invoke(main, ["report", str(tmp_path)])
    assert done.exit_code == 2
    assert "is" in done.output
    assert "a folder of grades?" in done.output
    write_grades(tmp_path / "grades", synthetic(2, seed=1))
    done = CliRunner().invoke(main, ["report", str(tmp_path / "grades"), "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "it is a folder" in done.output


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_bytes(page_of(synthetic(40, seed=7), named=True))
    return path


def test_clicking_a_heading_sorts(browser: Browser, page_file: Path) -> None:
    """Points: the most first, then the least; students without a score last and first."""
    page = browser.open(page_file)
    column = "[...document.querySelectorAll('#students tbody tr')].map(r => r.cells[5].textContent)"
    heading = "#students th:nth-child(6) button"
    page.click(heading)
    falling = page.evaluate(column)
    page.click(heading)
    rising = page.evaluate(column)
    numbers = [float(text) for text in falling if text != "–"]
    assert numbers == sorted(numbers, reverse=True)
    assert [float(text) for text in rising if text != "–"] == sorted(numbers)
    assert len(set(numbers)) > 5
    assert falling[-1] == rising[0] == "–"
    assert page.requests == [page_file.resolve().as_uri()]
    page.close()


def test_typing_and_choosing_filter(browser: Browser, page_file: Path) -> None:
    """By status, and by the state of one item; the count says how many are left."""
    page = browser.open(page_file)
    visible = "[...document.querySelectorAll('#students tbody tr')].filter(r => !r.hidden).length"
    everybody = page.evaluate(visible)

    def type_in(field: str, value: str) -> None:
        told = "one.dispatchEvent(new Event('input', {bubbles: true}))"
        page.evaluate(f"(() => {{ const one = document.getElementById('{field}'); one.value = '{value}'; {told} }})()")

    type_in("text", "not handed")
    absent = page.evaluate(visible)
    assert 0 < absent < everybody
    assert page.evaluate("document.getElementById('shown').textContent") == f"{absent} of {everybody} shown"
    type_in("text", "")
    type_in("item", "5")
    type_in("state", "x")
    rows = "[...document.querySelectorAll('#students tbody tr')].filter(r => !r.hidden)"
    signs = page.evaluate(f"{rows}.map(r => r.lastElementChild.textContent[5])")
    assert signs
    assert set(signs) == {"x"}
    page.close()


def test_hostile_names_do_nothing(browser: Browser, page_file: Path) -> None:
    """A name is text: no element of it, no script, no message on the console."""
    page = browser.open(page_file)
    assert page.evaluate("document.querySelectorAll('#students img, #students svg, #students script').length") == 0
    assert page.evaluate("document.querySelectorAll('script').length") == 1
    names = page.evaluate("[...document.querySelectorAll('#students tbody tr')].map(r => r.cells[1].textContent)")
    assert HOSTILE[0] in names
    assert page.messages == []
    page.close()


def test_for_the_printer_everything_is_open(browser: Browser, page_file: Path, tmp_path: Path) -> None:
    """Details are opened before printing and closed after; controls are not printed."""
    page = browser.open(page_file)
    shut = "document.querySelectorAll('details:not([open])').length"
    assert page.evaluate(shut) > 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(shut) == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(shut) > 0
    page.print_to(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    page.close()


def test_it_reads_without_its_script(browser: Browser, page_file: Path) -> None:
    """Every section and every student are there; controls that would do nothing are not."""
    page = browser.open(page_file, script=False)
    assert page.evaluate("document.querySelectorAll('section').length") == 8
    assert page.evaluate("document.querySelectorAll('#students tbody tr').length") >= 40
    assert page.evaluate("getComputedStyle(document.getElementById('controls')).display") == "none"
    page.close()

"""The page: one HTML file with style and script inside, that needs no network and reads without its script."""

from __future__ import annotations

from pathlib import Path

from ...feedback.assignment import LANGUAGES
from ...feedback.errors import InputError
from ..records import REFUSED, Grades
from . import plots, sections
from .broken import findings
from .items import item_figures
from .method import method
from .mistakes import mistakes_by_item
from .population import STATES, Hundredths, Population, hundredths, populate
from .progress import progress
from .pseudonyms import numbers
from .statistics import cronbach, summarise
from .students import MOST, SIGNS, item_of_sign, legend, students_bands, students_table
from .text import safe
from .words import Words

LIMIT = 1_000_000  # bytes: of a page that is sent by mail
_HERE = Path(__file__).parent
_SECTIONS = ("broken", "distribution", "items", "mistakes", "progress", "reliability", "class", "method")


def page_of(grades: Grades, language: str = "en", named: bool = False) -> bytes:
    """The report on a graded class.

    Students stand in it one a row; where that does not fit into ``LIMIT``, in bands of points.

    Args:
        grades: the class.
        language: "en" or "zh".
        named: with names, addresses, and what refused students were told; else students have numbers.

    Raises:
        InputError: another language.
    """
    if language not in LANGUAGES:
        raise InputError(f"a report is in one of {', '.join(LANGUAGES)}, not {language!r}")
    population, words = populate(grades), Words(language)
    places = numbers(grades, population)
    page = _page(population, words, named, _students(population, places, words, named))
    if len(page) > LIMIT:
        page = _page(population, words, named, _bands(population, words))
    return page


def _page(population: Population, words: Words, named: bool, students: str) -> bytes:
    outline = population.outline
    figures = item_figures(population)
    every = (population.submissions[student.submission].total for student in population.students)
    totals = [total for total in every if total is not None]
    summary = summarise([hundredths(total) for total in totals])
    alpha = cronbach(_complete(population))
    bodies = {
        "broken": sections.overview(population, summary, alpha, words)
        + sections.broken(population, findings(population, figures), _told(population, named), words),
        "distribution": sections.distribution(population, totals, summary, words),
        "items": sections.items(population, figures, words),
        "mistakes": sections.mistakes(population, mistakes_by_item(population), words),
        "progress": sections.progress(progress(population), outline.points, words),
        "reliability": sections.reliability(alpha, words),
        "class": students,
        "method": method(population, words, named),
    }
    links = "".join(f'<li><a href="#{name}">{words(name)}</a>' for name in _SECTIONS)
    parts = "".join(
        f'<section id="{name}"><h2>{at} {words(name)}</h2>{bodies[name]}</section>'
        for at, name in enumerate(_SECTIONS, start=1)
    )
    title = safe(words.either(outline.title, outline.title_zh))
    privacy = words("named" if named else "anonymous")
    html = (
        f'<!doctype html><html lang="{words.language}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\">"
        f"<title>{title} – {words('report')}</title><style>{_file('style.css')}</style></head><body>{plots.PATTERNS}"
        f"<header><h1>{title}</h1><p>{words('report')}, {words('version', version=safe(outline.version))}, "
        f'{privacy}</p></header><nav aria-label="{words("contents")}"><ol>{links}</ol></nav><main>{parts}</main>'
        f"<script>{_file('script.js')}</script></body></html>\n"
    )
    return html.encode("utf-8")


def _complete(population: Population) -> Hundredths:
    """The points of the main items, of the submissions with a verdict on all of them."""
    table = population.points[:, list(population.core)]
    return table[(table >= 0).all(axis=1)]


def _told(population: Population, named: bool) -> list[str]:
    """What refused students were told; text that students may have shaped, so only in a page with names."""
    if not named:
        return []
    told = []
    for one in population.submissions:
        if one.status == REFUSED and one.entry is not None:
            people = ", ".join(safe(person.name or person.email, 80) for person in one.handed.people)
            said = one.entry.output.strip().rpartition("\n")[2]
            told.append(f"{people or safe(one.handed.submission, 80)}: {safe(said, 200)}")
    return told


def _students(population: Population, places: list[int], words: Words, named: bool) -> str:
    if not population.students:
        return f"<p>{words('nobody here')}</p>"
    if len(population.students) > MOST:
        return _bands(population, words)
    outline = population.outline
    items = "".join(
        f'<option value="{at}">{safe(outline.items[place].number)} '
        f"{safe(words.either(outline.items[place].title, outline.items[place].title_zh))}</option>"
        for at, place in enumerate(item_of_sign(population))
        if place >= 0
    )
    states = "".join(f'<option value="{SIGNS[state][0]}">{words(f"state {state}")}</option>' for state in STATES)
    hint = words("filter named" if named else "filter placeholder")
    controls = (
        f'<form class="controls" id="controls" hidden><label>{words("filter")} '
        f'<input id="text" type="search" placeholder="{hint}"></label>'
        f'<select id="item" aria-label="{words("item")}"><option value="">{words("any item")}</option>{items}</select>'
        f'<select id="state" aria-label="{words("states")}"><option value="">{words("any state")}</option>{states}'
        f'</select><output id="shown" data-words="{words("shown", n="{n}", m="{m}")}"></output></form>'
    )
    return f"<p>{words('class how')}</p>{legend(words)}{controls}{students_table(population, places, words, named)}"


def _bands(population: Population, words: Words) -> str:
    return f"<p>{words('bands', n=f'{len(population.students):,}')}</p>{students_bands(population, words)}"


def _file(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")

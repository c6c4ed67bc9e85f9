"""Section 7: the students, a row each, with a sign an item; in bands of points where there are too many.

A row must be small: a thousand of them with fifty items fit into a file under 1 MB. So a strip is plain letters, and
what is not passed stands in an element with a one-letter name, which the stylesheet shades; none means what it does in
running text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ...feedback import scores
from ..records import GRADED
from .population import Population, Student, Submission, hundredths
from .text import DASH, LONGEST, number, percent, points, safe
from .words import Words

SIGNS = {  # state -> sign, element
    scores.PASSED: ("+", ""),
    scores.UNFINISHED: ("~", "em"),
    scores.FAILED: ("x", "b"),
    scores.LATE: ("t", "s"),
    scores.CANNOT_IMPORT: ("!", "u"),
    scores.WAITING: ("w", "q"),
    scores.NOT_STARTED: ("-", "i"),
    scores.GRADER_ERROR: ("?", "var"),
}
_ELEMENTS = dict(SIGNS.values())
MOST = 5_000  # students: with more, a row each cannot fit, so none is tried
BANDS = 25


@dataclass(frozen=True)
class Column:
    """A heading: its words, and whether the column holds numbers."""

    title: str
    numeric: bool = False


def table(columns: Sequence[Column], rows: Sequence[str], name: str) -> str:
    """A table that the script sorts."""
    heads = "".join(f'<th scope="col"{" class=n" if column.numeric else ""}>{column.title}</th>' for column in columns)
    return (
        f'<div class="wide" tabindex="0"><table id="{name}" class="sorts"><thead><tr>{heads}</tr></thead>'
        f"<tbody>\n{chr(10).join(rows)}\n</tbody></table></div>"
    )


def students_table(population: Population, numbers: Sequence[int], words: Words, named: bool) -> str:
    """A row a student, by number."""
    width = max(3, len(str(len(numbers))))
    strips = [_strip(population, one) for one in population.submissions]
    people = sorted(zip(numbers, population.students, strict=True), key=lambda pair: pair[0])
    rows = [_row(population, number, width, student, strips, words, named) for number, student in people]
    columns = [Column(words("student"))]
    if named:
        columns += [Column(words("name")), Column(words("email")), Column(words("handle"))]
    columns += [Column(words("status")), Column(words("total"), True), Column(words("percent"), True)]
    columns += [Column(words("handed"), True), Column(f"{words('by item')}{_heading(population)}")]
    return table(columns, rows, "students")


def students_bands(population: Population, words: Words) -> str:
    """A row a band of points, highest first, then one for those without a score."""
    whole = max(hundredths(population.outline.points), 1)
    bands: dict[int, list[Submission]] = {}
    for one in population.submissions:
        total = one.total
        band = -1 if total is None else max(0, hundredths(total) * BANDS // whole)
        bands.setdefault(band, []).append(one)
    rows = []
    for band in sorted(bands, reverse=True):
        low, high = (whole * edge / BANDS / 100 for edge in (band, band + 1))
        label = words("no total") if band < 0 else f"{points(low)} – {points(high)}"
        count = sum(one.students for one in bands[band])
        strip = _band_strip(population, [one for one in bands[band] if one.status == GRADED])
        rows.append(f"<tr><td>{label}<td class=n>{count:,}<td class=t>{strip}</tr>")
    return table([Column(words("band")), Column(words("students"), True), Column(words("by item"))], rows, "students")


def legend(words: Words) -> str:
    """Each sign with its state."""
    rows = []
    for state, (sign, element) in SIGNS.items():
        rows.append(f"<li><span class=t>{_shaded(sign, element)}</span> {words(f'state {state}')}</li>")
    return f"<ul class=legend>{''.join(rows)}</ul>"


def item_of_sign(population: Population) -> list[int]:
    """For each place of a strip the item that stands there, -1 for a gap between parts."""
    places: list[int] = []
    for _, group in groupby(enumerate(population.outline.items), key=lambda pair: pair[1].part):
        places += [-1] if places else []
        places += [at for at, _ in group]
    return places


def _heading(population: Population) -> str:
    """The parts' numbers above the strips, each where its first item stands."""
    text, numbers = "", {part.slug: part.number for part in population.outline.parts}
    for part, group in groupby(population.outline.items, key=lambda item: item.part):
        width = len(list(group))
        text += f"{numbers.get(part, '')[:width]:{width}} "
    return f'<span class="t heads">{safe(text.replace(" ", chr(160))).rstrip(chr(160))}</span>'


def _row(
    population: Population,
    number_: int,
    width: int,
    student: Student,
    strips: Sequence[str],
    words: Words,
    named: bool,
) -> str:
    one = population.submissions[student.submission]
    cells = [f"<td>{words('number', n=f'{number_:0{width}d}')}"]
    if named:
        person = student.person
        cells += [f"<td>{safe(text, LONGEST)}" for text in (person.name, person.email, one.handed.submission)]
    whole, total = population.outline.points, one.total
    share = total / whole if total is not None and whole > 0 else None
    times = len(one.handed.earlier) + 1 if one.handed.content or one.entry else 0
    cells += [f"<td>{words(f'status {one.status}')}", f"<td class=n>{DASH if total is None else number(total)}"]
    cells += [f"<td class=n>{percent(share)}", f"<td class=n>{times}", f"<td class=t>{strips[student.submission]}"]
    return f"<tr>{''.join(cells)}</tr>"


def _strip(population: Population, one: Submission) -> str:
    """The signs of a submission, empty where there is no result."""
    if one.entry is None:
        return ""
    items = population.outline.items
    places = (-1 if at < 0 else at for at in item_of_sign(population))
    signs = (" " if at < 0 else SIGNS[one.state(items[at])][0] for at in places)
    return "".join(_runs(signs))


def _runs(signs: Iterator[str]) -> Iterator[str]:
    for sign, group in groupby(signs):
        yield _shaded(sign * len(list(group)), _ELEMENTS.get(sign, ""))


def _shaded(text: str, element: str) -> str:
    return f"<{element}>{text}</{element}>" if element else text


def _band_strip(population: Population, graded: Sequence[Submission]) -> str:
    if not graded:
        return ""
    signs = ""
    for at in item_of_sign(population):
        if at < 0:
            signs += " "
            continue
        item = population.outline.items[at]
        passed = sum(one.state(item) == scores.PASSED for one in graded)
        tenth = passed * 10 // len(graded)
        signs += "*" if passed == len(graded) else _shaded(str(tenth), "b" if tenth < 3 else "i" if tenth < 7 else "")
    return signs

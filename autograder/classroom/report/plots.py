"""The plots as SVG inside the page: shapes, dashes and labels say it, so that a copy in grey says it, too."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .population import STATES
from .statistics import Summary
from .text import number, points
from .words import Words

WIDTH, HEIGHT = 640, 240
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 26, 40
BINS = 20

# Behind every strip: what states look like. Patterns, so that a copy in grey keeps them apart.
PATTERNS = """<svg width="0" height="0" class="defs" aria-hidden="true"><defs>
<pattern id="h-unfinished" width="4" height="4" patternUnits="userSpaceOnUse"><rect width="4" height="4" class="pale"/>\
<rect width="2" height="2" class="ink"/></pattern>
<pattern id="h-timeout" width="4" height="4" patternUnits="userSpaceOnUse"><rect width="4" height="4" class="paper"/>\
<rect width="4" height="2" class="ink"/></pattern>
<pattern id="h-cannot-import" width="5" height="5" patternUnits="userSpaceOnUse">\
<rect width="5" height="5" class="paper"/>\
<path d="M0 0L5 5M5 0L0 5" class="hatch"/></pattern>
<pattern id="h-waiting" width="4" height="4" patternUnits="userSpaceOnUse"><rect width="4" height="4" class="paper"/>\
<rect width="1.4" height="4" class="ink"/></pattern>
</defs></svg>"""
_FILLS = {
    "passed": 'class="s-passed"',
    "unfinished": 'fill="url(#h-unfinished)"',
    "failed": 'class="s-failed"',
    "timeout": 'fill="url(#h-timeout)"',
    "cannot import": 'fill="url(#h-cannot-import)"',
    "waiting": 'fill="url(#h-waiting)"',
    "not started": 'class="s-not-started"',
    "grader error": 'class="s-none"',
}


@dataclass(frozen=True)
class Scale:
    """From a value to a place on paper."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> str:
        span = self.high - self.low or 1.0
        return f"{self.start + (value - self.low) / span * (self.end - self.start):.1f}".removesuffix(".0")


def step_of(span: float, wanted: int) -> float:
    """A round step (1, 2 or 5 times a power of ten) of which about so many fit into the span."""
    if span <= 0:
        return 1.0
    raw = span / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= raw * 0.999999)


def swatch(state: str) -> str:
    """A state's look, for a legend."""
    shape = f'<rect width="16" height="12" {_FILLS[state]}/>'
    return f'<svg class="swatch" viewBox="0 0 16 12" aria-hidden="true">{shape}</svg>'


def strip(counts: Mapping[str, int], label: str) -> str:
    """The states of an item side by side; ``label`` says the same in words, and is HTML already."""
    total = sum(counts.values())
    shapes, place = [], 0.0
    for state in STATES:
        width = 160 * counts.get(state, 0) / total if total else 0.0
        if width:
            shapes.append(f'<rect x="{place:.1f}" width="{width:.1f}" height="14" {_FILLS[state]}/>')
        place += width
    return (
        f'<svg class="strip" viewBox="0 0 160 14" preserveAspectRatio="none" role="img" aria-label="{label}">'
        f"<title>{label}</title>{''.join(shapes)}</svg>"
    )


def histogram(values: Sequence[float], whole: float, summary: Summary, words: Words) -> str:
    """Totals in bins, the mean as a dashed line and the median as a full one. ``whole``: the points that there are."""
    step = step_of(whole or 1.0, BINS)
    bins = max(math.floor(max(values, default=0.0) / step + 1e-9) + 1, math.ceil(whole / step), 1)
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, max(0, math.floor(value / step + 1e-9)))] += 1
    x, y = Scale(0, bins * step, LEFT, WIDTH - RIGHT), Scale(0, max(counts), HEIGHT - BOTTOM, TOP)
    shapes = _grid(y, max(counts)) + _ticks(x, bins * step)
    for at, count in enumerate(counts):
        if count:
            left, right, top = float(x(at * step)), float(x((at + 1) * step)), float(y(count))
            told = f"{points(at * step)} – {points((at + 1) * step)}: {count}"
            height = HEIGHT - BOTTOM - top
            shapes.append(
                f'<rect class="bar" x="{left + 0.5:.1f}" y="{top:.1f}" width="{right - left - 1:.1f}"'
                f' height="{height:.1f}"><title>{told}</title></rect>'
            )
    for name, middle in (("mean", summary.mean), ("median", summary.median)):
        if middle is not None:
            shapes.append(f'<path class="line {name}" d="M{x(middle)} {TOP - 4}V{HEIGHT - BOTTOM}"/>')
    if summary.mean is not None and summary.median is not None:
        mean_first = summary.mean <= summary.median
        for name, place, first in (("mean", summary.mean, mean_first), ("median", summary.median, not mean_first)):
            anchor, shift = ("end", -4) if first else ("start", 4)
            text = f"{words(name)} {number(place, 1)}"
            shapes.append(f'<text x="{float(x(place)) + shift:.1f}" y="12" text-anchor="{anchor}">{text}</text>')
    return _frame(shapes, words("histogram"), words("points"), words("students"))


def scatter(dots: Sequence[tuple[str, float, float, bool]], words: Words) -> str:
    """Items by difficulty and discrimination: (number, difficulty, discrimination, is it flagged)."""
    lowest = min([0.0, *(r for _, _, r, _ in dots)])
    low = math.floor(lowest * 5 - 1e-9) / 5 if lowest < 0 else 0.0
    x, y = Scale(0, 1, LEFT, WIDTH - RIGHT), Scale(low, 1, HEIGHT - BOTTOM, TOP)
    shapes = []
    for at in range(round(low * 5), 6):
        value = at / 5
        shapes.append(f'<path class="{"axis" if at == 0 else "grid"}" d="M{LEFT} {y(value)}H{WIDTH - RIGHT}"/>')
        shapes.append(f'<text x="{LEFT - 6}" y="{float(y(value)) + 4:.1f}" text-anchor="end">{value:.1f}</text>')
    shapes += [
        f'<text x="{x(at / 5)}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{at / 5:.1f}</text>' for at in range(6)
    ]
    for name, p, r, flagged in dots:
        told = f"<title>{name}: {number(p)}, {number(r)}</title>"
        shapes.append(
            f'<circle class="{"flagged" if flagged else "dot"}" cx="{x(p)}" cy="{y(r)}" r="4">{told}</circle>'
        )
        if flagged or len(dots) <= 16:
            shapes.append(f'<text class="tag" x="{float(x(p)) + 6:.1f}" y="{float(y(r)) + 4:.1f}">{name}</text>')
    return _frame(shapes, words("scatter"), words("difficulty"), words("discrimination"))


def tries(summaries: Sequence[Summary], whole: float, words: Words) -> str:
    """Quartiles (a bar) and median (a point, joined) of the first, second, ... submission."""
    top = max([whole, *(one.upper or 0.0 for one in summaries)])
    x, y = Scale(0.5, max(2, len(summaries)) + 0.5, LEFT, WIDTH - RIGHT), Scale(0, top, HEIGHT - BOTTOM, TOP)
    shapes, path = _grid(y, top), ""
    for at, one in enumerate(summaries, start=1):
        text = f'<text x="{x(at)}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{at}</text>'
        shapes.append(text)
        if one.lower is not None and one.upper is not None and one.median is not None:
            place, height = float(x(at)), float(y(one.lower)) - float(y(one.upper))
            told = f"{at}: {points(one.lower)} – {points(one.median)} – {points(one.upper)} (n = {one.n})"
            shapes.append(
                f'<rect class="box" x="{place - 8:.1f}" y="{y(one.upper)}" width="16" height="{max(1.0, height):.1f}">'
                f"<title>{told}</title></rect>"
            )
            path += f"{'L' if path else 'M'}{x(at)} {y(one.median)}"
    shapes.append(f'<path class="line median" d="{path}"/>' if path else "")
    shapes += [
        f'<circle class="flagged" cx="{x(at)}" cy="{y(one.median)}" r="3.5"/>'
        for at, one in enumerate(summaries, start=1)
        if one.median is not None
    ]
    return _frame(shapes, words("tries"), words("submission"), words("points"))


def interval(low: float, value: float, high: float, label: str) -> str:
    """Alpha on a line from 0 to 1, with its interval."""
    start = min(0.0, math.floor(low * 5) / 5) if low > -1 else -1.0
    x = Scale(start, 1, 14, 386)
    places = [at / 5 for at in range(round(start * 5), 6)]
    ticks = "".join(f'<path class="grid" d="M{x(place)} 12V30"/>' for place in places)
    ticks += "".join(f'<text x="{x(place)}" y="46" text-anchor="middle">{place:.1f}</text>' for place in places)
    left = max(low, start)
    return (
        f'<svg class="plot small" viewBox="0 0 400 52" role="img" aria-label="{label}"><title>{label}</title>'
        f'<path class="axis" d="M{x(start)} 21H{x(1)}"/>{ticks}<path class="range" d="M{x(left)} 21H{x(high)}"/>'
        f'<circle class="flagged" cx="{x(max(value, start))}" cy="21" r="5"/></svg>'
    )


def _grid(y: Scale, top: float) -> list[str]:
    step = max(step_of(top, 4), 1.0) if top >= 4 else 1.0
    shapes = []
    for at in range(int(top / step + 1e-9) + 1):
        place = y(at * step)
        shapes.append(f'<path class="{"grid" if at else "axis"}" d="M{LEFT} {place}H{WIDTH - RIGHT}"/>')
        shapes.append(f'<text x="{LEFT - 6}" y="{float(place) + 4:.1f}" text-anchor="end">{points(at * step)}</text>')
    return shapes


def _ticks(x: Scale, end: float) -> list[str]:
    step, row = step_of(end, 10), HEIGHT - BOTTOM + 16
    return [
        f'<text x="{x(at * step)}" y="{row}" text-anchor="middle">{points(at * step)}</text>'
        for at in range(int(end / step + 1e-9) + 1)
    ]


def _frame(shapes: Sequence[str], label: str, below: str, beside: str) -> str:
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}"><title>{label}</title>'
        f"{''.join(shapes)}"
        f'<text class="name" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{below}</text>'
        f'<text class="name" x="4" y="12">{beside}</text></svg>'
    )

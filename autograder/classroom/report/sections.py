"""Sections 1 to 6 of the page, each from its own figures."""

from __future__ import annotations

from collections.abc import Sequence

from ..records import GRADED, ItemFacts
from . import plots
from .broken import FAULT, Finding
from .items import ENOUGH, GAP, ItemFigures
from .mistakes import ItemMistakes, Known
from .population import NOT_HANDED_IN, STATES, STATUSES, Population
from .progress import Progress
from .statistics import Alpha, Summary
from .students import Column, table
from .text import DASH, marked, number, percent, points, safe
from .words import Words

TOP = 12  # hints in the first table
TESTS = 20  # names of tests that are listed
TOLD = 50  # refused students that are listed


def link(item: ItemFacts, at: int, words: Words, count: int = 0) -> str:
    """An item's number, with its title for the pointer, to its row."""
    title = safe(words.either(item.title, item.title_zh))
    more = f" <small>{count:,}</small>" if count else ""
    return f'<a class="chip" href="#i{at}" title="{title}">{safe(item.number)}{more}</a>'


def named_item(item: ItemFacts, words: Words) -> str:
    """Number and title."""
    return f"<b>{safe(item.number)}</b> {safe(words.either(item.title, item.title_zh))}"


def broken(population: Population, found: Sequence[Finding], said: Sequence[str], words: Words) -> str:
    """1: what to repair, what to look at, and what was looked for in vain. ``said``: of refused students, as HTML."""
    struck = [one for one in found if one.count]
    faults = sum(one.level == FAULT for one in struck)
    verdict = []
    if faults:
        verdict.append(words("fault n", n=faults))
    if len(struck) > faults:
        verdict.append(words("look n", n=len(struck) - faults))
    if not population.graded and not struck:
        verdict = [words("nothing to judge")]
    level = "fault" if faults else "look" if struck else "fine"
    colon = "，" if words.language == "zh" else ", "
    head = f'<p class="verdict {level}">{colon.join(verdict) or words("nothing")}</p>'
    rows = "".join(_finding(population, one, said, words) for one in struck)
    rest = ""
    for key, chosen in (
        ("checked", [one for one in found if not one.count and one.judged]),
        ("unjudged", [one for one in found if not one.count and not one.judged]),
    ):
        if chosen:
            names = "；".join if words.language == "zh" else "; ".join
            text = words(key, n=ENOUGH) if key == "unjudged" else words(key)
            rest += f'<p class="soft">{text} {names(words(f"find {one.key}") for one in chosen)}</p>'
    return f'{head}<ul class="findings">{rows}</ul>{rest}'


def _finding(population: Population, one: Finding, said: Sequence[str], words: Words) -> str:
    unit = {"nobody": "items", "everybody": "items", "gap": "items", "negative": "items", "test": "tests"}
    count = words.counted(f"n {unit.get(one.key, 'submissions')}", one.count)
    chips = "".join(link(population.outline.items[at], at, words, n) for at, n in one.items)
    about = words(f"about {one.key}", share=percent(GAP)) if one.key == "gap" else words(f"about {one.key}")
    more = ""
    if one.tests:
        listed = "".join(f"<li><code>{safe(name)}</code></li>" for name in one.tests[:TESTS])
        more = f"<ul class=tests>{listed}{'<li>…</li>' if len(one.tests) > TESTS else ''}</ul>"
    if one.key == "refused" and said:
        listed = "".join(f"<li>{line}</li>" for line in said[:TOLD])
        more = f"<details><summary>{words('said')}</summary><ul>{listed}</ul></details>"
    return (
        f'<li class="{one.level}"><span class="level">{words("repair" if one.level == FAULT else "look")}</span>'
        f"<div><b>{words(f'find {one.key}')}</b> <span class=count>{count}</span>"
        f"<p>{about}</p>{f'<p>{chips}</p>' if chips else ''}{more}</div></li>"
    )


def tiles(pairs: Sequence[tuple[str, str]]) -> str:
    """Figures side by side, each above its name."""
    return f'<dl class="tiles">{"".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in pairs)}</dl>'


def distribution(population: Population, totals: Sequence[float], summary: Summary, words: Words) -> str:
    """2: the totals of students, and the parts."""
    counts, whole = population.counts(), population.outline.points
    statuses = [(words(f"status {name}"), f"{counts[name]:,}") for name in STATUSES if counts[name] or name in _ALWAYS]
    pair = "{} – {}"
    figures = [
        (words("with score"), f"{summary.n:,}"),
        (words("mean"), number(summary.mean)),
        (words("median"), number(summary.median)),
        (words("sd"), number(summary.sd)),
        (words("quartiles"), DASH if not summary.n else pair.format(points(summary.lower), points(summary.upper))),
        (words("range"), DASH if not summary.n else pair.format(points(summary.lowest), points(summary.highest))),
    ]
    drawn = plots.histogram(totals, whole, summary, words) if totals else f"<p>{words('no scores')}</p>"
    note = f'<p class="soft">{words("out of", points=points(whole))}</p>'
    return f"{tiles(figures)}{tiles(statuses)}{drawn}{note}{_parts(population, words)}"


_ALWAYS = (GRADED, NOT_HANDED_IN)


def _parts(population: Population, words: Words) -> str:
    rows = []
    for part in population.outline.parts:
        items = [at for at, item in enumerate(population.outline.items) if item.part == part.slug and not item.waived]
        share = part_share(population, items)
        title = f"<b>{safe(part.number)}</b> {safe(words.either(part.title, part.title_zh))}"
        if items:
            rows.append(f"<tr><td>{title}<td class=n>{percent(share)}<td>{meter(share)}</tr>")
    head = f"<tr><th scope=col>{words('part')}<th scope=col class=n colspan=2>{words('part mean')}</tr>"
    return (
        f"<h3>{words('by part')}</h3><table class=parts><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
        f'<p class="soft">{words("part note")}</p>'
    )


def part_share(population: Population, items: Sequence[int]) -> float | None:
    """What was got of all that could be got in these items, where there is a verdict."""
    got = could = 0
    for at in items:
        column = population.points[:, at]
        got += int(column[column >= 0].sum())
        could += round(population.outline.items[at].points * 100) * int((column >= 0).sum())
    return got / could if could > 0 else None


def meter(share: float | None) -> str:
    """A bar for a part of one."""
    width = 100 * min(1.0, max(0.0, share or 0.0))
    return (
        '<svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="track" width="100" height="8"/><rect class="bar" width="{width:.1f}" height="8"/></svg>'
    )


def items(population: Population, figures: Sequence[ItemFigures], words: Words) -> str:
    """3: the table of items and its picture."""
    columns = [Column(words("item")), Column(words("points"), True), Column(words("difficulty"), True)]
    columns += [Column(words("full"), True), Column(words("discrimination"), True), Column(words("lost"), True)]
    columns += [Column(words("lost share"), True), Column(words("gap"), True), Column(words("states"))]
    columns += [Column(words("flags"))]
    dots = [
        (safe(one.facts.number), one.difficulty, one.discrimination, bool(one.flags))
        for one in figures
        if one.difficulty is not None and one.discrimination is not None
    ]
    drawn = f'{plots.scatter(dots, words)}<p class="soft">{words("scatter note")}</p>' if dots else ""
    swatches = "".join(f"<li>{plots.swatch(state)} {words(f'state {state}')}</li>" for state in STATES)
    return (
        f"<p>{words('items how')}</p><ul class=legend>{swatches}</ul>"
        f"{table(columns, [_item(one, words) for one in figures], 'items-table')}{drawn}"
    )


def _item(one: ItemFigures, words: Words) -> str:
    why = "waived" if one.facts.waived else "none"
    kind = "".join(f" <small>({words(name)})</small>" for name in ("bonus", "waived") if getattr(one.facts, name))
    flags = "".join(f'<span class="flag">{words(f"flag {name}")}</span> ' for name in one.flags)
    label = ", ".join(f"{words(f'state {state}')} {one.states[state]}" for state in STATES if one.states.get(state))
    lost_share = (
        percent(one.lost_share) if one.lost_share is not None else _dash("bonus" if one.facts.bonus else why, words)
    )
    return (
        f"<tr id=i{one.at}><td>{named_item(one.facts, words)}{kind}<td class=n>{points(one.facts.points)}"
        f"<td class=n>{_or_dash(one.difficulty, why, words)}"
        f"<td class=n>{percent(one.full) if one.full is not None else _dash(why, words)}"
        f"<td class=n>{_or_dash(one.discrimination, one.reason, words)}<td class=n>{_or_dash(one.lost, why, words)}"
        f"<td class=n>{lost_share}"
        f"<td class=n>{f'{one.gap:,}' if one.n and not one.facts.waived else _dash(why, words)}"
        f"<td>{plots.strip(one.states, label)}<td>{flags}</tr>"
    )


def _or_dash(value: float | None, reason: str, words: Words) -> str:
    return _dash(reason, words) if value is None else number(value)


def _dash(reason: str, words: Words) -> str:
    """A dash with its reason, for the pointer and for those who hear the page."""
    why = words(f"why {reason}")
    return f'<abbr title="{why}" aria-label="{why}">{DASH}</abbr>'


def mistakes(population: Population, found: Sequence[ItemMistakes], words: Words) -> str:
    """4: known mistakes, the most frequent first and then item by item."""
    outline = population.outline
    every = [(one, known) for one in found for known in one.known]
    if not every:
        return f"<p>{words('mistakes none')}</p>"
    every.sort(key=lambda pair: -pair[1].students)
    columns = [Column(words("students"), True), Column(words("share"), True), Column(words("item"))]
    columns += [Column(words("hint")), Column(words("mistake")), Column(words("page"))]
    rows = [
        f"<tr>{_known(known, one, words)[0]}<td>{named_item(outline.items[one.at], words)}"
        f"{_known(known, one, words)[1]}<td>{_page(outline.items[one.at])}</tr>"
        for one, known in every[:TOP]
    ]
    each = "".join(_mistakes_of(outline.items[one.at], one, words) for one in found)
    return (
        f"<p>{words('mistakes how')}</p><h3>{words('mistakes top')}</h3>{table(columns, rows, 'hints')}"
        f"<h3>{words('mistakes each')}</h3>{each}"
    )


def _mistakes_of(item: ItemFacts, one: ItemMistakes, words: Words) -> str:
    rows = "".join("<tr>" + "".join(_known(known, one, words)) + "</tr>" for known in one.known)
    heads = "".join(
        f"<th scope=col{' class=n' if key in ('students', 'share') else ''}>{words(key)}"
        for key in ("students", "share", "hint", "mistake")
    )
    body = f"<div class=wide><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>" if rows else ""
    text = words("astray", n=one.astray, unknown=one.unknown)
    return (
        f"<details class=each><summary>{named_item(item, words)}: {text}</summary>"
        f"{body}<p class=soft>{words('page')}: {_page(item)}</p></details>"
    )


def _known(known: Known, one: ItemMistakes, words: Words) -> tuple[str, str]:
    names = " ".join(f"<code>{safe(name)}</code>" for name in known.names)
    hint = marked(words.either(known.facts.hint, known.facts.hint_zh)) if known.facts else DASH
    share = percent(known.students / one.astray if one.astray else None)
    return f"<td class=n>{known.students:,}<td class=n>{share}", f"<td>{hint}<td>{names}"


def _page(item: ItemFacts) -> str:
    return f"<code>writeup/{safe(item.page)}</code>" if item.page else DASH


def progress(found: Progress, whole: float, words: Words) -> str:
    """5: how often handed in, and what that changes."""
    if not found.times:
        return f"<p>{words('no progress')}</p>"
    text = words("no progress")
    if found.first.n:
        means = {"first": number(found.first.mean), "last": number(found.last.mean)}
        counts = {"n": found.first.n, "rose": found.rose, "same": found.same, "fell": found.fell}
        text = words("gain", **means, **counts)
    more = sum(count for times, count in found.times.items() if times > len(found.tries))
    rows = [
        f"<tr><td class=n>{at}<td class=n>{found.times[at]:,}<td class=n>{one.n:,}<td class=n>{number(one.mean)}"
        f"<td class=n>{number(one.lower)}<td class=n>{number(one.median)}<td class=n>{number(one.upper)}</tr>"
        for at, one in enumerate(found.tries, start=1)
    ]
    if more:
        rest = "<td class=n>" * 5
        rows.append(f"<tr><td class=n>{words('or more', n=len(found.tries) + 1)}<td class=n>{more:,}{rest}</tr>")
    heads = "".join(f"<th scope=col class=n>{words(key)}" for key in ("times", "how many", "with n", "mean"))
    heads += f"<th scope=col class=n>Q1<th scope=col class=n>{words('median')}<th scope=col class=n>Q3"
    drawn = plots.tries(found.tries, whole, words) if found.first.n else ""
    return (
        f"<p>{text}</p>{drawn}<div class=wide><table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody>"
        f'</table></div><p class="soft">{words("progress how")}</p>'
    )


def reliability(alpha: Alpha, words: Words) -> str:
    """6: alpha with its interval, or why there is none."""
    stands = (words("stands on"), f"{words.counted('n submissions', alpha.n)}, {words.counted('n items', alpha.items)}")
    if alpha.value is None or alpha.low is None or alpha.high is None:
        return f"{tiles([(words('alpha'), DASH), stands])}<p>{words(f'alpha {alpha.reason}')}</p>"
    low, value, high = number(alpha.low), number(alpha.value), number(alpha.high)
    figures = [
        (words("alpha"), value),
        (words("interval"), f"{low} – {high}"),
        (words("error"), words("error points", n=number(alpha.error))),
        stands,
    ]
    drawn = plots.interval(alpha.low, alpha.value, alpha.high, words("alpha is", value=value, low=low, high=high))
    return f"{tiles(figures)}{drawn}<p>{words('alpha how')}</p>"


def overview(population: Population, summary: Summary, alpha: Alpha, words: Words) -> str:
    """The figures that stand beside the answer on the first screen."""
    counts = population.counts()
    everybody = sum(counts.values())
    whole = points(population.outline.points)
    mean = DASH if summary.mean is None else f"{number(summary.mean, 1)}<small> / {whole}</small>"
    return tiles(
        [
            (words("class"), f"{everybody:,}"),
            (words("status graded"), f"{counts[GRADED]:,}"),
            (words("status not handed in"), f"{counts[NOT_HANDED_IN]:,}"),
            (words("mean"), mean),
            (words("median"), number(summary.median, 1)),
            ("α", number(alpha.value)),
        ]
    )

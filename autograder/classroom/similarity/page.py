"""The pairs as a page for staff, or as CSV. Whatever students wrote is text."""

from __future__ import annotations

import html
from collections.abc import Sequence

from ... import gradescope
from ..report.text import safe
from ..tables import csv_bytes
from .pairs import LEAST, RARE, RARE_SHARE, SHARE, Copied, Pair
from .works import Work

SIDE_BY_SIDE = 50  # pairs whose code is shown
LINES = 400  # of a file
NOTICE = (
    "A place to look, not a verdict. Two people who learned from the same example write alike; read both, and ask them."
)
_STYLE = """body{font:16px/1.45 system-ui,sans-serif;margin:0 auto;max-width:80rem;padding:0 1rem 3rem;color:#1b1b1b}
.notice{border:2px solid #1b1b1b;border-radius:4px;padding:.5rem .8rem;font-weight:700;max-width:50rem}
table{border-collapse:collapse}
th,td{border-bottom:1px solid #ccc;padding:.2rem .6rem;text-align:left;vertical-align:top}
.n{text-align:right}.two{display:grid;grid-template-columns:1fr 1fr;gap:1rem}
pre{font:13px/1.4 ui-monospace,"DejaVu Sans Mono",monospace;overflow-x:auto;margin:.3rem 0;border:1px solid #ccc}
pre b{font-weight:400;background:#dcdcdc;border-left:4px solid #1b1b1b;display:block}
pre span{display:block;padding-left:4px}
summary{cursor:pointer}"""


def page(
    works: Sequence[Work],
    pairs: Sequence[Pair],
    binaries: Sequence[tuple[str, tuple[int, ...]]],
    copied: Sequence[Copied],
    rare: dict[int, int],
) -> bytes:
    """The page. ``rare``: fingerprint -> how many works have it, of the rare ones."""
    rows = "".join(
        f"<tr><td class=n>{at}<td>{_who(works[pair.first])}<td>{_who(works[pair.second])}<td class=n>{pair.shared}"
        f"<td class=n>{pair.shares[0]:.0%}<td class=n>{pair.shares[1]:.0%}<td>{_files(pair)}</tr>"
        for at, pair in enumerate(pairs, start=1)
    )
    table = f"<table><tr>{_heads('', 'first', 'second', 'shared', 'of first', 'of second', 'files')}</tr>{rows}</table>"
    sides = "".join(_side_by_side(at, works, pair, rare) for at, pair in enumerate(pairs[:SIDE_BY_SIDE], start=1))
    same = "".join(f"<li>{safe(file)}: {', '.join(_who(works[at]) for at in places)}</li>" for file, places in binaries)
    text = "".join(
        f"<tr><td>{_who(works[one.work])}<td>{safe(one.name)}<td class=n>{one.of_published:.0%}"
        f"<td class=n>{one.of_work:.0%}</tr>"
        for one in copied
    )
    of_text = f"<table><tr>{_heads('who', 'published', 'of the published', 'of the work')}</tr>{text}</table>"
    body = (
        f"<h1>Alike</h1><p class=notice>{NOTICE}</p><p>{len(works)} submissions. Counted is what at most {RARE} of "
        f"them ({RARE_SHARE:.0%} of a large class) have, and the handout has not. A pair is listed from {LEAST} shared "
        f"fingerprints on, when they are at least {SHARE:.0%} of one side's. Names, comments and spacing make no "
        f"difference.</p><h2>Pairs</h2>{table if pairs else '<p>None.</p>'}{sides}"
        f"<h2>The very same file</h2>{f'<ul>{same}</ul>' if same else '<p>None.</p>'}"
        f"<h2>Published solutions and alternatives</h2><p>Works that hold nearly all of a published text. Short "
        f"ones are written alike by many: one line says little, several say more.</p>"
        f"{of_text if text else '<p>None.</p>'}"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Alike</title><style>{_STYLE}</style></head><body>{body}</body></html>\n"
    ).encode()


def as_csv(works: Sequence[Work], pairs: Sequence[Pair]) -> bytes:
    """A row a pair."""
    rows = [["first", "second", "shared", "of first", "of second", "files", "note"]]
    for pair in pairs:
        files = "; ".join(f"{a} / {b}: {n}" for a, b, n in pair.files)
        sides = [works[pair.first].who, works[pair.second].who]
        rows.append([*sides, str(pair.shared), *(f"{share:.3f}" for share in pair.shares), files, NOTICE])
    return csv_bytes(rows)


def _heads(*names: str) -> str:
    return "".join(f"<th>{name}" for name in names)


def _files(pair: Pair) -> str:
    return "<br>".join(f"{safe(a)} / {safe(b)}: {n}" for a, b, n in pair.files)


def _who(work: Work) -> str:
    term = f" ({safe(work.name)})" if work.earlier else ""
    return f"{safe(work.who)}{term}"


def _side_by_side(at: int, works: Sequence[Work], pair: Pair, rare: dict[int, int]) -> str:
    first, second = works[pair.first], works[pair.second]
    shown = []
    for file_a, file_b, _ in pair.files[:4]:
        both = {key for key in first.prints[file_a].hashes & second.prints[file_b].hashes if key in rare}
        halves = "".join(
            f"<div>{safe(file)}<pre>{_marked(work, file, both)}</pre></div>"
            for work, file in ((first, file_a), (second, file_b))
        )
        shown.append(f"<div class=two>{halves}</div>")
    return f"<details><summary>{at}: {_who(first)} and {_who(second)}</summary>{''.join(shown)}</details>"


def _marked(work: Work, file: str, both: set[int]) -> str:
    """The lines of a file around what is shared, with that marked."""
    places = work.prints[file].lines
    marked = {line for key in both for low, high in places[key] for line in range(low, high + 1)}
    near = {line + step for line in marked for step in (-2, -1, 0, 1, 2)}
    lines, said, last = work.sources[file].splitlines(), [], 0
    for number in sorted(near & set(range(1, len(lines) + 1)))[:LINES]:
        if number != last + 1:
            said.append("<span>…</span>")
        last, element = number, "b" if number in marked else "span"
        said.append(f"<{element}>{number:4d}  {html.escape(gradescope.clean(lines[number - 1]))}</{element}>")
    return "".join(said)

"""The other proofs of ``autograder audit``: mutants, tolerances, hints. Each prints, and says what was found.

Every function returns (plain data for --json, one line, whether anything is off).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from ..feedback.errors import InputError
from .printing import make_console, progress

Found = tuple[Any, str, bool]


def operators(root: Path, secret: bytes, only: Sequence[str], jobs: int | None) -> Found:
    """Which mechanical mutants no test notices; ``only`` holds beginnings of their ids, or items."""
    from ..proof.mutation import EQUIVALENT, KILLED, try_mutants

    with progress("trying mutants") as advance:
        fates = try_mutants(
            root,
            secret,
            only=lambda mutant: not only or mutant.item in only or mutant.id.startswith(tuple(only)),
            jobs=jobs,
            told=advance,
        )
    if not fates:
        raise InputError(f"no mutant is called {', '.join(only)}; give the beginning of an id or an item's slug")
    for fate in fates:
        if not fate.ok:
            click.echo(f"{fate.mutant.id}: {fate.state}{f' by {fate.by}' if fate.by else ''}")
            click.echo(_indented("-", fate.mutant.before) + _indented("+", fate.mutant.after), nl=False)
    states = Counter(fate.state for fate in fates)
    killed, equivalent = states[KILLED], states[EQUIVALENT]
    data = [
        {
            "id": fate.mutant.id,
            "item": fate.mutant.item,
            "operator": fate.mutant.operator,
            "state": fate.state,
            "by": fate.by,
            "reason": fate.reason,
        }
        for fate in fates
    ]
    off = len(fates) - killed - equivalent
    share = killed / max(len(fates) - equivalent, 1)
    line = (
        f"{len(fates)} mutants: {killed} killed ({share:.1%} of those that can be), {equivalent} equivalent, {off} off"
    )
    return data, line, off > 0


def tolerances(root: Path, secret: bytes, jobs: int | None) -> Found:
    """How far right and wrong solutions are from every tolerance, in units of what it allows."""
    from ..proof.tolerances import measure

    with progress("measuring") as advance:
        margins = measure(root, secret, jobs=jobs, told=advance)
    table = Table(box=None, pad_edge=False)
    for name in ("item", "test", "check", "right at most", "wrong at least", ""):
        table.add_column(name, no_wrap=name not in ("test", "check"), overflow="fold")
    for margin in margins:
        wrong = "-" if margin.wrong is None else f"{margin.wrong:.1e}"
        word = "ok" if not margin.tight else "reason" if margin.reason else "TIGHT"
        style = {"ok": "green", "reason": "yellow"}.get(word, "red")
        cells = (margin.item, margin.test, margin.what, f"{margin.right:.1e}", wrong)
        table.add_row(*map(Text, cells), Text(word, style=style))
    make_console().print(table)
    for margin in margins:
        if margin.reason:
            click.echo(f"reason  {margin.test}, {margin.what}: {margin.reason}")
    bad = [margin for margin in margins if not margin.ok]
    for margin in bad:
        sides = f"right at most {margin.right:.2g} ({margin.right_by})"
        if margin.wrong is not None:
            sides += f", wrong at least {margin.wrong:.2g} ({margin.wrong_by})"
        click.echo(f"{margin.test}, {margin.what}: {sides}", err=True)
    reasons = sum(bool(margin.reason) for margin in margins)
    line = f"{len(margins)} checks of numbers, in units of what each allows: {len(bad)} tight, {reasons} with a reason"
    data = [{**asdict(margin), "right": margin.right, "wrong": margin.wrong, "ok": margin.ok} for margin in margins]
    return data, line, bool(bad)


def diagnosis(root: Path, secret: bytes, with_mutants: bool, jobs: int | None) -> Found:
    """Which mistakes are told their hint, why the others are not, and what right solutions and mutants are told."""
    from ..proof.diagnosed import diagnose

    with progress("diagnosing") as advance:
        found = diagnose(root, secret, with_mutants=with_mutants, jobs=jobs, told=advance)
    for told in found:
        if told.kind == "mistakes" and told.why:
            click.echo(f"{'' if told.expected else 'OFF '}{told.id}: no hint: {told.why}")
        elif told.kind != "mistakes" and told.hints:
            click.echo(f"{'' if told.expected else 'OFF '}{told.id}: told")
            for hint in dict.fromkeys(hint for _, hint in told.hints):
                click.echo(f"    {hint}")
    mistakes = [told for told in found if told.kind == "mistakes"]
    named = sum(not told.why for told in mistakes)
    reasons = Counter(told.why for told in mistakes if told.why)
    for why, count in reasons.most_common():
        click.echo(f"{count:4d} {why}")
    others = ", ".join(
        f"{sum(bool(told.hints) for told in found if told.kind == kind)} of "
        f"{sum(told.kind == kind for told in found)} {kind}"
        for kind in ("alternatives", "mutants")
        if any(told.kind == kind for told in found)
    )
    bad = [told for told in found if not told.expected]
    data = [
        {
            "kind": told.kind,
            "id": told.id,
            "ok": told.expected,
            "why": told.why,
            "mistakes": sorted(told.names),
            "hints": [{"test": test, "hint": hint} for test, hint in told.hints],
        }
        for told in found
    ]
    return data, f"{named} of {len(mistakes)} mistakes are told their hint, {others} any: {len(bad)} off", bool(bad)


def _indented(sign: str, text: str) -> str:
    return "".join(f"  {sign} {line}\n" for line in text.splitlines())

"""``autograder audit``: the proof of the grader, and its matrix."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from .common import FOUND, home_of, require_writable
from .printing import make_console, progress


@click.command()
@click.option("--only", multiple=True, metavar="KIND", help="Only this kind, or the entry with this id.")
@click.option("--full", is_flag=True, help="All tests for every entry, not only those that execute what it changes.")
@click.option("--jobs", type=click.IntRange(1), help="How many at a time (default: one a core).")
@click.option("--secret", type=click.Path(path_type=Path), help="File with the term's secret.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the verdicts here.")
@click.pass_obj
def audit(
    home: Path | None, only: Sequence[str], full: bool, jobs: int | None, secret: Path | None, json_path: Path | None
) -> None:
    """Prove the grader: right passes, wrong loses exactly its own points, each item stands alone.

    And no attack gets through; attacks are graded where we are root, since student code must run as another user.

    \b
    Examples:
      autograder audit --only mistakes
      autograder audit --only attacks
    """
    from .. import audit as auditing
    from ..feedback.assignment import load_assignment
    from ..secret import read_secret

    root = home_of(home)
    if json_path is not None:
        require_writable(json_path)
    key = read_secret(secret) if secret is not None else None
    with progress("auditing") as advance:
        verdicts = auditing.audit(
            root, only=only, full=full, jobs=jobs, secret=key, told=lambda _, done, total: advance(done, total)
        )
    assignment = load_assignment(root / "assignment.toml")
    print_matrix(verdicts, {item.slug: item.number for item in assignment.items})
    if json_path is not None:
        json_path.write_text(json.dumps(auditing.as_json(verdicts), indent=1) + "\n", encoding="utf-8")
    bad = [verdict for verdict in verdicts if not verdict.ok]
    for verdict in bad:
        for problem in verdict.problems:
            click.echo(f"{verdict.kind} {verdict.id}: {problem}", err=True)
    counts = ", ".join(
        f"{sum(v.kind == kind for v in verdicts)} {kind}"
        for kind in auditing.KINDS
        if any(v.kind == kind for v in verdicts)
    )
    click.echo(f"{counts}: {len(bad)} off" if bad else f"{counts}: all as they must be")
    if bad:
        sys.exit(FOUND)


def print_matrix(verdicts: Sequence[Any], numbers: dict[str, str]) -> None:
    """One line a trial, a column a part with a sign for each item: x lost, . kept, ! broken, blank not tried."""
    from ..audit import BROKEN, KEPT, LOST, UNTRIED

    signs = {LOST: "x", KEPT: ".", BROKEN: "!", UNTRIED: " "}
    parts: dict[str, list[str]] = {}
    for slug, number in numbers.items():
        parts.setdefault(number.partition(".")[0], []).append(slug)
    table = Table(box=None, pad_edge=False)
    for name in ("kind", "trial", *parts, ""):
        table.add_column(name, no_wrap=name != "trial")
    for verdict in verdicts:
        cells = ("".join(signs[verdict.items.get(slug, UNTRIED)] for slug in slugs) for slugs in parts.values())
        word = Text("ok", style="green") if verdict.ok else Text("OFF", style="red")
        table.add_row(Text(verdict.kind), Text(verdict.id), *map(Text, cells), word)
    make_console().print(table)

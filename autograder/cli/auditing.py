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

from ..feedback.errors import InputError
from .common import FOUND, home_of, require_writable
from .printing import make_console, progress


@click.command()
@click.option("--only", multiple=True, metavar="NAME", help="Only this kind, item or entry.")
@click.option("--full", is_flag=True, help="Everything in isolation and on all tests.")
@click.option("--secrets", type=click.IntRange(1), default=1, metavar="N", help="Try N secrets (default: 1).")
@click.option("--operators", is_flag=True, help="Instead: mechanical mutants of the solutions, and which survive.")
@click.option("--tolerances", is_flag=True, help="Instead: the errors of right and wrong solutions at every tolerance.")
@click.option(
    "--diagnosis", is_flag=True, help="Instead: which mistakes are told their hint, and who else is told one."
)
@click.option("--jobs", type=click.IntRange(1), help="How many at a time (default: one a core).")
@click.option("--secret", type=click.Path(path_type=Path), help="File with the term's secret.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write what was found here.")
@click.pass_obj
def audit(
    home: Path | None,
    only: Sequence[str],
    full: bool,
    secrets: int,
    operators: bool,
    tolerances: bool,
    diagnosis: bool,
    jobs: int | None,
    secret: Path | None,
    json_path: Path | None,
) -> None:
    """Prove the grader: right passes, wrong loses exactly its own points, each item stands alone.

    And no attack gets through; attacks are graded where we are root, since student code must run as another user.

    \b
    Examples:
      autograder audit --secrets 3
      autograder audit --only mistakes
      autograder audit --operators
    """
    from ..secret import read_secret, secret_of
    from . import proofs

    root = home_of(home)
    if json_path is not None:
        require_writable(json_path)
    modes = {"operators": operators, "tolerances": tolerances, "diagnosis": diagnosis}
    instead = [name for name, wanted in modes.items() if wanted]
    if len(instead) > 1 and set(instead) != {"operators", "diagnosis"}:
        raise InputError("--tolerances stands alone; --diagnosis with --operators also says what mutants are told")
    if instead and (full or secrets > 1 or (only and instead != ["operators"])):
        raise InputError(f"--{instead[0]} takes no {'--only' if only else '--full and no --secrets'}")
    key = read_secret(secret) if secret is not None else secret_of(root)
    if diagnosis:
        data, summary, bad = proofs.diagnosis(root, key, operators, jobs)
    elif operators:
        data, summary, bad = proofs.operators(root, key, only, jobs)
    elif tolerances:
        data, summary, bad = proofs.tolerances(root, key, jobs)
    else:
        data, summary, bad = _prove(root, key, only, full, secrets, jobs)
    if json_path is not None:
        json_path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    click.echo(summary)
    if bad:
        sys.exit(FOUND)


def _prove(
    root: Path, key: bytes, only: Sequence[str], full: bool, secrets: int, jobs: int | None
) -> tuple[Any, str, bool]:
    """The audit itself: (what was found, one line, whether anything is off)."""
    from ..feedback.assignment import load_assignment
    from ..proof import audit as auditing

    with progress("auditing") as advance:
        verdicts = auditing.audit(
            root,
            only=only,
            full=full,
            jobs=jobs,
            secret=key,
            secrets=secrets,
            told=lambda _, done, total: advance(done, total),
        )
    assignment = load_assignment(root / "assignment.toml")
    print_matrix(verdicts, {item.slug: item.number for item in assignment.items})
    bad = [verdict for verdict in verdicts if not verdict.ok]
    for verdict in bad:
        where = f" (secret {verdict.secret})" if secrets > 1 else ""
        for problem in verdict.problems:
            click.echo(f"{verdict.kind} {verdict.id}{where}: {problem}", err=True)
    counts = ", ".join(
        f"{sum(v.kind == kind for v in verdicts)} {kind}"
        for kind in auditing.KINDS
        if any(v.kind == kind for v in verdicts)
    )
    counts += f" with {secrets} secrets" if secrets > 1 else ""
    return auditing.as_json(verdicts), f"{counts}: {f'{len(bad)} off' if bad else 'all as they must be'}", bool(bad)


def print_matrix(verdicts: Sequence[Any], numbers: dict[str, str]) -> None:
    """One line a trial, a column a part with a sign for each item: x lost, . kept, ! broken, blank not tried."""
    from ..proof.audit import BROKEN, KEPT, LOST, UNTRIED

    signs = {LOST: "x", KEPT: ".", BROKEN: "!", UNTRIED: " "}
    parts: dict[str, list[str]] = {}
    for slug, number in numbers.items():
        parts.setdefault(number.partition(".")[0], []).append(slug)
    table = Table(box=None, pad_edge=False)
    several = any(verdict.secret > 1 for verdict in verdicts)
    for name in ("kind", "trial", *(["secret"] if several else []), *parts, ""):
        table.add_column(name, no_wrap=name != "trial")
    for verdict in verdicts:
        cells = ("".join(signs[verdict.items.get(slug, UNTRIED)] for slug in slugs) for slugs in parts.values())
        word = Text("ok", style="green") if verdict.ok else Text("OFF", style="red")
        which = [Text(str(verdict.secret))] if several else []
        table.add_row(Text(verdict.kind), Text(verdict.id), *which, *map(Text, cells), word)
    make_console().print(table)

"""``autograder build`` and ``autograder simulate``: what is made, and what the platform will do with it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from .. import gradescope
from ..metadata import VARIANTS
from .common import FOUND, GRADER_FAILED, home_of, legal, require_writable
from .printing import print_built, print_results, progress, working


@click.command()
@click.option("--check", is_flag=True, help="Only compare the committed handout with what would be built.")
@click.option("--secret", type=click.Path(path_type=Path), help="File with the term's secret.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the zips (default: dist).")
@click.pass_obj
def build(home: Path | None, check: bool, secret: Path | None, out: Path | None) -> None:
    """Make the handout, the zips and two sample submissions from the sources.

    \b
    Example:
      autograder build --secret ../autumn.secret
    """
    from .. import build as builder
    from ..feedback.assignment import load_assignment
    from ..proof import hints, rehearsal
    from ..secret import read_secret

    root = home_of(home)
    if check:
        differences = builder.drift(root)
        if not hints.is_current(root, load_assignment(root / "assignment.toml")):
            differences.append(f"{hints.PUBLIC}/hints.json: older than what it is made from")
        for difference in differences:
            click.echo(difference)
        if differences:
            click.echo("the handout is not what its sources make; run: autograder build", err=True)
            sys.exit(FOUND)
        click.echo("the handout is what its sources make")
        return
    key = read_secret(secret) if secret is not None else None
    files: dict[str, str] = {}
    if not rehearsal.available():
        click.echo("NOTE: hints are made on Linux only; those of an earlier build stay")
    else:
        with progress("recording what known mistakes answer") as advance:
            if key is None:
                hints.bring_up_to_date(root, told=advance)
            else:
                files = hints.for_a_term(root, key, told=advance)
    print_built(builder.build(root, out or root / "dist", key, hints=files))


@click.command()
@click.argument("submission", type=click.Path(path_type=Path))
@click.option("--results", type=click.Path(path_type=Path), help="Write results.json, as the platform leaves it, here.")
@click.option(
    "--metadata",
    default="on-time",
    show_default=True,
    metavar="CASE",
    help=f"What the platform tells of the submission: {', '.join(VARIANTS)}, or a JSON file.",
)
@click.option(
    "--rootfs",
    type=click.Path(path_type=Path),
    help="Run in the system in this folder, under the platform's memory and CPU. Empty: debootstrap makes one. "
    "Linux, as root.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show what each row says, and the instructor's output.")
@click.pass_obj
def simulate(
    home: Path | None, submission: Path, results: Path | None, metadata: str, rootfs: Path | None, verbose: bool
) -> None:
    """Upload, as it were: install the autograder zip in a fresh root once, and run it as Gradescope does.

    \b
    Example:
      autograder simulate solutions --metadata late
    """
    from ..simulate import simulate_home

    if results is not None:
        require_writable(results)
    with working(f"simulating {legal(submission.name or submission)}") as tell:
        outcome = simulate_home(submission, home_of(home), metadata=metadata, results=results, system=rootfs, tell=tell)
    if outcome.rows and outcome.document is not None:
        print_results(outcome.document, (), verbose)
    else:
        click.echo(f"what the student reads: {legal(outcome.message)}")
    memory = f" and at most {outcome.memory / (1 << 20):.0f} MiB" if outcome.memory else ""
    click.echo(f"the run took {outcome.seconds:.1f} s{memory}")
    for line in outcome.left_out:
        click.echo(f"left out: {legal(line)}")
    for problem in outcome.problems:
        click.echo(f"platform: {legal(problem)}", err=True)
    if verbose:
        click.echo(f"\nfor instructors (stdout):\n{gradescope.clean(outcome.stdout).rstrip()}")
    if outcome.failed:
        sys.exit(GRADER_FAILED)

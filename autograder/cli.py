"""The ``autograder`` command. Imports a command's module when it is called; nothing imports this one.

Exit codes: 0 done (whatever the score), 1 the audit or the build check found something, 2 bad input, 3 the grader
itself failed, 130 interrupted.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from . import __version__, gradescope
from .feedback.errors import GraderError, InputError
from .metadata import VARIANTS

FOUND, BAD_INPUT, GRADER_FAILED, INTERRUPTED = 1, 2, 3, 130
COLOURS = {"passed": "green", "not started": "yellow", "not run": "yellow"}


class _Commands(click.Group):
    """Maps our errors to one line and an exit code: the only place that does."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            click.echo(f"autograder: {_legal(error)}", err=True)
            ctx.exit(BAD_INPUT)
        except GraderError as error:
            click.echo(f"autograder: the grader failed: {_legal(error)}", err=True)
            ctx.exit(GRADER_FAILED)
        except KeyboardInterrupt:
            click.echo("autograder: interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):  # click knows what to do
            raise
        except Exception as error:  # ours, whatever it is: never the exit code of "the audit found something"
            click.echo(traceback.format_exc(), err=True)
            click.echo(f"autograder: the grader failed: {type(error).__name__}: {_legal(error)}", err=True)
            ctx.exit(GRADER_FAILED)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.option(
    "--home",
    type=click.Path(path_type=Path),
    default=None,
    help="The repository, or an unpacked autograder zip. Default: the nearest folder above with an assignment.toml.",
)
@click.pass_context
def main(context: click.Context, home: Path | None) -> None:
    """Builds, grades and proves an assignment.

    \b
    Example:
      autograder grade submission.zip --results results.json
    """
    context.obj = home


@main.command()
@click.argument("submission", type=click.Path(path_type=Path))
@click.option("--results", type=click.Path(path_type=Path), help="Write results.json here.")
@click.option("--item", "items", multiple=True, metavar="ITEM", help="Only this item, by slug or number.")
@click.option("--secret", type=click.Path(path_type=Path), help="File with the term's secret.")
@click.option("-v", "--verbose", is_flag=True, help="Show what each row says, and what only staff see.")
@click.pass_obj
def grade(
    home: Path | None, submission: Path, results: Path | None, items: Sequence[str], secret: Path | None, verbose: bool
) -> None:
    """Grade a folder or a zip in isolation and print the table.

    \b
    Example:
      autograder grade submission.zip --item 1.2 -v
    """
    from .feedback.assignment import load_assignment
    from .feedback.plugin import find_item
    from .grade import grade as grade_one
    from .secret import read_secret

    root = _home(home)
    assignment = load_assignment(root / "assignment.toml")
    slugs = [find_item(assignment, name).slug for name in items]
    key = read_secret(secret) if secret is not None else None
    if results is not None:
        _require_writable(results)
    with _working(f"grading {_legal(submission.name or submission)}"):
        graded = grade_one(submission, root, results=results, secret=key, items=slugs)
    _print_results(graded.results, slugs, verbose)
    if verbose:
        click.echo(f"\nfor staff:\n{graded.staff.rstrip()}")
    if results is not None:
        click.echo(f"wrote {results}")
    if graded.failed:
        click.echo("autograder: the grader itself failed in part; see -v", err=True)
        sys.exit(GRADER_FAILED)


@main.command()
@click.argument("submission", type=click.Path(path_type=Path))
@click.option("--item", required=True, metavar="ITEM", help="The item, by slug or number.")
@click.option("--secret", type=click.Path(path_type=Path), help="File with the term's secret.")
@click.pass_obj
def debug(home: Path | None, submission: Path, item: str, secret: Path | None) -> None:
    """Run one item in this process with everything shown, and a debugger at the failure.

    The student's code runs with your rights: read it first.

    \b
    Example:
      autograder debug submission.zip --item perplexity
    """
    from .debug import debug as debug_one
    from .secret import read_secret

    key = read_secret(secret) if secret is not None else None
    code = debug_one(submission, _home(home), item, secret=key, interactive=sys.stdin.isatty())
    sys.exit(0 if code in (0, 1) else GRADER_FAILED)


@main.command()
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
    from . import build as builder
    from .secret import read_secret

    root = _home(home)
    if check:
        differences = builder.drift(root)
        for difference in differences:
            click.echo(difference)
        if differences:
            click.echo("the handout is not what its sources make; run: autograder build", err=True)
            sys.exit(FOUND)
        click.echo("the handout is what its sources make")
        return
    built = builder.build(root, out or root / "dist", read_secret(secret) if secret is not None else None)
    _print_built(built)


@main.command()
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
    from .simulate import simulate_home

    if results is not None:
        _require_writable(results)
    with _working(f"simulating {_legal(submission.name or submission)}") as tell:
        outcome = simulate_home(submission, _home(home), metadata=metadata, results=results, system=rootfs, tell=tell)
    if outcome.rows and outcome.document is not None:
        _print_results(outcome.document, (), verbose)
    else:
        click.echo(f"what the student reads: {_legal(outcome.message)}")
    memory = f" and at most {outcome.memory / (1 << 20):.0f} MiB" if outcome.memory else ""
    click.echo(f"the run took {outcome.seconds:.1f} s{memory}")
    for line in outcome.left_out:
        click.echo(f"left out: {_legal(line)}")
    for problem in outcome.problems:
        click.echo(f"platform: {_legal(problem)}", err=True)
    if verbose:
        click.echo(f"\nfor instructors (stdout):\n{gradescope.clean(outcome.stdout).rstrip()}")
    if outcome.failed:
        sys.exit(GRADER_FAILED)


@main.command()
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
    from . import audit as auditing
    from .feedback.assignment import load_assignment
    from .secret import read_secret

    root = _home(home)
    if json_path is not None:
        _require_writable(json_path)
    key = read_secret(secret) if secret is not None else None
    with _progress("auditing") as advance:
        verdicts = auditing.audit(
            root, only=only, full=full, jobs=jobs, secret=key, told=lambda _, done, total: advance(done, total)
        )
    assignment = load_assignment(root / "assignment.toml")
    _print_matrix(verdicts, {item.slug: item.number for item in assignment.items})
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


def _legal(text: object) -> str:
    """Text of somebody else's, such as a path that a student chose, as one harmless line."""
    return gradescope.clean(str(text)).replace("\n", " ")


def _home(home: Path | None) -> Path:
    """The folder with assignment.toml, solutions/ and tests/."""
    if home is None:
        here = Path.cwd()
        home = next((folder for folder in (here, *here.parents) if (folder / "assignment.toml").is_file()), None)
        if home is None:
            raise InputError("no assignment.toml here or above; give --home")
    if not (home / "assignment.toml").is_file():
        raise InputError(f"{home}: no assignment.toml here")
    return home.resolve()


def _require_writable(path: Path) -> None:
    """Find out before the work is done, and leave no trace."""
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    existed = path.exists()
    try:
        with path.open("ab"):
            pass
        if not existed:
            path.unlink()
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def _console(stderr: bool = False) -> Console:
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, 120)  # a log has no edge; nothing need be cut off
    return console


@contextmanager
def _working(what: str) -> Iterator[Callable[[str], None]]:
    """Say what is going on: a spinner on a terminal, plain lines elsewhere. Yields a function that says more."""
    console = _console(stderr=True)
    if console.is_terminal:
        with console.status(Text(what)) as status:
            yield lambda line: status.update(Text(line))
    else:
        click.echo(f"{what} ...", err=True)
        yield lambda line: click.echo(f"{line} ...", err=True)


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; a line every tenth of the way elsewhere."""
    console = _console(stderr=True)
    if console.is_terminal:
        from rich.progress import Progress

        with Progress(console=console, transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        said = 0

        def line(done: int, total: int) -> None:
            nonlocal said
            tenth = done * 10 // total
            if tenth > said:
                said = tenth
                click.echo(f"{what}: {done} of {total}", err=True)

        yield line


def _print_results(results: dict[str, Any], only: Sequence[str], verbose: bool) -> None:
    """The rows as a table. Student text never passes as markup."""
    table = Table(box=None, pad_edge=False)
    for name, justify in (("item", "left"), ("", "left"), ("score", "right"), ("", "left")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    rows = [row for row in results.get("tests", []) if not only or row.get("extra_data", {}).get("item") in only]
    for row in rows:
        state = str(row.get("extra_data", {}).get("state", row.get("status", "")))
        number, title = str(row.get("number", "")), str(row.get("name", ""))
        score = f"{row.get('score', 0):g}/{row.get('max_score', 0):g}"
        table.add_row(Text(number), Text(title), Text(score), Text(state, style=COLOURS.get(state, "red")))
    console = _console()
    console.print(table)
    total = sum(row.get("score", 0) for row in rows)
    console.print(Text(f"total {total:g}/{sum(row.get('max_score', 0) for row in rows):g}", style="bold"))
    if results.get("output"):
        console.print(Text(str(results["output"])), style="dim")
    for row in rows:
        state = str(row.get("extra_data", {}).get("state", row.get("status", "")))
        if row.get("output") and (verbose or state not in ("passed", "not started")):
            console.print(Text(f"\n{row.get('number', '')} {row.get('name', '')}", style="bold"))
            console.print(Text(str(row["output"])))


def _print_built(built: Any) -> None:
    """What was made, what to know, and what to do with it."""
    same = {True: "as before", False: "changed"}
    click.echo(
        f"handout   {built.handout_files} files, {built.stubs} stubs in {built.items} items; {same[built.handout_same]}"
    )
    for artifact in (built.handout_zip, built.autograder_zip, built.solved.artifact, built.blank.artifact):
        size = f"{artifact.files} files, {artifact.size / 1000:.0f} kB"
        click.echo(f"{artifact.path.name:20s} {size:20s} sha256 {artifact.sha256[:12]}  {same[artifact.same]}")
    if built.shared:
        click.echo(f"{len(built.shared)} lines of solutions also stand in given code:")
        for line in built.shared:
            click.echo(f"  {line}")
    for note in built.notes:
        click.echo(f"NOTE: {note}")
    click.echo("next:  1. Gradescope, Configure Autograder: upload " + str(built.autograder_zip.path))
    for number, sample in enumerate((built.solved, built.blank), start=2):
        expected = f"{sample.score:g}/{sample.points:g}"
        click.echo(f"       {number}. Test Autograder with {sample.artifact.path.name}: expect {expected}")


def _print_matrix(verdicts: Sequence[Any], numbers: dict[str, str]) -> None:
    """One line a trial, a column a part with a sign for each item: x lost, . kept, ! broken, blank not tried."""
    from .audit import BROKEN, KEPT, LOST, UNTRIED

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
    _console().print(table)

"""``autograder new`` and ``autograder quiz``: for authors of items, and for teachers with the catalogue in hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..feedback.errors import InputError
from .common import home_of, legal

if TYPE_CHECKING:
    from ..authoring.scaffold import Draft


@click.group()
def new() -> None:
    """Make the files of a new item, mistake or alternative, ready to fill in.

    Nothing that is there is overwritten, and nothing unfinished passes for finished.

    \b
    Example:
      autograder new item --help
    """


@new.command()
@click.argument("slug")
@click.option("--part", required=True, metavar="PART", help="The part that it is added to, by number or slug.")
@click.option("--file", required=True, metavar="FILE", help="The submission file; made when there is none.")
@click.option("--function", required=True, metavar="NAME", help="The function that students write.")
@click.option("--arguments", default="x", show_default=True, metavar="TEXT", help="What stands in its brackets.")
@click.option("--title", default="", metavar="TEXT", help="Its title (default: the words of the slug).")
@click.option("--title-zh", default="", metavar="TEXT", help="Its title in Chinese (default: left to do).")
@click.option("--points", type=click.FloatRange(0, min_open=True), default=2, show_default=True, help="Its points.")
@click.option("--mistake", default="", metavar="ID", help="Id of its first mistake (default: from the slug).")
@click.option("--alternative", default="", metavar="ID", help="Id of its first alternative (default: from the slug).")
@click.pass_obj
def item(
    home: Path | None,
    slug: str,
    part: str,
    file: str,
    function: str,
    arguments: str,
    title: str,
    title_zh: str,
    points: float,
    mistake: str,
    alternative: str,
) -> None:
    """Make an item: its row, a solution, two tests, a mistake, an alternative, two sections of the writeup.

    \b
    Example:
      autograder new item median --part 1 --file stack.py --function median --arguments values
    """
    from ..authoring.scaffold import NewItem, new_item

    wish = NewItem(slug, part, file, function, arguments, title, title_zh, points, mistake, alternative)
    draft = new_item(home_of(home), wish)
    _write(draft, f"item {draft.number} {slug}")
    only = " ".join(f"--only {name}" for name in (slug, *draft.ids))
    _next(
        "fill in what says TODO: solution, tests, titles and sections first",
        f"autograder grade solutions --item {slug}",
        "fill in the mistake and the alternative, and make more: autograder new mistake --help",
        f"autograder audit {only}",
        "autograder build",
    )


@new.command()
@click.argument("item", metavar="ITEM")
@click.argument("name", metavar="ID")
@click.option("--function", default="", metavar="NAME", help="As module.qualname (default: the item's only function).")
@click.pass_obj
def mistake(home: Path | None, item: str, name: str, function: str) -> None:
    """Make a mistake: a change of one function, which as yet changes nothing.

    \b
    Example:
      autograder new mistake 1.2 median-sorts-in-place --function stack.median
    """
    from ..authoring.scaffold import new_mistake

    root = home_of(home)
    _write(new_mistake(root, _slug(root, item), name, function), f"mistake {name}")
    _next("make new wrong, cut old down, and write the hints", f"autograder audit --only {name}")


@new.command()
@click.argument("item", metavar="ITEM")
@click.argument("name", metavar="ID")
@click.option("--function", default="", metavar="NAME", help="As module.qualname (default: the item's only function).")
@click.pass_obj
def alternative(home: Path | None, item: str, name: str, function: str) -> None:
    """Make an alternative: a function written another way, which as yet is the same.

    \b
    Example:
      autograder new alternative median median-by-heaps
    """
    from ..authoring.scaffold import new_alternative

    root = home_of(home)
    _write(new_alternative(root, _slug(root, item), name, function), f"alternative {name}")
    _next("write it another way in new, and cut old down", f"autograder audit --only {name}")


@click.command()
@click.option("--items", required=True, metavar="ITEMS", help="Slugs or numbers, with commas between.")
@click.option("--count", type=click.IntRange(1), help="How many questions (default: one a function).")
@click.option("--right", type=click.IntRange(0), help="How many of them show right code (default: about a quarter).")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed picks other questions.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write to (default: print).")
@click.pass_obj
def quiz(home: Path | None, items: str, count: int | None, right: int | None, seed: int, out: Path | None) -> None:
    """Make find-the-bug sheets in two languages, and their keys, from the catalogue of mistakes.

    \b
    Examples:
      autograder quiz --items 1.2,1.3 --seed 7
      autograder quiz --items 1.2 --count 4 --right 1 --out sheets
    """
    from ..authoring.quiz import make_quiz

    root = home_of(home)
    slugs = [_slug(root, name.strip()) for name in items.split(",")]
    sheets = make_quiz(root, slugs, count=count, right=right, seed=seed)
    if out is None:
        click.echo("\n\n".join(sheets.values()), nl=False)
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in sheets.items():
            (out / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write to {out}: {error.strerror}") from None
    for name in sheets:
        click.echo(f"wrote {legal(out / name)}")


def _slug(root: Path, name: str) -> str:
    """An item's slug, from its slug or number."""
    from ..feedback.assignment import load_assignment
    from ..feedback.plugin import find_item

    return find_item(load_assignment(root / "assignment.toml"), name).slug


def _write(draft: Draft, what: str) -> None:
    draft.write()
    click.echo(f"new {what}")
    for path in draft.after:
        click.echo(f"  {'added to' if path in draft.before else 'made':9s} {path}")
    for note in draft.notes:
        click.echo(f"NOTE: {note}")
    click.echo("to do:")
    for path, number, line in draft.to_do():
        click.echo(f"  {path}:{number}: {line}")


def _next(*steps: str) -> None:
    click.echo("next:")
    for number, step in enumerate(steps, 1):
        click.echo(f"  {number}. {step}")

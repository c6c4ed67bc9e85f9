"""The files of a new item, a new mistake, a new alternative: made from templates, for an author to fill in.

Trusted side; imports ``excerpt``, ``inserting``, ``regions``, ``templates`` and ``feedback``.
A ``Draft`` is made whole in memory, or an ``InputError`` says in one line why not; only ``write`` touches the disk, and
it changes no line that was there.
"""

from __future__ import annotations

import ast
import json
import keyword
import re
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..feedback.assignment import Assignment, load_assignment
from ..feedback.errors import InputError
from ..regions import find_regions
from . import templates
from .excerpt import excerpt
from .inserting import at_end, imported, item_in_part, section, submission_file

if sys.version_info >= (3, 11):
    import tomllib  # novm
else:
    import tomli as tomllib

KILOBYTES = 200  # the size that is taken of a new submission file
MISTAKES, ALTERNATIVES = "tests/mistakes", "tests/alternatives"
_SLUG = re.compile(r"[a-z][a-z0-9_]*")
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_WEIGHT = "gradescope_utils.autograder_utils.decorators"


@dataclass(frozen=True)
class NewItem:
    """What an author says of a new item. Titles that are empty are made from the slug, or left to do."""

    slug: str
    part: str  # slug or number
    file: str
    function: str
    arguments: str = "x"
    title: str = ""
    title_zh: str = ""
    points: float = 2
    mistake: str = ""
    alternative: str = ""


@dataclass
class Draft:
    """Texts to be written, by path below the home folder.

    Attributes:
        before: what stands there now; nothing for a new file.
        notes: what could not be made, a line each.
        ids: the entries of the catalogue that are among them.
        number: of the new item.
    """

    home: Path
    after: dict[str, str] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    ids: tuple[str, ...] = ()
    number: str = ""

    def read(self, path: str) -> str | None:
        """A text as it will be; None when there is none."""
        if path in self.after:
            return self.after[path]
        try:
            text = (self.home / path).read_bytes().decode("utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise InputError(f"{path}: is not UTF-8") from None
        self.before[path] = text
        return text

    def write(self) -> None:
        """Put everything where it belongs.

        Raises:
            InputError: a file cannot be written.
        """
        for path, text in self.after.items():
            try:
                (self.home / path).parent.mkdir(parents=True, exist_ok=True)
                (self.home / path).write_bytes(text.encode("utf-8"))
            except OSError as error:
                raise InputError(f"{path}: {error.strerror}") from None

    def to_do(self) -> Iterator[tuple[str, int, str]]:
        """(path, line number, line) of everything that is new and says TODO."""
        for path, text in self.after.items():
            old = set(self.before.get(path, "").split("\n"))
            for number, line in enumerate(text.split("\n"), 1):
                if "TODO" in line and line not in old:
                    yield path, number, line.strip()


def new_item(home: Path, wish: NewItem) -> Draft:
    """All files of a new item: its row in assignment.toml, a solution, two tests, two entries, two sections.

    Raises:
        InputError: the item, function or test is there already, a name cannot be one, or there is no such part.
    """
    assignment = load_assignment(home / "assignment.toml")
    draft = Draft(home)
    _refuse_names(wish, assignment)
    part = _add_to_assignment(draft, wish, assignment)
    module = wish.file.removesuffix(".py")
    names = {
        "slug": wish.slug,
        "module": module,
        "file": wish.file,
        "function": wish.function,
        "arguments": wish.arguments,
        "package": assignment.package,
    }
    _add_solution(draft, f"solutions/{assignment.package}/{wish.file}", wish, names)
    for kind in ("public", "hidden"):
        _add_test(draft, kind, f"tests/{kind}/test_{module}.py", names)
    words = re.sub("_+", "-", wish.slug).strip("-")
    function, empty = f"{module}.{wish.function}", "''"
    mistake = wish.mistake or f"{words}-first-mistake"
    alternative = wish.alternative or f"{words}-another-way"
    _add_entry(draft, MISTAKES, templates.MISTAKE, wish.slug, mistake, function, empty)
    _add_entry(draft, ALTERNATIVES, templates.ALTERNATIVE, wish.slug, alternative, function, empty)
    _add_sections(draft, wish, part, assignment)
    return draft


def new_mistake(home: Path, slug: str, name: str, function: str = "") -> Draft:
    """A mistake that is right as yet: ``old`` and ``new`` are the function's present body.

    Args:
        home: the repository.
        slug: of the item.
        name: the new id.
        function: ``module.qualname``; empty for the only one that the item's solution is in.

    Raises:
        InputError: the id is taken or cannot be one, or there is no such function.
    """
    return _new_entry(home, MISTAKES, templates.MISTAKE, slug, name, function)


def new_alternative(home: Path, slug: str, name: str, function: str = "") -> Draft:
    """An alternative that is the solution as yet; see :func:`new_mistake`."""
    return _new_entry(home, ALTERNATIVES, templates.ALTERNATIVE, slug, name, function)


def _new_entry(home: Path, folder: str, template: str, slug: str, name: str, function: str) -> Draft:
    assignment = load_assignment(home / "assignment.toml")
    draft = Draft(home)
    function = function or _only_function(draft, assignment, slug)
    module, _, qualname = function.partition(".")
    if not qualname or not all(part.isidentifier() for part in function.split(".")):
        raise InputError(f"function {function!r} is not module.qualname")
    if f"{module}.py" not in assignment.files:
        raise InputError(f"{module}.py is not handed in by students")
    path = f"solutions/{assignment.package}/{module}.py"
    body = excerpt(_existing(draft, path), qualname, path).body
    if not any(line.strip() for line in body):
        raise InputError(f"{path}: {qualname!r} has no body below its def line and docstring")
    text = _literal(textwrap.dedent("\n".join(line.rstrip() for line in body)).strip("\n"))
    _add_entry(draft, folder, template, slug, name, function, text)
    return draft


def _only_function(draft: Draft, assignment: Assignment, slug: str) -> str:
    file = assignment.by_slug[slug].file
    if not file.endswith(".py"):
        raise InputError(f"item {slug!r} is about {file}, which has no functions; see docs/authors.md")
    path = f"solutions/{assignment.package}/{file}"
    _, regions = find_regions(_existing(draft, path), path)
    module = file.removesuffix(".py")
    found = dict.fromkeys(f"{module}.{region.name}" for region in regions if region.slug == slug and region.function)
    if len(found) != 1:
        raise InputError(f"give --function: the solution of {slug!r} is in {', '.join(found) or 'no function'}")
    return next(iter(found))


def _existing(draft: Draft, path: str) -> str:
    text = draft.read(path)
    if text is None:
        raise InputError(f"{path}: there is no such file")
    return text


def _refuse_names(wish: NewItem, assignment: Assignment) -> None:
    if not _SLUG.fullmatch(wish.slug):
        raise InputError(f"slug {wish.slug!r}: a slug is a-z, 0-9 and underscores, a letter first")
    if wish.slug in assignment.by_slug or wish.slug in assignment.dropped:
        raise InputError(f"item {wish.slug!r} is there already")
    if not wish.function.isidentifier() or keyword.iskeyword(wish.function):
        raise InputError(f"function {wish.function!r}: not a name that Python takes")
    module, dot, suffix = wish.file.rpartition(".")
    if (dot + suffix) != ".py" or not module.isidentifier() or keyword.iskeyword(module):
        raise InputError(f"file {wish.file!r}: not a name of a Python module, such as stack.py")
    try:
        ast.parse(f"def {wish.function}({wish.arguments}): pass")
    except (SyntaxError, ValueError):
        raise InputError(f"arguments {wish.arguments!r}: not what may stand between the brackets of a def") from None


def _add_to_assignment(draft: Draft, wish: NewItem, assignment: Assignment) -> str:
    """Returns the part's slug."""
    name = "assignment.toml"
    text = _existing(draft, name)
    parts = tomllib.loads(text)["parts"]
    places = [place for place, part in enumerate(parts) if wish.part in (part["slug"], part["number"])]
    if not places:
        known = ", ".join(f"{part['number']} {part['slug']}" for part in parts)
        raise InputError(f"no part {wish.part!r}; there are {known}")
    if wish.file not in assignment.files:
        if (draft.home / "solutions" / assignment.package / wish.file).exists():
            raise InputError(f"{wish.file} is given to students, so nothing in it can be an item")
        text = submission_file(text, wish.file, KILOBYTES)
    row = templates.ITEM.format(
        slug=_quoted(wish.slug),
        title=_quoted(wish.title or _title(wish.slug)),
        title_zh=_quoted(wish.title_zh or "TODO"),
        points=f"{wish.points:g}",
        file=_quoted(wish.file),
    )
    draft.after[name] = item_in_part(text, places[0], row)
    found = _assignment_of(draft.after[name]).by_slug.get(wish.slug)
    if found is None:
        raise InputError(f"part {wish.part!r} is switched off")
    draft.number = found.number
    return found.part


def _assignment_of(text: str) -> Assignment:
    """What a text would mean as an assignment.toml."""
    with tempfile.TemporaryDirectory(prefix="new-") as folder:
        path = Path(folder, "assignment.toml")
        path.write_text(text, encoding="utf-8")
        return load_assignment(path)


def _add_solution(draft: Draft, path: str, wish: NewItem, names: dict[str, Any]) -> None:
    text = draft.read(path)
    if text is not None and wish.function in _top_names(text, path):
        raise InputError(f"{path}: {wish.function!r} is there already")
    draft.after[path] = at_end(text or templates.SOLUTION_FILE, templates.SOLUTION.format(**names))


def _add_test(draft: Draft, kind: str, path: str, names: dict[str, Any]) -> None:
    header, test = {
        "public": (templates.PUBLIC_FILE, templates.PUBLIC_TEST),
        "hidden": (templates.HIDDEN_FILE, templates.HIDDEN_TEST),
    }[kind]
    text = draft.read(path)
    if text is None:
        text = header.format(**names)
    block = test.format(**names)
    taken = _top_names(text, path) & _top_names(block, path)
    if taken:
        raise InputError(f"{path}: {min(taken)!r} is there already")
    text = imported(text, "autograder.feedback", "item")
    if kind == "hidden":
        text = imported(text, _WEIGHT, "weight")
    draft.after[path] = at_end(text, block)


def _top_names(text: str, path: str) -> set[str]:
    """The functions and classes at the top level of a program."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise InputError(f"{path}: not valid Python: {error}") from None
    return {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}


def _add_entry(draft: Draft, folder: str, template: str, slug: str, name: str, function: str, body: str) -> None:
    if not _ID.fullmatch(name) or name == "solutions":
        raise InputError(f"id {name!r}: an id is words of a-z and 0-9 with hyphens between, and not 'solutions'")
    for catalogue in (MISTAKES, ALTERNATIVES):
        for taken in (draft.home / catalogue).glob(f"*/{name}.toml"):
            raise InputError(f"{taken.relative_to(draft.home).as_posix()} has that id already")
    if name in draft.ids:
        raise InputError(f"id {name!r} is given twice")
    text = template.format(id=_quoted(name), function=_quoted(function), old=body, new=body, slug=_quoted(slug))
    draft.after[f"{folder}/{slug}/{name}.toml"] = text
    draft.ids += (name,)


def _add_sections(draft: Draft, wish: NewItem, part: str, assignment: Assignment) -> None:
    slugs = {item.slug for item in assignment.items if item.part == part}
    pages = sorted((draft.home / "solutions" / "writeup").glob("*.md"))
    for ending, title, template in (
        (".md", wish.title or _title(wish.slug), templates.SECTION),
        (".zh.md", wish.title_zh or "TODO", templates.SECTION_ZH),
    ):
        new = template.format(title=title, slug=wish.slug, function=wish.function)
        for page in pages:
            if page.name.endswith(".zh.md") != (ending == ".zh.md"):
                continue
            path = page.relative_to(draft.home).as_posix()
            text = section(_existing(draft, path), part, slugs, new)
            if text is not None:
                draft.after[path] = text
                break
        else:
            draft.notes.append(f"no page solutions/writeup/*{ending} has a heading of part {part}: no section was made")


def _title(slug: str) -> str:
    words = " ".join(slug.split("_")).strip()
    return words[:1].upper() + words[1:]


def _quoted(text: str) -> str:
    """A TOML string on one line."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _literal(text: str) -> str:
    """A TOML string of several lines, as it stands where that is possible."""
    if "'''" not in text and not text.endswith("'"):
        return f"'''\n{text}\n'''"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"""\n{escaped}\n"""'

"""Attacks on the grader, from TOML files: hostile submissions, and what must come of each. Trusted side.

One file an attack, ``<folder>/<group>/<id>.toml``::

    id = "reads-the-hidden-tests"        # = file name
    does = "opens the hidden test file"  # one line
    layer = "U S"                        # what stops it: letters of LAYERS
    source = "security 4.1"              # where it is known from
    function, old, new or [[changes]]    # as in the catalogue, on the solved package
    [[files]]                            # and whole files beside it; one of the same name is replaced
    name = "conftest.py"
    content = '''...'''
    make = "zip_slip"                    # or a function of <folder>/make.py: make(folder, solved) -> what is handed in
    loses = ["mle"]                      # these items lose points, and no other
    score = 0.0                          # optional: the exact score of all of them together
    state = "timeout"                    # optional: the state of each of them
    says = ["did not finish within"]     # must stand in their rows; with loses = [] above the rows
    top = ["conftest.py"]                # optional: must stand above the rows
    never = ["printed by a student"]     # optional: must stand nowhere
    refused = "not a zip"                # instead of loses: the command refuses and says this
    full = true                          # optional: grade two tests of every item

An attack shows when it gets through: then it raises, or breaks an answer that is right otherwise. So an attack with
``loses = []`` proves that it was stopped, and that whoever tried it has lost nothing.

What is graded: some of the tests that execute what it changes, all tests of the items in ``loses`` where ``score`` or
``state`` is given and one of each where not, and one test of some other items, which differ from attack to attack;
with ``full``, for what may harm whatever comes after, two tests of every item. ``loses = ["*"]`` stands for all items.
Whatever an attack does, its results are valid, no process of a worker is left, and nothing that a student reads holds a
line of a solution or of a hidden test, a path of this machine, the secret, or a character that does something to a
terminal.
"""

from __future__ import annotations

import ast
import os
import sys
import tempfile
import time
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from .. import gradescope, leaks
from ..confine import can_change_uid, mapped_ids
from ..feedback import scores
from ..feedback.assignment import Assignment
from ..feedback.errors import InputError
from ..grade import Graded
from ..secret import DEVELOPMENT, secret_of
from .catalogue import Alternative, Change, apply, changes_of, maker_of, only_known, text_of

if sys.version_info >= (3, 11):
    import tomllib  # novm
else:
    import tomli as tomllib

LAYERS = {
    "U": "another user, and modes",
    "R": "limits of resources",
    "S": "filtered system calls",
    "L": "a closed file system",
    "P": "the protocol",
    "D": "deadlines",
    "K": "the sweep",
    "C": "the copy of the submission",
    "T": "how tests are written and compared",
    "V": "what is shown to whom",
}
OWN = 6  # tests of those that execute what an attack changes: every one of them begins with a fresh worker
BYSTANDERS = 4  # items that an attack has nothing to do with and is graded on nevertheless
BUDGETS: Mapping[str, float] = {"call": 1.0, "test": 5.0, "item": 10.0}  # hanging attacks hang less
STATES = (scores.FAILED, scores.LATE, scores.CANNOT_IMPORT, scores.NOT_STARTED, scores.WAITING, scores.NOT_RUN)
GONE_SECONDS = 3.0  # a large process takes a while to die
_PACKAGE_KEYS = ("function", "old", "new", "changes", "files")
_RIGHT_KEYS = ("loses", "score", "state", "says", "top", "never", "refused")
_KEYS = ("id", "does", "layer", "source", *_PACKAGE_KEYS, "make", *_RIGHT_KEYS)


@dataclass(frozen=True)
class Attack:
    """One hostile submission and what must come of it; the module's docstring says what the fields mean."""

    id: str
    file: str  # for messages
    group: str
    layers: tuple[str, ...]
    changes: tuple[Change, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    make: str = ""
    loses: tuple[str, ...] = ()
    score: float | None = None
    state: str = ""
    says: tuple[str, ...] = ()
    top: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    refused: str = ""
    full: bool = False


# --- reading ----------------------------------------------------------------------------------------------------


def load_attacks(folder: Path, assignment: Assignment) -> list[Attack]:
    """All attacks under ``folder``, by group and id; none where there is no such folder.

    Raises:
        InputError: an attack is malformed; the message names the file.
    """
    attacks: dict[str, Attack] = {}
    for path in sorted(folder.rglob("*.toml")):
        file = path.relative_to(folder.parent).as_posix()
        if path.parent.parent != folder:
            raise InputError(f"{file}: attacks are <group>/<id>.toml")
        try:
            raw = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: {error}") from None
        attack = _attack(raw, path, file, assignment)
        if attack.id in attacks:
            raise InputError(f"{file}: {attacks[attack.id].file} has the same id")
        attacks[attack.id] = attack
    return list(attacks.values())


def _attack(raw: dict[str, Any], path: Path, file: str, assignment: Assignment) -> Attack:
    only_known(raw, (*_KEYS, "full"), file)
    if text_of(raw, "id", file) != path.stem:
        raise InputError(f"{file}: id {raw['id']!r} is not the file's name")
    for key in ("does", "source"):
        if "\n" in text_of(raw, key, file):
            raise InputError(f"{file}: {key} is one line")
    layers = tuple(text_of(raw, "layer", file).split())
    if not set(layers) <= set(LAYERS):
        raise InputError(f"{file}: layer {raw['layer']!r} is not of {' '.join(LAYERS)}")
    changed = any(key in raw for key in ("function", "old", "new", "changes"))
    if not changed and not raw.get("files") and "make" not in raw:
        raise InputError(f"{file}: needs a change, files or make")
    loses = _texts(raw, "loses", file)
    if loses == ("*",):
        loses = tuple(assignment.by_slug)
    for slug in loses:
        if slug not in assignment.by_slug and slug not in assignment.dropped:
            raise InputError(f"{file}: {slug!r} is no item")
    if ("loses" in raw) == ("refused" in raw):
        raise InputError(f"{file}: needs either loses or refused")
    state, score = raw.get("state", ""), raw.get("score")
    if state and state not in STATES:
        raise InputError(f"{file}: state {state!r} is not of {', '.join(STATES)}")
    if score is not None and (type(score) not in (int, float) or not loses):
        raise InputError(f"{file}: score is the number of points left of the items in loses")
    if type(raw.get("full", False)) is not bool:
        raise InputError(f"{file}: full is true or false")
    return Attack(
        id=raw["id"],
        file=file,
        group=path.parent.name,
        layers=layers,
        changes=changes_of({key: raw[key] for key in raw if key in _PACKAGE_KEYS}, assignment, file) if changed else (),
        files=_files(raw, file),
        make=text_of(raw, "make", file) if "make" in raw else "",
        loses=tuple(slug for slug in loses if slug in assignment.by_slug),
        score=None if score is None else float(score),
        state=state,
        says=_texts(raw, "says", file),
        top=_texts(raw, "top", file),
        never=_texts(raw, "never", file),
        refused=text_of(raw, "refused", file) if "refused" in raw else "",
        full=raw.get("full", False),
    )


def _texts(raw: dict[str, Any], key: str, file: str) -> tuple[str, ...]:
    texts = raw.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        raise InputError(f"{file}: {key} is a list of texts")
    return tuple(texts)


def _files(raw: dict[str, Any], file: str) -> tuple[tuple[str, str], ...]:
    tables = raw.get("files", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{file}: files is a list of [[files]] tables")
    found = []
    for table in tables:
        only_known(table, ("name", "content"), file)
        name = text_of(table, "name", file)
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise InputError(f"{file}: {name!r} leaves the submission; use make")
        found.append((name, text_of(table, "content", file, empty=True)))
    return tuple(found)


# --- handing in -------------------------------------------------------------------------------------------------


def hand_in(attack: Attack, home: Path, solved: Mapping[str, bytes], assignment: Assignment, folder: Path) -> Path:
    """What the attacker hands in: the submission files of the solved package, changed, in ``folder``.

    Raises:
        InputError: a change cannot be applied, or make.py has no such function.
    """
    entry = Alternative(attack.id, attack.file, "", attack.changes)
    package = apply(entry, solved) if attack.changes else solved
    files = {path.rpartition("/")[2]: content for path, content in package.items()}
    files = {name: content for name, content in files.items() if name in assignment.files}
    files |= {name: content.encode("utf-8") for name, content in attack.files}
    if attack.make:
        made: Path = maker_of(home / "tests" / "attacks" / "make.py", attack.make, attack.file)(folder, files)
        return made
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def chosen_tests(
    attack: Attack,
    reached: Mapping[str, frozenset[str]],
    items: Mapping[str, str],
    heavy: Collection[str] = (),
) -> tuple[str, ...]:
    """The tests to grade an attack on.

    Args:
        attack: what is graded.
        reached: test -> the functions that it executes.
        items: test -> its item, from ``items_of_tests``.
        heavy: items whose workers take seconds to start: bystanders of attacks on others of them only.
    """
    # public ones first: a hidden one may ask a thousand questions, too many for BUDGETS on a busy machine
    ordered = sorted(items, key=lambda test: (test.startswith("hidden/"), test))
    changed = {change.function for change in attack.changes}
    own = [test for test in ordered if reached.get(test, frozenset()) & changed]
    # what it was stopped from shows in any of them; what it loses, maybe in one of them only
    chosen = set(own if attack.loses or len(own) <= OWN else own[: OWN // 2] + own[-OWN // 2 :])
    if attack.full:
        for slug in set(items.values()):
            mine = [test for test in ordered if items[test] == slug]
            chosen |= {mine[0], mine[-1]}
    if attack.score is not None or attack.state:  # both are of the whole item
        chosen |= {test for test, slug in items.items() if slug in attack.loses}
    there = {items[test] for test in chosen if test in items} | set(attack.loses)
    others = sorted(set(items.values()) - there - (set() if there & set(heavy) else set(heavy)))
    start = zlib.crc32(attack.id.encode()) % max(len(others), 1)
    for slug in {*(others[start:] + others[:start])[:BYSTANDERS], *attack.loses}:
        if not any(items[test] == slug for test in chosen if test in items):
            chosen.add(next(test for test in ordered if items[test] == slug))
    return tuple(sorted(chosen))


def items_of_tests(home: Path) -> dict[str, str]:
    """Test ("hidden/test_x.py::test_y") -> slug of its item, as the sources say."""
    found = {}
    for folder, prefix in ((home / "tests" / "public", ""), (home / "tests" / "hidden", "hidden/")):
        for file in sorted(folder.glob("test_*.py")):
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                for mark in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
                    if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "item":
                        (slug,) = mark.args
                        assert isinstance(slug, ast.Constant)
                        assert isinstance(node, ast.FunctionDef)
                        found[f"{prefix}{file.name}::{node.name}"] = str(slug.value)
    return found


# --- judging ----------------------------------------------------------------------------------------------------


class Secrets:
    """What nobody may read in results: made once for all attacks.

    Args:
        home: the repository or an unpacked zip.
        secret: seed of the hidden inputs; None for the one in ``home``.
    """

    def __init__(self, home: Path, secret: bytes | None) -> None:
        self._home = home
        self._secret = secret or secret_of(home)

    @cached_property
    def _lines(self) -> dict[str, str]:
        """A long line with white space normalised -> where it stands."""
        lines = []
        for file in sorted((self._home / "solutions").glob("*/*.py")):
            for region in leaks.solution_lines(file.name, file.read_bytes()):
                lines += region
        hidden = sorted((self._home / "tests" / "hidden").glob("*.py"))
        lines += [line for file in hidden for line in leaks.code_lines(f"hidden/{file.name}", file.read_bytes())]
        return {line.text: line.place for line in lines if len(line.text) > leaks.LONGEST_THAT_SAYS_NOTHING}

    @lru_cache(maxsize=4096)  # noqa: B019 - one object an audit; most rows of most trials say the same
    def found_in(self, text: str) -> tuple[str, ...]:
        """What of this stands in a text."""
        return tuple(self._found_in(text))

    def _found_in(self, text: str) -> Iterator[str]:
        flat = " ".join(text.split())
        yield from (f"shows {place}" for line, place in self._lines.items() if line in flat)
        paths = {str(self._home.resolve()), str(Path(sys.prefix).resolve()), tempfile.gettempdir() + "/"}
        yield from (f"shows the path {path}" for path in sorted(paths) if path in text)
        for secret in {self._secret, DEVELOPMENT}:
            if secret.hex() in text or secret.decode("utf-8", "replace") in text:
                yield "shows the secret"
        if gradescope.clean(text, len(text) + 1) != text:
            yield "shows a character that is not text"


def invalid(graded: Graded, assignment: Assignment) -> list[str]:
    """The rules of the platform that the results break, those of our rows among them."""
    points = sum(item.points for item in assignment.items if not item.bonus)
    return [f"results: {line}" for line in gradescope.validate(graded.results, points)]


def problems(attack: Attack, graded: Graded, secrets: Secrets) -> list[str]:
    """What is not as it must be in valid results, but for which items lose points."""
    document = graded.results
    found = [f"it was graded; it should be refused with {attack.refused!r}"] if attack.refused else []
    lost = [row for row in document["tests"] if row["extra_data"]["item"] in attack.loses]
    for row in lost:
        if attack.state and row["extra_data"]["state"] != attack.state:
            found.append(f"{row['extra_data']['item']}: {row['extra_data']['state']}, expected {attack.state}")
    score = round(sum(row["score"] for row in lost), 2)
    if attack.score is not None and score != round(attack.score, 2):
        found.append(f"{score:g} points left, expected {attack.score:g}")
    above = document["output"]
    below = "\n".join(row["output"] for row in lost) if attack.loses else above
    found += [f"does not say {text!r}" for text in attack.says if text not in below]
    found += [f"does not say above the rows {text!r}" for text in attack.top if text not in above]
    for where, text in _seen_by_students(graded):
        found += [f"{where}: says {phrase!r}" for phrase in attack.never if phrase in text]
    return [*found, *shown(graded, secrets)]


def shown(graded: Graded, secrets: Secrets) -> list[str]:
    """What students read of it that nobody may read."""
    return [f"{where}: {leak}" for where, text in _seen_by_students(graded) for leak in secrets.found_in(text)]


def _seen_by_students(graded: Graded) -> Iterator[tuple[str, str]]:
    """Every text that the student sees: (where, text)."""
    yield "results", graded.results["output"]
    yield from ((row["name"], row["output"]) for row in graded.results["tests"])


def refusal_problems(attack: Attack, error: InputError) -> list[str]:
    """Whether the command had to refuse, and says why."""
    if not attack.refused:
        return [f"refused: {error}"]
    return [] if attack.refused in str(error) else [f"refused with {str(error)!r}, expected {attack.refused!r}"]


def strays(known: Collection[int] = ()) -> list[int]:
    """Processes of workers that no zygote looks after: what outlived its run. Waits GONE_SECONDS for the dying.

    Args:
        known: processes that were there before.
    """
    until = time.monotonic() + GONE_SECONDS
    while True:
        left = [pid for pid in strays_now() if pid not in known]
        if not left or time.monotonic() > until:
            return left
        time.sleep(0.05)


def strays_now() -> list[int]:
    """The same at this moment, the dying among them."""
    return list(_strays()) if can_change_uid() else []


def _strays() -> Iterator[int]:
    """A process with a worker's uid belongs to its run while its parent, or a parent's parent, is a zygote."""
    lowest = lowest_uid()
    processes = {int(name): found for name in os.listdir("/proc") if name.isdigit() and (found := _process(name))}
    for pid, (uid, parent, state) in processes.items():
        if uid < lowest or state == "Z":
            continue
        while parent in processes and processes[parent][0] >= lowest:
            parent = processes[parent][1]
        try:
            command = Path(f"/proc/{parent}/cmdline").read_bytes()
        except OSError:
            command = b""
        if b"zygote.py" not in command:
            yield pid


def lowest_uid() -> int:
    """No worker has a lower one, and hardly anybody else a higher one."""
    return min(1 << 30, mapped_ids() // 2)


def _process(pid: str) -> tuple[int, int, str] | None:
    """Uid, parent and state; None for a process that is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    try:
        return int(fields["Uid"].split()[0]), int(fields["PPid"]), fields["State"][:1]
    except (KeyError, ValueError):
        return None

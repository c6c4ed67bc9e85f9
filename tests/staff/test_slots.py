"""Slots: hints as assignment.toml wants them, and the better of two gradings for each item."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.build import autograder_members, build, handout_members
from autograder.feedback.assignment import load_assignment
from autograder.feedback.diagnosis import FILE, Hint, Hints
from tests.staff import toy
from tests.staff.runs import copy_home, read_inline, run_and_read, write_submission

# --- hints


@pytest.fixture(scope="module")
def hinting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small assignment with hints for both folders of tests, for the secret of development."""
    from autograder.proof.hints import HIDDEN, PUBLIC, make, record

    home = copy_home(tmp_path_factory.mktemp("slots") / "home")
    for folder, made in make(record(home, jobs=1), {PUBLIC: "", HIDDEN: ""}).items():
        assert len(made) > 0
        (home / folder / FILE).write_text(made.as_text(), encoding="utf-8")
    return home


def with_hints(home: Path, folder: Path, value: str) -> Path:
    """A copy of a home whose assignment.toml says this of hints; nothing for an empty text."""
    copy = copy_home(folder, home)
    path = copy / "assignment.toml"
    line = f'package = "pocket"\nhints = "{value}"' if value else 'package = "pocket"'
    path.write_text(path.read_text(encoding="utf-8").replace('package = "pocket"', line), encoding="utf-8")
    return copy


def doubling_wrongly(home: Path, folder: Path) -> Path:
    """A submission with a known mistake that public and hidden tests see."""
    source = (home / "solutions/pocket/alpha.py").read_text(encoding="utf-8")
    write_submission(folder, home, {"alpha.py": source.replace("return 2 * x", "return 2 + x")})
    (folder / "pocket/given.py").write_bytes((home / "solutions/pocket/given.py").read_bytes())  # a handout has it
    return folder


RUNS = pytest.mark.parametrize("run", [run_and_read, read_inline], ids=["isolated", "inline"])


@RUNS
@pytest.mark.parametrize(("value", "told"), [("off", 0), ("public", 1), ("all", 1), ("", 1)])
def test_hints_are_told_as_assignment_toml_says(
    run: Callable[..., object], value: str, told: int, hinting: Path, tmp_path: Path
) -> None:
    """Nothing changes but the hint: scores and states stay, and ids of mistakes go with it."""
    home = with_hints(hinting, tmp_path / "home", value)
    found = run(doubling_wrongly(home, tmp_path / "s"), home)
    row = next(row for row in found.document["tests"] if row["extra_data"]["item"] == "double")  # type: ignore[attr-defined]
    assert row["output"].count("hint:") == told
    assert bool(row["extra_data"]["mistakes"]) == bool(told)
    assert row["extra_data"]["state"] == "failed"
    assert found.text.count("hint:") == told  # type: ignore[attr-defined]


@pytest.mark.parametrize(("value", "told"), [("public", 0), ("all", 1)])
def test_a_hidden_test_tells_no_public_hint(value: str, told: int, hinting: Path, tmp_path: Path) -> None:
    """Where the hidden tests alone know the mistake; inline their inputs are other ones, of which no hint is known."""
    home = with_hints(hinting, tmp_path / "home", value)
    (home / "tests/public" / FILE).unlink()
    found = run_and_read(doubling_wrongly(home, tmp_path / "s"), home)
    assert found.text.count("hint:") == told


@pytest.mark.parametrize(
    ("value", "public", "hidden"), [("off", False, False), ("public", True, False), ("all", True, True)]
)
def test_what_travels_holds_the_hints_that_may_be_told(tmp_path: Path, value: str, public: bool, hidden: bool) -> None:
    """Handout and zip: what is not there cannot be read."""
    root = toy.write(tmp_path / "home")
    path = root / "assignment.toml"
    text = path.read_text(encoding="utf-8").replace("[assignment]", f'[assignment]\nhints = "{value}"', 1)
    path.write_text(text, encoding="utf-8")
    hints = Hints.make({b"key": Hint(("id",), "Why?", "为什么？")}).as_text()
    for folder in ("public", "hidden"):
        (root / "tests" / folder / FILE).write_text(hints, encoding="utf-8")
    assignment = load_assignment(path)
    handout, archive = handout_members(root, assignment), autograder_members(root, assignment)
    assert {name for name in handout if name.endswith(FILE)} == ({"tests/hints.json"} if public else set())
    expected = {f"tests/{folder}/{FILE}" for folder, told in (("public", public), ("hidden", hidden)) if told}
    assert {name for name in archive if name.endswith(FILE)} == expected
    assert f'hints = "{value}"' in handout["assignment.toml"].content.decode()


def test_a_term_has_no_hints_that_nobody_is_told(tmp_path: Path) -> None:
    """Those that are made for a secret are left out as well, of the zips and of the folder."""
    root = toy.write(tmp_path / "home")
    toy.edit(root, "assignment.toml", "[assignment]", '[assignment]\nhints = "off"')
    text = Hints.make({b"key": Hint(("id",), "Why?", "为什么？")}).as_text()
    hints = {f"tests/{folder}/{FILE}": text for folder in ("public", "hidden")}
    built = build(root, tmp_path / "dist", b"a secret of sixteen bytes and more", hints)
    for path in (built.handout_zip.path, built.autograder_zip.path):
        with zipfile.ZipFile(path) as archive:
            assert [name for name in archive.namelist() if name.endswith(FILE)] == []
    assert not list(built.handout.rglob(FILE))

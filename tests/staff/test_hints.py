"""Hints: recorded from the catalogue, told in both ways of running, in the handout and in a term's zip."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.cli import main
from autograder.feedback.assignment import load_assignment
from autograder.feedback.diagnosis import FILE, hints_in
from autograder.proof import hints
from autograder.proof.diagnosed import diagnose
from autograder.proof.hints import HIDDEN, PUBLIC, Record, made_from, make, record
from tests.staff.runs import POCKET, copy_home, read_inline, run_and_read, write_submission

TWICE, TWICE_ZH = "Twice 3 is not 2 more than 3.", "3 的两倍并不是 3 加 2。"
TERM = b"a secret of sixteen bytes and more"
MISTAKE = """
id = "{id}"
base = "solutions"
function = "alpha.double"
old = "return 2 * x"
new = "return {new}"
items = ["double"]
hint = "{hint}"
hint_zh = "提示：{hint}"
source = "observed"
"""


def mistake(name: str, new: str, hint: str) -> dict[str, str]:
    """One more mistake about ``double``, as a change of the home."""
    return {f"tests/mistakes/double/{name}.toml": MISTAKE.format(id=name, new=new, hint=hint)}


def fates(home: Path) -> dict[str, str]:
    """Mistake -> what becomes of it."""
    records = record(home, jobs=1)
    made = make(records, {PUBLIC: "", HIDDEN: ""})
    return {seen.mistake.id: seen.fate(made) for seen in records}


@pytest.fixture(scope="module")
def records() -> list[Record]:
    """What the tests see of the small assignment's mistakes."""
    return record(POCKET, jobs=1)


def test_a_record_holds_every_case_that_fails(records: list[Record]) -> None:
    """Public and hidden, with what the check saw, or why that says nothing."""
    seen = {one.mistake.id: {(case.test, case.case): case for case in one.failed} for one in records}
    assert set(seen) == {"double-adds-two", "mean-of-nothing-is-zero", "tally-notes-presence-only"}
    assert ("hidden/test_alpha.py::test_double_of_random_numbers", "vector") in seen["double-adds-two"]
    assert any(not test.startswith("hidden/") for test, _ in seen["double-adds-two"])
    assert [case.reason for case in seen["mean-of-nothing-is-zero"].values()] == ["all zeros"]


def test_mistakes_that_say_something_are_named_and_others_say_why() -> None:
    """Named, degenerate, raises, ambiguous; a shared hint is no ambiguity."""
    home = POCKET
    assert fates(home)["double-adds-two"] == hints.NAMED
    assert fates(home)["mean-of-nothing-is-zero"] == "degenerate: all zeros"


def test_mistakes_with_the_same_answer_and_other_hints_are_told_nothing(tmp_path: Path) -> None:
    """With one and the same hint they are."""
    more = {
        **mistake("double-adds-thrice", "3 * x", "Count the summands."),
        **mistake("double-adds-x-twice", "x + 2 * x", "How many are two?"),
        **mistake("double-raises", "x.nothing", "Numbers have no such name."),
    }
    found = fates(copy_home(tmp_path / "two", changes=more))
    assert found["double-adds-two"] == hints.NAMED
    assert found["double-adds-thrice"] == found["double-adds-x-twice"] == hints.AMBIGUOUS
    assert found["double-raises"] == hints.RAISES
    more |= mistake("double-adds-x-twice", "x + 2 * x", "Count the summands.")
    found = fates(copy_home(tmp_path / "one", changes=more))
    assert found["double-adds-thrice"] == found["double-adds-x-twice"] == hints.NAMED


# --- what students are told


@pytest.fixture(scope="module")
def hinting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small assignment with hints for both folders of tests, for the secret of development."""
    home = copy_home(tmp_path_factory.mktemp("hints") / "home")
    assignment = load_assignment(home / "assignment.toml")
    digests = {folder: made_from(home, assignment, folder) for folder in (PUBLIC, HIDDEN)}
    for folder, made in make(record(home, jobs=1), digests).items():
        (home / folder / FILE).write_text(made.as_text(), encoding="utf-8")
    return home


def with_double(home: Path, folder: Path, body: str) -> Path:
    """A submission with another ``double``."""
    source = (home / "solutions/pocket/alpha.py").read_text(encoding="utf-8")
    write_submission(folder, home, {"alpha.py": source.replace("return 2 * x", body)})
    given = "pocket/given.py"  # a handout has it
    (folder / given).write_bytes((home / "solutions" / given).read_bytes())
    return folder


@pytest.mark.parametrize("run", [run_and_read, read_inline], ids=["isolated", "inline"])
def test_a_known_mistake_is_told_its_hint(run: Callable[..., object], hinting: Path, tmp_path: Path) -> None:
    """Once a row; the ids are for staff. Other items are told nothing."""
    found = run(with_double(hinting, tmp_path / "s", "return 2 + x"), hinting)
    rows = {row["extra_data"]["item"]: row for row in found.document["tests"]}  # type: ignore[attr-defined]
    assert rows["double"]["output"].count(f"hint: {TWICE}") == 1
    assert TWICE_ZH not in rows["double"]["output"]
    assert rows["double"]["extra_data"]["mistakes"] == ["double-adds-two"]
    assert all(not row["extra_data"]["mistakes"] for slug, row in rows.items() if slug != "double")
    assert "double-adds-two" not in rows["double"]["output"]


@pytest.mark.parametrize("ci", ["", "true"], ids=["by-hand", "in-ci"])
def test_a_terminal_says_a_hint_once(hinting: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ci: str) -> None:
    """However many tests and cases fail by it; in CI pytest's summary would repeat all that it is given."""
    monkeypatch.setenv("CI", ci)
    said = read_inline(with_double(hinting, tmp_path / "s", "return 2 + x"), hinting).staff
    assert said.count("Twice each number") + said.count("is doubled") > 1
    assert said.count(f"\nhint: {TWICE}\n") == 1  # its row in the results says it, too


OTHER_WAYS = {
    "right-in-another-way": "return x + x",
    "wrong-in-another-way": "return 3 * x",
    "wrong-by-a-little": "return 2 + x + 1e-6 * x",
    "degenerate": "return 0 * x",
    "raises": "raise ValueError",
}


@pytest.mark.parametrize("body", OTHER_WAYS.values(), ids=OTHER_WAYS)
def test_nobody_else_is_told_a_hint(hinting: Path, tmp_path: Path, body: str) -> None:
    """Neither who is right nor who is wrong in a way that is not known."""
    found = run_and_read(with_double(hinting, tmp_path / "s", body), hinting)
    assert "hint:" not in found.text
    assert all(not row["extra_data"]["mistakes"] for row in found.document["tests"])


def test_the_same_mistake_in_other_words_is_told_the_hint(hinting: Path, tmp_path: Path) -> None:
    """The answer counts, not the text."""
    assert TWICE in run_and_read(with_double(hinting, tmp_path / "s", "return x - (-2)"), hinting).text


def test_diagnose_says_what_everybody_is_told(tmp_path: Path) -> None:
    """Mistakes their own hint or why not, right solutions nothing; the mutants' hints are listed."""
    home = copy_home(tmp_path / "home", changes=mistake("double-is-triple", "3 * x", "Count the summands."))
    found = {(told.kind, told.id): told for told in diagnose(home, with_mutants=True, jobs=1)}
    assert found["mistakes", "double-adds-two"].names == {"double-adds-two"}
    assert found["mistakes", "mean-of-nothing-is-zero"].why == "degenerate: all zeros"
    assert found["alternatives", "double-by-addition"].hints == ()
    assert all(told.expected for told in found.values())
    hinted = {told.id: {hint for _, hint in told.hints} for told in found.values() if told.kind == "mutants"}
    assert {name: told for name, told in hinted.items() if told} == {"alpha.double/1-plus-one": {"Count the summands."}}


# --- where they come from


def test_the_digest_changes_with_whatever_hints_are_made_from(tmp_path: Path) -> None:
    """A mistake, a solution, a test of the folder; not with a test of the other folder."""
    home = copy_home(tmp_path / "home")
    assignment = load_assignment(home / "assignment.toml")
    seen = {made_from(home, assignment, PUBLIC)}
    for name in (
        "tests/mistakes/double/double-adds-two.toml",
        "solutions/pocket/alpha.py",
        "tests/public/test_alpha.py",
    ):
        with (home / name).open("a", encoding="utf-8") as file:
            file.write("\n# more\n")
        seen.add(made_from(home, assignment, PUBLIC))
    assert len(seen) == 4
    (home / "tests/hidden/test_alpha.py").write_text("")
    assert made_from(home, assignment, PUBLIC) in seen
    assert made_from(home, assignment, HIDDEN, b"one") != made_from(home, assignment, HIDDEN, b"two")


def test_the_file_is_made_when_its_sources_have_changed_and_not_before(tmp_path: Path) -> None:
    """A second build makes nothing; whoever changes a mistake hears that the file is old."""
    home = copy_home(tmp_path / "home")
    assignment = load_assignment(home / "assignment.toml")
    assert not hints.is_current(home, assignment)
    made = hints.bring_up_to_date(home)
    assert made is not None
    assert len(made) > 0
    assert hints.is_current(home, assignment)
    before = (home / PUBLIC / FILE).read_bytes()
    assert hints.bring_up_to_date(home) is None
    changed = home / "tests/mistakes/double/double-adds-two.toml"
    changed.write_text(changed.read_text(encoding="utf-8").replace("Twice 3", "Twice 4"), encoding="utf-8")
    assert not hints.is_current(home, assignment)
    assert hints.bring_up_to_date(home) is not None
    assert (home / PUBLIC / FILE).read_bytes() != before


def test_a_home_without_mistakes_has_no_hints(tmp_path: Path) -> None:
    """And lacks none."""
    home = copy_home(tmp_path / "home")
    for file in (home / "tests/mistakes").rglob("*.toml"):
        file.unlink()
    assert hints.is_current(home, load_assignment(home / "assignment.toml"))


def test_a_term_has_hints_for_its_own_hidden_inputs() -> None:
    """Not those of another secret; nothing is written."""
    files = hints.for_a_term(POCKET, TERM)
    assert set(files) == {f"{PUBLIC}/{FILE}", f"{HIDDEN}/{FILE}"}
    assert not (POCKET / HIDDEN / FILE).exists()
    other = hints.for_a_term(POCKET, b"another secret of sixteen bytes")
    here, there = (set(json.loads(made[f"{HIDDEN}/{FILE}"])["entries"]) for made in (files, other))
    assert here
    assert not here & there
    assert json.loads(files[f"{PUBLIC}/{FILE}"])["entries"] == json.loads(other[f"{PUBLIC}/{FILE}"])["entries"]


def test_hints_are_read_once(tmp_path: Path) -> None:
    """Per folder, however many tests fail."""
    hints_in.cache_clear()
    hints_in(tmp_path)
    hints_in(tmp_path)
    assert hints_in.cache_info().hits == 1


def test_the_command_refuses_what_makes_no_sense() -> None:
    """One line, exit 2."""
    for options in (["--tolerances", "--operators"], ["--diagnosis", "--full"], ["--tolerances", "--only", "mle"]):
        done = CliRunner().invoke(main, ["--home", str(POCKET), "audit", *options])
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1), done.stderr


def test_the_command_lists_who_is_told_what(tmp_path: Path) -> None:
    """Also as JSON."""
    out = tmp_path / "told.json"
    done = CliRunner().invoke(main, ["--home", str(POCKET), "audit", "--diagnosis", "--json", str(out)])
    assert done.exit_code == 0, done.output
    assert "mean-of-nothing-is-zero: no hint: degenerate: all zeros" in done.output
    assert "1 of 3 mistakes are told their hint, 0 of 2 alternatives any: 0 off" in done.output
    assert {entry["id"] for entry in json.loads(out.read_text(encoding="utf-8"))} >= {"double-adds-two"}

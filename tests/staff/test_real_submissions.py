"""What students really hand in, on the real assignment, with the right results."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from autograder.build import package_members
from autograder.feedback import scores
from autograder.feedback.assignment import load_assignment
from tests.staff.runs import ROOT, Run, run_and_read, write_submission

ASSIGNMENT = load_assignment(ROOT / "assignment.toml")
ITEMS = [item.slug for item in ASSIGNMENT.items]
LOOKED_AT = [item.slug for item in ASSIGNMENT.items if item.file in ("ngram.py", "metrics.py")]
DENOMINATOR = "self.k * len(self.vocabulary)"  # of add-k


def half_done(folder: Path) -> Path:
    """Everything solved, but add-k divides by the wrong number and interpolation was not begun."""
    members = package_members(ROOT, ASSIGNMENT, set(ITEMS) - {"interpolation"})
    ngram = members[f"{ASSIGNMENT.package}/ngram.py"].content.decode()
    assert ngram.count(DENOMINATOR) == 1
    return write_submission(folder, ROOT, {"ngram.py": ngram.replace(DENOMINATOR, "self.k")})


@pytest.fixture(scope="module")
def half_done_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The half-done submission, handed in as a folder, graded on the items of two files."""
    return run_and_read(half_done(tmp_path_factory.mktemp("half") / "submission"), items=LOOKED_AT)


def test_solutions_get_every_point() -> None:
    """The solved package gets all points, every row passed, in workers with users of their own, without torch."""
    run = run_and_read(ROOT / "solutions")
    assert run.total == sum(item.points for item in ASSIGNMENT.items)
    assert {row.status for row in run.rows.values()} == {"passed"}
    assert set(run.tests.values()) == {scores.PASSED}
    assert not run.failed
    isolation = run.document["extra_data"]["isolation"]
    assert isolation["rung"] == "3"
    assert isolation["torch_in_trusted_process"] is False
    assert isolation["leftovers"] == 0


def test_blank_gets_none_and_nothing_looks_like_an_error(tmp_path: Path) -> None:
    """The stubs get 0; every row says that it is not started, and shows no error. An item of each file."""
    tried = list({item.file: item.slug for item in ASSIGNMENT.items}.values())
    run = run_and_read(write_submission(tmp_path / "blank", ROOT, solved=False), items=tried)
    assert run.total == 0
    assert {run.states[slug] for slug in tried} == {scores.NOT_STARTED}
    assert not run.failed
    for word in ("Traceback", "Error", "[x]"):
        assert word not in run.text


def test_half_done_loses_exactly_the_two_items(half_done_run: Run) -> None:
    """A wrong denominator costs add-k only, a missing interpolation costs interpolation only."""
    lost = {slug for slug in LOOKED_AT if half_done_run.scores[slug] < ASSIGNMENT.by_slug[slug].points}
    assert lost == {"add_k", "interpolation"}
    assert half_done_run.states["add_k"] == scores.FAILED
    assert half_done_run.states["interpolation"] == scores.NOT_STARTED
    assert half_done_run.scores["interpolation"] == 0
    assert "ngram.AddK.prob" in half_done_run.rows["add_k"].output
    assert not half_done_run.failed


def test_zip_with_wrapping_folders_and_noise_is_graded_like_the_folder(half_done_run: Run, tmp_path: Path) -> None:
    """A zip with a folder in a folder, __MACOSX and .DS_Store gets the same scores and the same words."""
    folder = half_done(tmp_path / "submission")
    archive = tmp_path / "hw1.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for file in sorted(folder.rglob("*.py")):
            inside = f"Homework 1/final version/{file.relative_to(folder)}"
            target.write(file, inside)
            target.writestr(f"__MACOSX/{inside.rpartition('/')[0]}/._{file.name}", b"\0\5\x16\7")
        target.writestr("Homework 1/.DS_Store", b"\0\0\0\1Bud1")
        target.writestr("Homework 1/final version/.DS_Store", b"\0\0\0\1Bud1")
    looked_at = ("add_k", "interpolation", "agreement")  # wrong, not begun, and of the other file
    run = run_and_read(archive, items=looked_at)
    assert [run.rows[slug] for slug in looked_at] == [half_done_run.rows[slug] for slug in looked_at]


def test_syntax_error_in_one_file_costs_its_items_only(tmp_path: Path) -> None:
    """Other files keep their items in full; those of ngram.py name the file, the line and what is wrong with it."""
    source = (ROOT / "solutions" / ASSIGNMENT.package / "ngram.py").read_text(encoding="utf-8")
    line = source.count("\n") + 1
    broken = write_submission(tmp_path / "broken", ROOT, {"ngram.py": source + "def next_idea(:\n"})
    run = run_and_read(broken, items=LOOKED_AT)
    for item in (ASSIGNMENT.by_slug[slug] for slug in LOOKED_AT):
        row = run.rows[item.slug]
        if item.file != "ngram.py":
            assert (row.status, row.score) == ("passed", item.points)
        else:
            assert (row.state, row.score) == (scores.CANNOT_IMPORT, 0)
            assert "ngram.py cannot be imported: SyntaxError: invalid syntax" in row.output
            assert f"{ASSIGNMENT.package}/ngram.py:{line} in <module>" in row.output
    assert not run.failed

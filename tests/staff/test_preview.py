"""``autograder preview``: three students' views of a small assignment, from the real kit to the real grader."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from autograder.archive import write_zip
from autograder.authoring.preview import BLANK, DONE, HALF, VIEWS, View, preview, unpack
from autograder.build import HANDOUT, handout_members
from autograder.cli import main
from autograder.cli.previewing import NAMES
from autograder.feedback.assignment import load_assignment
from autograder.feedback.errors import InputError
from autograder.proof.hints import bring_up_to_date
from tests.staff.runs import ROOT, copy_home, own_temporary_folder

WRITEUP = "# Numbers <!-- part numbers -->\n\n## Doubling <!-- item double -->\n\nTwice.\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small assignment with everything that a handout is made of, and its hints."""
    root = copy_home(tmp_path_factory.mktemp("preview") / "home")
    shutil.copytree(ROOT / "solutions/kit", root / "solutions/kit")
    for page in (root / "solutions/kit").glob("*.md"):
        page.write_text("# Pocket\n", encoding="utf-8")
    (root / "solutions/writeup").mkdir()
    (root / "solutions/writeup/1-numbers.md").write_text(WRITEUP, encoding="utf-8")
    for name in ("constraints.txt", "requirements-student.txt"):
        shutil.copy(ROOT / name, root)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "autograder/feedback", root / "autograder/feedback", ignore=ignored)
    shutil.copy(ROOT / "autograder/__init__.py", root / "autograder")
    bring_up_to_date(root)
    return root


@pytest.fixture(scope="module")
def views(home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, View]:
    """All three, in English."""
    return {view.name: view for view in preview(home, tmp_path_factory.mktemp("views"))}


def call(home: Path, *arguments: object) -> Result:
    """Run the command in this process."""
    result = CliRunner().invoke(main, ["--home", str(home), "preview", *map(str, arguments)], prog_name="autograder")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def states(view: View) -> list[str]:
    """What grading says of the items, in their order."""
    return list(view.graded.states.values())


def test_blank_has_started_nothing(views: dict[str, View]) -> None:
    """Nothing is wrong, in check.py and in grading."""
    view = views[BLANK]
    assert 'nothing is wrong: every function still says "not implemented"' in view.checked
    assert "wrote submission.zip" in view.submitted
    assert states(view) == ["not started"] * 5
    assert view.graded.total == 0


def test_half_way_a_hint_shows_and_a_file_is_broken(views: dict[str, View]) -> None:
    """Some items pass, one is wrong in a known way and says so, one file does not parse; so on both sides."""
    view = views[HALF]
    assert "likely: " in view.checked
    assert re.search(r"\[!\] \S+ .* cannot import", view.checked)
    assert "'(' was never closed" in view.submitted
    assert {"failed", "cannot import"} <= set(states(view))
    hints = [row for row in view.graded.results["tests"] if "hint: " in row["output"]]
    assert hints


def test_done_gets_everything(views: dict[str, View]) -> None:
    """All local checks pass, and all points come back."""
    view = views[DONE]
    assert "local checks pass; grading uses new inputs" in view.checked
    assert states(view) == ["passed"] * 5
    assert view.graded.total == 12


def test_what_was_seen_is_kept_beside_the_handout(views: dict[str, View]) -> None:
    """The unpacked handout, both texts, the zip that was handed in, the results."""
    assert tuple(views) == VIEWS == NAMES
    for view in views.values():
        folder = view.folder.parent
        assert (folder / "check.txt").read_text(encoding="utf-8") == view.checked
        assert (folder / "submit.txt").read_text(encoding="utf-8") == view.submitted
        assert json.loads((folder / "results.json").read_text(encoding="utf-8")) == view.graded.results
        with zipfile.ZipFile(view.folder / "submission.zip") as opened:
            assert opened.namelist() == ["alpha.py", "beta.py"]


def test_nothing_of_ours_is_in_a_student_folder(views: dict[str, View]) -> None:
    """Only what the handout has, and what check.py makes."""
    handout = views[BLANK].folder.parent.parent / f"{HANDOUT}.zip"
    with zipfile.ZipFile(handout) as opened:
        there = {name.removeprefix(f"{HANDOUT}/") for name in opened.namelist()}
    for view in views.values():
        files = {path.relative_to(view.folder).as_posix() for path in view.folder.rglob("*") if path.is_file()}
        assert files == there | {"submission.zip"}


def test_the_command_shows_a_view_in_chinese_from_a_zip(home: Path, tmp_path: Path) -> None:
    """What check.py says, what submit says, and the table; --keep leaves the folder."""
    members = handout_members(home, load_assignment(home / "assignment.toml"))
    zipped = tmp_path / "given.zip"
    write_zip(zipped, {f"{HANDOUT}/{name}": member for name, member in members.items()})
    with own_temporary_folder() as temporary:
        done = call(home, zipped, "--view", BLANK, "--lang", "zh", "--keep", tmp_path / "seen")
        assert list(temporary.iterdir()) == []
    assert done.exit_code == 0
    assert "\n$ python check.py\n口袋 " in done.stdout
    assert "\n$ python check.py submit\n" in done.stdout
    assert "total 0/12" in done.stdout
    assert f"kept in {tmp_path / 'seen'}" in done.stdout
    assert sorted(path.name for path in (tmp_path / "seen").iterdir()) == [BLANK]


def _no_zip(folder: Path) -> list[object]:
    (folder / "text.zip").write_text("no zip", encoding="utf-8")
    return [folder / "text.zip"]


def _another_zip(folder: Path) -> list[object]:
    with zipfile.ZipFile(folder / "other.zip", "w") as packed:
        packed.writestr("other/notes.txt", "hello")
    return [folder / "other.zip"]


def _full_folder(folder: Path) -> list[object]:
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    return ["--keep", folder]


BAD_INPUT = {
    "no-such-zip": (lambda folder: [folder / "none.zip"], "No such file or directory"),
    "no-zip": (_no_zip, "not a zip"),
    "zip-of-something-else": (_another_zip, "no check.py in it: this is no handout"),
    "keep-is-not-empty": (_full_folder, "is not empty"),
    "no-such-secret": (lambda folder: ["--secret", folder / "none"], "No such file or directory"),
}


@pytest.mark.parametrize(("make", "complaint"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_one_line_and_leaves_nothing(make, complaint, home: Path, tmp_path: Path) -> None:
    """Exit code 2, one clear line, nothing in the temporary folder."""
    arguments = make(tmp_path)
    with own_temporary_folder() as temporary:
        done = call(home, *arguments)
        assert list(temporary.iterdir()) == []
    assert done.exit_code == 2
    lines = [line for line in done.stderr.splitlines() if not line.endswith(" ...")]
    assert len(lines) == 1
    assert complaint in lines[0]
    assert done.stdout == ""


def test_a_handout_may_be_zipped_without_its_folder(home: Path, tmp_path: Path) -> None:
    """It is found at the top, too."""
    write_zip(tmp_path / "flat.zip", handout_members(home, load_assignment(home / "assignment.toml")))
    assert unpack(tmp_path / "flat.zip", tmp_path / "here") == tmp_path / "here"


def test_a_check_that_refuses_to_run_is_reported(home: Path, tmp_path: Path) -> None:
    """With what it said."""
    members = handout_members(home, load_assignment(home / "assignment.toml"))
    del members["assignment.toml"]
    write_zip(tmp_path / "broken.zip", members)
    with pytest.raises(InputError, match=r"python check\.py ended with 2: check\.py: .*assignment\.toml"):
        list(preview(home, tmp_path / "seen", handout=tmp_path / "broken.zip", only=[BLANK]))

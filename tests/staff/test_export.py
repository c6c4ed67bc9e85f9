"""Reading a class: Gradescope's export as folder and zip, and any folder of submissions."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from autograder.classroom.export import METADATA, Export, read_export
from autograder.classroom.records import Earlier, Person
from autograder.feedback.assignment import load_assignment
from autograder.feedback.errors import InputError
from tests.staff.runs import POCKET

EXPORT = """---
submission_11:
  :submitters:
  - :name: Ada Example
    :sid: '0042'
    :email: Ada@Example.edu
  :created_at: 2026-11-03 12:30:00.123456000 Z
  :score: 6.5
  :status: processed
  :results:
    tests:
    - name: Doubling
      number: '1.1'
      score: 4.0
      max_score: 4
      extra_data:
        item: double
    - name: The mean
      number: '1.2'
      score: 2.5
  :history:
  - :id: 7
    :created_at: 2026-11-01 12:30:00 Z
    :score: 1.5
  - :id: 9
    :created_at: 2026-11-02 12:30:00 Z
    :score:
submission_12:
  :submitters:
  - :name: 张伟
    :email: zhang@example.edu
  - :name: Grace
    :email: grace@example.edu
  :created_at: 2026-11-04 09:00:00 +08:00
  :score:
  :results:
"""


def make(folder: Path, metadata: str = EXPORT, names: tuple[str, ...] = ("submission_11", "submission_12")) -> Path:
    """An export on disk."""
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "alpha.py").write_text(f"# {name}\n", encoding="utf-8")
    if metadata:
        (folder / METADATA).write_text(metadata, encoding="utf-8")
    return folder


def zipped(folder: Path, into: Path, under: str = "assignment_1_export/") -> Path:
    """The same as the zip that the platform gives: one folder around everything."""
    with zipfile.ZipFile(into, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, under + path.relative_to(folder).as_posix())
    return into


def check(export: Export) -> None:
    """What the export says, however it was read."""
    (ada, first), (group, _) = export.submissions
    assert ada.people == (Person("Ada Example", "0042", "Ada@Example.edu"),)
    assert ada.created_at == "2026-11-03T12:30:00.123456+00:00"
    assert ada.before == {"double": 4.0, "mean": 2.5}  # the second one by its number
    assert ada.before_total == 6.5
    assert ada.earlier == (
        Earlier("2026-11-01T12:30:00.000000+00:00", 1.5),
        Earlier("2026-11-02T12:30:00.000000+00:00", None),
    )
    assert [person.name for person in group.people] == ["张伟", "Grace"]
    assert group.before is None
    assert group.before_total is None
    assert group.created_at.startswith("2026-11-04T")
    with first.unpacked() as path:
        assert (path / "alpha.py").read_text(encoding="utf-8") == "# submission_11\n"
    assert path.exists() == (not first.inside)  # a copy is removed


@pytest.mark.parametrize("symbols", [True, False], ids=["symbols", "plain"])
@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_gradescope_export(tmp_path: Path, packed: bool, symbols: bool) -> None:
    """People, times, history and previous scores; keys with and without Ruby's colon."""
    text = EXPORT if symbols else EXPORT.replace("  :", "  ").replace("- :", "- ")
    folder = make(tmp_path / "export", text)
    check(
        read_export(
            zipped(folder, tmp_path / "e.zip") if packed else folder, load_assignment(POCKET / "assignment.toml")
        )
    )


def test_any_folder_of_submissions(tmp_path: Path) -> None:
    """Folders and zips, each a submission of nobody; noise is none."""
    folder = make(tmp_path / "class", "", ("b", "a", "__MACOSX", ".git"))
    zipped(folder / "a", folder / "c.zip", "")
    (folder / "notes.txt").write_text("", encoding="utf-8")
    export = read_export(folder)
    assert [handed.submission for handed, _ in export.submissions] == ["a", "b", "c.zip"]
    assert all(handed.active and not handed.people for handed, _ in export.submissions)


def test_the_last_submission_counts(tmp_path: Path) -> None:
    """Of two of the same person; whoever is in a group counts with whatever came last."""
    later = EXPORT.replace("submission_12", "submission_13").replace("zhang@", "ada@").replace("'0042'", "''")
    folder = make(tmp_path / "export", later, ("submission_11", "submission_13"))
    (ada, _), (group, _) = read_export(folder).submissions
    assert not ada.active
    assert group.active


def test_times_are_compared_as_times(tmp_path: Path) -> None:
    """When clocks change, the later one may have the smaller text; people without a key are not one person."""
    people = "  :submitters:\n  - {':name': Ada, ':email': ada@example.edu}\n"
    told = f"a:\n{people}  :created_at: '2026-11-01T01:30:00-07:00'\n"  # 08:30 UTC
    told += f"b:\n{people}  :created_at: '2026-11-01T01:10:00-08:00'\n"  # 09:10 UTC
    told += "".join(f"{name}:\n  :submitters:\n  - {{':name': ''}}\n" for name in "cd")
    export = read_export(make(tmp_path / "export", told, ("a", "b", "c", "d")))
    assert [handed.submission for handed, _ in export.submissions if handed.active] == ["b", "c", "d"]


@pytest.mark.parametrize("files", [["ada/pocket/alpha.py"], ["ada/alpha.py"], ["ada/.keep"]])
def test_a_class_of_one(tmp_path: Path, files: list[str]) -> None:
    """A lone folder is a submission, not what is around them."""
    for name in files:
        (tmp_path / "class" / name).parent.mkdir(parents=True)
        (tmp_path / "class" / name).write_text("", encoding="utf-8")
    assert [handed.submission for handed, _ in read_export(tmp_path / "class").submissions] == ["ada"]


def test_a_name_that_is_no_text_is_none(tmp_path: Path) -> None:
    """Lists of lists of lists, by YAML's aliases: nothing of it is written out."""
    bomb = "x: &a0 [1, 1, 1, 1, 1, 1, 1, 1]\n"
    bomb += "".join(f"y{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]\n" for n in range(1, 12))
    told = f"{bomb}submission_11:\n  :submitters:\n  - :name: *a11\n"
    export = read_export(make(tmp_path / "export", told))
    assert export.submissions[0][0].people == (Person(),)


def test_what_does_not_fit_is_said(tmp_path: Path) -> None:
    """A folder that nobody knows is graded; one that is not there is named."""
    folder = make(tmp_path / "export", EXPORT, ("submission_11", "stray"))
    export = read_export(folder)
    assert [handed.submission for handed, _ in export.submissions] == ["submission_11", "stray"]
    assert len(export.notes) == 2
    assert "submission_12" in export.notes[0]
    assert "stray" in export.notes[1]


@pytest.mark.parametrize(
    ("metadata", "complaint"),
    [
        ("- 1\n- 2\n", "should be a mapping"),
        ("a: [1, 2\n", METADATA),
        ("submission_11: !!python/object/apply:os.system ['touch /tmp/owned']\n", METADATA),
        ("submission_11: !ruby/object:Gem::Installer {i: x}\n", METADATA),
        ("a: \x00\n", METADATA),
    ],
    ids=["list", "broken", "python tag", "ruby tag", "binary"],
)
def test_metadata_that_cannot_be_read_is_one_line(tmp_path: Path, metadata: str, complaint: str) -> None:
    """A clear error; no tag makes an object."""
    folder = make(tmp_path / "export", metadata)
    with pytest.raises(InputError) as caught:
        read_export(folder)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


ODD = [
    "submission_11:\n",
    "submission_11: {':submitters': 3}\n",
    "submission_11: {':submitters': [x], ':score': abc}\n",
]
ODD += ["submission_11: {':results': [1], ':history': [1, {':score': .nan}], ':created_at': 5}\n"]
ODD += ["submission_11: {':results': {tests: {a: 1}}}\n", "submission_11: {':results': {tests: [1, {score: .inf}]}}\n"]
ODD += [f"submission_11: {{':score': {'9' * 401}}}\n", "submission_11: {':score': true}\n"]


@pytest.mark.parametrize("metadata", ODD)
def test_odd_values_are_passed_over(tmp_path: Path, metadata: str) -> None:
    """The platform promises nothing about this file: what is odd is as if it were not there."""
    (handed, _), *_ = read_export(make(tmp_path / "export", metadata)).submissions
    assert handed.submission == "submission_11"
    assert handed.before is None
    assert handed.before_total is None


def test_names_that_lead_out_of_a_zip(tmp_path: Path) -> None:
    """Nothing is ever written outside the folder of a copy; links are not followed."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("e/submission_11/alpha.py", "x = 1\n")
        archive.writestr("e/submission_11/../../../owned.py", "x = 1\n")
        archive.writestr("e/submission_11/deep/er/beta.py", "x = 2\n")
        link = zipfile.ZipInfo("e/submission_11/link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("e/submission_12/alpha.py", "x = 1\n")
    (_, source), _ = read_export(path).submissions
    with source.unpacked() as folder:
        found = sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file())
    assert found == ["alpha.py", "deep/er/beta.py"]


def test_nothing_there_is_one_line(tmp_path: Path) -> None:
    """No such path, an empty folder, a file that is no zip."""
    (tmp_path / "file.zip").write_text("no zip", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    for path, complaint in (("none", "No such file"), ("empty", "no submission here"), ("file.zip", "not a zip")):
        with pytest.raises(InputError, match=complaint):
            read_export(tmp_path / path)
    shutil.rmtree(tmp_path / "empty")

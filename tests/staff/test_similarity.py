"""Who is alike: copies are found under other names, and what all have says nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.classroom.similarity import fingerprints as prints_module
from autograder.classroom.similarity.comparing import Compared, compare
from autograder.classroom.similarity.fingerprints import LENGTH, WINDOW, fingerprints
from autograder.cli import main
from tests.staff.runs import POCKET, ROOT, copy_home, write_submission

OWN = """


def helper_{0}(values, limit):
    '''Not asked for, and nobody else has it.'''
    kept = []
    for position, value in enumerate(values):
        if value > limit + {1} and position % {2} == 0:
            kept.append((position, value ** {2} - {1} * limit))
        elif value < -limit or position == {1}:
            kept = kept[-{2}:] + [(position * {1}, None)]
    while len(kept) > {1} * {2}:
        kept.pop({1})
    return {{name: count for name, count in kept if count is not None}} or dict(left={1}, right=[{2}, {0}])


def second_{0}(table):
    '''As little.'''
    total = sum(row[{1}] * row[{2}] for row in table if len(row) > {2}) / ({0} + 1)
    best = max(table, key=lambda row: (row[{1}] - total) ** {2}, default=None)
    return [total, best, sorted(table)[::{2}], {{{0}: table, {1}: total}}]
"""


def submission(folder: Path, number: int, change: tuple[str, str] = ("", "")) -> Path:
    """The solutions with some code that is this student's own."""
    path = write_submission(folder / f"student{number}", POCKET)
    file = path / "pocket" / "alpha.py"
    file.write_text(file.read_text(encoding="utf-8") + different(number).replace(*change), encoding="utf-8")
    return path


def different(number: int) -> str:
    """Own code, of another shape for each student."""
    blocks = OWN.format(number, number + 2, number + 3).split("\n    ")
    return "\n    ".join(blocks[:1] + [line for at, line in enumerate(blocks[1:]) if (number >> at % 4) & 1 or at % 3])


def renamed(text: str) -> str:
    """The same program in other words: names, comments and spacing."""
    for old, new in (("values", "zz"), ("kept", "acc"), ("position", "i"), ("table", "t"), ("total", "s")):
        text = re.sub(rf"\b{old}\b", new, text)
    return re.sub(r"'''.*?'''", "'''Mine.'''", text).replace("    return", "    # done\n\n    return")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """Eight students, and one who has copied the third in other words."""
    folder = tmp_path_factory.mktemp("class")
    for number in range(8):
        submission(folder, number)
    thief = write_submission(folder / "thief", POCKET)
    text = (folder / "student3" / "pocket" / "alpha.py").read_text(encoding="utf-8")
    (thief / "pocket" / "alpha.py").write_text(renamed(text), encoding="utf-8")
    return compare(folder, POCKET, (), lambda done, total: None)


def test_a_copy_in_other_words_leads_the_list(found: Compared) -> None:
    """Names, comments and spacing make no difference."""
    first = found.pairs[0]
    assert {found.works[first.first].name, found.works[first.second].name} == {"student3", "thief"}
    assert max(first.shares) > 0.8


def test_what_many_share_says_nothing(found: Compared) -> None:
    """All have the solutions; that is no pair, and is listed as published text."""
    assert not [pair for pair in found.pairs if "beta.py" in {file for files in pair.files for file in files[:2]}]
    names = {found.works[one.work].name for one in found.copied}
    assert not found.copied or len(names) >= 8


def test_the_handout_counts_for_nobody(tmp_path: Path) -> None:
    """Stubs as they were handed out have no fingerprint of their own."""
    for name in ("a", "b"):
        write_submission(tmp_path / name, POCKET, solved=False)
    found = compare(tmp_path, POCKET, (), lambda done, total: None)
    assert [work.prints for work in found.works] == [{}, {}]
    assert found.pairs == []


def test_an_earlier_term_is_compared_with_this_one_only(tmp_path: Path) -> None:
    """A copy of somebody of last year; two of last year who copied are last year's matter."""
    for number in range(4):
        submission(tmp_path / "now", number)
    for name in ("old", "friend"):
        path = write_submission(tmp_path / "before" / name, POCKET)
        text = (tmp_path / "now" / "student2" / "pocket" / "alpha.py").read_text(encoding="utf-8")
        (path / "pocket" / "alpha.py").write_text(renamed(text), encoding="utf-8")
    found = compare(tmp_path / "now", POCKET, [tmp_path / "before"], lambda done, total: None)
    pairs = [(found.works[pair.first].name, found.works[pair.second].name) for pair in found.pairs]
    assert {frozenset(pair) for pair in pairs} == {
        frozenset({"student2", "before/old"}), frozenset({"student2", "before/friend"})
    }  # fmt: skip


def test_the_same_model_is_found(tmp_path: Path) -> None:
    """Files that are no code are compared byte for byte."""
    home = copy_home(tmp_path / "home")
    toml = (home / "assignment.toml").read_text(encoding="utf-8")
    changed = toml.replace('"beta.py" = 20', '"beta.py" = 20\n"m.npz" = 20')
    (home / "assignment.toml").write_text(changed, encoding="utf-8")
    (home / "solutions" / "pocket" / "m.npz").write_bytes(b"ours")
    for name, content in (("a", b"same"), ("b", b"same"), ("c", b"other")):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "m.npz").write_bytes(content)
    (same,) = compare(tmp_path / "class", home, (), lambda done, total: None).binaries
    assert same == ("m.npz", (0, 1))


def test_the_same_people_are_not_compared(tmp_path: Path) -> None:
    """Of two submissions of one person only the last is read; a group is one."""
    for number in (1, 2):
        path = submission(tmp_path / "class", number)
        path.rename(path.with_name(f"submission_{number}"))
    text = (tmp_path / "class" / "submission_1" / "pocket" / "alpha.py").read_text(encoding="utf-8")
    (tmp_path / "class" / "submission_2" / "pocket" / "alpha.py").write_text(text, encoding="utf-8")
    people = "  :submitters:\n  - {':name': Ada, ':email': ada@example.edu}\n"
    told = "".join(f"submission_{n}:\n{people}  :created_at: 2026-11-0{n} 10:00:00 Z\n" for n in (1, 2))
    (tmp_path / "class" / "submission_metadata.yml").write_text(told, encoding="utf-8")
    found = compare(tmp_path / "class", POCKET, (), lambda done, total: None)
    assert [work.name for work in found.works] == ["submission_2"]


def test_what_students_wrote_is_text(tmp_path: Path) -> None:
    """Markup in code and in names of folders, on the page; a formula in the CSV."""
    evil = "<script>alert(1)</script>"
    for name in ("=1+1", "b<i>"):
        path = submission(tmp_path, 5, ("Not asked for", evil))
        path.rename(path.with_name(name))
    found = compare(tmp_path, POCKET, (), lambda done, total: None)
    assert len(found.pairs) == 1
    page = found.page().decode("utf-8")
    assert evil not in page
    assert "&lt;script&gt;" in page
    assert "b<i>" not in page
    assert "'=1+1" in found.csv().decode("utf-8")


def test_hashes_are_the_same_in_every_process() -> None:
    """Whatever the seed of Python's own hash."""
    program = "from autograder.classroom.similarity.fingerprints import fingerprints as f; import sys; "
    program += "print(sorted(f(open(sys.argv[1]).read()).hashes)[:5])"
    file = POCKET / "solutions" / "pocket" / "alpha.py"
    said = {
        subprocess.run(
            [sys.executable, "-c", program, str(file)],
            cwd=ROOT, env={"PYTHONHASHSEED": seed, "PATH": ""}, capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(said) == 1
    assert len(said.pop()) > 40


def test_lines_are_those_of_the_source() -> None:
    """Also behind a class, at whose name copydetect loses count."""
    head = "# a comment that is left out\n" * 9
    line = "class ALongNameThatCounts(" + "+".join(map(str, range(40))) + "): pass\n"
    prints = fingerprints(head + line)
    assert len(prints.lines) > LENGTH / WINDOW
    assert {place for places in prints.lines.values() for place in places} == {(10, 10)}
    assert len(fingerprints("x = 1\n").lines) == 0


def test_without_copydetect_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install, and exit 2."""
    submission(tmp_path, 1)
    monkeypatch.setitem(sys.modules, "copydetect.utils", None)
    done = CliRunner().invoke(main, ["--home", str(POCKET), "similar", str(tmp_path)])
    assert done.exit_code == 2
    assert 'pip install "autograder[similarity]"' in done.output
    assert prints_module.LENGTH == LENGTH


def test_the_command(tmp_path: Path) -> None:
    """The list, a page, and a warning that it is no verdict."""
    for name in ("a", "b"):
        submission(tmp_path / "class", 3).rename(tmp_path / "class" / name)
    out = tmp_path / "alike.html"
    done = CliRunner().invoke(main, ["--home", str(POCKET), "similar", str(tmp_path / "class"), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "not a verdict" in done.output
    assert "1 pairs" in done.output
    assert b"not a verdict" in out.read_bytes()

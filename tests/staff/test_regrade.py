"""A class from its export to grades, with the command: what is graded, what is recalled, what is said."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from autograder.classroom.cluster import grade_task
from autograder.classroom.digests import GraderDigests
from autograder.classroom.export import Source
from autograder.classroom.grader import Grader, Setup
from autograder.classroom.journal import open_journal
from autograder.classroom.memory import Memory
from autograder.classroom.reach import reached
from autograder.classroom.records import FAILED, GRADED, JOURNAL, REFUSED, Entry, read_grades
from autograder.cli import main
from autograder.feedback import scores
from autograder.feedback.assignment import load_assignment
from autograder.feedback.errors import InputError
from autograder.host import Host
from autograder.proof.attacks import items_of_tests
from autograder.secret import DEVELOPMENT
from autograder.session import Job
from tests.staff.runs import POCKET, copy_home, write_submission

DOUBLE = "    return 2 * x\n"


def alpha(change: Callable[[str], str]) -> str:
    """alpha.py, solved and then changed."""
    text = (POCKET / "solutions" / "pocket" / "alpha.py").read_text(encoding="utf-8")
    return change(re.sub(r" *# (BEGIN|END) SOLUTION.*\n", "", text))


@pytest.fixture(scope="module")
def students(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven submissions: two the same, blank, wrong, broken, without beta.py, nothing."""
    folder = tmp_path_factory.mktemp("class")
    write_submission(folder / "ada", POCKET)
    write_submission(folder / "bob", POCKET)
    write_submission(folder / "cyd", POCKET, solved=False)
    write_submission(folder / "dan", POCKET, {"alpha.py": alpha(lambda text: text.replace("2 * x", "3 * x"))})
    write_submission(folder / "eve", POCKET, {"alpha.py": "def double(x:\n"})
    write_submission(folder / "fay", POCKET, {"beta.py": None})
    (folder / "gil").mkdir()
    (folder / "gil" / "essay.txt").write_text("I am sorry\n", encoding="utf-8")
    return folder


def regrade(students: Path, out: Path, *more: str, home: Path = POCKET) -> Result:
    return CliRunner().invoke(
        main, ["--home", str(home), "regrade", str(students), "--out", str(out), "--jobs", "2", *more]
    )


def verdicts(out: Path) -> dict[str, bytes]:
    """Content -> its verdict without the time that it took."""
    entries = read_grades(out).entries
    return {key: msgspec.json.encode(msgspec.structs.replace(entry, seconds=0.0)) for key, entry in entries.items()}


@pytest.fixture(scope="module")
def graded(students: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The class, graded once."""
    out = tmp_path_factory.mktemp("out") / "grades"
    done = regrade(students, out)
    assert done.exit_code == 0, done.output
    assert "7 submissions: 6 graded now, 0 known" in done.output
    return out


def test_every_submission_gets_what_it_deserves(graded: Path) -> None:
    """Equal bytes are graded once, and nothing is a zero by mistake."""
    grades = read_grades(graded)
    totals = {one.submission: grades.entries[one.content].total for one in grades.handed}
    assert totals["ada"] == totals["bob"] == 12.0
    assert totals["cyd"] == totals["gil"] == 0.0
    assert totals["dan"] == 8.0
    assert totals["fay"] == 9.0
    entries = {one.submission: grades.entries[one.content] for one in grades.handed}
    assert entries["gil"].status == REFUSED
    assert {entry.status for name, entry in entries.items() if name != "gil"} == {GRADED}
    assert {row.state for row in entries["eve"].rows if row.item == "double"} == {scores.CANNOT_IMPORT}
    assert "Graded in" not in entries["ada"].output
    assert len((graded / JOURNAL).read_bytes().splitlines()) == 6


HOSTILE = {
    "hangs": "    while True:\n        pass\n",
    "eats": "    block = bytearray(1 << 34)\n    return len(block)\n",
    "forks": "    import os\n\n    while True:\n        os.fork()\n",
    "ends": "    import os\n\n    os.kill(os.getppid(), 9)\n    os._exit(0)\n",
}


def test_a_hostile_submission_costs_its_own_row(tmp_path: Path) -> None:
    """Two at a time on warm graders: whoever hangs, eats memory, forks or kills is failed, and nobody beside them."""
    home = copy_home(tmp_path / "home", budgets="call = 1\ntest = 2\nitem = 4\nrun = 60")
    solved = alpha(str)
    for at, (name, body) in enumerate(HOSTILE.items()):
        write_submission(tmp_path / "class" / name, POCKET, {"alpha.py": solved.replace(DOUBLE, body)})
        write_submission(tmp_path / "class" / f"{name}-neighbour", POCKET, {"alpha.py": f"{solved}\n# {at}\n"})
    done = regrade(tmp_path / "class", tmp_path / "grades", home=home)
    assert done.exit_code == 0, done.output
    grades = read_grades(tmp_path / "grades")
    entries = {one.submission: grades.entries[one.content] for one in grades.handed}
    for name in HOSTILE:
        assert entries[f"{name}-neighbour"].total == 12.0
        assert entries[name].status == GRADED
        assert entries[name].total == 8.0
        assert entries[name].scores["double"] == 0.0


def test_a_second_run_grades_nothing(students: Path, graded: Path) -> None:
    """The journal knows everything."""
    before = (graded / JOURNAL).read_bytes()
    done = regrade(students, graded)
    assert "0 graded now, 6 known" in done.output
    assert (graded / JOURNAL).read_bytes() == before


def test_recalled_or_run_the_verdict_is_the_same(students: Path, graded: Path, tmp_path: Path) -> None:
    """A new folder of grades with an old memory: every item is recalled, to the same bytes."""
    (tmp_path / "grades").mkdir()
    (tmp_path / "grades" / "items.sqlite").write_bytes((graded / "items.sqlite").read_bytes())
    assert regrade(students, tmp_path / "grades").exit_code == 0
    assert verdicts(tmp_path / "grades") == verdicts(graded)


def test_shards_together_are_the_whole(students: Path, graded: Path, tmp_path: Path) -> None:
    """Two parts of a job array, into one folder."""
    for shard in ("1/2", "2/2"):
        assert regrade(students, tmp_path, "--shard", shard).exit_code == 0
    assert not (tmp_path / JOURNAL).exists()
    assert verdicts(tmp_path) == verdicts(graded)


def test_a_mended_test_changes_its_items_alone(students: Path, graded: Path, tmp_path: Path) -> None:
    """And the command says whose points change."""
    text = (POCKET / "tests" / "hidden" / "test_alpha.py").read_text(encoding="utf-8")
    assert text.count("reference.alpha.double(x)") == 1
    mended = text.replace("reference.alpha.double(x)", "1.5 * reference.alpha.double(x)")  # as dan has it
    home = copy_home(tmp_path / "home", changes={"tests/hidden/test_alpha.py": mended})
    old, new = (
        GraderDigests(path, load_assignment(path / "assignment.toml"), DEVELOPMENT, items_of_tests(path))
        for path in (POCKET, home)
    )
    assert old.whole != new.whole
    assert {slug for slug in old.items if old.items[slug] != new.items[slug]} == {"double", "mean", "span"}
    done = regrade(students, tmp_path / "grades", "--against", str(graded), home=home)
    assert done.exit_code == 0
    assert "1.1 double" in done.output
    assert "test_double_of_random_numbers" in done.output
    now = read_grades(tmp_path / "grades")
    totals = {one.submission: now.entries[one.content].total for one in now.handed}
    assert totals["dan"] > 8.0
    assert totals["ada"] < 12.0


@pytest.mark.parametrize("change", ["secret", "toml", "given"])
def test_what_everything_depends_on_changes_every_item(tmp_path: Path, change: str) -> None:
    """Another secret, another assignment.toml, another given file."""
    home = copy_home(tmp_path / "home")
    owners = items_of_tests(home)
    old = GraderDigests(home, load_assignment(home / "assignment.toml"), DEVELOPMENT, owners)
    secret = b"x" * 32 if change == "secret" else DEVELOPMENT
    file = {"toml": "assignment.toml", "given": "solutions/pocket/given.py"}.get(change)
    if file:
        (home / file).write_text((home / file).read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    new = GraderDigests(home, load_assignment(home / "assignment.toml"), secret, owners)
    assert old.whole != new.whole
    assert not [slug for slug in old.items if old.items[slug] == new.items[slug]]


def test_only_items_that_reach_a_changed_file_run_again(tmp_path: Path) -> None:
    """The session is asked for them, and for no other."""
    jobs: list[Job] = []

    class Watching(Host):
        def run(self, job: Job, seconds: float):  # type: ignore[no-untyped-def]
            jobs.append(job)
            self.recalled = set(msgspec.json.decode(Path(job.recalled).read_bytes()))
            return super().run(job, seconds)

    grader = Grader(Setup(str(POCKET)))
    try:
        host = Watching()
        grader._hosts.add(host)
        grader._idle.put(host)
        grader.grade(Source(str(write_submission(tmp_path / "a", POCKET))))
        assert host.recalled == set()
        text = alpha(lambda text: text + "\n# another word\n")
        changed = grader.grade(Source(str(write_submission(tmp_path / "b", POCKET, {"alpha.py": text}))))
        assert host.recalled == {"tally", "commonest"}
        assert changed.total == 12.0
        wide = alpha(lambda text: text + "\nimport os\n")
        grader.grade(Source(str(write_submission(tmp_path / "c", POCKET, {"alpha.py": wide}))))
        assert host.recalled == {"tally", "commonest"}
    finally:
        grader.close()
    assert len(jobs) == 3


REACHES = {
    "from .b import x": {"a.py", "b.py"},
    "from . import b, c": {"a.py", "b.py", "c.py"},
    "from pkg.b import x": {"a.py", "b.py"},
    "import pkg.c": {"a.py", "c.py"},
    "from .given import total": {"a.py"},
    "import numpy as np\nfrom math import pi": {"a.py"},
    "def f(:": {"a.py"},
    "import os": {"a.py", "b.py", "c.py"},
    "import importlib": {"a.py", "b.py", "c.py"},
    "open('b.py')": {"a.py", "b.py", "c.py"},
    "np.loadtxt('c.py')": {"a.py", "b.py", "c.py"},
    "from numpy import loadtxt as g": {"a.py", "b.py", "c.py"},
    "import random\nrandom._os.popen('x')": {"a.py", "b.py", "c.py"},
    "exec('1')": {"a.py", "b.py", "c.py"},
    "__import__('pkg.b')": {"a.py", "b.py", "c.py"},
    "def f():\n    from .missing import x": {"a.py", "missing.py"},
}


@pytest.mark.parametrize("source", REACHES)
def test_what_a_file_reaches(source: str) -> None:
    """Imports are followed, in circles too; whatever could reach further reaches everything."""
    files = {"a.py": source.encode(), "b.py": b"from .a import y\n", "c.py": b"import random\n"}
    assert reached(files, ["given.py", "__init__.py"], "pkg", ["a.py"]) == REACHES[source]


def entry(content: str, status: str = GRADED, grader: str = "g") -> Entry:
    return Entry(content, grader, status)


def test_a_damaged_memory_costs_time_only(students: Path, graded: Path, tmp_path: Path) -> None:
    """Garbage behind its first page, or in its place: the verdicts are the same."""
    memory = (graded / "items.sqlite").read_bytes()
    damaged = memory[:4096] + b"garbage " * (len(memory) // 8 - 512)
    for name, content in (("behind", damaged), ("whole", b"no database at all, but some text" * 200)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "items.sqlite").write_bytes(content)
        assert regrade(students, tmp_path / name).exit_code == 0
        assert verdicts(tmp_path / name) == verdicts(graded)


def test_a_memory_in_use_is_not_thrown_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that others have locked is no damaged one."""
    monkeypatch.setattr("autograder.classroom.memory._WAIT", 0.05)
    path = tmp_path / "items.sqlite"
    Memory(path)
    before = path.read_bytes()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(InputError, match="locked"):
            Memory(path)
    other.close()
    assert path.read_bytes() == before


def test_a_machine_without_the_export_says_so() -> None:
    """No verdict, and no zero: it did not see what was handed in."""
    entry = grade_task(Setup(str(POCKET)), "c", Source("/nowhere/export.zip", ("e", "submission_1")), "g")
    assert entry.status == FAILED
    assert "/nowhere/export.zip is not there" in entry.output


def test_journal_after_a_crash(tmp_path: Path) -> None:
    """Half a line is cut off; a failure of the grader is graded again; another grader's entries are none."""
    with open_journal(tmp_path, "g") as journal:
        journal.append(entry("a"))
        journal.append(entry("b", FAILED))
    with open_journal(tmp_path, "other") as journal:
        journal.append(entry("c", grader="other"))
    with (tmp_path / JOURNAL).open("ab") as file:
        file.write(b'{"content":"d","gra')
    with open_journal(tmp_path, "g") as journal:
        assert journal.known == {"a"}
        journal.append(entry("d"))
    lines = (tmp_path / JOURNAL).read_bytes().splitlines()
    assert [msgspec.json.decode(line)["content"] for line in lines] == ["a", "b", "c", "d"]


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    """A second regrade of the same folder is refused; of another shard it is not."""
    with open_journal(tmp_path, "g"):
        with pytest.raises(InputError, match="another regrade"), open_journal(tmp_path, "g"):
            pass
        with open_journal(tmp_path, "g", (1, 2)) as other:
            other.append(entry("z"))
    with open_journal(tmp_path, "g") as journal:
        assert journal.known == {"z"}


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (["--shard", "3/2"], "should be from 1/2 to 2/2"),
        (["--shard", "two"], "--shard is I/N"),
        (["--scheduler", "tcp://127.0.0.1:9"], "no scheduler answers"),
        (["--secret", "nowhere"], "nowhere"),
    ],
    ids=["shard", "no shard", "scheduler", "secret"],
)
def test_bad_arguments_are_one_line(
    students: Path, tmp_path: Path, more: list[str], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 2, and nothing is graded."""
    monkeypatch.setattr("autograder.classroom.cluster.CONNECT", 1.0)
    done = regrade(students, tmp_path / "grades", *more)
    assert done.exit_code == 2, done.output
    assert complaint in done.output
    assert "Traceback" not in done.output

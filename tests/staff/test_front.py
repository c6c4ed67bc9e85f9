"""``check.py`` as students see it: what stands on the screen is compared with stored pictures, word by word.

The pictures are in ``screens/``. After a wanted change run ``AUTOGRADER_STORE=1 pytest tests/staff/test_front.py``, and
read what git shows of them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from autograder.archive import write_tree
from autograder.build import package_members
from autograder.feedback.assignment import load_assignment
from autograder.feedback.facts import FILE, Facts, digest
from autograder.feedback.front import saves
from autograder.weights import public_shares
from tests.staff.runs import POCKET, ROOT, run_and_read

SCREENS = Path(__file__).with_name("screens")
DOUBLE = 'raise NotImplementedError("double: double")'


def handout(folder: Path, solved: tuple[str, ...] | None = (), patience: str = "10") -> Path:
    """A handout of the small assignment, with some items solved; None for all."""
    assignment = load_assignment(POCKET / "assignment.toml")
    write_tree(folder, package_members(POCKET, assignment, solved))
    shutil.copytree(POCKET / "tests/public", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("check.py", "conftest.py"):
        shutil.copy(ROOT / "solutions/kit" / name, folder)
    settings = (ROOT / "solutions/kit/pyproject.toml").read_text(encoding="utf-8")
    (folder / "pyproject.toml").write_text(settings.replace('patience = "10"', f'patience = "{patience}"'))
    shutil.copy(POCKET / "assignment.toml", folder)
    (folder / "autograder").mkdir()
    shutil.copy(ROOT / "autograder/__init__.py", folder / "autograder")
    (folder / "autograder/feedback").symlink_to(ROOT / "autograder/feedback")
    (folder / "writeup").mkdir()
    for name in ("1-numbers.md", "1-numbers.zh.md", "2-words.md"):
        (folder / "writeup" / name).write_text("", encoding="utf-8")
    sources = [
        [path.read_text(encoding="utf-8") for path in sorted((POCKET / "tests" / kind).glob("*.py"))]
        for kind in ("public", "hidden")
    ]
    blank = package_members(POCKET, assignment, ())
    stubs = {file: digest(blank[f"pocket/{file}"].content) for file in assignment.files}
    (folder / "tests" / FILE).write_text(Facts(public_shares(*sources), stubs).as_text(), encoding="utf-8")
    return folder


def edit(folder: Path, name: str, old: str, new: str) -> None:
    """Change a file of the student's."""
    path = folder / "pocket" / name
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def check(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run check.py as a student does. The environment says nothing of languages."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "AUTOGRADER"))}
    return subprocess.run(
        [sys.executable, "check.py", *arguments],
        cwd=folder,
        env={**kept, "PYTHONIOENCODING": "utf-8", **variables},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def steady(text: str) -> str:
    """Without what differs from run to run and from machine to machine."""
    text = re.sub(r"Python 3\.\d+\.\d+\S*, numpy [\d.]+ +[\d.]+ s", "Python 3.N, numpy N    N s", text)
    text = re.sub(r"Python 3\.\d+(\.\w+)?", "Python 3.N", text)
    text = re.sub(r"\(\d+ kB\)", "(N kB)", text)
    return re.sub(r"\d+\.\d kB", "N kB", text)


def assert_stored(name: str, shown: str) -> None:
    """What is shown is what is stored."""
    path = SCREENS / f"{name}.txt"
    if os.environ.get("AUTOGRADER_STORE"):
        path.write_text(steady(shown), encoding="utf-8")
    assert steady(shown) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_all_unfilled(tmp_path: Path, lang: str) -> None:
    """Nothing is wrong; where to start, what to read and what to run then."""
    done = check(handout(tmp_path / "h"), "--lang", lang)
    assert_stored(f"unfilled-{lang}", done.stdout)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_one_wrong_value(tmp_path: Path, lang: str) -> None:
    """Which function, where it stands, what is wrong with how much of it, and the command to see it again."""
    folder = handout(tmp_path / "h", ("double", "mean"))
    edit(folder, "alpha.py", "return 2 * x", "return x / 2")
    done = check(folder, "--item", "1.1", "--seed", "7", "--lang", lang)
    assert_stored(f"wrong-{lang}", done.stdout)
    assert (done.returncode, done.stderr) == (1, "")


def test_all_pass(tmp_path: Path) -> None:
    """It is said that most points are given on inputs that nobody has seen; then how to hand in."""
    done = check(handout(tmp_path / "h", None))
    assert_stored("all-pass", done.stdout)
    assert done.returncode == 0
    assert "all tests pass" not in done.stdout.lower()


def test_a_broken_file_an_endless_loop_and_an_item_that_waits(tmp_path: Path) -> None:
    """Each costs its own items only, and says where it is."""
    folder = handout(tmp_path / "h", None, patience="0.5")
    edit(folder, "alpha.py", "ordered = sorted(values)", "ordered = []\n    while not ordered: ordered = list(ordered)")
    edit(folder, "beta.py", "def tally(words):", "def tally(words:")
    done = check(folder)
    assert_stored("broken", done.stdout)
    assert done.returncode == 1
    folder = handout(tmp_path / "w", ("commonest",))
    assert_stored("waiting", check(folder).stdout)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_submit(tmp_path: Path, lang: str) -> None:
    """What goes in and what stays out, the local score, and a zip of exactly the expected files."""
    folder = handout(tmp_path / "h", ("double", "mean", "span"))
    edit(folder, "alpha.py", "from .given import total", "import scipy\nfrom .given import total")
    (folder / "pocket/notes.txt").write_text("mine", encoding="utf-8")
    done = check(folder, "submit", "--lang", lang)
    assert_stored(f"submit-{lang}", done.stdout)
    with zipfile.ZipFile(folder / "submission.zip") as packed:
        assert packed.namelist() == ["alpha.py", "beta.py"]
        assert packed.read("alpha.py") == (folder / "pocket/alpha.py").read_bytes()
    assert (done.returncode, done.stderr) == (0, "")


def test_what_gradescope_shows(tmp_path: Path) -> None:
    """What was received, and a row an item in the same words, readable without colour."""
    folder = handout(tmp_path / "h", ("double", "mean", "tally"))
    edit(folder, "alpha.py", "return 2 * x", "return x / 2")
    run = run_and_read(folder / "pocket", POCKET)
    rows = [f"{row.name} ({row.score:g}/{row.most:g})  {row.status}\n{row.output}" for row in run.rows.values()]
    text = "\n\n".join([re.sub(r"Run \w+\. Graded in \d+ s", "Run N. Graded in N s", run.output), *rows]) + "\n"
    assert_stored("gradescope", re.sub(r"Python [\d.]+, numpy [\d.]+\d", "Python 3.N, numpy N", text))


def test_what_cannot_be_read_is_said_and_handed_in_all_the_same(tmp_path: Path) -> None:
    """It costs its own items only; what the grader would not take stays out."""
    folder = handout(tmp_path / "h", None)
    (folder / "pocket/alpha.py").write_text("def double(x:\n", encoding="utf-8")
    (folder / "pocket/beta.py").write_text("#" * 30_000, encoding="utf-8")
    done = check(folder, "submit")
    assert "alpha.py         line 1: '(' was never closed" in done.stdout
    assert "beta.py          has 30 kB; at most 20 kB are taken" in done.stdout
    assert done.returncode == 1
    with zipfile.ZipFile(folder / "submission.zip") as packed:
        assert packed.namelist() == ["alpha.py"]


def test_syntax_that_the_grader_may_not_know(tmp_path: Path) -> None:
    """A program for a newer Python than the oldest one that grades."""
    folder = handout(tmp_path / "h", None)
    edit(folder, "beta.py", "def tally(", "try:\n    pass\nexcept* ValueError:\n    pass\n\n\ndef tally(")
    said = check(folder, "submit").stdout
    newer = sys.version_info >= (3, 11)
    assert ("needs a newer Python than the grader's 3.10" in said) == newer


def test_nothing_to_hand_in(tmp_path: Path) -> None:
    """One clear line, and no zip."""
    folder = handout(tmp_path / "h")
    for name in ("alpha.py", "beta.py"):
        (folder / "pocket" / name).unlink()
    done = check(folder, "submit")
    assert done.stderr == "check.py: there is nothing to hand in: no alpha.py, beta.py\n"
    assert done.returncode == 2
    assert not (folder / "submission.zip").exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--item", "9.9"), "check.py: no item '9.9'; there are double, mean, span, tally, commonest\n"),
        (("--lang", "fr"), "python check.py: error: argument --lang: invalid choice: 'fr' (choose from"),
    ],
    ids=["item", "language"],
)
def test_a_wrong_argument_is_one_line(tmp_path: Path, arguments: tuple[str, ...], line: str) -> None:
    """With exit code 2."""
    done = check(handout(tmp_path / "h"), *arguments)
    assert line.replace("'", "") in done.stderr.replace("'", "")
    assert done.returncode == 2


def test_verbose_shows_the_trace(tmp_path: Path) -> None:
    """Only then."""
    folder = handout(tmp_path / "h", ("mean",))
    edit(folder, "alpha.py", "return total(values)", "return nothing(values)")
    plain, verbose = check(folder, "--item", "mean").stdout, check(folder, "--item", "mean", "-v").stdout
    assert "NameError: name 'nothing' is not defined\n        pocket/alpha.py:" in plain
    assert "    | " not in plain
    assert "    | pocket/alpha.py:18: in mean" in verbose


def test_for_programs(tmp_path: Path) -> None:
    """The same, as JSON."""
    folder = handout(tmp_path / "h", ("double",))
    told = json.loads(check(folder, "--json", "--lang", "zh").stdout)
    assert [(item["number"], item["state"]) for item in told][:2] == [("1.1", "passed"), ("1.2", "not started")]
    assert told[1]["said"] == "未开始"


def test_the_machines_language_is_taken(tmp_path: Path) -> None:
    """The option comes first, then the variable, then the locale."""
    folder = handout(tmp_path / "h")
    assert "未开始" in check(folder, LANG="zh_CN.UTF-8").stdout
    assert "未开始" in check(folder, LANG="en_US.UTF-8", AUTOGRADER_LANG="zh").stdout
    assert "not started" in check(folder, "--lang", "en", AUTOGRADER_LANG="zh").stdout
    done = check(folder, AUTOGRADER_LANG="xx")
    assert (done.stderr, done.returncode) == ("check.py: no language 'xx'; there are en, zh\n", 2)


def test_without_numpy_or_pytest_two_lines_help(tmp_path: Path) -> None:
    """A Python that has neither prints them, and no traceback."""
    folder = handout(tmp_path / "h")
    done = subprocess.run(
        [sys.executable, "-S", "-I", "check.py"], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert done.stderr == ""
    assert "numpy, pytest, gradescope_utils" in done.stdout
    assert done.stdout.endswith("-m pip install -r requirements.txt -c constraints.txt\n  .venv/bin/python check.py\n")


def test_watching_sees_every_save(tmp_path: Path) -> None:
    """Once at the start, then after each change, a new file and one that is gone among them."""
    times = iter(range(1, 9))

    def change() -> None:
        """What happens while it waits: nothing, a save, nothing, a new file, its end."""
        match next(times):
            case 2:
                os.utime(tmp_path / "a.py", (5, 5))
            case 4:
                (tmp_path / "b.py").write_text("", encoding="utf-8")
            case 6:
                (tmp_path / "b.py").unlink()
            case 8:
                raise KeyboardInterrupt

    (tmp_path / "a.py").write_text("", encoding="utf-8")
    seen = 0
    with suppress(KeyboardInterrupt):
        for _ in saves(tmp_path, change):
            seen += 1
    assert seen == 4


def test_in_a_notebook(tmp_path: Path) -> None:
    """``check("1.1")`` gives a table, and a text where there are no tables."""
    folder = handout(tmp_path / "h", ("mean",))
    edit(folder, "alpha.py", DOUBLE, "return x + 2")
    code = "from check import check\nfound = check('1.1')\nprint(found)\nprint(found._repr_html_())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )
    text, _, table = done.stdout.partition("<table>")
    assert text.startswith(
        "1.1   Doubling: failed\n      Twice a number.\n      alpha.double: twice a number is wrong\n"
    )
    assert '<td style="text-align: left">Doubling</td>' in table

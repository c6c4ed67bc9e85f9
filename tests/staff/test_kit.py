"""The kit fits into students' tools: VS Code, notebooks, old consoles, editors of Windows, and old Pythons."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.archive import write_tree
from autograder.build import handout_members
from autograder.feedback import handing_in
from autograder.feedback.assignment import load_assignment, read_assignment
from autograder.feedback.front import _parser
from autograder.pages import render
from tests.staff.runs import POCKET, ROOT, run_and_read
from tests.staff.test_front import check
from tests.staff.test_front import handout as pocket

KIT = ROOT / "solutions" / "kit"
BOM = b"\xef\xbb\xbf"
# As on an old Windows: the console knows cp1252 only, and a file that is opened without an encoding is read as ASCII.
OLD = {"PYTHONIOENCODING": "cp1252", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture(scope="module")
def handout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real handout; whoever changes something in it works on a copy."""
    folder = tmp_path_factory.mktemp("kit") / "handout"
    write_tree(folder, handout_members(ROOT, load_assignment(ROOT / "assignment.toml")))
    return folder


@pytest.fixture
def mine(handout: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(handout, tmp_path / "mine", ignore=shutil.ignore_patterns("__pycache__")))


def run(folder: Path, *arguments: str) -> str:
    """What Python prints, in a folder of a student's."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


# --- VS Code


def settings(name: str) -> dict:
    """A file of settings, which must be JSON without comments."""
    return json.loads((KIT / ".vscode" / name).read_text(encoding="utf-8"))


def test_vs_code_finds_every_test_though_a_file_is_broken(mine: Path) -> None:
    """The Testing panel is filled by this command; student code is imported when a test runs, and not before."""
    told = settings("settings.json")
    assert told["python.testing.pytestEnabled"] is True
    assert told["python.testing.unittestEnabled"] is False
    command = ["-m", "pytest", "--collect-only", "-p", "no:cacheprovider", *told["python.testing.pytestArgs"]]
    before = run(mine, *command)
    assert len(re.findall(r"^tests/test_\w+\.py::", before, flags=re.MULTILINE)) > 100
    for path in sorted((mine / "lm").glob("*.py")):
        path.write_text(path.read_text(encoding="utf-8") + "\n\nvalues = (1 + 2\n", encoding="utf-8")
    after = run(mine, *command)
    seconds = re.compile(r" in \d.*")
    assert seconds.sub("", after) == seconds.sub("", before)


def test_vs_code_is_asked_for_what_the_kit_uses() -> None:
    """Python for the Testing panel, Jupyter for the notebook."""
    assert settings("extensions.json") == {"recommendations": ["ms-python.python", "ms-toolsai.jupyter"]}


# --- the notebook


def cells() -> list[str]:
    """The sources of its cells."""
    told = json.loads((KIT / "notebook.ipynb").read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in told["cells"]]


def plain(source: str) -> str:
    """A cell as plain Python: IPython's own lines do nothing."""
    return re.sub(r"^( *)%.*$", r"\1pass", source, flags=re.MULTILINE)


def test_the_notebook_is_a_notebook() -> None:
    """Version 4.5: three cells of code with ids of their own, and nothing that was ever run."""
    told = json.loads((KIT / "notebook.ipynb").read_text(encoding="utf-8"))
    assert set(told) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert (told["nbformat"], told["nbformat_minor"]) == (4, 5)
    assert told["metadata"]["kernelspec"] == {"display_name": "Python 3", "language": "python", "name": "python3"}
    assert len({cell["id"] for cell in told["cells"]}) == len(told["cells"]) == 3
    for cell in told["cells"]:
        assert set(cell) == {"cell_type", "execution_count", "id", "metadata", "outputs", "source"}
        assert (cell["cell_type"], cell["execution_count"], cell["outputs"]) == ("code", None, [])
        assert re.fullmatch(r"[\w-]{1,64}", cell["id"])
        assert all(line.endswith("\n") for line in cell["source"][:-1])
        compile(plain("".join(cell["source"])), cell["id"], "exec")


@pytest.mark.parametrize("place", ["in-the-handout", "beside-its-zip"])
def test_the_notebook_shows_an_item_as_a_table(handout: Path, tmp_path: Path, place: str) -> None:
    """Its cells, run one after the other: here, or in Colab, where only the zip was uploaded."""
    folder = handout
    if place == "beside-its-zip":
        folder = tmp_path
        with zipfile.ZipFile(folder / "handout.zip", "w") as packed:
            for path in (path for path in sorted(handout.rglob("*")) if "__pycache__" not in path.parts):
                packed.write(path, Path("handout") / path.relative_to(handout))
    *first, last = map(plain, cells())
    *lines, shown = last.splitlines()
    program = "\n".join([*first, *lines, f"print(({shown})._repr_html_())"])
    said, table = run(folder, "-c", program).splitlines()
    assert said == "ready"
    assert table.startswith('<table><tr><td style="text-align: left">2.4</td>')
    assert ">not started</td>" in table


# --- consoles


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    "arguments", [("--item", "1.1"), ("--item", "1.1", "-v"), ("--help",)], ids=["check", "verbose", "help"]
)
def test_an_old_console_shows_what_it_can(mine: Path, arguments: tuple[str, ...], lang: str) -> None:
    """What student code says in Chinese is question marks; feedback in Chinese becomes English, which says why."""
    path = mine / "lm" / "ngram.py"
    wrong = path.read_text(encoding="utf-8").replace("raise NotImplementedError(", 'raise ValueError("错了", ')
    path.write_text(wrong, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "check.py", *arguments, "--lang", lang],
        cwd=mine,
        env={**os.environ, **OLD},
        capture_output=True,
        timeout=120,
        check=False,
    )
    shown, complaint = done.stdout.decode("cp1252"), done.stderr.decode("cp1252")
    assert complaint == ""
    assert "UnicodeEncodeError" not in shown
    if arguments == ("--help",):
        assert done.returncode == 0
        assert "--watch" in shown
    else:
        assert done.returncode == 1
        assert "[x] 1.1 " in shown
        assert "ValueError" in shown
        assert "python check.py --item 1.1" in shown
        assert "failed" in shown
        assert ("this console cannot show zh" in shown) is (lang == "zh")
        assert "??" in shown


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_old_console_can_hand_in(tmp_path: Path, lang: str) -> None:
    """The zip is made, and its name can be read."""
    folder = pocket(tmp_path / "h", None)
    done = subprocess.run(
        [sys.executable, "check.py", "submit", "--lang", lang],
        cwd=folder,
        env={**os.environ, **OLD},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"submission.zip" in done.stdout
    assert (folder / "submission.zip").is_file()


# --- editors

EDITORS: dict[str, Callable[[bytes], bytes]] = {
    "crlf": lambda content: content.replace(b"\n", b"\r\n"),
    "bom": lambda content: BOM + content,
    "crlf-and-bom": lambda content: BOM + content.replace(b"\n", b"\r\n"),
    "no-last-newline": lambda content: content.rstrip(b"\n"),
}


@pytest.mark.parametrize("editor", EDITORS)
def test_files_of_windows_editors_are_checked_and_handed_in(tmp_path: Path, editor: str) -> None:
    """All checks pass, nothing is complained of, the zip has the very bytes, and grading gives every point."""
    folder = pocket(tmp_path / "h", None)
    for path in (folder / "pocket").glob("*.py"):
        path.write_bytes(EDITORS[editor](path.read_bytes()))
    done = check(folder)
    assert (done.returncode, done.stderr) == (0, "")
    assignment = load_assignment(folder / "assignment.toml")
    looked = handing_in.look(folder, assignment)
    assert (looked.refused, looked.warnings, looked.missing) == ({}, [], [])
    assert set(looked.problems.values()) == {""}
    path = handing_in.write(folder, looked)
    with zipfile.ZipFile(path) as opened:
        assert opened.read("alpha.py") == (folder / "pocket" / "alpha.py").read_bytes()
    graded = run_and_read(path, POCKET)
    assert graded.total == 12
    assert "alpha.py" not in graded.output


@pytest.mark.parametrize("editor", EDITORS)
def test_an_older_stub_of_windows_editors_is_noticed(tmp_path: Path, editor: str) -> None:
    """The line with the handout's version is read whatever stands before and behind it."""
    folder = pocket(tmp_path / "h", None)
    path = folder / "pocket" / "alpha.py"
    older = path.read_bytes().replace(b"# Handout version 1\n", b"# Handout version 0.9\n")
    path.write_bytes(EDITORS[editor](older))
    graded = run_and_read(folder, POCKET, items=["double"])
    assert "alpha.py began as a stub of version 0.9, graded is version 1" in graded.output


@pytest.mark.parametrize("editor", EDITORS)
def test_a_stub_of_windows_editors_is_found(tmp_path: Path, editor: str) -> None:
    """Where to start is a line of the file as the editor counts them."""
    folder = pocket(tmp_path / "h")
    path = folder / "pocket" / "alpha.py"
    path.write_bytes(EDITORS[editor](path.read_bytes()))
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if "NotImplementedError" in line)
    assert f"start here:  pocket/alpha.py:{number}  1.1" in check(folder).stdout


def test_git_keeps_the_line_ends(tmp_path: Path) -> None:
    """Whatever a student has configured, on whatever system."""
    shutil.copy(KIT / ".gitattributes", tmp_path)
    names = ["lm/ngram.py", "check.py", "README.zh.md", "notebook.ipynb", "rnn_lm.npz"]
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    told = subprocess.run(
        ["git", "-C", str(tmp_path), "check-attr", "text", "eol", "--", *names],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in names[:-1]:
        assert f"{name}: text: auto\n{name}: eol: lf\n" in told
    assert "rnn_lm.npz: text: unset\n" in told


# --- old Pythons


def test_nothing_that_students_run_needs_a_newer_python_than_3_10() -> None:
    """By vermin, which knows when each piece of syntax and library came."""
    vermin = ("-c", "from vermin import main; main()", "--config-file", "vermin.ini")
    assert "Minimum required versions: 3.10" in run(ROOT, *vermin, str(KIT), "autograder/feedback")


# --- the README

READMES = ("README.md", "README.zh.md")


@pytest.mark.parametrize("name", READMES)
def test_every_command_of_the_readme_exists(name: str) -> None:
    """Options as check.py knows them, items as the assignment has them."""
    text = (KIT / name).read_text(encoding="utf-8")
    commands = re.findall(r"python check\.py([^`\n]*)", text)
    assert {"", " submit", " --watch", " --item 2.4", " --lang zh"} <= set(commands)
    assignment = load_assignment(ROOT / "assignment.toml")
    named = {*assignment.by_slug, *(item.number for item in assignment.items)}
    for command in commands:
        assert set(_parser().parse_args(shlex.split(command)).item) <= named
    assert set(re.findall(r"pytest --item (\w+)", text)) <= named


def test_every_experiment_that_is_told_of_exists() -> None:
    """In READMEs and writeup: numbers are those of the command, and each of them is told of in both languages."""
    numbers = set(re.findall(r'^    "(\d)": ', (KIT.parent / "experiments/__main__.py").read_text("utf-8"), re.M))
    pages = [*(KIT / name for name in READMES), *(KIT.parent / "writeup").glob("*.md")]
    for chinese in (False, True):
        text = "".join(page.read_text("utf-8") for page in pages if page.name.endswith(".zh.md") == chinese)
        told = re.findall(r"`python -m experiments ([\w -]+)`", text)
        assert set(told) - {"all --quick"} == numbers


@pytest.mark.parametrize("name", READMES)
def test_the_readme_names_every_file_that_is_handed_in(name: str) -> None:
    """And is short enough to be read."""
    assignment = load_assignment(ROOT / "assignment.toml")
    text = render((KIT / name).read_text(encoding="utf-8"), name, assignment)
    assert [file for file in assignment.files if f"`{file}`" not in text] == []
    assert len(text.splitlines()) <= 80


@pytest.mark.parametrize("name", READMES)
def test_the_readme_has_a_row_for_each_part(name: str) -> None:
    """With number and title as check.py says them, and the page to read."""
    text = (KIT / name).read_text(encoding="utf-8")
    for part in load_assignment(ROOT / "assignment.toml").parts:
        title = part.title_zh if name.endswith(".zh.md") else part.title
        start = rf"\| {part.number} {re.escape(title)} \| \[writeup/{part.number}-[^|]+"
        assert re.search(rf"^{start}\| .* \| <!-- with {part.slug} -->$", text, flags=re.MULTILINE), title


@pytest.mark.parametrize("name", READMES)
def test_without_its_part_the_readme_is_silent_about_pytorch(name: str) -> None:
    """What is switched off leaves no trace."""
    text = (ROOT / "assignment.toml").read_text(encoding="utf-8")
    off = text.replace('slug = "torch"\n', 'slug = "torch"\noff = true\n')
    assignment = read_assignment(off, ROOT / "assignment.toml")
    assert "torch" in assignment.parts_off
    page = render((KIT / name).read_text(encoding="utf-8"), name, assignment)
    assert "torch" not in page.lower()
    assert "5-torch" in render((KIT / name).read_text(encoding="utf-8"), name, read_assignment(text, ROOT))

"""The command: help, bad input, exit codes, what is printed and what is left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from autograder.cli import main
from autograder.host import END_SECONDS
from tests.staff import scenario
from tests.staff.runs import (
    POCKET,
    ROOT,
    SCENARIOS,
    children,
    command_line,
    copy_home,
    end_user,
    is_alive,
    own_temporary_folder,
    processes_of,
    read_file,
    user_of,
    wait_until,
    write_submission,
)

ESCAPE = "\x1b"


def call(*arguments: object, home: Path | None = POCKET) -> Result:
    """Run the command in this process; nothing here is a terminal."""
    start = [] if home is None else ["--home", str(home)]
    result = CliRunner().invoke(main, [*start, *map(str, arguments)], prog_name="autograder")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def temporary() -> Iterator[Path]:
    """The machine's temporary folder, as it were."""
    with own_temporary_folder() as folder:
        yield folder


# --- help

# "new item" is a command of a command
COMMANDS = {
    " ".join(filter(None, (name, inner))): found
    for name, command in sorted(main.commands.items())
    for inner, found in (command.commands if isinstance(command, click.Group) else {"": command}).items()
}


@pytest.mark.parametrize("command", COMMANDS, ids=COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    """--help says what it does and shows a line to paste."""
    assert examples(command)
    described = COMMANDS[command]
    assert described.help
    for option in described.params:
        if isinstance(option, click.Option):
            assert option.help, option.name


@pytest.mark.parametrize("command", COMMANDS, ids=COMMANDS)
def test_the_examples_are_commands_that_parse(command: str) -> None:
    """No example names an option that does not exist."""
    for example in examples(command):
        with COMMANDS[command].make_context(command, example.split()) as context:
            assert context.params


def examples(command: str) -> list[str]:
    """The arguments of each example in a command's help."""
    result = call(*command.split(), "--help", home=None)
    assert result.exit_code == 0
    _, _, after = result.stdout.partition("Example")
    return re.findall(rf"^ +autograder {command}\b ?(.*)", after, re.MULTILINE)


def test_help_names_every_command() -> None:
    """The first page has a line for each."""
    text = call("--help", home=None).stdout
    for command in main.commands:
        assert re.search(rf"^  {command}  +[A-Z]", text, re.MULTILINE)


def test_the_readme_names_every_command() -> None:
    """Nothing that can be done is left for the reader to guess."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in COMMANDS:
        assert f"autograder {command}" in readme


# --- bad input

Make = Callable[[Path], list[object]]  # what to call it with, below an empty folder


def _empty(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


def _file(folder: Path, text: str = "text\n") -> Path:
    (folder / "file.zip").write_text(text, encoding="utf-8")
    return folder / "file.zip"


def _huge(folder: Path) -> Path:
    with (folder / "huge.zip").open("wb") as file:
        file.truncate(200_000_000)
    return folder / "huge.zip"


SOLVED = POCKET / "solutions"
BAD_INPUT: dict[str, tuple[Make, str]] = {
    "no-such-path": (lambda here: ["grade", here / "nothing"], "No such file or directory"),
    "no-zip": (lambda here: ["grade", _file(here)], "not a zip archive, or a damaged one"),
    "empty-folder": (lambda here: ["grade", _empty(here)], "nothing inside"),
    "200-MB": (lambda here: ["grade", _huge(here)], "is 200.0 MB; at most 100.0 MB are taken"),
    "device": (lambda here: ["grade", "/dev/null"], "neither a folder nor a zip archive"),
    "results-is-a-folder": (lambda here: ["grade", SOLVED, "--results", _empty(here)], "it is a folder"),
    "results-in-no-folder": (lambda here: ["grade", SOLVED, "--results", here / "no" / "r.json"], "No such file"),
    "results-below-a-file": (lambda here: ["grade", SOLVED, "--results", _file(here) / "r.json"], "Not a directory"),
    "results-cannot-be-written": (lambda here: ["grade", SOLVED, "--results", "/proc/r.json"], "cannot write /proc"),
    "no-such-item": (lambda here: ["grade", SOLVED, "--item", "doubel"], "no item 'doubel'; there are double, mean"),
    "no-such-item-and-a-good-one": (lambda here: ["grade", SOLVED, "--item", "1.1", "--item", "9.9"], "no item '9.9'"),
    "no-such-secret": (lambda here: ["grade", SOLVED, "--secret", here / "none"], "No such file or directory"),
    "short-secret": (lambda here: ["grade", SOLVED, "--secret", _file(here)], "a secret has 16 to 4096 bytes"),
    "secret-is-a-folder": (lambda here: ["grade", SOLVED, "--secret", here], "Is a directory"),
    "home-without-assignment": (lambda here: ["--home", here, "grade", SOLVED], "no assignment.toml here"),
    "home-is-no-folder": (lambda here: ["--home", here / "none", "grade", SOLVED], "no assignment.toml here"),
    "debug-no-such-path": (lambda here: ["debug", here / "nothing", "--item", "mean"], "No such file or directory"),
    "debug-no-such-item": (lambda here: ["debug", SOLVED, "--item", "nothing"], "no item 'nothing'"),
    "debug-short-secret": (lambda here: ["debug", SOLVED, "--item", "mean", "--secret", _file(here)], "a secret has"),
    "audit-nothing-called-so": (lambda here: ["audit", "--only", "mitsakes"], "nothing to audit is called 'mitsakes'"),
    "audit-json-is-a-folder": (lambda here: ["audit", "--json", _empty(here)], "it is a folder"),
    "audit-no-such-secret": (lambda here: ["audit", "--secret", here / "none"], "No such file or directory"),
    "build-short-secret": (lambda here: ["build", "--secret", _file(here), "--out", here / "dist"], "a secret has"),
    "simulate-results-is-a-folder": (lambda here: ["simulate", SOLVED, "--results", _empty(here)], "it is a folder"),
    "simulate-no-such-path": (lambda here: ["--home", ROOT, "simulate", here / "nothing"], "No such file"),
}


@pytest.mark.parametrize(("make", "complaint"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_one_line_and_leaves_nothing(make: Make, complaint: str, tmp_path: Path, temporary: Path) -> None:
    """One clear line on stderr, exit code 2, no results, nothing half-written, nothing in the temporary folder."""
    arguments = make(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if not line.endswith(" ...")]  # what it was about to do
    assert len(lines) == 1
    assert lines[0].startswith("autograder: ")
    assert complaint in lines[0]
    assert sorted(tmp_path.rglob("*")) == before
    assert list(temporary.iterdir()) == []


def test_broken_assignment_is_bad_input(tmp_path: Path) -> None:
    """A misspelt key in assignment.toml is one line that names it."""
    home = copy_home(tmp_path / "home", budgets="cal = 3")
    result = call("grade", SOLVED, home=home)
    assert result.exit_code == 2
    assert result.stderr == "autograder: assignment.toml: [budgets]: unknown key 'cal'; did you mean 'call'?\n"


def test_no_assignment_above_is_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside a repository the command says what it looked for."""
    monkeypatch.chdir(tmp_path)
    result = call("grade", SOLVED, home=None)
    assert result.exit_code == 2
    assert result.stderr == "autograder: no assignment.toml here or above; give --home\n"


def test_home_is_found_above(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside the repository no --home is needed."""
    monkeypatch.chdir(POCKET / "tests" / "hidden")
    result = call("grade", SOLVED, "--item", "doubel", home=None)
    assert "no item 'doubel'" in result.stderr


# --- exit codes and what is printed


def test_solved_is_exit_0_and_a_table(tmp_path: Path, temporary: Path) -> None:
    """One line an item, the total, where the results are; nothing is left but those."""
    results = tmp_path / "results.json"
    result = call("grade", SOLVED, "--results", results)
    assert result.exit_code == 0
    assert re.search(r"^1\.1 +Doubling +4/4 +passed$", result.stdout, re.MULTILINE)
    assert re.search(r"^2\.2 +The commonest word +1/1 +passed$", result.stdout, re.MULTILINE)
    assert "\ntotal 12/12\n" in result.stdout
    assert result.stdout.endswith(f"wrote {results}\n")
    assert result.stderr == "grading solutions ...\n"
    assert read_file(results, POCKET).total == 12
    assert list(tmp_path.iterdir()) == [results]
    assert list(temporary.iterdir()) == []


def test_blank_is_exit_0(tmp_path: Path) -> None:
    """Exit 0 whatever the score."""
    result = call("grade", write_submission(tmp_path / "blank", POCKET, solved=False))
    assert result.exit_code == 0
    assert "\ntotal 0/12\n" in result.stdout
    assert result.stdout.count("not started") == 5


def test_one_item_by_its_number_is_one_row(tmp_path: Path) -> None:
    """With --item the others are neither graded nor shown."""
    result = call("grade", SOLVED, "--item", "1.2")
    assert result.exit_code == 0
    assert "The mean" in result.stdout
    assert "Doubling" not in result.stdout
    assert "\ntotal 3/3\n" in result.stdout


def test_grader_that_fails_is_exit_3(tmp_path: Path) -> None:
    """The results are printed all the same, and stderr says where to look."""
    told = scenario.load(SCENARIOS / "fault-in-a-fixture.toml")
    home = copy_home(tmp_path / "home", changes=told.home)
    result = call("grade", SOLVED, "-v", home=home)
    assert result.exit_code == 3
    for_students, _, for_staff = result.stdout.partition("for staff:")
    assert "\ntotal 11.2/12\n" in for_students
    assert "staff have been told" in for_students
    assert "undefined_helper" not in for_students
    assert "undefined_helper" in for_staff
    assert result.stderr.splitlines()[-1] == "autograder: the grader itself failed in part; see -v"


def test_text_of_students_is_harmless(tmp_path: Path) -> None:
    """Markup is shown as it stands; escape sequences and control characters are gone."""
    told = scenario.load(SCENARIOS / "students-errors.toml")
    submission = write_submission(tmp_path / "submission", POCKET, {k: v for k, v in told.submission.items() if v})
    result = call("grade", submission, "-v")
    assert result.exit_code == 0
    for_students, _, for_staff = result.stdout.partition("for staff:")
    for part in (for_students, for_staff):
        assert "ValueError: red [b]bold[/x]" in part
    assert "[x] Twice a number." in for_students
    assert not set(result.stdout + result.stderr) & {ESCAPE, "\0", "\a"}


def test_names_of_students_are_harmless(tmp_path: Path) -> None:
    """File names with markup and control characters are printed as text too."""
    changes: dict[str, str | None] = {"torch\x1b[31m.py": "", "conftest\x07.py": "", "[b]ngram.zip": ""}
    submission = write_submission(tmp_path / "submission", POCKET, changes)
    result = call("grade", submission)
    assert result.exit_code == 0
    assert "[b]ngram.zip" in result.stdout
    assert not set(result.stdout + result.stderr) & {ESCAPE, "\a"}


@pytest.mark.parametrize("name", ["hw\x07[b]", "hw\n[/x]"], ids=["bell", "new-line"])
def test_paths_of_students_are_harmless(tmp_path: Path, name: str) -> None:
    """A path is one line without control characters, whatever its owner called it."""
    result = call("grade", tmp_path / name)
    assert result.exit_code == 2
    assert "\a" not in result.stderr
    assert len(result.stderr.splitlines()) == 2


# --- Ctrl-C

HANGS = """
import os
import signal
import threading


def double(x):
    try:
        if os.fork() == 0:  # where the kernel lets it: nothing may be left of this either
            os.setsid()
            signal.pause()
    except PermissionError:
        pass
    threading.Thread(target=threading.Event().wait, daemon=True).start()  # shows that it got here
    while True:
        signal.pause()
"""


# whoever runs the tests may ignore interrupts, as a shell lets its background jobs do
PROGRAM = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
PROGRAM += "from autograder.cli import main; main()"


@pytest.mark.parametrize("whom", ["everybody", "the-command"], ids=["ctrl-c", "sigint-to-the-command"])
def test_interrupt_leaves_no_process(tmp_path: Path, temporary: Path, whom: str) -> None:
    """Ctrl-C, or an interrupt of the command alone: host, session, zygote and everything of the worker's user end."""
    home = copy_home(tmp_path / "home", budgets="call = 100\ntest = 100\nitem = 100\nrun = 100")
    submission = write_submission(tmp_path / "submission", home, {"alpha.py": HANGS})
    command = [sys.executable, "-c", PROGRAM, "--home", str(home), "grade", str(submission)]
    uid = None
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            host = wait_until(lambda: children(process.pid))[0]
            session = wait_until(lambda: [p for p in children(host) if b"host.py" in command_line(p)])[0]
            zygote = wait_until(lambda: [p for p in children(host) if b"zygote.py" in command_line(p)])[0]
            uid = user_of(zygote, threads=2)
            if whom == "everybody":
                os.killpg(process.pid, signal.SIGINT)
            else:
                process.send_signal(signal.SIGINT)
            _, complaint = process.communicate(timeout=END_SECONDS - 1)  # it does not wait for the session to end
            wait_until(lambda: not processes_of(uid) and not any(map(is_alive, (host, session, zygote))))
        finally:
            process.kill()
            if uid is not None:
                end_user(uid)
    assert process.returncode == 130
    assert complaint.splitlines()[-1] == b"autograder: interrupted"
    assert b"Traceback" not in complaint
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("program", ["host.py", "stage.py"], ids=["isolated", "rehearsed"])
def test_interrupted_audit_ends_at_once(tmp_path: Path, temporary: Path, program: str) -> None:
    """Ctrl-C ends the trials that run and begins no other; nothing is left."""
    stuck = "import time\n\nfrom autograder.feedback import item\n\n\n@item('double')\ndef test_stuck(student):\n"
    home = copy_home(tmp_path / "home", changes={"tests/hidden/test_stuck.py": stuck + "    time.sleep(1000)\n"})
    options = ["--full"] if program == "host.py" else ["--only", "mistakes"]
    command = [sys.executable, "-c", PROGRAM, "--home", str(home), "audit", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            ours = wait_until(lambda: [pid for pid in children(process.pid) if program.encode() in command_line(pid)])
            theirs = wait_until(lambda: [pid for one in ours for pid in children(one)])  # sessions and zygotes
            os.killpg(process.pid, signal.SIGINT)
            _, complaint = process.communicate(timeout=END_SECONDS - 1)
            wait_until(lambda: not any(map(is_alive, (*ours, *theirs))))
        finally:
            process.kill()
    assert process.returncode == 130
    assert complaint.splitlines()[-1] == b"autograder: interrupted"
    assert list(temporary.iterdir()) == []


def test_reader_that_has_seen_enough_is_no_fault() -> None:
    """``autograder build --check | true``: a closed pipe ends the command without a word."""
    program = "import sys; from autograder.cli import main; sys.argv[1:] = ['build', '--check']; main()"
    command = ["bash", "-c", f'read; exec {sys.executable} -c "{program}"']
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(b"go\n")  # only now, when nobody reads any more
        process.stdin.close()
        assert b"Traceback" not in process.stderr.read()

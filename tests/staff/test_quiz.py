"""``autograder quiz``: what a sheet shows and hides, that the key is right, and how questions are chosen."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from autograder.authoring.excerpt import excerpt
from autograder.authoring.quiz import make_quiz
from autograder.build import package_members
from autograder.cli import main
from autograder.feedback.assignment import load_assignment
from tests.staff.runs import POCKET, copy_home

NAMES = ["quiz.md", "quiz.zh.md", "key.md", "key.zh.md"]


def entry(function: str, old: str, new: str, items: str = "", base: str = "solutions") -> str:
    """An entry of the catalogue, but for its id; a mistake when it has items."""
    hints = f'items = [{items}]\nhint = "HINT"\nhint_zh = "提示"\nsource = "observed"\n' if items else ""
    return f"base = \"{base}\"\nfunction = \"{function}\"\nold = '''{old}'''\nnew = '''{new}'''\n{hints}"


SORTED = "ordered = sorted(values)\nreturn ordered[-1] - ordered[0]"
LONG = "\n".join(f"part{number} = {number}" for number in range(41))
ENTRIES = {
    "mistakes/mean/mean-missing": entry(
        "alpha.mean", 'if not values:\n    raise ValueError("the mean of nothing")', "", '"mean"'
    ),
    "mistakes/mean/mean-rounds": entry(
        "alpha.mean",
        "return total(values) / len(values)",
        "return total(values) // len(values)  # BUG: rounds",
        '"mean"',
    ),
    "mistakes/mean/mean-anew": entry("alpha.mean", "", "n = 0\nn += values[0]\nreturn n", '"mean"'),
    "mistakes/mean/mean-much": entry("alpha.mean", "", "n = 0\nfor x in values:\n    n += x\nreturn n", '"mean"'),
    "mistakes/span/span-extra": entry(
        "alpha.span", "return ordered[-1] - ordered[0]", "ordered.pop()\nreturn ordered[-1] - ordered[0]", '"span"'
    ),
    "mistakes/span/span-adds": entry(
        "alpha.span",
        "return max(values) - min(values)  # the ends",
        "return max(values) + min(values)",
        '"span"',
        "span-by-ends",
    ),
    "mistakes/span/span-four-more": entry("alpha.span", "", f"a = 1\nb = 2\nc = 3\nd = 4\n{SORTED}", '"span"'),
    "mistakes/span/span-long": entry("alpha.span", "part7 = 7", "return 0", '"span"', "span-in-many-lines"),
    "alternatives/span/span-in-many-lines": entry("alpha.span", "", f"{LONG}\nreturn max(values) - min(values)"),
    "mistakes/span/span-of-two": 'base = "solutions"\nitems = ["span", "double"]\nhint = "HINT"\nhint_zh = "提示"\n'
    'source = "observed"\n[[changes]]\nfunction = "alpha.span"\nold = "ordered = sorted(values)"\n'
    'new = "ordered = values"\n[[changes]]\nfunction = "alpha.double"\nold = "return 2 * x"\nnew = "return x"\n',
    "alternatives/span/span-by-ends": entry("alpha.span", "", "return max(values) - min(values)  # the ends"),
}
BY_ENDS = [
    "def span(values):",
    '    """The largest of a list of numbers minus the smallest."""',
    "    return max(values) - min(values)",
]
ITEMS = ["double", "mean", "span", "tally"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small assignment with a larger catalogue."""
    changes = {f"tests/{name}.toml": f'id = "{name.rpartition("/")[2]}"\n{text}' for name, text in ENTRIES.items()}
    return copy_home(tmp_path_factory.mktemp("quiz") / "home", changes=changes)


def call(home: Path, *arguments: object) -> Result:
    """Run the command in this process."""
    result = CliRunner().invoke(main, ["--home", str(home), "quiz", *map(str, arguments)], prog_name="autograder")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def ids(quiz: dict[str, str], name: str = "key.md") -> list[str]:
    """The entries that a key names."""
    return re.findall(r"`([a-z-]+)`[)）]", quiz[name])


def codes(page: str) -> list[list[str]]:
    """The lines of each function on a sheet, without their numbers."""
    found = []
    for block in re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        lines = block.splitlines()
        assert [int(line[:2]) for line in lines] == list(range(1, len(lines) + 1))
        found.append([line[4:] for line in lines])
    return found


# --- a sheet


def test_a_sheet_shows_the_function_with_the_mistake_in_it(home: Path) -> None:
    """Title and number of the item, the function's name, signature, docstring's first line, body; numbered lines."""
    page = make_quiz(home, ["tally"])["quiz.md"]
    assert "# Find the bug: Pocket\n" in page
    assert "\n## 1. Counting words (2.1)\n\n`beta.tally`\n\n" in page
    assert codes(page) == [
        [
            "def tally(words):",
            '    """``{word: how often}``."""',
            "    counts = {}",
            "    for word in words:",
            "        counts[word] = 1",
            "    return counts",
        ]
    ]
    assert page.endswith("\nLine: ________\n\nReason:\n")


def test_sheets_give_nothing_away(home: Path) -> None:
    """No id, hint, marker or comment, nor the words of the catalogue."""
    quiz = make_quiz(home, ITEMS, count=9, right=2)
    for name in ("quiz.md", "quiz.zh.md"):
        assert len(codes(quiz[name])) == 9
        assert not re.search(r"HINT|提示|SOLUTION|BUG|the ends|observed", quiz[name])
        assert [found for found in ids(quiz) if found in quiz[name]] == []
    assert sorted(set(ids(quiz))) == sorted(ids(quiz))


def test_both_languages_ask_the_same(home: Path) -> None:
    """The same code in the same order, titles and hints in their own language."""
    quiz = make_quiz(home, ITEMS, count=9, right=2)
    assert list(quiz) == NAMES
    assert codes(quiz["quiz.md"]) == codes(quiz["quiz.zh.md"])
    assert ids(quiz) == ids(quiz, "key.zh.md")
    assert "# 找错：口袋\n" in quiz["quiz.zh.md"]
    assert "数词（2.1）" in quiz["quiz.zh.md"]
    assert "数词（2.1）" in quiz["key.zh.md"]
    assert "是多少次，而不是有没有。（`tally-notes-presence-only`）" in quiz["key.zh.md"]
    assert "How often, not whether. (`tally-notes-presence-only`)" in quiz["key.md"]


# --- the key


def test_the_key_leads_back_to_the_right_code(home: Path) -> None:
    """Whoever makes the changes that the key names has the solution; where nothing is wrong, an alternative."""
    package = package_members(home, load_assignment(home / "assignment.toml"), None)
    quiz = make_quiz(home, ITEMS, count=9, right=2)
    functions = re.findall(r"^`(\w+)\.(\w+)`$", quiz["quiz.md"], re.MULTILINE)
    answers = re.split(r"^## .*\n\n", quiz["key.md"], flags=re.MULTILINE)[1:]
    seen = set()
    for (module, function), lines, answer in zip(functions, codes(quiz["quiz.md"]), answers, strict=True):
        right = list(excerpt(package[f"pocket/{module}.py"].content.decode(), function, module).lines)
        found = re.match(r"(Missing after line|Lines?) (\d+)(?: to (\d+))?(.*)\n\n?", answer)
        if found is None:
            assert answer.startswith("Nothing is wrong (`")
            assert lines != right
            seen.add("right")
            continue
        code = re.findall(r"^```text\n(.*?)^```", answer, re.MULTILINE | re.DOTALL)
        new = code[0].splitlines() if code else []
        missing = found[1].startswith("Missing")
        first = int(found[2]) if missing else int(found[2]) - 1
        last = first if missing else int(found[3] or found[2])
        assert [*lines[:first], *new, *lines[last:]] in (right, BY_ENDS)
        seen.add("missing" if missing else found[4].strip(" .:;"))
    assert seen == {"right", "missing", "is wrong; right is", "should not be there"}


def test_the_key_says_how_it_was_made(home: Path) -> None:
    """The command in it makes the same pages."""
    quiz = make_quiz(home, ["span", "mean"], count=3, right=1, seed=5)
    (command,) = re.findall(r"`autograder quiz (.*)`", quiz["key.md"])
    assert call(home, *command.split()).stdout == "\n\n".join(quiz.values())


# --- the choice


def test_one_question_a_function(home: Path) -> None:
    """Without --count, and about a quarter of them right."""
    for seed in range(8):
        quiz = make_quiz(home, ITEMS, seed=seed)
        functions = re.findall(r"^`([\w.]+)`$", quiz["quiz.md"], re.MULTILINE)
        assert sorted(functions) == ["alpha.double", "alpha.mean", "alpha.span", "beta.tally"]
        assert quiz["key.md"].count("Nothing is wrong") == 1


def test_seconds_of_a_function_come_when_all_have_a_first(home: Path) -> None:
    """--count asks for more of them."""
    for seed in range(8):
        quiz = make_quiz(home, ITEMS, count=6, right=0, seed=seed)
        functions = re.findall(r"^`([\w.]+)`$", quiz["quiz.md"], re.MULTILINE)
        assert sorted(functions) == ["alpha.double", *["alpha.mean"] * 2, *["alpha.span"] * 2, "beta.tally"]


def test_the_seed_decides_and_nothing_else(home: Path) -> None:
    """The same in another process, whatever its hashes; other seeds pick others, in the end all that are small."""
    program = (
        "import sys; from pathlib import Path; from autograder.authoring.quiz import make_quiz; "
        "sys.stdout.write(''.join(make_quiz(Path(sys.argv[1]), ['span', 'mean', 'double'], seed=3).values()))"
    )
    here = "".join(make_quiz(home, ["span", "mean", "double"], seed=3).values())
    for hashes in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program, str(home)],
            cwd=Path(__file__).parents[2],
            env={"PYTHONHASHSEED": hashes, "PATH": "", "PYTHONUTF8": "1"},
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        assert done.stdout == here
    picked = {name for seed in range(20) for name in ids(make_quiz(home, ITEMS, right=0, seed=seed))}
    assert picked == {
        *("double-adds-two", "mean-of-nothing-is-zero", "mean-missing", "mean-rounds"),
        *("span-adds", "span-extra", "tally-notes-presence-only"),
    }


def test_an_item_has_the_mistakes_of_its_own_folder(home: Path) -> None:
    """A mistake in tally costs commonest too; it is no question about commonest."""
    result = call(home, "--items", "commonest")
    assert result.exit_code == 2
    assert result.stderr == "autograder: no mistake of these items is a small change of one function\n"


# --- the command


def test_sheets_are_written_to_a_folder(home: Path, tmp_path: Path) -> None:
    """Items by number or slug; the folder is made."""
    result = call(home, "--items", "1.1, tally", "--out", tmp_path / "a" / "b")
    assert result.exit_code == 0
    assert result.stdout == "".join(f"wrote {tmp_path / 'a' / 'b' / name}\n" for name in NAMES)
    quiz = make_quiz(home, ["double", "tally"])
    assert {name: (tmp_path / "a" / "b" / name).read_text(encoding="utf-8") for name in NAMES} == quiz


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--items", "doubel"), "no item 'doubel'; there are double, mean, span, tally, commonest"),
        (("--items", "double,,mean"), "no item ''; there are"),
        (("--items", "double", "--count", 4), "these items give 2 questions, not 4"),
        (("--items", "double,tally", "--count", 2, "--right", 3), "3 right ones are too many: there are 2"),
        (("--items", "double", "--out", POCKET / "assignment.toml"), "cannot write to "),
    ],
    ids=["unknown", "empty", "too-many", "too-many-right", "out-is-a-file"],
)
def test_bad_input_is_one_line(home: Path, arguments: tuple[object, ...], complaint: str) -> None:
    """Exit code 2, and what is wrong."""
    result = call(home, *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith(f"autograder: {complaint}")

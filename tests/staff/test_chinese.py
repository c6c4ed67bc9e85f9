"""Chinese feedback says the same as English: every message of the engine, every word of a test, every hint.

A walk over the sources finds each sentence that a student can read; ``EXAMPLES`` has lines in which each of them stands
as it is shown; and each of these lines has to become Chinese. So a new message fails here until it has an example, and
then until it has a translation.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.build import autograder_members, handout_members
from autograder.feedback import language, scores
from autograder.feedback.assignment import load_assignment
from autograder.feedback.checks import Check
from autograder.feedback.chinese import MESSAGES
from autograder.feedback.errors import CheckFailed
from autograder.feedback.front import EXAMPLES as HELP
from autograder.feedback.language import WORDS, Language, pieces_of, words_in
from autograder.proof.catalogue import load_mistakes
from autograder.proof.rehearsal import Rehearsal
from autograder.proof.trials import Sources
from autograder.secret import DEVELOPMENT
from autograder.variants import home_of
from tests.staff.runs import ROOT

if sys.version_info >= (3, 11):
    import tomllib  # novm
else:
    import tomli as tomllib

PUBLIC, HIDDEN = ROOT / "tests/public", ROOT / "tests/hidden"
CHINESE = re.compile(r"[\u4e00-\u9fff]")
HOLE = re.compile(r"\{\w*\}")
# What tells English from names: no name in our code or in numpy is one of these words.
ENGLISH = frozenset(
    """about after again all an and any are at be because been before between but by can cannot did do does during each
    either every few for had has have how if in into is it its least less made makes many more most must neither no nor
    not of on once one only or other should so such than that the their them then there these they this those to too
    two very was were what when where whether which who whose why will with without would you your""".split()
)
AS_IT_IS = re.compile(
    r"\"[^\"]*\"|'[^']*'|`[^`]*`|\b(?:log )?[PpS]\([^()]*\)|\(out, in\)|(?:pytest|python) .*|\w+Error[:\uff1a].*"
)


def left_in_english(text: str) -> list[str]:
    """The English words of a Chinese text, but for what is quoted and for commands."""
    return [
        word
        for word in re.findall(r"(?<![\w.-])[A-Za-z]{2,}(?![\w-])", AS_IT_IS.sub(" ", text))
        if word.lower() in ENGLISH
    ]


# --- the engine -------------------------------------------------------------------------------------------------

# Module -> lines as students see them.
EXAMPLES: dict[str, str] = {
    "feedback/checks.py": """
        ngram.count: the result should be an array, not a list
        ngram.MLE: the result should be an object with the fields order, counts, not None
        rnn.rnn_forward: the result has no field 'h'
        the result should hold plain values only, not a Foo
        the result should be True or False, not a Foo
        modules.Linear.backward: the gradient of Linear.backward: 2 of 12 entries are wrong
    """,
    "feedback/comparing.py": """
        ngram.count: the result should be a list, not a tuple
        the result at [0][...]: wrong value
        the result at ['a']: wrong value (got 1, expected 2)
        the result: wrong value (got an array of shape (3, 4), expected [1, 2])
        the result: too few entries
        the result: too few entries (1, expected 2)
        the result: too many entries
        the result: too many entries (2, expected 1)
        the result: 1 key is missing, such as 'a'
        the result: 2 keys are missing, such as ('a', 'b')
        the result: 2 keys are missing
        the result: 1 key is missing
        the result: 1 member is missing
        the result: 2 members are missing
        the result: 1 member is missing, such as 3
        the result: 2 members are missing, such as 3
        the result: 1 key too many
        the result: 2 keys too many
        the result: 1 key too many, such as 3
        the result: 2 keys too many, such as 3
        the result: 1 member too many
        the result: 2 members too many
        the result: 1 member too many, such as 3
        the result: 2 members too many, such as 3
    """,
    "feedback/wording.py": """
        the result should be a tuple or list of 3 values, not an array of shape (3,)
    """,
    "feedback/verdict.py": """
        ngram.py cannot be imported: ValueError: x
        ngram.py cannot be imported: SyntaxError: invalid syntax (read by Python 3.12.1)
        ngram.py cannot be imported: your code did not finish within 5 s
        ngram.py has no count: was it renamed or deleted?
          lm/ngram.py:3 in <module>
        your code calls ngrams (item 1.1), which is not written yet
        ngram.count: should raise ValueError
        should raise ValueError
        ngram.count: this does not hold
        this does not hold
        ngram.count: the test cannot work with what your code gave (TypeError)
        the test cannot work with what your code gave (TypeError: 'NoneType')
        MyProblem: x
        partial credit: 50% of this check
        ValueError: (its message cannot be shown)
    """,
    "feedback/handles.py": """
        your code sent an invalid reply (Refused)
        ngram.count: returned a value nested deeper than 32 levels
        your code: returned a value of more than a million items
        ngram.count: returned a Foo, expected an array
        returned a Foo, expected a list or an array
        h: returned an object, expected a plain value
        h: returned a Foo, expected True or False
        h: returned a Foo, expected an integer
        h: returned a Foo, expected a number
    """,
    "feedback/server.py": """
        ValueError: (its message cannot be shown)
        SyntaxError: invalid syntax (a command that only notebooks have)
        RuntimeError: breakpoint() is not available here: nobody sits at a debugger; take it out
        EOFError: input() is not available here: nobody is there to answer
        NameError: name 'get_ipython' (only notebooks have it)
        MemoryError: there is no more memory than this machine has
        MemoryError: there is no more memory than 1024 MiB
        rnn.f: returned a torch.sparse_coo tensor on cpu, expected a dense one on the CPU
        returned a torch.strided tensor on cuda, expected a dense one on the CPU
        rnn.f: returned a tensor of dtype torch.bfloat16
    """,
    "feedback/values.py": """
        ngram.f: returned a value nested deeper than 32 levels (at [0]['a'])
        ngram.f: returned a value of more than a million items
        ngram.f: returned a text with lone surrogates
        returned an integer of more than 4096 bits
        ngram.f: returned a dict of 70000 entries
        ngram.f: returned more than 4096 dict keys that hold an integer
        ngram.f: returned more than 4096 set members that hold an integer
        ngram.f: returned an array of dtype <U5
        ngram.f: returned an array of dtype object (at [1])
        ngram.f: returned an array of 17 axes
        ngram.f: returned an array with an axis of length 300000000
        ngram.f: returned a value larger than 64 MiB
        ngram.f: returned a dict key of more than 32 bits
        ngram.f: returned a set member nested deeper than 32 levels
        ngram.f: returned a dict key of type float
    """,
    "feedback/card.py": """
        as above: ngram.py cannot be imported: ValueError: x
        not started: count_ngrams: ngrams
        not started
        grader error (not your code): call: GraderError: x
        hint: 想一想句首。
        3 of 4 checks
        all 9 checks pass
        all 9 local checks pass; grading uses new inputs, and most points are given only there
        nothing is wrong: every function still says "not implemented"
        next: 1.2 最大似然估计, in lm/ngram.py
    """,
    "feedback/screen.py": """
        local checks
        as above
        ... and 3 more
        grader error, not your code
        likely: 想一想句首。
        3 of 4 checks
        again:  python check.py --item 1.1
        all 9 local checks pass; grading uses new inputs
        hand in:  python check.py submit
        nothing is wrong: every function still says "not implemented"
        they stand for 7.2 of 21.5 points; the rest is given in grading, on new inputs
        start here:
        go on here:
        read:
        then run:
    """,
    "feedback/front.py": """
        interrupted
        interrupted in lm/ngram.py:3
        nothing was checked: see the lines above
        nothing to check
        there is nothing to hand in: no ngram.py, rnn.py
        local checks: 3 of 4 pass
        wrote submission.zip (12 kB). Upload this file to Gradescope.
        watching; Ctrl-C ends
    """,
    "feedback/handing_in.py": """
        is empty
        has 300 kB; at most 200 kB are taken
        is not UTF-8 text: save it as UTF-8
        line 3: invalid syntax
        line 3: needs a newer Python than the grader's 3.12
        ngram.py:3: imports rnn, another file of yours: items then hang together
        ngram.py:3: write from .x import y, not from lm.x import y
        ngram.py:3: imports scipy, which this assignment does without
        is not there: its items get no points
        12.3 kB, ok
        left out: notes.txt, old.py
        note: your Python 3.14 is newer than the grader's may be: 3.12 must do, too
    """,
    "feedback/inline.py": """
        your code did not finish within 5 s
    """,
    "feedback/plugin.py": """
        no item 'x'; there are count_ngrams, mle
        skipped: torch is not installed (needed from part 5 on)
        not started
    """,
    "deadlines.py": """
        not run: the time for the whole run (420 s) was used up before this check
        not run: 2 checks of this item did not finish in time
        not run: the time for this item (40 s) was used up before this check
        your code did not finish within 5 s
        your code did not let the whole check finish within 10 s
        your code did not finish before the time for this item (40 s) was used up
        your code did not finish before the time for the whole run (420 s) was used up
    """,
    "pool.py": """
        your code ended its process (os._exit, a crash, or too much memory)
        your code sent an invalid reply
        your code did not finish within 5 s
    """,
    "worker.py": """
        ModuleNotFoundError: torch is not allowed in this part
    """,
    "results.py": """
        Received 3 of 17 files. Python 3.12.1, numpy 2.2.6. Run a1b2c3. Graded in 12 s.
        Graded in 0 s.
        This item is waived: full points for everybody.
        waiting for 1.2, 1.3: 3 of 4 checks pass
        cannot import: 0 of 4 checks pass
        Part of the grader could not be loaded, so this is not final: staff have been told.
        not started: the function still says "not implemented"
        The grader itself failed here. This is not your code's fault: staff have been told and will regrade.
        [x] 句子。
        (hidden inputs)
        (2 of 3 cases, hidden inputs)
        (also on your machine: pytest -k test_x)
        (2 of 3 cases, also on your machine: pytest -k test_x)
        hint: 想一想句首。
        ... and 3 more
        3 checks were not run
        grader error, not your code
    """,
    "session.py": """
        The grader itself failed in part of this run. This is not your code's fault: staff have been told, and rows \
without a status will be graded again.
        This run was cut short before its end. That is not your code's fault: rows without a status were not \
finished, and will be graded again.
    """,
    "grade.py": """
        Nothing could be taken from the upload: nothing inside.
        Received 3 of 17 files. Python 3.12.1, numpy 2.2.6. Run a1b2c3. Graded in 12 s.
        ngram.py was not handed in
        ngram.py began as a stub of version 2026.10, graded is version 2026.11: see what has changed in the handout.
    """,
    "submission.py": """
        ngram.py is a PDF document, not a Python file
        ngram.py is a zip archive or an office document, not a Python file
        ngram.py is a gzip archive, not a Python file
        ngram.py is a rich text document; save it as plain text
        ngram.py is UTF-16 text; save it as UTF-8
        ngram.py is a web page; download the file itself (the raw file)
        the files were looked for in work/lm/, the only folder inside
        ngram.py was handed in twice: lm/ngram.py counts, the one beside lm/ does not
        Nothing could be taken from the upload: nothing inside.
        ngram.py is a link; hand in the file itself
        ngram.py is a folder, not a file
        ngram.py is not a regular file
        ngram.py is empty
        ngram.py is a Jupyter notebook; export it as a Python file (.py)
        ngram.py is not text: it has a NUL byte in line 3
        ngram.py is not UTF-8 text (line 3); save it as UTF-8
        ngram.py is missing; is it 'ngram (1).py'? The name must be exactly ngram.py
        ngram.py is missing; there is one in work/old/, where nobody looks for it
        a.pth was not used: compiled files and path files are never read
        a.lnk and b.lnk were not used: links are not followed
        corpus.py was not used: the grader has its own
        pipe was not used: it is not a regular file
        conftest.py, pytest.ini and tox.ini were not used: the grader has settings of its own
        a.zip, b.zip, c.zip and 3 more were not used: an archive inside a submission is not opened; hand in the files \
themselves
        sitecustomize.py was not used: the grader's Python does not load it
        numpy.py was not used: and on your machine it hides the library numpy; rename it
        and 3 more
    """,
    "upload.py": """
        Nothing could be taken from the upload: not a path.
        Nothing could be taken from the upload: neither a folder nor a zip archive.
        Nothing could be taken from the upload: not a zip archive, or a damaged one.
        Nothing could be taken from the upload: is 150.0 MB; at most 100.0 MB are taken.
        Nothing could be taken from the upload: holds too many files; at most 10,000.
        the folder work/old cannot be read
        ngram.py is not a regular file
        ngram.py cannot be read: Permission denied
        ngram.py is 300 kB; at most 200 kB are taken
        ngram.py is encrypted; make the archive without a password
        ngram.py is compressed in an unusual way; make an ordinary zip
        ngram.py is damaged in the archive; make the zip again
        '../x.py' was left out: its name leads out of the archive
        'a/a/x.py' was left out: it lies more than 20 folders deep
        lm/ngram.py is in the archive twice: the last one counts
    """,
}
STATES = [value for name, value in vars(scores).items() if name.isupper() and isinstance(value, str)]

# What never reaches a student: for staff, for authors of tests, for logs, or a command to be typed.
NOT_SAID: dict[str, list[str]] = {
    "feedback/checks.py": [
        "{}; got {}, expected {}",
        "that {}",
        "got {}",
        "shape {}, expected {}",
        "expected {}",
        "got {}, {}",
        "{}got {}, expected {}, error {}",
    ],
    "feedback/verdict.py": [
        "{} set the leaderboard value {}",
        "{} set the score {}",
    ],
    "feedback/handles.py": [
        "a test cannot send a {}",
        "a handle belongs to another student",
        "<the student's {}>",
        "add sub mul truediv matmul pow floordiv mod and or xor lshift rshift",
    ],
    "feedback/server.py": [
        "EOF when reading a line",
        "name 'get_ipython' is not defined",
    ],
    "feedback/values.py": [
        "a malformed message ({})",
        "a malformed message (parts left over)",
        "a container of {} entries",
        "a malformed message (kind {})",
        "a malformed message ({} for {})",
        "a malformed message (fraction)",
        "a set member twice",
        "a malformed message (bytes)",
        "a dict key twice",
        "more than {} keys that hold an integer",
        "a malformed message (scalar)",
    ],
    "feedback/card.py": [
        " --seed {}",
        "      python -m pytest --item {}{}",
    ],
    "feedback/screen.py": [
        "python check.py --item {}",
        " --seed {}",
    ],
    "feedback/front.py": [
        HELP,
        "Python {}, numpy {}",
        " in {}",
    ],
    "feedback/plugin.py": [
        "a graded test is a function, not a method of a TestCase",
        "a graded test is neither skipped nor expected to fail",
        "subtests are no tests of their own; parametrize",
        "parametrize needs ids=[...], one for each case",
        "parametrize the test itself, not a fixture of it",
        "public tests have no reference",
        "nothing gives it {}; its decorator is missing",
        "its decorator gives it {}, which it does not take",
    ],
    "results.py": [
        "cannot write {}: {}",
    ],
    "session.py": [
        "{} is no graded test: it has no @item",
        "no graded test",
        "the item has lost already",
        "cannot collect {}: {}",
        "internal error: {}",
        "item {} has no test",
        "item {}: public tests carry {}, more than a third",
        "pytest ended with {}",
        "{} tests were not run",
        "results.json lacks the end of this run: {}",
        "NOT GRADED. The fault is this machine's, no student's: {}\n",
        "not tried",
        "isolation: {}",
        "python {} | numpy {} | pytest {}",
        "cacheprovider doctest faulthandler junitxml pastebin setuponly setupplan stepwise terminal",
        "no:{}",
    ],
    "grade.py": [
        "cannot write {}: {}",
        "the session refused its job",
        "the session left no results",
        "{} is closed to other users, and student code runs as another user: open that folder to them (chmod "
        "o+x), or keep {} somewhere else",
    ],
    "submission.py": [
        "copy of ",
    ],
    "pool.py": [
        "AUTOGRADER_WORKERS is one of {}, not {}",
    ],
}
# Calls whose texts are for authors, staff and the machine.
NOT_SAID_BY = frozenset(
    """GraderError NotSendable TypeError UsageError Invalid BadTest ValueError add_argument ArgumentParser addoption
    addini addinivalue_line compile getgroup _refuse""".split()
)
SENTENCE = re.compile(r"[a-z]{2,} [a-z{]|[a-z]{2,}: ?\{|\} [a-z]{2,}")


def templates(tree: ast.AST) -> Iterator[str]:
    """The texts of a program, {} for what is put in: no docstrings, nothing from calls that are for others."""
    if isinstance(tree, ast.Call) and _name(tree.func) in NOT_SAID_BY:
        return
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        yield tree.value
        return
    if isinstance(tree, ast.JoinedStr):
        yield _template(tree)
    documented = isinstance(tree, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(tree) is not None
    for node in ast.iter_child_nodes(tree):
        if documented and node is tree.body[0]:  # type: ignore[attr-defined]
            continue
        if isinstance(tree, ast.JoinedStr) and isinstance(node, ast.Constant):
            continue
        if isinstance(tree, (ast.FunctionDef, ast.arg, ast.AnnAssign)) and node in (
            getattr(tree, "returns", None),
            getattr(tree, "annotation", None),
        ):
            continue
        yield from templates(node)


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _template(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    assert isinstance(node, ast.Constant)
    return str(node.value)


def as_regex(template: str, hole: str = ".*?") -> re.Pattern[str]:
    """What a template becomes with anything in its holes."""
    return re.compile(hole.join(map(re.escape, HOLE.split(template))))


def lines_of(module: str) -> list[str]:
    """The examples of a module, and what the checks say of wrong values."""
    lines = [line.strip() for line in EXAMPLES[module].splitlines() if line.strip()]
    return [*lines, *checked()] if module == "feedback/checks.py" else lines


@cache
def checked() -> tuple[str, ...]:
    """What each check says of all kinds of wrong values, on public and on hidden inputs."""
    said: dict[str, None] = {}

    def fail(check: Callable[..., object], *arguments: Any, **keywords: Any) -> None:
        with pytest.raises(CheckFailed) as failure:
            check(*arguments, **keywords)
        said.update(dict.fromkeys(line.strip() for line in str(failure.value).splitlines()))

    row, square = np.array([1.0, 2.0, 3.0]), np.arange(1.0, 7.0).reshape(2, 3)
    wrong: list[tuple[Any, Any]] = [
        ([1.0], row),
        (None, 1.0),
        (row, 1.0),
        (row[:1], 1.0),
        (1.0, row),
        (row[:2], row),
        (square[0], square),
        (square.T, square),
        (square[:, :2], square),
        (square, row),
        (row.astype(int), row),
        (row > 1, row),
        (row + 1j, row),
        (row, row > 1),
        (row, row.astype(int)),
        (row.astype("f4"), row),
        (True, 1.0),
        (np.True_, 1.0),
        (1j, 1.0),
        (np.int64(2), 1j),
        (np.array([1.0, np.nan, 3.0]), row),
        (np.array([np.nan]), row[:1]),
        (np.nan, 1.0),
        (np.array([1.0, np.inf, 3.0]), row),
        (row, np.array([1.0, np.inf, 3.0])),
        (np.array([1.0, -np.inf, 3.0]), np.array([1.0, np.inf, 3.0])),
        (np.inf, 1.0),
        (row * [1, 1, 2], row),
        (row * [1, 2, 2], row),
        (row[:1] + 1, row[:1]),
        (-row, row),
        (2 * row, row),
        (np.arange(9.0), np.arange(9.0) ** 2 + [np.inf, *[0] * 8]),
        (1.5, 1.0),
        (Fraction(1, 2), 0.0),
        (1e-3, 0.0),
    ]
    for hidden in (False, True):
        check = Check(hidden)
        for got, expected in wrong:
            fail(check.close, got, expected, "h")
        for got, expected in (
            (1, 2),
            ([1], [2]),
            ([1], [1, 2]),
            ([1, 2], [1]),
            ({}, {1: 2}),
            ({1}, {1, 2}),
            ({1: 1}, {}),
        ):
            fail(check.equal, got, expected, "h")
        fail(check.number, 1j)
        fail(check.array, "x")
        fail(check.unpack, (1, 2), 3)
        fail(check.unpack, 1, 3)
        fail(check.fields, 1, ["x", "y"])
        fail(check.gradient, row, np.sum, row)
    return tuple(said)


CHINESE_FEEDBACK = Language("zh")


@pytest.mark.parametrize("module", EXAMPLES)
def test_every_sentence_of_the_engine_has_an_example(module: str) -> None:
    """Whatever a program can say to a student stands in a line below its name, but for what is named as not said."""
    tree = ast.parse((ROOT / "autograder" / module).read_text(encoding="utf-8"))
    found = {template for template in templates(tree) if SENTENCE.search(template)}
    # what check.py says of its own call, the language among it, is English
    not_said = {*NOT_SAID.get(module, []), *(text for text in found if text.startswith("check.py: "))}
    said = "\n".join(lines_of(module))
    missing = [text for text in sorted(found - not_said) if not as_regex(text.strip()).search(said)]
    assert missing == []


@pytest.mark.parametrize("module", NOT_SAID)
def test_nothing_is_named_as_not_said_that_is_not_there(module: str) -> None:
    """A message that has gone leaves no exception behind."""
    tree = ast.parse((ROOT / "autograder" / module).read_text(encoding="utf-8"))
    assert sorted(set(NOT_SAID[module]) - set(templates(tree))) == []


@pytest.mark.parametrize("module", EXAMPLES)
def test_every_line_becomes_chinese(module: str) -> None:
    """Wholly: no word of ours is left, and every number and name is still there."""
    for line in lines_of(module):
        said = CHINESE_FEEDBACK(line)
        assert CHINESE.search(said) or re.fullmatch(r"\w+: x", line), line
        assert left_in_english(said) == [], said
        assert sorted(numbers(said)) == sorted(numbers(line)), said


def test_every_state_is_chinese() -> None:
    """Of a row, of an item on the score card, of a case."""
    assert "timeout" in STATES
    assert [state for state in STATES if not CHINESE.search(CHINESE_FEEDBACK(state))] == []


def numbers(text: str) -> list[str]:
    """The numbers in a text, but for those of millions: Chinese counts them otherwise."""
    return re.findall(r"\d[\d.,]*(?<![.,])(?![\d.,]* [mb]illion)", text)


def test_every_pattern_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that nobody says any more leaves no translation behind."""
    keys = list(MESSAGES)
    monkeypatch.setattr(language, "MESSAGES", {key: f"⟦{keys.index(key)}⟧{MESSAGES[key]}" for key in keys})
    say = Language("zh")
    lines = [line for module in EXAMPLES for line in lines_of(module)] + STATES
    used = {int(number) for line in lines for number in re.findall(r"⟦(\d+)⟧", say(line))}
    assert [key for number, key in enumerate(keys) if number not in used] == []


# --- the words of the tests -------------------------------------------------------------------------------------

WHAT = {"close": 2, "equal": 2, "number": 1, "array": 1, "unpack": 2, "fields": 2, "gradient": 4, "that": 1}


@cache
def tables(folder: Path) -> dict[str, dict[str, str]]:
    """The words of one folder of tests, by table."""
    read: dict[str, dict[str, str]] = tomllib.loads((folder / WORDS).read_text(encoding="utf-8"))
    return read


@cache
def sources(folder: Path) -> list[ast.Module]:
    """The test files of a folder."""
    return [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("test_*.py"))]


def titles(folder: Path) -> set[str]:
    """The first line of each test's docstring."""
    tests = [node for tree in sources(folder) for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {
        (ast.get_docstring(test) or "").partition("\n")[0].strip() for test in tests if test.name.startswith("test")
    }


@cache
def whats(tree: ast.Module) -> set[str]:
    """The names of values that a file passes to its checks, as far as they can be read off: {} for what is put in."""
    found: set[str] = set()
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
                if isinstance(call.func, ast.Attribute) and _name(call.func.value) == "check":
                    found |= _texts(_what(call, WHAT.get(call.func.attr)), function, tree)
    return found


def _what(call: ast.Call, position: int | None) -> ast.AST | None:
    for keyword in call.keywords:
        if keyword.arg in ("what", "message"):
            return keyword.value
    return call.args[position] if position is not None and len(call.args) > position else None


def _texts(node: ast.AST | None, function: ast.FunctionDef, tree: ast.Module) -> set[str]:
    """The texts that an expression may be: its own, or those that callers and loops give it."""
    if node is None:
        return set()
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        inner = [part.value for part in ast.walk(node) if isinstance(part, ast.FormattedValue)]
        return {_template(node)}.union(
            *(_texts(value, function, tree) for value in inner if isinstance(value, ast.Name))
        )
    if isinstance(node, ast.IfExp):
        return _texts(node.body, function, tree) | _texts(node.orelse, function, tree)
    if not isinstance(node, ast.Name):
        return set()
    found: set[str] = set()
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    if node.id in names:
        for caller in (one for one in tree.body if isinstance(one, ast.FunctionDef)):
            for call in (one for one in ast.walk(caller) if isinstance(one, ast.Call)):
                if _name(call.func) == function.name:
                    found |= _texts(_argument(call, node.id, names.index(node.id)), caller, tree)
        defaults = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
        found |= _texts(defaults.get(node.id), function, tree)
    return found | _told_by_cases(node.id, function)


def _argument(call: ast.Call, name: str, position: int) -> ast.AST | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[position] if len(call.args) > position else None


def _told_by_cases(name: str, function: ast.FunctionDef) -> set[str]:
    """The texts in tables that a test goes through, as its parameters or in a loop, in the column of this name."""
    found: set[str] = set()
    pairs = [(node.target, node.iter) for node in ast.walk(function) if isinstance(node, (ast.For, ast.comprehension))]
    for mark in function.decorator_list:
        if isinstance(mark, ast.Call) and _name(mark.func) == "parametrize" and len(mark.args) > 1:
            pairs.append((mark.args[0], mark.args[1]))
    for target, rows in pairs:
        columns = [
            part.value if isinstance(part, ast.Constant) else _name(part) for part in getattr(target, "elts", [target])
        ]
        if name in columns:
            for row in getattr(rows, "elts", []):
                cells = row.elts if isinstance(row, ast.Tuple) and len(columns) > 1 else [row]
                cell = cells[columns.index(name)] if len(cells) == len(columns) else None
                if isinstance(cell, (ast.JoinedStr, ast.Constant)) and isinstance(getattr(cell, "value", ""), str):
                    found.add(_template(cell))
    return found


def needs_words(what: str) -> bool:
    """Whether it says something in English; "P(corn | eats)", "bias.grad" and "h" do not."""
    return re.search(r"[A-Za-z]{2,} \w", re.sub(r"\b(?:log )?[PpS]\([^()]*\)|log p$", "", what)) is not None


def in_chinese(what: str, say: Language) -> bool:
    """Whether something that may stand in its holes makes it Chinese as a whole."""
    values = ("3", "x.y", "sin", "'a'", "(2, 3)", "[1]", "0.5")
    filled = (value.join(HOLE.split(what)) for value in values)
    return any(say(text) != text and not left_in_english(say(text)) for text in filled)


@pytest.mark.parametrize("folder", [PUBLIC, HIDDEN], ids=["public", "hidden"])
def test_every_title_of_a_test_is_there_and_no_other(folder: Path) -> None:
    """Those of hidden tests may stand with the public ones, never the other way round."""
    elsewhere = tables(PUBLIC)["titles"] if folder is HIDDEN else {}
    assert sorted(titles(folder) - set(tables(folder)["titles"]) - set(elsewhere)) == []
    assert sorted(set(tables(folder)["titles"]) - titles(folder)) == []


@pytest.mark.parametrize("folder", [PUBLIC, HIDDEN], ids=["public", "hidden"])
def test_every_name_of_a_value_becomes_chinese(folder: Path) -> None:
    """And so does every property that a test states, with the words that are there when the test runs."""
    say = Language("zh", words_in({PUBLIC, folder}))
    found = set().union(*map(whats, sources(folder)))
    assert len(found) > 100  # the walk finds them
    assert sorted(what for what in found if needs_words(what) and not in_chinese(what, say)) == []


@pytest.mark.parametrize("folder", [PUBLIC, HIDDEN], ids=["public", "hidden"])
def test_no_word_is_left_of_a_test_that_has_gone(folder: Path) -> None:
    """Each piece of each entry still stands in a text of these tests."""
    texts = "\n".join(text for tree in sources(folder) for text in templates(tree))
    found = set().union(*map(whats, sources(folder)))
    regexes = [as_regex(what, ".+") for what in found if "{}" in what and len(what) > 4]

    def stands(key: str) -> bool:
        return all(piece in texts for piece in pieces_of(key)) or any(one.fullmatch(key) for one in regexes)

    assert [key for key in tables(folder)["whats"] if not stands(key)] == []


def test_what_given_code_raises_is_said() -> None:
    """Each entry stands in a given file, and each error of the file of weights has one."""
    files = sorted((ROOT / "solutions/lm").glob("*.py"))
    said = "\n".join(text for file in files for text in plain_templates(file))
    raised = tables(PUBLIC)["raised"]
    assert [key for key in raised if not all(piece.strip(": ") in said for piece in pieces_of(key))] == []
    tree = ast.parse((ROOT / "solutions/lm/weights.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) == "ValueError"]
    messages = [_template(call.args[0]) for call in calls]
    say = Language("zh", words_in([PUBLIC]))
    for message in (message for message in messages if message != "{}: {} {}"):  # that one is put around others
        whole = message if message.startswith("{}") else f"a.npz: E {message}"
        values = product(("E", "3", "(3,)"), repeat=whole.count("{}"))
        assert any(CHINESE.search(say(f"ValueError: {whole.format(*filling)}")) for filling in values), message


def plain_templates(file: Path) -> Iterator[str]:
    """Every text of a program."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            yield _template(node)


ALL_WORDS = {
    "engine": MESSAGES,
    **{f"{folder.name}-{name}": table for folder in (PUBLIC, HIDDEN) for name, table in tables(folder).items()},
}


@pytest.mark.parametrize("name", ALL_WORDS)
def test_both_sides_have_the_same_holes_and_numbers(name: str) -> None:
    """What is put in on one side is on the other one, and no number is lost."""
    for text, translation in ALL_WORDS[name].items():
        assert sorted(HOLE.findall(text)) == sorted(HOLE.findall(translation)), text
        lost = set(numbers(HOLE.sub("", text))) - set(numbers(translation))
        assert not lost or name == "engine", f"{text}: {lost}"


@pytest.mark.parametrize("name", ALL_WORDS)
def test_a_translation_is_chinese(name: str) -> None:
    """No English word stands in it, and no name that the English does not have."""
    for text, translation in ALL_WORDS[name].items():
        assert left_in_english(HOLE.sub("", translation)) == [], translation
        names = set(re.findall(r"[A-Za-z_]{2,}", HOLE.sub("", translation))) - {"notebook", "raw"}
        assert sorted(one for one in names if one.lower().removesuffix("s") not in text.lower()) == [], text


def test_words_of_hidden_tests_stay_with_them() -> None:
    """The handout gets the words of public tests, the zip those of both."""
    assignment = load_assignment(ROOT / "assignment.toml")
    handout, autograder = handout_members(ROOT, assignment), autograder_members(ROOT, assignment)
    assert [name for name in handout if WORDS in name] == [f"tests/{WORDS}"]
    assert [name for name in autograder if WORDS in name] == [f"tests/public/{WORDS}", f"tests/hidden/{WORDS}"]
    given = handout[f"tests/{WORDS}"].content.decode()
    assert given == (PUBLIC / WORDS).read_text(encoding="utf-8")
    assert [title for title in titles(HIDDEN) - titles(PUBLIC) if f'{title}" = ' in given] == []


PLAYED = ("paper_ngrams", "add_k", "linear", "tape_backward", "tbptt", "dual_numbers")


def test_what_students_are_told_is_chinese() -> None:
    """Whole messages, as the tests of six items make them of a known mistake each."""
    assignment = load_assignment(ROOT / "assignment.toml")
    sources = Sources(ROOT, assignment, DEVELOPMENT)
    say = Language("zh", words_in([PUBLIC, HIDDEN]))
    lines: set[str] = set()
    with home_of(ROOT, assignment, DEVELOPMENT) as home, closing(Rehearsal(home, DEVELOPMENT)) as rehearsal:
        for slug in PLAYED:
            mistake = next(mistake for mistake in sources.mistakes if slug in mistake.items)
            played = rehearsal.play(sources.applied(mistake), items=(slug,))
            told = [line for case in played.cases for line in case.message.splitlines()]
            assert told, mistake.id
            lines.update(told)
    raised = re.compile(r"\w+: .*")  # by the student's code
    assert [line for line in sorted(lines) if not CHINESE.search(say(line)) and not raised.fullmatch(line)] == []
    assert [said for said in map(say, sorted(lines)) if left_in_english(said)] == []


# --- titles, hints ----------------------------------------------------------------------------------------------


def test_every_hint_is_chinese() -> None:
    """Each mistake's: the same idea, without a word of English but names in our code."""
    for mistake in load_mistakes(ROOT / "tests/mistakes", load_assignment(ROOT / "assignment.toml")):
        assert bool(mistake.hint) == bool(mistake.hint_zh), mistake.id
        assert not mistake.hint_zh or CHINESE.search(mistake.hint_zh), mistake.id
        assert left_in_english(mistake.hint_zh) == [], mistake.hint_zh


def test_every_title_of_the_assignment_is_chinese() -> None:
    """Of parts and items."""
    assignment = load_assignment(ROOT / "assignment.toml")
    titles: list[tuple[str, str]] = [(assignment.title, assignment.title_zh)]
    titles += [(part.title, part.title_zh) for part in assignment.parts]
    titles += [(item.title, item.title_zh) for item in assignment.items]
    assert [title for title, title_zh in titles if not CHINESE.search(title_zh)] == ["Softmax"]

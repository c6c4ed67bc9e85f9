"""autograder/switches.py: what is left of assignment.toml, pins and setup.sh when parts are switched off."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.feedback.assignment import Assignment, read_assignment
from autograder.feedback.errors import InputError
from autograder.switches import assignment_text, pins, setup_text, words_text

HEAD = """# About powers.
[assignment]
title = "Powers"
title_zh = "Powers"
version = "1"
package = "toy"

[files]
"ops.py" = 10
"deep.py" = 10

[budgets]
call = 1
torch_memory = 99
"""
LIGHT = """
[[parts]]
slug = "light"
number = "1"
title = "Light"
title_zh = "Light"

[[parts.items]]
slug = "square"
title = "Squares"
title_zh = "Squares"
points = 3
file = "ops.py"
"""
DEEP = """
[[parts]]
slug = "deep"
number = "2"
title = "Deep"
title_zh = "Deep"
torch = true
{off}
[[parts.items]]
slug = "depth"
title = "Depth"
title_zh = "Depth"
points = 1
file = "deep.py"
"""
OFF, ON = HEAD + LIGHT + DEEP.format(off="off = true\n"), HEAD + LIGHT + DEEP.format(off="")
SETUP = """say "one"
# BEGIN PYTORCH
install_torch
# END PYTORCH
say "two"
"""


def read(text: str) -> Assignment:
    """The assignment that a text describes."""
    return read_assignment(text, Path("assignment.toml"))


def test_a_part_that_is_off_is_cut_from_assignment_toml() -> None:
    """With its file and the memory that nothing else needs; what is left says the same, comments and all."""
    short = assignment_text(OFF, read(OFF))
    assert short == HEAD.replace('"deep.py" = 10\n', "").replace("torch_memory = 99\n", "") + LIGHT + "\n"


def test_with_everything_on_nothing_changes() -> None:
    """Byte for byte."""
    assert assignment_text(ON, read(ON)) == ON


def test_an_item_that_is_needed_stays() -> None:
    """Without it what needs it would be refused."""
    needed = OFF.replace('points = 3\nfile = "ops.py"\n', "") + (
        '\n[[parts]]\nslug = "last"\nnumber = "3"\ntitle = "L"\ntitle_zh = "L"\n[[parts.items]]\nslug = "cube"\n'
        'title = "C"\ntitle_zh = "C"\npoints = 1\nfile = "ops.py"\nneeds = ["depth"]\n'
    )
    needed = needed.replace('title_zh = "Squares"\n', 'title_zh = "Squares"\npoints = 3\nfile = "ops.py"\n')
    assert 'slug = "depth"' in assignment_text(needed, read(needed))


def test_what_cannot_be_cut_line_by_line_is_copied() -> None:
    """Items may be written as a list of inline tables."""
    inline = HEAD + LIGHT.replace(
        LIGHT[LIGHT.index("\n[[parts.items]]") :],
        'items = [{slug = "square", title = "S", title_zh = "S", points = 1, file = "ops.py"},\n'
        '{slug = "depth", title = "D", title_zh = "D", points = 1, file = "deep.py", off = true}]\n',
    )
    assert assignment_text(inline, read(inline)) == inline


def test_pins_are_without_remarks_and_without_torch() -> None:
    """One line says what the file is for."""
    text = "# made by a command\n#   uv pip\nnumpy==2\ntorch==2.13.0\n"
    assert pins(text, read(ON)).splitlines()[1:] == ["numpy==2", "torch==2.13.0"]
    assert pins(text, read(OFF)).splitlines()[1:] == ["numpy==2"]


def test_setup_installs_torch_only_where_a_part_needs_it() -> None:
    """The marks themselves do not travel."""
    assert setup_text(SETUP, read(ON)) == 'say "one"\ninstall_torch\nsay "two"\n'
    assert setup_text(SETUP, read(OFF)) == 'say "one"\nsay "two"\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# BEGIN PYTORCH\n", "no # END PYTORCH at the end"),
        ("# END PYTORCH\n", "setup.sh:1: # END PYTORCH inside another, or without a beginning"),
        ("# BEGIN PYTORCH\n# BEGIN PYTORCH\n", "setup.sh:2: # BEGIN PYTORCH inside another, or without a beginning"),
    ],
    ids=["open", "closed-only", "nested"],
)
def test_wrong_marks_are_refused(text: str, problem: str) -> None:
    """With the line."""
    with pytest.raises(InputError, match=problem):
        setup_text(text, read(ON))


WORDS = """# Words.

[titles]
# test_ops.py
"Squares." = "平方。"
# test_deep.py
'The "root".' = "根。"

[whats]
"the square of {n}" = "{n} 的平方"
"the root of {n}" = "{n} 的根"

[raised]
"{error}: no root" = "{error}：没有根"
"""


def test_words_of_tests_that_are_left() -> None:
    """An entry goes when no test says it any more, and the name of a file that has gone; what is raised stays."""
    tests = {"test_ops.py": '"""Squares."""\nf"the square of {3}"\n', "test_deep.py": "'The \"root\".', 'the root of '"}
    assert words_text(WORDS, tests) == WORDS
    del tests["test_deep.py"]
    left = words_text(WORDS, tests)
    gone = ["# test_deep.py", '\'The "root".\' = "根。"', '"the root of {n}" = "{n} 的根"']
    assert left.splitlines() == [line for line in WORDS.splitlines() if line not in gone]

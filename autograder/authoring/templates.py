"""The texts that ``scaffold`` fills in. What an author has to write says TODO.

Nothing unfinished may look finished: a ``TODO`` that stands where Python wants a value is a name that nobody defines,
and an entry of the catalogue is refused while its ``old`` and ``new`` are the same or a hint is empty.
"""

from __future__ import annotations

ITEM = """
[[parts.items]]
slug = {slug}
title = {title}
title_zh = {title_zh}
points = {points}
file = {file}
"""

SOLUTION_FILE = '''"""TODO: what this file is about, in a line."""

from __future__ import annotations
'''

SOLUTION = '''def {function}({arguments}):
    """TODO: what it returns, in a line.

    Args:
        TODO: each argument, and what it may be.

    Returns:
        TODO: type, shape, and what happens at the edges.
    """
    # BEGIN SOLUTION {slug}
    raise NotImplementedError("TODO: the solution of {slug}")
    # END SOLUTION
'''

PUBLIC_FILE = '"""Tests of {package}/{file}."""\n'

PUBLIC_TEST = '''@item("{slug}")
def test_{slug}_by_hand(student, check):
    """TODO: what must be true, in the line that a student reads when it is not."""
    got = student.{module}.{function}(TODO)
    check.equal(got, TODO, "TODO: what is compared")
'''

HIDDEN_FILE = '"""Hidden tests of {package}/{file}."""\n'

HIDDEN_TEST = '''@item("{slug}")
@weight(2)
def test_{slug}_on_random_input(student, reference, rng, check):
    """TODO: what must be true, in the line that a student reads when it is not."""
    x = rng.normal(size=TODO)
    check.close(student.{module}.{function}(x), reference.{module}.{function}(x), "TODO: what is compared")
'''

MISTAKE = """# TODO: make new a way in which students get this wrong; cut old down to the whole lines that change.
# The audit refuses this file while old and new are the same text, or a hint or the source is empty.
id = {id}
base = "solutions"
function = {function}
old = {old}
new = {new}
items = [{slug}]
# TODO: the hints name the idea, not the fix; items are all that lose points; source is where the mistake is known from.
hint = ""
hint_zh = ""
source = ""
"""

ALTERNATIVE = """# TODO: how it is written, in a line; cut old down to the whole lines that change, make new right too.
# The audit refuses this file while old and new are the same text.
id = {id}
base = "solutions"
function = {function}
old = {old}
new = {new}
"""

SECTION = """## {title} <!-- item {slug} -->

TODO: the idea of `{function}`, what goes wrong easily, and nothing that its docstring says already.
"""

SECTION_ZH = """## {title} <!-- item {slug} -->

TODO：说明 `{function}` 的思路和容易出错的地方；文档字符串里已经写明的不必重复。
"""

"""A whole assignment in a few lines, for tests of the builder: two items, one given file, two hidden tests."""

from __future__ import annotations

from pathlib import Path

SQUARE = "result = number_to_square * number_to_square"
CUBE = "return number_to_cube**2 * number_to_cube"
HIDDEN = 'check.equal(student.ops.square(-1234567), 1524155677489, "the square")'

FILES = {
    "assignment.toml": """
[assignment]
title = "Powers"
title_zh = "幂"
version = "7.1"
package = "toy"

[files]
"ops.py" = 10
"more.py" = 10

[[parts]]
slug = "powers"
number = "1"
title = "Powers"
title_zh = "幂"

[[parts.items]]
slug = "square"
title = "Squares"
title_zh = "平方"
points = 3
file = "ops.py"

[[parts.items]]
slug = "cube"
title = "Cubes"
title_zh = "立方"
points = 1.5
file = "more.py"
""",
    "constraints.txt": "numpy==2.2.6\n",
    "requirements.txt": "numpy\nmsgspec\n",
    "requirements-student.txt": "numpy\n",
    "requirements-torch.txt": "torch\n",
    "setup.sh": "#!/bin/sh\n",
    "run_autograder": "#!/bin/sh\n",
    "autograder/__init__.py": '__version__ = "0"\n',
    "autograder/entry.py": "import json\n",
    "autograder/feedback/__init__.py": "",
    "autograder/feedback/checks.py": "def relative(got, expected):\n    return abs(got - expected) / abs(expected)\n",
    "solutions/toy/__init__.py": '"""Powers."""\n',
    "solutions/toy/given.py": "def is_a_number(value):\n    return isinstance(value, (int, float, complex))\n",
    "solutions/toy/ops.py": f'''"""Squares."""


def square(number_to_square):
    """The number times itself."""
    # BEGIN SOLUTION square
    {SQUARE}
    return result
    # END SOLUTION
''',
    "solutions/toy/more.py": f'''"""Cubes."""


def cube(number_to_cube):
    """The number times its square."""
    # BEGIN SOLUTION cube
    {CUBE}
    # END SOLUTION
''',
    "solutions/kit/README.md": "# Powers\n",
    "solutions/kit/LICENSE": "MIT\n",
    "solutions/kit/.gitignore": ".venv/\n",
    "solutions/kit/.vscode/settings.json": "{}\n",
    "solutions/writeup/1-powers.md": "# Powers <!-- part powers -->\n\n## Cubes <!-- item cube -->\n\nThree times.\n",
    "tests/public/test_ops.py": '''"""Public."""


@item("square")
def test_square(student, check):
    """Three squared is nine."""
    check.equal(student.ops.square(3), 9, "the square")
''',
    "tests/public/test_more.py": '''"""Public."""


@item("cube")
def test_cube(student, check):
    """Two cubed is eight."""
    check.equal(student.more.cube(2), 8, "the cube")
''',
    "tests/hidden/test_ops.py": f'''"""Hidden."""


@item("square")
def test_of_a_negative(student, check):
    """Minus a million and a bit."""
    {HIDDEN}
''',
    "tests/mistakes/square/doubles.toml": """
id = "doubles"
base = "solutions"
function = "ops.square"
old = '''result = number_to_square * number_to_square'''
new = '''result = number_to_square + number_to_square'''
items = ["square"]
hint = "Twice a number is not its square."
hint_zh = "一个数的两倍不是它的平方，这是两回事，请再看一遍定义。"
source = "observed"
""",
    "tests/alternatives/cube/power.toml": """
id = "power"
base = "solutions"
[[changes]]
function = "more.cube"
old = ''
new = '''return pow(number_to_cube, len("abc"))'''
""",
}

HANDOUT = [
    ".gitignore",
    ".vscode/settings.json",
    "LICENSE",
    "README.md",
    "assignment.toml",
    "autograder/__init__.py",
    "autograder/feedback/__init__.py",
    "autograder/feedback/checks.py",
    "constraints.txt",
    "requirements.txt",
    "tests/facts.json",
    "tests/test_more.py",
    "tests/test_ops.py",
    "toy/__init__.py",
    "toy/given.py",
    "toy/more.py",
    "toy/ops.py",
    "writeup/1-powers.md",
]

AUTOGRADER = [
    "assignment.toml",
    "autograder/__init__.py",
    "autograder/entry.py",
    "autograder/feedback/__init__.py",
    "autograder/feedback/checks.py",
    "constraints.txt",
    "requirements.txt",
    "run_autograder",
    "secret",
    "setup.sh",
    "solutions/toy/__init__.py",
    "solutions/toy/given.py",
    "solutions/toy/more.py",
    "solutions/toy/ops.py",
    "tests/hidden/test_ops.py",
    "tests/public/test_more.py",
    "tests/public/test_ops.py",
]


def write(root: Path, files: dict[str, str] = FILES) -> Path:
    """Put files into a folder, in their order; returns the folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return root


def edit(root: Path, name: str, old: str, new: str) -> None:
    """Replace text that occurs in a file."""
    text = (root / name).read_text(encoding="utf-8")
    assert old in text
    (root / name).write_text(text.replace(old, new), encoding="utf-8", newline="\n")

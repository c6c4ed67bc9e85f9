"""autograder/leaks.py through the builder: each planted leak stops the build, and names file and line."""

from __future__ import annotations

import base64

import pytest

from autograder.build import build, drift
from autograder.feedback.errors import InputError
from tests.staff import toy


@pytest.fixture
def root(tmp_path):
    """The toy assignment in a folder of its own."""
    return toy.write(tmp_path / "root")


def append(root, name, text):
    """Add lines to the end of a file."""
    with (root / name).open("a", encoding="utf-8", newline="\n") as file:
        file.write(text)


PLANTED = {
    "solution_in_a_public_test": (
        "tests/public/test_ops.py",
        f"\n\ndef expected(number_to_square):\n    {toy.SQUARE}\n    return result\n",
        r"tests/test_ops\.py:11 repeats the solution at solutions/toy/ops\.py:7",
    ),
    "solution_in_a_comment_of_a_stub": (
        "solutions/toy/ops.py",
        f"    # {toy.SQUARE}\n",
        r"toy/ops\.py:8 repeats the solution at solutions/toy/ops\.py:7",
    ),
    "solution_in_a_docstring_of_given_code": (
        "solutions/toy/given.py",
        f'\n\ndef f():\n    """Try\n\n    {toy.SQUARE}\n    """\n',
        r"toy/given\.py:8 repeats the solution",
    ),
    "solution_with_other_white_space_inside_a_line": (
        "solutions/writeup/1-powers.md",
        f"The answer: `{toy.CUBE.replace(' ', '   ')}`, of course.\n",
        r"writeup/1-powers\.md:6 repeats the solution at solutions/toy/more\.py:7",
    ),
    "solution_in_the_kit": ("solutions/kit/README.md", toy.CUBE + "\n", r"README\.md:2 repeats the solution"),
    "solution_in_the_assignment": ("assignment.toml", f"# {toy.CUBE}\n", r"assignment\.toml:\d+ repeats the solution"),
    "hidden_line_in_the_writeup": (
        "solutions/writeup/1-powers.md",
        f"    {toy.HIDDEN}\n",
        r"writeup/1-powers\.md:6 repeats the hidden test at tests/hidden/test_ops\.py:7",
    ),
    "hidden_name_in_the_kit": (
        "solutions/kit/README.md",
        "See test_of_a_negative.\n",
        r"README\.md:2 repeats the hidden test at tests/hidden/test_ops\.py:5",
    ),
    "mistake_in_the_writeup": (
        "solutions/writeup/1-powers.md",
        "    result = number_to_square + number_to_square\n",
        r"repeats the catalogue at tests/mistakes/square/doubles\.toml:6",
    ),
    "hint_in_a_public_test": (
        "tests/public/test_ops.py",
        "\n# Twice a number is not its square.\n",
        r"tests/test_ops\.py:9 repeats the catalogue at tests/mistakes/square/doubles\.toml:8",
    ),
    "chinese_hint": (
        "solutions/kit/README.md",
        "一个数的两倍不是它的平方，这是两回事，请再看一遍定义。\n",
        r"README\.md:2 repeats the catalogue at tests/mistakes/square/doubles\.toml:9",
    ),
    "alternative_in_given_docs": (
        "autograder/feedback/checks.py",
        '# return pow(number_to_cube, len("abc"))\n',
        r"autograder/feedback/checks\.py:3 repeats the catalogue at tests/alternatives/cube/power\.toml:7",
    ),
    "development_secret": (
        "solutions/kit/README.md",
        "\nthe development secret: not for a term\n",
        r"README\.md:3 holds the secret",
    ),
}


@pytest.mark.parametrize("case", PLANTED, ids=str)
def test_a_planted_leak_stops_the_build(case, root):
    """In any file of the handout, in code, comments and prose, and for `--check` too."""
    name, text, place = PLANTED[case]
    append(root, name, text)
    for run in (lambda: build(root, root / "dist"), lambda: drift(root)):
        with pytest.raises(InputError, match="leak in the handout: .*" + place) as refused:
            run()
        assert "\n" not in str(refused.value)
    assert not (root / "handout").exists()
    assert not (root / "dist").exists()


def test_the_secret_of_a_term_stops_the_build(root):
    """Also where it stands in a longer line."""
    append(root, "solutions/kit/README.md", "x0123456789abcdef0123x\n")
    build(root, root / "dist")
    with pytest.raises(InputError, match=r"README\.md:2 holds the secret"):
        build(root, root / "dist", b"0123456789abcdef0123\n")


def test_a_copy_of_a_hidden_file_stops_the_build(root):
    """Whatever it is called, and whether it is text or not."""
    picture = base64.b64decode("iVBORw0KGgo=") + bytes(range(256))
    for name in ("tests/hidden/a.npz", "solutions/toy/b.npz"):
        (root / name).write_bytes(picture)
    with pytest.raises(InputError, match=r"toy/b\.npz is a copy of tests/hidden/a\.npz"):
        build(root, root / "dist")


def test_several_leaks_are_counted(root):
    """The first is named, so that the message stays one line."""
    append(root, "solutions/kit/README.md", f"{toy.CUBE}\n{toy.HIDDEN}\n")
    with pytest.raises(InputError, match=r"\(and 1 more\)$"):
        build(root, root / "dist")


def test_lines_that_also_stand_in_given_code_are_listed(root):
    """A coincidence is no leak, but staff see it."""
    append(root, "solutions/toy/given.py", f"\n\ndef f(number_to_cube):\n    {toy.CUBE}\n")
    built = build(root, root / "dist")
    assert built.shared == (f"solutions/toy/more.py:7 also stands in given code, toy/given.py:6: {toy.CUBE}",)
    assert build(toy.write(root / "clean"), root / "dist").shared == ()


def test_a_copy_of_a_whole_solution_is_no_coincidence(root):
    """A stray old version of a student's file would pass for given code, line by line."""
    body = "".join(f"    step_number_{n} = number_to_cube * {n}00\n" for n in range(3))
    toy.edit(root, "solutions/toy/more.py", f"    {toy.CUBE}\n", body)
    append(root, "solutions/toy/given.py", f"\n\ndef f(number_to_cube):\n{body}")
    with pytest.raises(InputError, match=r"given code holds the whole solution at solutions/toy/more\.py:7"):
        build(root, root / "dist")


def test_short_lines_and_parts_of_longer_names_say_nothing(root):
    """Twenty characters, or a name that only begins like it."""
    toy.edit(root, "solutions/toy/ops.py", "return result\n", "return result + 1234\n")
    append(root, "solutions/kit/README.md", f"return result + 1234\n{toy.SQUARE}_root\n")
    assert len("return result + 1234") == 20
    build(root, root / "dist")
    toy.edit(root, "solutions/toy/ops.py", "1234", "12345")
    toy.edit(root, "solutions/kit/README.md", "1234", "12345")
    with pytest.raises(InputError, match=r"README\.md:2 repeats the solution at solutions/toy/ops\.py:8"):
        build(root, root / "dist")


def test_public_tests_may_share_lines_and_names_with_hidden_ones(root):
    """Both test the same properties."""
    for folder in ("public", "hidden"):
        append(
            root, f"tests/{folder}/test_ops.py", '\n\ndef test_zero(student, check):\n    """Zero squared is zero."""\n'
        )
    build(root, root / "dist")


def test_an_entry_that_is_no_toml_is_named(root):
    """It cannot be searched for, so nothing is built."""
    append(root, "tests/mistakes/square/doubles.toml", "old = [\n")
    with pytest.raises(InputError, match=r"tests/mistakes/square/doubles\.toml: "):
        build(root, root / "dist")

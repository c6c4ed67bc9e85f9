"""autograder/variants.py: each secret picks a text, and everything that is made with it holds that one and no other."""

from __future__ import annotations

import zipfile

import pytest

from autograder import variants
from autograder.build import autograder_members, build, drift, handout_members, package_members, submission_members
from autograder.feedback.assignment import load_assignment
from autograder.feedback.errors import InputError
from autograder.secret import DEVELOPMENT
from autograder.variants import Group, choose, home_of, load_variants
from tests.staff import toy

COLOURS = Group("colour", (("a red box", "a red hat"), ("a blue box",), ("one green box", "one", "  green hat")))
HELD = COLOURS.pick(DEVELOPMENT)
SECRETS = {COLOURS.pick(secret): secret for secret in (b"a term's secret %d" % i for i in range(50))}
TOML = "[colour]\nchoices = [" + ", ".join(f"'''\n{chr(10).join(text)}\n'''" for text in COLOURS.choices) + "]\n"


def block(choice: int, indent: str = "") -> str:
    """The text of a choice, indented."""
    return "".join(f"{indent}{line}\n" for line in COLOURS.choices[choice])


def ops(choice: int) -> str:
    """The file with a solution, in which the text stands three times."""
    text = f'BOXES = """\n{block(choice)}"""\n\n'
    docstring = f"    The number times itself.\n\n{block(choice, '        ')}\n    Or:\n\n{block(choice, '    ')}"
    source = toy.FILES["solutions/toy/ops.py"].replace(
        '    """The number times itself."""\n', f'    """\n{docstring}    """\n'
    )
    return source.replace("def square", f"{text}\ndef square")


@pytest.fixture
def root(tmp_path):
    """The toy assignment with a group of three texts."""
    files = {"solutions/variants.toml": TOML, "solutions/toy/ops.py": ops(HELD)}
    return toy.write(tmp_path / "root", {**toy.FILES, **files})


def test_every_choice_is_picked_by_some_secret():
    """And always the same one by the same secret, with or without a line end behind it."""
    assert set(SECRETS) == {0, 1, 2}
    for choice, secret in SECRETS.items():
        assert COLOURS.pick(secret + b"\n") == choice
    names = {Group(f"group {i}", COLOURS.choices).pick(b"one secret") for i in range(20)}
    assert len(names) == 3


@pytest.mark.parametrize("choice", [0, 1, 2], ids=["red", "blue", "green"])
def test_everything_that_is_made_holds_the_choice(root, tmp_path, choice):
    """Handout, both zips and both samples, wherever the text stands, behind its own indentation."""
    built = build(root, tmp_path / "dist", SECRETS[choice])
    names = {"handout.zip": "handout/toy/ops.py", "autograder.zip": "solutions/toy/ops.py"}
    for name in ("handout.zip", "autograder.zip", "sample-solved.zip", "sample-blank.zip"):
        with zipfile.ZipFile(tmp_path / "dist" / name) as opened:
            source = opened.read(names.get(name, "ops.py")).decode()
            everything = b"\n".join(opened.read(member) for member in opened.namelist()).decode()
            assert not [member for member in opened.namelist() if "variants.toml" in member]
        assert source.count(block(choice, "        ")) == 1
        assert f'"""\n{block(choice)}"""' in source
        assert f"Or:\n\n{block(choice, '    ')}" in source
        for other in {0, 1, 2} - {choice}:
            assert COLOURS.choices[other][0] not in everything
    assert (root / "handout/toy/ops.py").read_text(encoding="utf-8") == package_members(
        root, load_assignment(root / "assignment.toml"), (), SECRETS[choice]
    )["toy/ops.py"].content.decode()
    assert bool([note for note in built.notes if "do not commit" in note]) == (choice != HELD)


def test_without_a_secret_nothing_changes(root):
    """The development secret's choice is what the sources hold; --check compares with that one."""
    assignment = load_assignment(root / "assignment.toml")
    assert package_members(root, assignment, None)["toy/ops.py"].content.decode().count("BEGIN") == 0
    members = autograder_members(root, assignment)
    assert members["solutions/toy/ops.py"].content.decode() == ops(HELD)
    assert submission_members(root, assignment)["ops.py"] == handout_members(root, assignment)["toy/ops.py"]
    build(root, root / "dist")
    assert drift(root) == []
    build(root, root / "dist", SECRETS[(HELD + 1) % 3])
    assert drift(root) == ["handout/tests/facts.json: differs", "handout/toy/ops.py: differs"]


def test_an_unpacked_zip_is_left_alone(root, tmp_path):
    """It has no variants.toml: its package was chosen when it was built."""
    assignment = load_assignment(root / "assignment.toml")
    secret = SECRETS[(HELD + 1) % 3]
    for name, member in autograder_members(root, assignment, secret).items():
        toy.write(tmp_path / "zip", {name: member.content.decode()})
    before = (tmp_path / "zip/solutions/toy/ops.py").read_bytes()
    assert package_members(tmp_path / "zip", assignment, None, secret)["toy/ops.py"].content.count(b"box") > 0
    with home_of(tmp_path / "zip", assignment, secret) as home:
        assert home == tmp_path / "zip"
        assert (home / "solutions/toy/ops.py").read_bytes() == before


def test_grading_from_a_repository_reads_the_choice_of_its_secret(root):
    """A copy that nobody else can read, gone afterwards; the repository itself where the choice is its own."""
    assignment = load_assignment(root / "assignment.toml")
    with home_of(root, assignment, DEVELOPMENT) as home:
        assert home == root
    choice = (HELD + 1) % 3
    with home_of(root, assignment, SECRETS[choice]) as home:
        assert home != root
        assert home.stat().st_mode & 0o077 == 0
        assert (home / "solutions/toy/ops.py").read_text(encoding="utf-8") == ops(choice)
        for name in (
            "assignment.toml",
            "solutions/toy/given.py",
            "tests/public/test_ops.py",
            "tests/hidden/test_ops.py",
        ):
            assert (home / name).read_bytes() == (root / name).read_bytes()
        assert not (home / "tests/mistakes").exists()
    assert not home.exists()


def test_a_leak_is_found_in_what_a_secret_makes(root, tmp_path):
    """The line of the solution is looked for in the handout of the same choice."""
    toy.edit(root, "solutions/kit/README.md", "# Powers", f"# Powers\n\n{toy.SQUARE}")
    with pytest.raises(InputError, match=r"README\.md:3 repeats the solution at solutions/toy/ops\.py"):
        build(root, tmp_path / "dist", SECRETS[(HELD + 1) % 3])


REFUSED = {
    "another_choice": (
        lambda root: toy.write(root, {"solutions/toy/ops.py": ops((HELD + 1) % 3)}),
        rf"solutions/toy/ops\.py:5 holds choice {(HELD + 1) % 3 + 1} of 'colour' in solutions/variants\.toml, but the "
        rf"development secret picks choice {HELD + 1}: put that text in its place",
    ),
    "another_choice_too": (
        lambda root: toy.write(root, {"solutions/toy/given.py": f'TEXT = """\n{block((HELD + 2) % 3)}"""\n'}),
        rf"solutions/toy/given\.py:2 holds choice {(HELD + 2) % 3 + 1}",
    ),
    "no_choice": (
        lambda root: toy.write(root, {"solutions/toy/ops.py": toy.FILES["solutions/toy/ops.py"]}),
        rf"no file of the package holds choice {HELD + 1} of 'colour'",
    ),
    "in_a_page": (
        lambda root: toy.edit(root, "solutions/kit/README.md", "# Powers\n", f"# Powers\n\n{block(HELD, '    ')}"),
        r"README\.md:3 prints a choice of 'colour'",
    ),
    "one_choice": (
        lambda root: toy.write(root, {"solutions/variants.toml": "[colour]\nchoices = ['red']\n"}),
        "colour needs choices",
    ),
    "no_table": (lambda root: toy.write(root, {"solutions/variants.toml": "colour = 1\n"}), "colour needs choices"),
    "more_keys": (
        lambda root: toy.write(root, {"solutions/variants.toml": TOML + "choice = 1\n"}),
        "colour needs choices",
    ),
    "a_number": (
        lambda root: toy.write(root, {"solutions/variants.toml": "[colour]\nchoices = ['red', 1]\n"}),
        "colour needs choices",
    ),
    "a_part_of_another": (
        lambda root: toy.write(
            root, {"solutions/variants.toml": "[colour]\nchoices = ['red', 'blue\\nred']\n".replace("'", '"')}
        ),
        "choice 1 is a part of choice 2",
    ),
    "the_same_twice": (
        lambda root: toy.write(root, {"solutions/variants.toml": "[colour]\nchoices = ['red', 'red']\n"}),
        "choice 1 is a part of choice 2",
    ),
    "a_blank_line": (
        lambda root: toy.write(root, {"solutions/variants.toml": "[colour]\nchoices = ['red', '''a\n\nb''']\n"}),
        "choice 2 has a blank line",
    ),
    "no_toml": (lambda root: toy.write(root, {"solutions/variants.toml": "["}), r"solutions/variants\.toml: "),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(root, tmp_path, case):
    """With one line, and before anything is written."""
    change, message = REFUSED[case]
    change(root)
    with pytest.raises(InputError, match=message) as refused:
        build(root, tmp_path / "dist")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "dist").exists()
    assert not (root / "handout").exists()


def test_whole_lines_only():
    """A longer line that holds the text is not the text, nor are its lines behind different indentations."""
    groups = (Group("pair", (("a b", "c"), ("d e", "f"))),)
    held, other = (groups[0].choices[i] for i in (groups[0].pick(DEVELOPMENT), 1 - groups[0].pick(DEVELOPMENT)))
    secret = next(s for s in (b"secret %d" % i for i in range(50)) if groups[0].pick(s) != groups[0].pick(DEVELOPMENT))
    near = f"x {held[0]}\n{held[1]}\n\n  {held[0]}\n {held[1]}\n"
    exact = f"\t{held[0]}\n\t{held[1]}\n"
    got = choose({"lm/a.py": (near + exact).encode()}, groups, secret)["lm/a.py"].decode()
    assert got == f"{near}\t{other[0]}\n\t{other[1]}\n"


def test_two_groups_are_picked_apart():
    """One secret picks each of them by its name, and both stand in one file."""
    groups = tuple(Group(name, ((f"{name} one",), (f"{name} two", "more"))) for name in ("left", "right"))
    source = "\n".join(line for group in groups for line in group.choices[group.pick(DEVELOPMENT)])
    seen = {choose({"lm/a.py": source.encode()}, groups, b"secret %d" % i)["lm/a.py"] for i in range(40)}
    assert len(seen) == 4


def test_files_that_are_no_python_pass_through():
    """Bytes of an archive are not text."""
    held = COLOURS.choices[HELD]
    files = {"lm/a.npz": b"\xff\x00", "lm/a.py": "\n".join(held).encode()}
    assert choose(files, (COLOURS,), SECRETS[(HELD + 1) % 3])["lm/a.npz"] == b"\xff\x00"


def test_no_file_no_groups(tmp_path):
    """Most assignments have none."""
    assert load_variants(tmp_path) == ()
    assert variants.choose({"lm/a.py": b"x = 1"}, ()) == {"lm/a.py": b"x = 1"}

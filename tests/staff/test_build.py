"""autograder/build.py: what is in the handout and in the zip, the same bytes every time, and nothing by accident."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from autograder.archive import write_tree
from autograder.build import (
    autograder_members,
    build,
    drift,
    experiment_members,
    handout_members,
    package_members,
    submission_members,
)
from autograder.cli.printing import print_built
from autograder.feedback.assignment import load_assignment, read_assignment
from autograder.feedback.errors import InputError
from autograder.secret import DEVELOPMENT, secret_of
from autograder.strip import stamp_of
from tests.staff import toy

ROOT = Path(__file__).resolve().parents[2]
ZIPS = ["autograder.zip", "handout.zip", "sample-blank.zip", "sample-solved.zip"]
TERM = b"0123456789abcdef0123456789abcdef\n"


@pytest.fixture
def root(tmp_path):
    """The toy assignment in a folder of its own."""
    return toy.write(tmp_path / "root")


def members_of(path: Path) -> list[str]:
    """The names in a zip."""
    with zipfile.ZipFile(path) as opened:
        return opened.namelist()


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and bytes of every file."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): (stat.S_IMODE(path.stat().st_mode), path.read_bytes()) for path in files}


def test_two_builds_give_the_same_bytes(tmp_path, monkeypatch):
    """In two folders with files made in another order, with other times, umasks and time zones, and caches in them."""
    results = []
    for name, umask, zone, order in (("one", 0o022, "UTC", 1), ("two", 0o077, "Asia/Kathmandu", -1)):
        monkeypatch.setenv("TZ", zone)
        if hasattr(time, "tzset"):
            time.tzset()
        before = os.umask(umask)
        try:
            root = toy.write(tmp_path / name, dict(list(toy.FILES.items())[::order]))
            if name == "two":
                junk = ["solutions/toy/__pycache__/ops.pyc", "tests/public/.DS_Store", "solutions/kit/._README.md"]
                toy.write(root, dict.fromkeys([*junk, "autograder/__pycache__/x.pyc", "handout/stale.py"], "junk"))
                for path in root.rglob("*"):
                    os.utime(path, (1, 1))  # in 1970, before any zip can say
            build(root, root / "dist")
        finally:
            os.umask(before)
        results.append({**everything(root / "dist"), **everything(root / "handout")})
    assert results[0] == results[1]
    assert sorted(results[0]) == sorted([*ZIPS, *toy.HANDOUT])


def test_the_handout_holds_exactly_this(root):
    """The folder and the zip, which wraps it."""
    built = build(root, root / "dist")
    assert sorted(everything(root / "handout")) == toy.HANDOUT
    assert members_of(root / "dist" / "handout.zip") == [f"handout/{name}" for name in toy.HANDOUT]
    assert (built.handout_files, built.handout_zip.files) == (len(toy.HANDOUT), len(toy.HANDOUT))
    assert (root / "handout" / "requirements.txt").read_text() == "numpy\n"


def test_the_autograder_zip_holds_exactly_this(root):
    """With the two scripts at its root, executable, and the secret for nobody else."""
    build(root, root / "dist")
    with zipfile.ZipFile(root / "dist" / "autograder.zip") as opened:
        modes = {entry.filename: stat.S_IMODE(entry.external_attr >> 16) for entry in opened.infolist()}
    assert list(modes) == toy.AUTOGRADER
    assert {name: mode for name, mode in modes.items() if mode != 0o644} == {
        "run_autograder": 0o755,
        "secret": 0o600,
        "setup.sh": 0o755,
    }


def test_samples_hold_submission_files_and_expect_their_scores(root):
    """All points for the solutions, none for the stubs."""
    built = build(root, root / "dist")
    assert members_of(built.solved.artifact.path) == members_of(built.blank.artifact.path) == ["more.py", "ops.py"]
    assert (built.solved.score, built.solved.points) == (4.5, 4.5)
    assert (built.blank.score, built.blank.points) == (0, 4.5)
    assert (built.items, built.stubs) == (2, 2)


WEIGHTS = bytes(range(256))
TRAINED = """
[[parts.items]]
slug = "trained"
title = "Trained"
title_zh = "训练"
points = 1
file = "weights.npz"
"""


@pytest.fixture
def with_weights(root):
    """The toy assignment with a submission file that is not Python."""
    toy.edit(root, "assignment.toml", '"more.py" = 10\n', '"more.py" = 10\n"weights.npz" = 10\n')
    path = root / "assignment.toml"
    path.write_text(path.read_text(encoding="utf-8") + TRAINED, encoding="utf-8")
    (root / "solutions/toy/weights.npz").write_bytes(WEIGHTS)
    return root


def test_a_file_that_is_not_python_has_no_stub(with_weights):
    """It is in the solved sample and in the zip, and in neither the handout nor the blank sample."""
    built = build(with_weights, with_weights / "dist")
    assert members_of(built.solved.artifact.path) == ["more.py", "ops.py", "weights.npz"]
    assert members_of(built.blank.artifact.path) == ["more.py", "ops.py"]
    assert not [name for name in members_of(built.handout_zip.path) if "weights" in name]
    assert "solutions/toy/weights.npz" in members_of(built.autograder_zip.path)
    assert built.solved.score == 5.5
    assert built.stubs == 2


def test_a_file_that_is_not_python_goes_with_its_item(with_weights):
    """It is in the package when the item is solved, and never when it is switched off."""
    assignment = load_assignment(with_weights / "assignment.toml")
    for keep, there in ((("trained",), True), (("square",), False), (None, True), ((), False)):
        assert ("toy/weights.npz" in package_members(with_weights, assignment, keep)) is there
    toy.edit(with_weights, "assignment.toml", 'slug = "trained"\n', 'slug = "trained"\noff = true\n')
    assignment = load_assignment(with_weights / "assignment.toml")
    assert "toy/weights.npz" not in package_members(with_weights, assignment, None)


def test_a_file_that_is_not_python_must_be_there_and_must_not_leak(with_weights):
    """Under whatever name it stands in the handout."""
    (with_weights / "solutions/kit/example.npz").write_bytes(WEIGHTS)
    with pytest.raises(InputError, match=r"example\.npz is a copy of solutions/toy/weights\.npz"):
        build(with_weights, with_weights / "dist")
    (with_weights / "solutions/toy/weights.npz").unlink()
    with pytest.raises(InputError, match=r"solutions/toy/weights\.npz is missing"):
        build(with_weights, with_weights / "dist")


def test_bonus_and_waived_items_count_in_the_expected_scores(root):
    """A bonus adds to what the solutions get; what is waived, the stubs get too."""
    toy.edit(root, "assignment.toml", "points = 3\n", "points = 3\nwaived = true\n")
    toy.edit(root, "assignment.toml", "points = 1.5\n", "points = 1.5\nbonus = true\n")
    built = build(root, root / "dist")
    assert (built.solved.score, built.solved.points) == (4.5, 3)
    assert (built.blank.score, built.blank.points) == (3, 3)


def test_what_is_printed_ends_with_the_steps_on_the_platform(root, capsys, monkeypatch):
    """What to upload, what each sample must get, and what the assignment has to be worth there."""
    toy.edit(root, "assignment.toml", "points = 1.5\n", "points = 1.5\nbonus = true\n")
    monkeypatch.chdir(root)
    print_built(build(root, Path("dist"), TERM))
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "assignment  2 items, 3 points and a bonus of 1.5, version 7.1"
    assert [line[:6] for line in printed[-7:]] == ["next: ", *["      "] * 6]
    assert [line[7:] for line in printed[-7:]] == [
        "1. Gradescope: make a Programming Assignment of 3 points; the bonus comes on top",
        "2. its Settings: let a run take 10 minutes or more",
        "3. its Configure Autograder: upload dist/autograder.zip, and wait until the image is built",
        "4. Test Autograder: upload dist/sample-solved.zip, expect 4.5/3",
        "5. Test Autograder: upload dist/sample-blank.zip, expect 0/3",
        "6. see it as students will: autograder preview dist/handout.zip",
        "7. give dist/handout.zip to students",
    ]


def test_a_build_says_whether_anything_changed(root):
    """By the bytes that stood there before."""
    first = build(root, root / "dist")
    assert (first.handout_same, first.handout_zip.same, first.autograder_zip.same) == (False, False, False)
    second = build(root, root / "dist")
    assert second.handout_same
    assert second.handout_zip.same
    assert second.autograder_zip.sha256 == first.autograder_zip.sha256
    toy.edit(root, "autograder/entry.py", "json", "math")
    third = build(root, root / "dist")
    assert third.handout_same
    assert not third.autograder_zip.same


def test_a_build_for_development_says_so(root):
    """It must not be used for a term; one with a secret may."""
    built = build(root, root / "dist")
    assert [note for note in built.notes if "not for a term" in note]
    write_tree(root / "unpacked", autograder_members(root, load_assignment(root / "assignment.toml")))
    assert secret_of(root / "unpacked") == DEVELOPMENT
    assert build(root, root / "dist", TERM).notes == ()
    write_tree(root / "unpacked", autograder_members(root, load_assignment(root / "assignment.toml"), TERM))
    assert secret_of(root / "unpacked") == TERM.strip()


def test_a_secret_changes_nothing_that_students_get(root):
    """Handout and samples are the same in every term."""
    build(root, root / "one")
    before = everything(root / "handout")
    build(root, root / "two", TERM)
    assert everything(root / "handout") == before
    same = {name for name in ZIPS if (root / "one" / name).read_bytes() == (root / "two" / name).read_bytes()}
    assert same == set(ZIPS) - {"autograder.zip"}


def test_a_short_secret_is_refused(root):
    """And nothing is written."""
    with pytest.raises(InputError, match="a secret needs 16 bytes"):
        build(root, root / "dist", b"   short        \n\n")
    assert not (root / "dist").exists()


def test_stubs_carry_the_version_and_name_their_item(root):
    """The grader can tell when a student's stubs are older."""
    assignment = load_assignment(root / "assignment.toml")
    package = package_members(root, assignment)
    source = package["toy/ops.py"].content.decode()
    assert stamp_of(source) == "7.1"
    assert 'raise NotImplementedError("square: square")' in source
    assert toy.SQUARE not in source
    assert package["toy/given.py"].content.decode() == toy.FILES["solutions/toy/given.py"]


def test_a_package_can_be_solved_in_part_or_whole(root):
    """keep names what is solved; None is everything."""
    assignment = load_assignment(root / "assignment.toml")
    one = package_members(root, assignment, {"cube"})
    assert toy.CUBE in one["toy/more.py"].content.decode()
    assert toy.SQUARE not in one["toy/ops.py"].content.decode()
    whole = submission_members(root, assignment, None)
    assert sorted(whole) == ["more.py", "ops.py"]
    assert toy.SQUARE in whole["ops.py"].content.decode()
    assert "SOLUTION" not in whole["ops.py"].content.decode()


def test_an_item_that_is_off_leaves_no_trace(root):
    """Its stub, its tests and its section of the writeup go, and its file if it is about nothing else."""
    toy.edit(root, "assignment.toml", "points = 1.5\n", "points = 1.5\noff = true\n")
    handout = handout_members(root, load_assignment(root / "assignment.toml"))
    assert sorted(set(toy.HANDOUT) - set(handout)) == ["tests/test_more.py", "toy/more.py"]
    assert not re.search("cube|more", handout["assignment.toml"].content.decode())
    assert handout["writeup/1-powers.md"].content.decode() == "# 1 Powers (3 points)\n"


def test_the_torch_list_travels_with_a_torch_part_only(root):
    """setup.sh installs PyTorch where that file is."""
    toy.edit(root, "assignment.toml", 'slug = "powers"\n', 'slug = "powers"\ntorch = true\n')
    members = autograder_members(root, load_assignment(root / "assignment.toml"))
    assert sorted(set(members) - set(toy.AUTOGRADER)) == ["requirements-torch.txt"]


def test_without_its_part_nothing_mentions_torch(tmp_path):
    """Neither handout nor zip, but for the engine, which any course may use: setup.sh, pins and pages are cut, too."""
    for name in ("autograder", "solutions", "tests/public", "tests/hidden"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in [
        *ROOT.glob("requirements*.txt"),
        *map(ROOT.joinpath, ("constraints.txt", "setup.sh", "run_autograder")),
    ]:
        shutil.copy(path, tmp_path)
    shutil.copy(ROOT / "assignment.toml", tmp_path)
    assert len(mentioned(tmp_path)) > 10
    toy.edit(tmp_path, "assignment.toml", 'slug = "torch"\n', 'slug = "torch"\noff = true\n')
    assert mentioned(tmp_path) == {}


@pytest.mark.parametrize("part", ["ngrams", "backprop", "tape", "rnn", "torch"])
def test_experiments_go_with_their_part(part):
    """What is left of them imports only what is there, and no mark travels."""
    text = (ROOT / "assignment.toml").read_text(encoding="utf-8")
    off = text.replace(f'[[parts]]\nslug = "{part}"\n', f'[[parts]]\nslug = "{part}"\noff = true\n')
    (every, left) = (
        {
            name: member.content.decode()
            for name, member in experiment_members(ROOT, read_assignment(toml, Path("assignment.toml"))).items()
            if name.endswith(".py")
        }
        for toml in (text, off)
    )
    rows = [re.findall(r'^    "(\d)": "(\w+)",$', files["experiments/__main__.py"], re.M) for files in (every, left)]
    assert [number for number, _ in rows[0]] == list("1234567")
    assert 1 <= len(rows[1]) < 7
    assert all(f"experiments/{name}.py" in left for _, name in rows[1])
    for name, source in left.items():
        assert "# with " not in source, name
        for module in re.findall(r"^\s*from \.(\w+) import", source, re.M):
            assert {f"experiments/{module}.py", f"experiments/{module}/__init__.py"} & left.keys(), (name, module)


MARKED = """# with square
# with {whole}
both = 1
first = 1  # with square
second = [
    2,  # with cube
]
"""


def test_marks_of_experiments(root):
    """A line goes with its item, a file with the mark on its first line; marks themselves do not travel."""
    toy.write(root, {"solutions/experiments/a.py": MARKED.format(whole="powers"), "solutions/experiments/b.txt": "b"})
    toy.write(root, {"solutions/experiments/c.py": MARKED.format(whole="cube")})
    toy.edit(root, "assignment.toml", 'slug = "cube"\n', 'slug = "cube"\noff = true\n')
    members = handout_members(root, load_assignment(root / "assignment.toml"))
    found = {name: member.content.decode() for name, member in members.items() if name.startswith("experiments/")}
    assert found == {"experiments/a.py": "both = 1\nfirst = 1\nsecond = [\n]\n", "experiments/b.txt": "b"}
    assert not any(
        "experiments" in name for name in autograder_members(root, load_assignment(root / "assignment.toml"))
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = 1\ny = 2  # with nix\n", r"solutions/experiments/a\.py:2: 'nix' is no part or item"),
        (
            "x = 1\n# with cube\n",
            r"experiments/a\.py:2: a mark about a whole file stands above all other lines",
        ),
        ("x = 1\n    " + toy.CUBE + "\n", r"leak in the handout: experiments/a\.py:2 repeats the solution"),
    ],
    ids=["no-item", "not-the-first-line", "a-leak"],
)
def test_a_wrong_experiment_is_refused(root, text, problem):
    """Before anything is written."""
    toy.write(root, {"solutions/experiments/a.py": text})
    with pytest.raises(InputError, match=problem):
        build(root, root / "dist")
    assert not (root / "dist").exists()


def mentioned(root):
    """What of a build's files mentions PyTorch: name -> the line."""
    assignment = load_assignment(root / "assignment.toml")
    members = {f"zip/{name}": member for name, member in autograder_members(root, assignment).items()}
    members |= {f"handout/{name}": member for name, member in handout_members(root, assignment).items()}
    found = {}
    for name, member in members.items():
        if "/autograder/" in name or name.endswith(".npz"):
            continue
        for line in [name, *member.content.decode().splitlines()]:
            if re.search(r"(?<!mini)torch", line, re.IGNORECASE):
                found.setdefault(name, line)
    return found


MARKERS = "    # BEGIN SOLUTION square\n"
REFUSED = {
    "no_markers": (
        lambda root: toy.write(root, {"solutions/toy/more.py": f"def cube(number_to_cube):\n    {toy.CUBE}\n"}),
        r"more\.py: no '# BEGIN SOLUTION cube'",
    ),
    "markers_in_a_given_file": (
        lambda root: toy.edit(
            root, "solutions/toy/given.py", "    return", MARKERS + "    x = 1\n    # END SOLUTION\n    return"
        ),
        r"solutions/toy/given\.py:2: a given file",
    ),
    "item_of_another_file": (
        lambda root: toy.edit(root, "solutions/toy/ops.py", "N square", "N cube"),
        r"solutions/toy/ops\.py:6: item 'cube' is about more\.py",
    ),
    "unknown_item": (
        lambda root: toy.edit(
            root,
            "solutions/toy/ops.py",
            "    # END SOLUTION\n",
            "    # END SOLUTION\n    # BEGIN SOLUTION nix\n    pass\n    # END SOLUTION\n",
        ),
        r"solutions/toy/ops\.py:10: 'nix' is no item",
    ),
    "missing_file": (lambda root: (root / "solutions/toy/ops.py").unlink(), r"solutions/toy/ops\.py is missing"),
    "missing_folder": (
        lambda root: (root / "tests/hidden").rename(root / "tests/elsewhere"),
        "tests/hidden: no such folder",
    ),
    "missing_script": (lambda root: (root / "run_autograder").unlink(), "run_autograder: No such file"),
    "editor_backup": (
        lambda root: toy.write(root, {"solutions/toy/ops.py~": "x"}),
        r"solutions/toy/ops\.py~: a file of this kind",
    ),
    "merge_left_over": (
        lambda root: toy.write(root, {"tests/public/test_ops.py.orig": "x"}),
        r"test_ops\.py\.orig: a file of this kind",
    ),
    "crlf": (
        lambda root: (root / "solutions/kit/README.md").write_bytes(b"a\nb\r\n"),
        r"README\.md:2: line ends must be LF",
    ),
    "latin_1": (lambda root: (root / "solutions/kit/README.md").write_bytes(b"a\n\xe9\n"), r"README\.md:2: no UTF-8"),
    "link": (
        lambda root: (root / "solutions/kit/link.md").symlink_to(root / "setup.sh"),
        r"link\.md is no regular file",
    ),
    "from_two_places": (
        lambda root: toy.write(root, {"solutions/kit/constraints.txt": "x"}),
        r"constraints\.txt comes from two places",
    ),
    "case": (
        lambda root: toy.write(root, {"solutions/kit/readme.md": "x"}),
        r"readme\.md and README\.md differ in case only",
    ),
    "name_in_the_zip_only": (
        lambda root: toy.write(root, {"tests/hidden/test of ops.py": "x = 1\n"}),
        "'tests/hidden/test of ops.py' cannot be the name of a file",
    ),
    "page_about_nothing": (
        lambda root: toy.edit(root, "solutions/writeup/1-powers.md", "item cube", "item root"),
        r"writeup/1-powers\.md:3: 'root' is no item",
    ),
}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_a_wrong_source_is_refused_before_anything_is_written(case, root):
    """One line that says which file; the old handout stays."""
    build(root, root / "dist")
    before = {**everything(root / "handout"), **everything(root / "dist")}
    spoil, problem = REFUSED[case]
    spoil(root)
    toy.edit(root, "autograder/feedback/checks.py", "abs", "float")  # would change the handout and the zip
    with pytest.raises(InputError, match=problem) as refused:
        build(root, root / "dist")
    assert "\n" not in str(refused.value)
    assert {**everything(root / "handout"), **everything(root / "dist")} == before


def test_no_drift_after_a_build(root):
    """Caches of somebody who ran the tests there do not count."""
    build(root, root / "dist")
    toy.write(root, {"handout/toy/__pycache__/ops.pyc": "x", "handout/.pytest_cache/README.md": "x"})
    assert drift(root) == []


def test_drift_names_every_path(root):
    """What differs, what is missing and what should not be there; and nothing is repaired."""
    build(root, root / "dist")
    toy.edit(root, "handout/toy/ops.py", "itself", "itself ")
    (root / "handout/LICENSE").unlink()
    toy.write(root, {"handout/toy/ops_old.py": "x"})
    assert drift(root) == [
        "handout/LICENSE: missing",
        "handout/toy/ops.py: differs",
        "handout/toy/ops_old.py: should not be there",
    ]
    assert not (root / "handout/LICENSE").exists()


def test_drift_without_a_handout_lists_all_of_it(root):
    """A clone whose handout was never made."""
    assert drift(root) == [f"handout/{name}: missing" for name in toy.HANDOUT]


# The repository's own assignment.


@pytest.fixture(scope="module")
def handout():
    """What students get, in memory."""
    return handout_members(ROOT, load_assignment(ROOT / "assignment.toml"))


def test_the_real_handout_holds_exactly_this(handout):
    """Apart from the grader's own files, tests and the given files of the package."""
    folders = ("autograder/", "experiments/", "tests/", "lm/", "writeup/")
    fixed = {name for name in handout if not name.startswith(folders)}
    assert fixed == {
        ".gitignore",
        ".vscode/settings.json",
        "LICENSE",
        "README.md",
        "README.zh.md",
        "assignment.toml",
        ".gitattributes",
        ".vscode/extensions.json",
        "check.py",
        "conftest.py",
        "constraints.txt",
        "notebook.ipynb",
        "pyproject.toml",
        "requirements.txt",
    }
    feedback = {f"autograder/feedback/{path.name}" for path in (ROOT / "autograder/feedback").glob("*.py")}
    assert {name for name in handout if name.startswith("autograder/")} == {"autograder/__init__.py", *feedback}
    public = {f"tests/{path.name}" for path in (ROOT / "tests/public").glob("*.py")}
    assert {name for name in handout if name.startswith("tests/")} - {"tests/words.zh.toml"} == {
        "tests/hints.json",
        "tests/facts.json",
        *public,
    }
    source = ROOT / "solutions"
    experiments = {path.relative_to(source).as_posix() for path in (source / "experiments").rglob("*.py")}
    assert {name for name in handout if name.startswith("experiments/")} == {"experiments/excerpt.txt", *experiments}
    assert b"experiments/excerpt.txt" in handout["LICENSE"].content
    given = {f"lm/{path.name}" for path in (ROOT / "solutions/lm").glob("*.py")}
    assert {name for name in handout if name.startswith("lm/")} == given


def test_the_real_zip_holds_nothing_else():
    """No kit, no catalogue, no staff tests, no repository files."""
    members = autograder_members(ROOT, load_assignment(ROOT / "assignment.toml"))
    roots = {name if "/" not in name else "/".join(name.split("/")[:2]) for name in members}
    roots = {name if not name.startswith("autograder/") else "autograder" for name in roots}
    assert roots == {
        "assignment.toml",
        "autograder",
        "constraints.txt",
        "requirements-torch.txt",
        "requirements.txt",
        "run_autograder",
        "secret",
        "setup.sh",
        "solutions/lm",
        "tests/hidden",
        "tests/public",
    }


def test_every_item_has_a_stub(handout):
    """It says "not started" in the item's own file; a file that is not Python is not there."""
    for item in load_assignment(ROOT / "assignment.toml").items:
        if not item.file.endswith(".py"):
            assert f"lm/{item.file}" not in handout
            continue
        assert f'raise NotImplementedError("{item.slug}: '.encode() in handout[f"lm/{item.file}"].content, item.slug


def test_the_unpacked_handout_runs_by_itself(handout, tmp_path):
    """A student's first run: no traceback, one item not started, and a score card."""
    write_tree(tmp_path / "handout", handout)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--item", "agreement"]
    run = subprocess.run(
        command, cwd=tmp_path / "handout", env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1, run.stdout + run.stderr
    assert "Traceback" not in run.stdout + run.stderr
    assert "not started" in run.stdout
    assert run.stderr == ""

"""setup.sh: which Python it takes, when it refuses PyTorch, what it mends, and which files are open to whom.

The script's functions are tried one by one, and whole runs with a stand-in for Python, so that nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETUP = ROOT / "setup.sh"

# Answers as a Python would, and writes down what it was asked to install. A copy of it becomes VENV/bin/python.
STAND_IN = r"""#!/usr/bin/env bash
all=$*
case "$*" in
  *ensurepip*) printf '%s\n' "${ANSWER:-ok}" 3.11.2 "$OPEN/python3" "$OPEN" ;;
  *"-m venv"*) mkdir -p "${@: -1}/bin" && cp "$0" "${@: -1}/bin/python" && echo "venv" >>"$LOG" ;;
  *"import pip"*) ;;
  *user=65534*) exit "${OTHERS_FAIL:-0}" ;;
  *--dry-run*) echo "pip dry run" >>"$LOG"; while [[ $1 != --report ]]; do shift; done; cp "$REPORT" "$2" ;;
  *"-m pip install"*) echo "pip ${all##*constraints.txt }" >>"$LOG"; exit "${PIP_FAILS:-0}" ;;
  *metadata.version*) grep -qE '^(uv|pip) .*requirements-torch' "$LOG" ;;
  *"import torch"*) ;;
  *cuda*) exec "$REAL" "$@" ;;
  *compileall*) ;;
  *) echo "unexpected: $*" >&2; exit 97 ;;
esac
"""

# The uv of a machine that reaches PyTorch's own index, or (UV_FAILS=1) of one that does not.
STAND_IN_UV = r"""#!/usr/bin/env bash
all=$*
case "$*" in
  --version) ;;
  *--dry-run*) echo "uv dry run" >>"$LOG"; exit "${UV_FAILS:-0}" ;;
  *) echo "uv ${all##*constraints.txt }" >>"$LOG" ;;
esac
"""

CPU = [("torch", "2.13.0+cpu"), ("numpy", "2.4.6"), ("sympy", "1.14.0")]


def executable(path: Path, text: str) -> Path:
    """Write a script that everybody may run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def report(path: Path, packages: list[tuple[str, str]]) -> Path:
    """Write what `pip install --dry-run --report` would."""
    install = [{"metadata": {"name": name, "version": version}} for name, version in packages]
    path.write_text(json.dumps({"version": "1", "install": install}), encoding="utf-8")
    return path


class Machine:
    """A machine with one Python, no uv and no network: folders, environment, and what was asked of Python."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.open = folder / "open"
        self.python = executable(self.open / "python3", STAND_IN)
        self.log.touch()
        self.env = {
            "HOME": str(folder / "home"),
            "LOG": str(self.log),
            "OPEN": str(self.open),
            "PATH": f"{self.open}:/usr/bin:/bin",
            "REAL": sys.executable,
            "REPORT": str(report(folder / "report.json", CPU)),
            "TMPDIR": str(folder),
        }

    def bash(self, script: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        """Run lines after setup.sh's functions have been read."""
        command = ["bash", "-c", f'source "{SETUP}"\n{script}']
        return subprocess.run(
            command, cwd=cwd or self.folder, env={**self.env, **env}, capture_output=True, text=True, check=False
        )

    def setup(self, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
        """Run the setup.sh of a folder, as a person or the platform does."""
        command = ["bash", str(folder / "setup.sh")]
        return subprocess.run(
            command,
            cwd="/",
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def asked(self) -> list[str]:
        """What Python and uv were asked to do since the last call."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        self.log.write_text("", encoding="utf-8")
        return lines


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Not under pytest's own temporary folder, which is private: here it matters who may read what."""
    folder = Path(tempfile.mkdtemp(dir="/tmp")).resolve()
    folder.chmod(0o755)
    yield Machine(folder)
    shutil.rmtree(folder)


@pytest.fixture
def clone(machine: Machine) -> Path:
    """A clone's folder, as far as setup.sh reads it."""
    folder = machine.folder / "clone"
    folder.mkdir()
    for name in ("setup.sh", "pyproject.toml", "constraints.txt", "requirements.txt", "requirements-torch.txt"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture
def image(machine: Machine) -> Path:
    """An AUTOGRADER_ROOT with the zip in source/, every file with a mode that some unzip might give it."""
    root = machine.folder / "image"
    source = root / "source"
    for name in ("autograder/entry.py", "tests/hidden/test_a.py", "solutions/lm/a.py", "secret", "assignment.toml"):
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
        path.chmod(0o777 if name.endswith(".py") else 0o640)
    for name in ("setup.sh", "constraints.txt", "requirements.txt"):
        shutil.copy(ROOT / name, source)
    (source / "run_autograder").touch(mode=0o600)
    root.chmod(0o700)
    return root


@pytest.mark.parametrize("script", ["setup.sh", ".ci/run"])
def test_scripts_are_valid_bash(script: str) -> None:
    """bash reads each script to its end without a complaint."""
    done = subprocess.run(["bash", "-n", str(ROOT / script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# --- Which Python


@pytest.mark.parametrize(
    ("folder_mode", "file_mode", "closed"),
    [
        (0o755, 0o755, None),
        (0o711, 0o644, None),
        (0o700, 0o755, "a"),
        (0o744, 0o755, "a"),
        (0o755, 0o750, "a/b/python"),
    ],
    ids=["open", "folder may be passed", "private folder", "folder may only be listed", "private file"],
)
def test_unreadable_names_what_is_closed(
    machine: Machine, folder_mode: int, file_mode: int, closed: str | None
) -> None:
    """A path is open to others when each folder on the way lets them pass and its end lets them read."""
    path = executable(machine.folder / "a/b/python", "")
    path.chmod(file_mode)
    (machine.folder / "a").chmod(folder_mode)
    done = machine.bash(f'unreadable "{path}"')
    assert done.stdout == (f"{machine.folder / closed}\n" if closed else "")


def test_a_folder_at_the_end_must_let_others_list_it(machine: Machine) -> None:
    """A standard library that others may pass but not list is closed to them, and so is a path that is not there."""
    folder = machine.folder / "lib"
    folder.mkdir(mode=0o711)
    assert machine.bash(f'unreadable "{folder}"').stdout == f"{folder}\n"
    assert machine.bash(f'unreadable "{folder}/none"').stdout == f"{folder}/none\n"


def test_a_python_under_a_private_folder_is_passed_over(machine: Machine) -> None:
    """Root's python3 comes first but lies under a 0700 folder: the next one is taken."""
    private = executable(machine.folder / "private/python3", STAND_IN.replace("$OPEN", str(machine.folder / "private")))
    private.parent.chmod(0o700)
    done = machine.bash(
        f"candidates() {{ printf '%s\\n' '{private}' '{machine.python}'; }}; choose_python; echo $python"
    )
    assert done.stdout == f"{machine.python}\n"


def test_root_refuses_a_private_python_and_says_why(machine: Machine) -> None:
    """With root, a Python that student code could not run is an error that names the closed folder."""
    (machine.open).chmod(0o700)
    done = machine.bash(f'is_root() {{ true; }}; candidates() {{ echo "{machine.python}"; }}; choose_python')
    assert done.returncode == 1
    assert done.stderr == f"setup: passed over:\n  {machine.python}: other users cannot read {machine.open}\n"


def test_root_refuses_a_python_that_does_not_start_for_others(machine: Machine) -> None:
    """A library in a private folder is seen by starting the Python as another user."""
    script = f'is_root() {{ true; }}; candidates() {{ echo "{machine.python}"; }}; choose_python'
    done = machine.bash(script, OTHERS_FAIL="1")
    assert done.returncode == 1
    assert "other users cannot run it: a library that it needs is closed to them" in done.stderr


def test_without_root_a_private_python_is_better_than_none(machine: Machine) -> None:
    """A laptop whose only Python lies in a private home gets it, with a note: it cannot change user anyway."""
    (machine.open).chmod(0o700)
    script = f'is_root() {{ false; }}; candidates() {{ echo "{machine.python}"; }}; choose_python && echo "$python"'
    done = machine.bash(script)
    note, chosen = done.stdout.splitlines()
    assert chosen == str(machine.python)
    assert note.startswith(f"setup: note: other users cannot read {machine.open}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (STAND_IN.replace("ANSWER:-ok", "ANSWER:-is Python 3.9, not 3.10 to 3.14"), "is Python 3.9, not 3.10 to 3.14"),
        ("#!/usr/bin/env bash\nexit 127\n", "does not run"),
    ],
    ids=["too old", "broken"],
)
def test_a_python_that_will_not_do_is_named_with_the_reason(machine: Machine, text: str, reason: str) -> None:
    """When none is left, each Python that was passed over stands there with its reason, and the last line helps."""
    executable(machine.python, text)
    done = machine.bash(f'candidates() {{ echo "{machine.python}"; }}; make_venv "$PWD/venv"')
    assert done.returncode == 1
    assert f"  {machine.python}: {reason}\n" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("setup: error: install a Python 3.10 to 3.14 for all users")
    assert not (machine.folder / "venv").exists()


def test_a_real_python_is_recognised(machine: Machine) -> None:
    """probe prints version, real executable and standard library of the Python that runs this test."""
    ok, version, real, stdlib = machine.bash(f'probe "{sys.executable}"').stdout.splitlines()
    assert (ok, version) == ("ok", ".".join(map(str, sys.version_info[:3])))
    assert not Path(real).is_symlink()
    assert (Path(stdlib) / "os.py").is_file()


# --- PyTorch


@pytest.mark.parametrize(
    ("packages", "cuda"),
    [
        (CPU, ""),
        ([("torch", "2.13.0"), ("nvidia-cublas", "13.1.1.3")], "nvidia-cublas\n"),
        ([("torch", "2.13.0"), ("triton", "3.7.1")], "triton\n"),
        ([("torch", "2.13.0"), ("cuda-bindings", "13.5.0")], "cuda-bindings\n"),
        ([("torch", "2.13.0+cu130")], "torch\n"),
    ],
    ids=["cpu", "nvidia", "triton", "cuda", "local version"],
)
def test_packages_for_a_gpu_are_found_in_a_dry_run(
    machine: Machine, packages: list[tuple[str, str]], cuda: str
) -> None:
    """What only a GPU needs is told by its name or by the build's label."""
    path = report(machine.folder / "r.json", packages)
    assert machine.bash(f'cuda_packages "$REAL" "{path}"').stdout == cuda


def venv(machine: Machine, uv: bool = False) -> str:
    """A virtual environment with the stand-ins; its path as a word for bash."""
    folder = machine.folder / "venv"
    executable(folder / "bin/python", STAND_IN)
    if uv:
        executable(folder / "bin/uv", STAND_IN_UV)
    return f'"{folder}"'


def test_uv_is_asked_first(machine: Machine) -> None:
    """Where uv reaches the CPU builds, pip is not asked."""
    done = machine.bash(f"install_torch {venv(machine, uv=True)}", cwd=ROOT)
    assert machine.asked() == ["uv dry run", "uv -r requirements-torch.txt"]
    assert (done.returncode, done.stderr) == (0, "")


def test_pip_may_go_ahead_when_its_dry_run_lists_no_cuda(machine: Machine) -> None:
    """Where uv cannot reach the CPU builds, a dry run of pip without a GPU package is followed by the real one."""
    machine.bash(f"install_torch {venv(machine, uv=True)}", cwd=ROOT, UV_FAILS="1")
    assert machine.asked() == ["uv dry run", "pip dry run", "pip -r requirements-torch.txt"]
    assert not (machine.folder / "venv/torch-missing").exists()


@pytest.mark.parametrize("broken", [False, True], ids=["cuda", "no report"])
def test_pip_is_refused_otherwise_and_the_reason_is_kept(machine: Machine, broken: bool) -> None:
    """With a GPU package in the dry run, or no report to read, nothing is installed: a note, a marker, exit code 0."""
    path = report(machine.folder / "r.json", [*CPU, ("nvidia-cudnn-cu13", "9.20.0.48")])
    if broken:
        path.write_text("{", encoding="utf-8")
    done = machine.bash(f"install_torch {venv(machine, uv=True)}", cwd=ROOT, UV_FAILS="1", REPORT=str(path))
    reason = "pip's report cannot be read" if broken else "what pip finds is for a GPU"
    assert machine.asked() == ["uv dry run", "pip dry run"]
    assert done.returncode == 0
    assert "PyTorch items will say that the grader is incomplete" in done.stdout
    assert (machine.folder / "venv/torch-missing").read_text(encoding="utf-8") == (
        f"No CPU build of PyTorch here: uv cannot reach the CPU builds; {reason}.\n"
    )


# --- A clone


def test_a_second_run_in_a_clone_has_nothing_to_do(machine: Machine, clone: Path) -> None:
    """The first run makes .venv, installs ourselves last, then PyTorch; the second asks Python for nothing."""
    first = machine.setup(clone)
    assert first.returncode == 0, first.stderr
    asked = machine.asked()
    assert [line for line in asked if not line.startswith("pip --no-deps")] == [
        "venv",
        "pip pip setuptools",
        "pip --no-build-isolation -e .[staff,dev]",
        "pip dry run",
        "pip -r requirements-torch.txt",
    ]
    second = machine.setup(clone)
    assert (second.returncode, second.stdout, machine.asked()) == (0, "setup: nothing to do\n", [])


def test_a_uv_that_is_fetched_is_thrown_away(machine: Machine, clone: Path) -> None:
    """Without a uv, one is fetched into a temporary folder, and no temporary file is left."""
    before = set(machine.folder.iterdir())
    machine.setup(clone)
    (fetch,) = [line.split() for line in machine.asked() if line.endswith(" uv")]
    assert fetch[:3] == ["pip", "--no-deps", "--target"]
    assert fetch[3].startswith(f"{machine.folder}/tmp.")
    assert set(machine.folder.iterdir()) == before


def break_python(clone: Path) -> None:
    (clone / ".venv/bin/python").unlink()


def leave_half_made(clone: Path) -> None:
    (clone / ".venv/.unfinished").touch()


def change_constraints(clone: Path) -> None:
    with (clone / "constraints.txt").open("a") as file:
        file.write("attrs==26.1.0\n")


def ask_for_torch_again(clone: Path) -> None:
    (clone / ".venv/torch-missing").unlink()


@pytest.mark.parametrize(
    ("change", "remade"),
    [(break_python, True), (leave_half_made, True), (change_constraints, False), (ask_for_torch_again, False)],
    ids=["no interpreter", "half-made", "constraints changed", "torch asked for again"],
)
def test_what_is_not_whole_is_mended(
    machine: Machine, clone: Path, change: Callable[[Path], None], remade: bool
) -> None:
    """A broken or half-made .venv is made anew; a changed file is installed into the one that is there."""
    gpu = str(report(machine.folder / "gpu.json", [("triton", "3.7.1")]))
    assert "without PyTorch" in machine.setup(clone, REPORT=gpu).stdout
    machine.asked()
    assert machine.setup(clone).stdout.startswith("setup: nothing to do\n")
    change(clone)
    done = machine.setup(clone)
    asked = machine.asked()
    assert (done.returncode, "venv" in asked) == (0, remade)
    assert "pip --no-build-isolation -e .[staff,dev]" in asked
    assert machine.setup(clone).stdout.startswith("setup: nothing to do\n")


def test_a_moved_clone_is_installed_again(machine: Machine, clone: Path) -> None:
    """Scripts and the editable install name their folder, so a moved clone is not done."""
    machine.setup(clone)
    machine.asked()
    moved = clone.rename(clone.with_name("moved"))
    machine.setup(moved)
    assert "pip --no-build-isolation -e .[staff,dev]" in machine.asked()


def test_a_failed_installation_ends_with_what_to_do(machine: Machine, clone: Path) -> None:
    """No network: exit code 1, a last line that helps, and the next run does not begin from nothing."""
    done = machine.setup(clone, PIP_FAILS="1")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("setup: error: the packages could not be installed")
    machine.asked()
    assert machine.setup(clone).returncode == 0
    assert "venv" not in machine.asked()


def test_a_file_in_the_way_is_left_alone(machine: Machine, clone: Path) -> None:
    """A file named .venv is somebody's: it stays, and one line says so."""
    (clone / ".venv").write_text("mine", encoding="utf-8")
    done = machine.setup(clone)
    assert (done.returncode, done.stderr) == (
        1,
        f"setup: error: {clone}/.venv is in the way: move it away and run setup.sh again\n",
    )
    assert (clone / ".venv").read_text(encoding="utf-8") == "mine"


# --- The Gradescope image


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_image_gets_the_grader_alone(machine: Machine, image: Path) -> None:
    """Without requirements-torch.txt there is no PyTorch; nothing is installed in editable form, HOME stays empty."""
    done = machine.setup(image / "source", AUTOGRADER_ROOT=str(image))
    assert done.returncode == 0, done.stderr
    assert machine.asked() == ["venv", "pip -r requirements.txt"]
    assert not (machine.folder / "home").exists()
    again = machine.setup(image / "source", AUTOGRADER_ROOT=str(image))
    assert (again.stdout, machine.asked()) == ("setup: nothing to do\n", [])


def test_the_image_gets_torch_when_the_zip_asks_for_it(machine: Machine, image: Path) -> None:
    """With requirements-torch.txt pip is renewed first: an old one downloads everything in a dry run."""
    shutil.copy(ROOT / "requirements-torch.txt", image / "source")
    executable(machine.open / "uv", STAND_IN_UV)
    done = machine.setup(image / "source", AUTOGRADER_ROOT=str(image))
    assert done.returncode == 0, done.stderr
    assert machine.asked() == [
        "venv",
        "pip -r requirements.txt",
        "pip pip",
        "uv dry run",
        "uv -r requirements-torch.txt",
    ]


def test_file_modes_in_the_image(machine: Machine, image: Path) -> None:
    """Student code may read engine and virtual environment, and neither tests, solutions nor the secret."""
    source = image / "source"
    machine.setup(source, AUTOGRADER_ROOT=str(image))
    modes = {
        "": 0o755,
        "venv": 0o755,
        "source": 0o755,
        "source/autograder": 0o755,
        "source/autograder/entry.py": 0o644,
        "source/tests": 0o700,
        "source/tests/hidden": 0o700,
        "source/tests/hidden/test_a.py": 0o600,
        "source/solutions/lm": 0o700,
        "source/solutions/lm/a.py": 0o600,
        "source/secret": 0o600,
        "source/assignment.toml": 0o644,
        "source/run_autograder": 0o755,
        "source/setup.sh": 0o755,
    }
    assert {name: oct(mode(image / name)) for name in modes} == {name: oct(mode) for name, mode in modes.items()}


@pytest.mark.parametrize(
    ("root", "asked"),
    [("/autograder", ["apt update", "apt install", "clean"]), ("/tmp/autograder", [])],
    ids=["the image", "elsewhere"],
)
def test_system_packages_come_from_apt_in_the_image_only(machine: Machine, root: str, asked: list[str]) -> None:
    """When no Python will do, apt installs one in /autograder, and nothing is touched anywhere else."""
    executable(machine.open / "apt-get", '#!/usr/bin/env bash\necho "apt $1" >>"$LOG"\n')
    replaced = 'candidates() { :; }; clean_apt() { echo clean >>"$LOG"; }; is_root() { true; }; make_scratch'
    done = machine.bash(f"{replaced}; system_packages {root}")
    assert machine.asked() == asked
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("setup: error: choose a base image with Python 3.10 or newer")


def test_a_zip_out_of_place_says_where_it_belongs(machine: Machine, image: Path) -> None:
    """Not in AUTOGRADER_ROOT/source: nothing is made, one line says how to try it."""
    done = machine.setup(image / "source", AUTOGRADER_ROOT="/nowhere")
    assert done.returncode == 1
    assert done.stderr.startswith("setup: error: this is the grader's zip, and its place is /nowhere/source")
    assert not (image / "venv").exists()


# --- CI


def ci(machine: Machine, red: str | None) -> subprocess.CompletedProcess[str]:
    """Run a copy of .ci/run over tools that only print their names; the one named in red fails."""
    folder = machine.folder / "ci"
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci/run", folder / ".ci/run")
    for tool in ("pytest", "ruff", "mypy", "vermin", "autograder"):
        executable(folder / ".venv/bin" / tool, f"#!/usr/bin/env bash\necho ran {tool} $*\nexit {3 * (tool == red)}\n")
    executable(folder / "setup.sh", "echo ran setup; cat\n")
    command = ["bash", str(folder / ".ci/run")]
    return subprocess.run(
        command, cwd="/", env=dict(os.environ), capture_output=True, text=True, check=False, input="not for them\n"
    )


def test_ci_runs_everything_from_any_folder(machine: Machine) -> None:
    """Set-up, tests, linters, the committed handout and the proof, in this order, with no standard input."""
    done = ci(machine, red=None)
    assert [line.removeprefix("ran ") for line in done.stdout.splitlines() if line.startswith("ran ")] == [
        "setup",
        "pytest -n auto --dist loadfile",
        "ruff check .",
        "ruff format --check .",
        "mypy",
        "vermin autograder solutions tests/public tests/hidden",
        "autograder build --check",
        "autograder audit",
    ]
    assert done.returncode == 0
    assert "not for them" not in done.stdout


def test_ci_stops_at_the_first_red(machine: Machine) -> None:
    """A linter that fails ends CI with its exit code and its name."""
    done = ci(machine, red="mypy")
    assert done.returncode == 3
    assert done.stderr == "== red, exit code 3: .venv/bin/mypy\n"
    assert "ran vermin" not in done.stdout

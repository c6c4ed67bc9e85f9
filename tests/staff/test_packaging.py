"""What the repository promises to whoever installs it: tiers, versions, line ends, bans, nothing of one machine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
SYSTEMS = ("linux", "darwin", "win32")
TIERS = ("student", "grader", "staff", "docs", "dev", "torch")

# import name -> distribution, where the two differ
DISTRIBUTIONS = {"yaml": "pyyaml", "gradescope_utils": "gradescope-utils", "pypandoc": "pypandoc_binary"}


@lru_cache(maxsize=1)
def project() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def tier(name: str) -> set[str]:
    """The requirements of a tier, with those of the tiers that it names."""
    found: set[str] = set()
    for line in project()["project"]["optional-dependencies"][name]:
        requirement = Requirement(line)
        if requirement.name == "autograder":
            for extra in requirement.extras:
                found |= tier(extra)
        else:
            found.add(str(requirement))
    return found


def lines(name: str) -> list[Requirement]:
    """A requirements or constraints file, without its comments."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return [Requirement(line) for line in text.splitlines() if line and not line.startswith("#")]


def tracked() -> list[Path]:
    """The files under version control that are there."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


@lru_cache(maxsize=1)
def texts() -> dict[str, bytes]:
    """Those of them that are text, by name."""
    found = {str(path.relative_to(ROOT)): path.read_bytes() for path in tracked()}
    return {name: content for name, content in found.items() if b"\0" not in content}


# --- Dependencies


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("student", "requirements-student.txt"),
        ("grader", "requirements.txt"),
        ("torch", "requirements-torch.txt"),
    ],
    ids=["student", "grader", "torch"],
)
def test_requirements_files_repeat_their_tiers(name: str, file: str) -> None:
    """Handout and zip install exactly what pyproject.toml says."""
    assert {str(requirement) for requirement in lines(file)} == tier(name)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("python", PYTHONS)
def test_every_requirement_has_one_version(python: str, system: str) -> None:
    """On each Python and system, constraints.txt pins each package once, to a version that the tier takes."""
    place = {
        "python_version": python,
        "python_full_version": f"{python}.4",
        "sys_platform": system,
        "platform_python_implementation": "CPython",
    }
    pins = [pin for pin in lines("constraints.txt") if pin.marker is None or pin.marker.evaluate(place)]
    names = [canonicalize_name(pin.name) for pin in pins]
    assert sorted(names) == sorted(set(names))
    versions = {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in pins}
    for wanted in (Requirement(text) for name in TIERS for text in tier(name)):
        if wanted.marker is None or wanted.marker.evaluate(place):
            assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)]), wanted.name


def test_constraints_only_pin() -> None:
    """Each line is one exact version, no address and no hash; PyTorch is 2.13.0, and nothing of CUDA stands there."""
    pins = lines("constraints.txt")
    assert all(re.fullmatch(r"==[\w.]+", str(pin.specifier)) and pin.url is None for pin in pins)
    versions = {pin.name: str(pin.specifier) for pin in pins}
    assert versions["torch"] == "==2.13.0"
    assert not [name for name in versions if re.match("nvidia|cuda|triton", name)]
    assert "--hash" not in (ROOT / "constraints.txt").read_text(encoding="utf-8")


def imported(folder: Path) -> set[str]:
    """The distributions that a folder's Python files import, at any depth, without ours and the standard library."""
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found.update(name.name.partition(".")[0] for name in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add((node.module or "").partition(".")[0])
    ours = {"autograder", "tomllib", *sys.stdlib_module_names}
    return {DISTRIBUTIONS.get(name, name) for name in found - ours}


def names(requirements: set[str]) -> set[str]:
    """The names of requirements."""
    return {Requirement(text).name for text in requirements}


def test_what_travels_into_the_handout_needs_the_student_tier_only() -> None:
    """autograder/feedback imports nothing that a student's laptop may lack."""
    assert imported(ROOT / "autograder/feedback") <= names(tier("student"))


def test_the_engine_imports_what_its_tiers_install() -> None:
    """Each import of autograder/ is in the staff tier, or is PyTorch; pages and classes have tiers of their own."""
    rooms = {"docs": "docs", "classroom": "similarity"}
    own = {room: imported(ROOT / "autograder" / room) for room in rooms}
    for room, name in rooms.items():
        assert own[room] <= names(tier(name))
    assert imported(ROOT / "autograder") - {"torch"} <= names(tier("staff")).union(*own.values())


def test_no_tier_has_what_nothing_uses() -> None:
    """Each package of the staff and docs tiers is imported by the engine or by a graded test."""
    used = imported(ROOT / "autograder") | imported(ROOT / "tests/public") | imported(ROOT / "tests/hidden")
    assert names(tier("docs")) <= used


# --- Rules that the linters keep


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("import pickle", "TID251"),
        ("from marshal import loads", "TID251"),
        ("import numpy as np\n\nnp.load('a', allow_pickle=True)", "TID251"),
        ("eval('1')", "S307"),
    ],
    ids=["pickle", "marshal", "np.load", "eval"],
)
def test_trusted_code_may_not_run_what_it_reads(code: str, rule: str) -> None:
    """A planted violation in autograder/ is found; the same line is allowed in a test."""
    assert rule in ruff(code, "autograder/planted.py")
    assert rule not in ruff(code, "tests/staff/planted.py")


def ruff(code: str, name: str) -> set[str]:
    """The rules that ruff finds broken in a text of that name."""
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "concise"]
    done = subprocess.run(
        [*command, "--stdin-filename", name, "-"],
        cwd=ROOT,
        input=code + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    return set(re.findall(r"^[^:\n]+:\d+:\d+: ([A-Z]+\d+)", done.stdout, re.MULTILINE))


# --- Files


def test_every_text_has_unix_line_ends() -> None:
    """Gradescope runs bash on these files, and the builders compare bytes: LF, UTF-8, no byte order mark."""
    wrong = [name for name, text in texts().items() if b"\r" in text or text.startswith(b"\xef\xbb\xbf")]
    assert wrong == []
    assert [name for name, text in decoded().items() if "\ufffd" in text] == []


# Written so that this file does not match itself.
ELSEWHERE = {
    "a registry's host": r"\b(?:pypi|pythonhosted|npmjs|debian|ubuntu)\.(?:org|com|net)\b|\bdownload\.pytorch\b",
    "an option that names an index": r"--(?:extra-)?(?:index-ur[l]|find-link[s]|trusted-hos[t])|\[\[tool\.uv\.inde[x]",
    "a folder of one machine": r"(?<![\w}.$])/(?:work|root)/",
}


@pytest.mark.parametrize("pattern", ELSEWHERE.values(), ids=ELSEWHERE)
def test_nothing_of_one_machine_or_registry_is_tracked(pattern: str) -> None:
    """A course anywhere, behind any mirror, installs this as it is."""
    found = {name: match[0] for name, text in decoded().items() if (match := re.search(pattern, text))}
    assert found == {}


def test_this_checkout_is_named_nowhere() -> None:
    """Neither the folder of this clone nor the home of who works in it."""
    here = [str(folder) for folder in (ROOT, Path.home()) if len(str(folder)) > 5]
    assert [name for name, text in decoded().items() if any(folder in text for folder in here)] == []


def decoded() -> dict[str, str]:
    """The tracked texts as strings."""
    return {name: content.decode("utf-8", "replace") for name, content in texts().items()}


@pytest.mark.parametrize("name", ["setup.sh", "run_autograder", ".ci/run"])
def test_scripts_may_be_run(name: str) -> None:
    """The executable bit is set, and the first line names bash through env or sh."""
    path = ROOT / name
    assert path.stat().st_mode & 0o111 == 0o111
    assert path.read_text(encoding="utf-8").startswith(("#!/usr/bin/env bash\n", "#!/bin/sh\n", "#!/bin/bash\n"))


@pytest.mark.parametrize(
    "name",
    [
        ".venv/bin/python",
        "dist/autograder.zip",
        "secret",
        "terms/autumn.secret",
        "lm/__pycache__/a.pyc",
        ".ruff_cache/a",
    ],
)
def test_what_must_not_be_committed_is_ignored(name: str) -> None:
    """Environments, builds, secrets and caches stay out of the repository."""
    assert subprocess.run(["git", "check-ignore", "-q", name], cwd=ROOT, check=False).returncode == 0


def test_ci_runs_what_the_readme_names() -> None:
    """Each command of .ci/run stands in README.md as it is."""
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    commands = re.findall(r'^  "(.+)"$', script, re.MULTILINE)
    readme = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(commands) == 8
    assert [command for command in commands if command not in readme] == []

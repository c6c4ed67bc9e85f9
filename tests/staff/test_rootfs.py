"""What simulate --rootfs decides: control groups, tools, the system, what a program gets. Nothing is mounted here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from autograder import cgroup, image, rootfs
from autograder.cgroup import Group, Limits, Parents, limited, parents_of
from autograder.feedback.errors import GraderError, InputError
from autograder.metadata import metadata
from autograder.rootfs import Rootfs
from autograder.simulate import simulate
from tests.staff.runs import is_alive
from tests.staff.test_simulate import SAY_RESULTS, SETUP, make_archive

# --- control groups ---------------------------------------------------------------------------------------------

FIRST = """
30 20 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
31 20 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
32 20 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
22 20 0:5 / /proc rw - proc proc rw
"""


def process(folder: Path, groups: str, mounts: str) -> Path:
    """What /proc/self would say."""
    (folder / "cgroup").write_text(groups, encoding="utf-8")
    (folder / "mountinfo").write_text(mounts.lstrip(), encoding="utf-8")
    return folder


def second(top: Path, passes_on: dict[str, str]) -> str:
    """A tree of version 2, and its line of mountinfo."""
    for name, controllers in passes_on.items():
        (top / name).mkdir(parents=True, exist_ok=True)
        (top / name / "cgroup.subtree_control").write_text(controllers, encoding="ascii")
    return f"30 20 0:26 / {top} rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"


def test_version_1_takes_groups_below_our_own(tmp_path: Path) -> None:
    """Each controller has its tree; a limit that we are under ourselves still holds."""
    told = process(tmp_path, "4:memory:/user/1\n1:cpu,cpuacct:/\n0::/x\n", FIRST)
    assert parents_of(told) == Parents(
        1, {"memory": Path("/sys/fs/cgroup/memory/user/1"), "cpu": Path("/sys/fs/cgroup/cpu,cpuacct")}
    )


def test_version_1_in_a_container(tmp_path: Path) -> None:
    """Where a part of the tree is mounted that is our own group, groups lie at its root."""
    mounts = FIRST.replace("0:26 / ", "0:26 /docker/c0 ")
    told = process(tmp_path, "4:memory:/docker/c0\n1:cpu,cpuacct:/\n", mounts)
    assert parents_of(told).folders["memory"] == Path("/sys/fs/cgroup/memory")


def test_version_1_without_a_controller(tmp_path: Path) -> None:
    """It is named, with the reason."""
    told = process(tmp_path, "4:memory:/\n1:cpu,cpuacct:/\n", FIRST.splitlines()[1] + "\n")
    assert parents_of(told).missing == {"cpu": "it is not mounted"}


def test_version_2_takes_groups_where_both_controllers_are_passed_on(tmp_path: Path) -> None:
    """Not in our own group, whose processes are in the way, but at the nearest one above that allows it."""
    top = tmp_path / "sys"
    line = second(top, {".": "memory cpu pids", "slice": "cpu memory", "slice/own": ""})
    told = process(tmp_path, "0::/slice/own\n", line)
    assert parents_of(told) == Parents(2, {"memory": top / "slice", "cpu": top / "slice"})


def test_version_2_that_passes_nothing_on(tmp_path: Path) -> None:
    """As in most containers: no group, and the reason."""
    told = process(tmp_path, "0::/own\n", second(tmp_path / "sys", {".": "pids", "own": ""}))
    parents = parents_of(told)
    assert (parents.version, dict(parents.folders)) == (2, {})
    assert set(parents.missing) == {"memory", "cpu"}


@pytest.mark.parametrize("text", ["", "no such\nformat\n"], ids=["empty", "another-format"])
def test_no_control_groups(tmp_path: Path, text: str) -> None:
    """Neither on macOS, nor where the files say something else."""
    assert parents_of(process(tmp_path, text, "")).version == 0
    assert parents_of(tmp_path / "nothing").missing == dict.fromkeys(
        ("memory", "cpu"), "this machine has no control groups"
    )


@pytest.mark.parametrize(
    ("version", "settings"),
    [
        (
            1,
            {
                "memory.limit_in_bytes": "805306368",
                "memory.memsw.limit_in_bytes": "805306368",
                "cpu.cfs_period_us": "100000",
                "cpu.cfs_quota_us": "50000",
            },
        ),
        (2, {"memory.max": "805306368", "memory.swap.max": "0", "cpu.max": "50000 100000"}),
    ],
    ids=["version-1", "version-2"],
)
def test_limits_are_the_platforms(tmp_path: Path, version: int, settings: dict[str, str]) -> None:
    """768 MB without swap, and half of a core."""
    with limited(Limits(), Parents(version, {"memory": tmp_path, "cpu": tmp_path})) as group:
        (folder,) = tmp_path.iterdir()
        assert {path.name: path.read_text() for path in folder.iterdir()} == settings
        assert group.join == [folder / "cgroup.procs"]
        assert group.unlimited == {}


def test_a_limit_that_cannot_be_set_is_said(tmp_path: Path) -> None:
    """The other one is set all the same."""
    (tmp_path / "cpu").mkdir()
    with limited(Limits(), Parents(1, {"memory": tmp_path / "gone", "cpu": tmp_path / "cpu"})) as group:
        assert group.unlimited == {"memory": "No such file or directory"}
        assert list(group.folders) == ["cpu"]


def test_members_are_ended_and_we_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pid in the group, but for our own."""
    monkeypatch.setattr(cgroup, "_END_SECONDS", 0.05)
    group = Group(1)
    group.folders["memory"] = tmp_path
    with subprocess.Popen(["sleep", "60"]) as member:
        (tmp_path / "cgroup.procs").write_text(f"{os.getpid()}\n{member.pid}\n", encoding="ascii")
        assert group.end()
        assert not is_alive(member.pid)


def test_what_the_kernel_has_counted(tmp_path: Path) -> None:
    """Processes killed for want of memory and the most memory, by either version; 0 where nobody counts."""
    (tmp_path / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", encoding="ascii")
    (tmp_path / "memory.max_usage_in_bytes").write_text("4096\n", encoding="ascii")
    (tmp_path / "memory.events").write_text("low 0\noom_kill 3\n", encoding="ascii")
    (tmp_path / "memory.peak").write_text("8192\n", encoding="ascii")
    for version, facts in ((1, (2, 4096)), (2, (3, 8192))):
        group = Group(version)
        assert (group.killed, group.most_memory) == (0, 0)
        group.folders["memory"] = tmp_path
        assert (group.killed, group.most_memory) == facts


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.fixture
def able(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine that can do it: Linux, root, all tools."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    return monkeypatch


@pytest.mark.parametrize(
    ("unable", "message"),
    [
        pytest.param(lambda m: m.setattr(sys, "platform", "darwin"), "--rootfs needs Linux", id="macos"),
        pytest.param(lambda m: m.setattr(os, "geteuid", lambda: 1000), "--rootfs needs root: ", id="no-root"),
        pytest.param(
            lambda m: m.setattr(shutil, "which", lambda name: None if name in ("mount", "chroot") else name),
            "--rootfs needs mount, chroot, which this machine does not have",
            id="no-tools",
        ),
    ],
)
def test_machine_that_cannot_is_told_in_one_line(
    able: pytest.MonkeyPatch, tmp_path: Path, unable: Callable[[pytest.MonkeyPatch], None], message: str
) -> None:
    """Before anything is made."""
    rootfs.require(tmp_path / "tree", tmp_path / "cache")
    unable(able)
    with pytest.raises(InputError, match=message) as caught:
        rootfs.require(tmp_path / "tree", tmp_path / "cache")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("/", "needs a folder that is used for nothing else", id="root"),
        pytest.param(".", "needs a folder that is used for nothing else", id="holds-the-cache"),
        pytest.param("a:b", "needs paths without blanks, commas, colons", id="colon"),
        pytest.param("a b", "needs paths without blanks, commas, colons", id="blank"),
        pytest.param("link", "should be a folder, and no link to one", id="link"),
        pytest.param("file", "should be a folder, and no link to one", id="file"),
    ],
)
def test_folder_that_will_not_do_is_refused(tmp_path: Path, name: str, message: str) -> None:
    """One line that names it."""
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(InputError, match=message):
        rootfs.require(tmp_path / name, tmp_path / "cache")


def test_simulation_is_refused_before_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is not root waits for no build."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    archive = make_archive(tmp_path / "autograder.zip")
    with pytest.raises(InputError, match="needs root"):
        simulate(tmp_path, archive, cache=tmp_path / "cache", system=tmp_path / "tree")
    assert not (tmp_path / "cache").exists()


# --- making the system ------------------------------------------------------------------------------------------

APT = """#!/bin/sh
echo "sid-updates main mirror:/updates"
echo "sid contrib mirror:/contrib"
echo "sid main mirror:/main"
"""
DEBOOTSTRAP = """#!/bin/sh
echo "$*" >"$(dirname "$0")/arguments"
mkdir -p "$4/bin" "$4/usr/bin"
touch "$4/bin/sh" "$4/usr/bin/env"
"""


def tools(folder: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> Path:
    """A PATH with these programs before the machine's own."""
    place = folder / "tools"
    place.mkdir()
    for name, text in scripts.items():
        (place / name.replace("_", "-")).write_text(text, encoding="utf-8")
        (place / name.replace("_", "-")).chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    return place


@pytest.mark.parametrize("exists", [True, False], ids=["empty", "absent"])
def test_empty_folder_is_filled_with_the_machines_own_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    """Suite and mirror are those of apt; nothing but the finished system is left."""
    place = tools(tmp_path, monkeypatch, debootstrap=DEBOOTSTRAP, apt_get=APT)
    tree = tmp_path / "place" / "tree"
    if exists:
        tree.mkdir(parents=True)
    told: list[str] = []
    rootfs.prepare(tree, told.append)
    words = (place / "arguments").read_text().split()
    assert (words[0], words[2], words[4]) == ("--variant=minbase", "sid", "mirror:/main")
    assert sorted(tree.iterdir()) == [tree / "bin", tree / "usr"]
    assert tree.stat().st_mode & 0o777 == 0o755
    assert list(tree.parent.iterdir()) == [tree]
    assert len(told) == 1
    rootfs.prepare(tree, told.append)
    assert len(told) == 1


def test_failing_debootstrap_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a system must not be taken for a whole one; the end of its output is the reason."""
    tools(tmp_path, monkeypatch, debootstrap="#!/bin/sh\nmkdir $4/bin; echo no mirror >&2; exit 3\n", apt_get=APT)
    tree = tmp_path / "place" / "tree"
    with pytest.raises(GraderError, match="debootstrap ended with status 3: no mirror"):
        rootfs.prepare(tree, lambda line: None)
    assert list(tree.parent.iterdir()) == []


def test_without_debootstrap_an_empty_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="is empty: install debootstrap, or fill it yourself"):
        rootfs.prepare(tmp_path / "tree", lambda line: None)


def test_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    """Whoever names his home folder loses nothing."""
    (tmp_path / "letter.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="holds something, but no system"):
        rootfs.prepare(tmp_path, lambda line: None)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_without_apt_debootstrap_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own default mirror."""
    monkeypatch.setenv("PATH", "")
    assert rootfs.apt_source() == ("stable", [])


# --- what a program gets ----------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A system as small as it can be."""
    folder = tmp_path / "tree"
    for name in ("bin", "usr/bin", "etc", "tmp", "var/tmp"):
        (folder / name).mkdir(parents=True)
    (folder / "etc").chmod(0o751)
    return folder


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """What would be started."""
    found: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.setattr(image, "start", lambda program, root, output, **more: found.append((list(program), more)))
    return found


def test_a_run_has_limits_and_no_network(tmp_path: Path, tree: Path, started: list[Any]) -> None:
    """Its own mounts, the platform's AUTOGRADER_ROOT, layers of image and system, members of the group."""
    group = Group(1)
    group.folders["memory"] = tmp_path / "memory"
    machine = Rootfs(tree, group, overlay=False)
    folder = tmp_path / "run"
    folder.mkdir()
    machine.open(folder, None)
    with (tmp_path / "output").open("wb") as output:
        machine.start_run(["./run_autograder"], folder, output)
    ((program, environment),) = started
    assert "--net" in program[: program.index("/bin/sh")]
    assert "--mount" in program
    assert program[-4:] == [str(folder / "upper"), "", str(tmp_path / "memory" / "cgroup.procs"), "./run_autograder"]
    assert environment["AUTOGRADER_ROOT"] == "/autograder"
    assert environment["HOME"] == "/root"


def test_a_build_has_network_and_what_it_needs_for_it(
    tmp_path: Path, tree: Path, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that the environment names are lent, folders and a Python of this machine are not; no limits."""
    bundle = tmp_path / "etc" / "bundle.pem"
    bundle.parent.mkdir()
    bundle.write_text("certificates", encoding="utf-8")
    for name in list(image.passed_on()):
        monkeypatch.delenv(name)
    for name, value in {"PIP_CERT": bundle, "PIP_FIND_LINKS": tmp_path, "PYTHON": "/opt/python3"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("https_proxy", "proxy:3128")
    group = Group(1)
    group.folders["memory"] = tmp_path / "memory"
    machine = Rootfs(tree, group, overlay=True)
    folder = tmp_path / "image"
    folder.mkdir()
    machine.open(folder, None)
    with (tmp_path / "output").open("wb") as output:
        machine.start_build(["bash", "source/setup.sh"], folder, output)
    ((program, environment),) = started
    assert "--net" not in program
    assert program[-3:] == ["", "bash", "source/setup.sh"]  # joins no group
    assert environment.keys() - {"HOME", "AUTOGRADER_ROOT", "PATH"} == {"PIP_CERT", "https_proxy"}
    lent = folder / "upper" / str(bundle).lstrip("/")
    assert lent.read_text() == "certificates"
    assert (folder / "upper" / "etc").stat().st_mode & 0o777 == 0o751


def test_layers_of_an_overlay(tmp_path: Path, tree: Path, started: list[Any]) -> None:
    """A run lies over its image, which lies over the system."""
    machine = Rootfs(tree, Group(0), overlay=True)
    for name in ("image", "run"):
        (tmp_path / name).mkdir()
    root = machine.open(tmp_path / "image", None)
    built = image.Image(tmp_path / "image", root, True)
    machine.open(tmp_path / "run", built)
    with (tmp_path / "output").open("wb") as output:
        machine.start_run(["true"], tmp_path / "run", output)
    options = dict(part.split("=") for part in started[0][0][-3].split(","))
    assert options["lowerdir"] == f"{tmp_path / 'image' / 'upper'}:{tree}"
    assert options["upperdir"] == str(tmp_path / "run" / "upper")


def test_where_there_is_no_overlay_layers_are_copies(tmp_path: Path, able: pytest.MonkeyPatch, tree: Path) -> None:
    """Said in one line, as is a limit that the machine cannot set."""
    answers = iter(["no such device", ""])
    able.setattr(rootfs, "prepare", lambda tree, tell: None)
    able.setattr(rootfs, "_cannot_start", lambda machine, cache: next(answers))
    able.setattr(rootfs, "limited", lambda limits: limited(limits, Parents(0, missing={"cpu": "there is none"})))
    told: list[str] = []
    with rootfs.rootfs(tree, tmp_path / "cache", told.append) as machine:
        assert machine.key != Rootfs(tree, Group(0), overlay=True).key
    assert told == [
        "note: cpu is not limited here: there is none",
        f"note: no overlay here (no such device); each run gets a copy of {tree}",
    ]


def test_system_in_which_nothing_starts_is_told(tmp_path: Path, able: pytest.MonkeyPatch, tree: Path) -> None:
    """As for another processor: one line with the reason."""
    able.setattr(rootfs, "prepare", lambda tree, tell: None)
    able.setattr(rootfs, "_cannot_start", lambda machine, cache: "Exec format error")
    able.setattr(rootfs, "limited", lambda limits: limited(limits, Parents(0)))
    with (
        pytest.raises(GraderError, match=r"nothing can be started in .*: Exec format error"),
        rootfs.rootfs(tree, tmp_path / "cache", lambda line: None),
    ):
        pass


def test_a_simulation_with_copies(tmp_path: Path, able: pytest.MonkeyPatch, tree: Path) -> None:
    """The whole way, programs started in the copy, without a chroot: the image serves a changed zip as well."""
    able.undo()

    def enter(
        self: Rootfs,
        program: Sequence[str],
        folder: Path,
        output: IO[bytes],
        groups: Any,
        *,
        network: bool,
        **more: str,
    ) -> subprocess.Popen[bytes]:
        return image.start(program, folder / "upper" / "autograder", output)

    able.setattr(Rootfs, "_enter", enter)
    able.setattr("autograder.simulate.require", lambda tree, cache: None)
    able.setattr(rootfs, "require", lambda tree, cache: None)
    able.setattr(rootfs, "prepare", lambda tree, tell: None)
    able.setattr(rootfs, "limited", lambda limits: limited(limits, Parents(0)))
    answers = iter(["no overlay", ""] * 2)
    able.setattr(rootfs, "_cannot_start", lambda machine, cache: next(answers))
    setup = SETUP + "touch ../tmp/left; mkdir -p venv; echo made >venv/made\n"
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "ngram.py").write_text("x = 1\n", encoding="utf-8")
    script = "cat source/test.py venv/made submission/ngram.py; ls ../tmp\n" + SAY_RESULTS
    for version, built in (("1", True), ("2", False)):
        archive = make_archive(tmp_path / "a.zip", script, setup, **{"test.py": f"{version}\n"})
        done = simulate(
            tmp_path / "submission", archive, metadata=metadata(points=3), cache=tmp_path / "cache", system=tree
        )
        assert (done.outcome, done.score, done.problems, done.built) == ("posted", 2.0, (), built)
        assert done.stdout.split() == [version, "made", "x", "=", "1"]
    assert sorted(path.name for path in tree.iterdir()) == ["bin", "etc", "tmp", "usr", "var"]
    assert list((tmp_path / "cache" / "runs").iterdir()) == []

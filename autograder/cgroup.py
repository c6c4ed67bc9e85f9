"""Memory and CPU limits for a group of processes, by whichever kind of control groups this machine has.

Trusted side, Linux, root. Version 1 has a tree for each controller and takes processes at any node; version 2 has one
tree, in which only a node that passes a controller on to its children (``cgroup.subtree_control``) may limit them. A
limit that cannot be set here is reported in words: the caller goes on without it and says so.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

CONTROLLERS = ("memory", "cpu")
_PERIOD = 100_000  # microseconds in which the CPU time is counted
_END_SECONDS = 5.0


@dataclass(frozen=True)
class Limits:
    """What a group of processes may have; by default what the platform gives an assignment.

    Attributes:
        memory: bytes.
        cpus: cores; 0.5 is half of the time of one.
    """

    memory: int = 768 << 20
    cpus: float = 0.5


@dataclass(frozen=True)
class Parents:
    """Where groups can be made: controller -> folder, and why one has none. ``version`` is 0 when there is nothing."""

    version: int
    folders: Mapping[str, Path] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


def parents_of(process: Path = Path("/proc/self")) -> Parents:
    """Where a process may make groups, from what ``/proc/PID`` says of its own groups and mounts.

    New groups lie below those that the process is in, so that limits which it has itself still hold.
    """
    try:
        own = dict(_own(line) for line in (process / "cgroup").read_text(encoding="utf-8").splitlines())
        mounts = list(_mounts((process / "mountinfo").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return Parents(0, missing=dict.fromkeys(CONTROLLERS, "this machine has no control groups"))
    first = {
        name: _below(root, at, path)
        for controllers, path in own.items()
        for name in controllers.split(",")
        for kind, root, at, options in mounts
        if name in CONTROLLERS and kind == "cgroup" and name in options
    }
    if first:
        missing = {name: "it is not mounted" for name in CONTROLLERS if name not in first}
        return Parents(1, first, missing)
    for kind, root, at, _ in mounts:
        if kind == "cgroup2" and "" in own:
            return _second(_below(root, at, own[""]), at)
    return Parents(0, missing=dict.fromkeys(CONTROLLERS, "this machine has no control groups"))


def _own(line: str) -> tuple[str, str]:
    _, controllers, path = line.split(":", 2)
    return controllers, path


def _mounts(text: str) -> Iterator[tuple[str, str, Path, set[str]]]:
    """(kind, root within the file system, where it is mounted, options) of each mount."""
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        yield kind, before.split()[3], Path(before.split()[4]), set(options.split(","))


def _below(root: str, at: Path, path: str) -> Path:
    """Where the group ``path`` is found, when the group ``root`` is mounted ``at`` a folder."""
    inside = os.path.relpath(path, root)
    return at if inside == "." or inside.startswith("..") else at / inside


def _second(own: Path, top: Path) -> Parents:
    """The nearest group above that passes both controllers on; its own processes' group cannot, they are inside."""
    for folder in (own, *own.parents):
        with contextlib.suppress(OSError):
            if {*CONTROLLERS} <= {*(folder / "cgroup.subtree_control").read_text(encoding="ascii").split()}:
                return Parents(2, dict.fromkeys(CONTROLLERS, folder))
        if folder == top:
            break
    return Parents(2, missing=dict.fromkeys(CONTROLLERS, "no group above this process passes it on"))


class Group:
    """A group of processes. ``join`` lists the files into which a process writes its pid to become a member."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.folders: dict[str, Path] = {}
        self.unlimited: dict[str, str] = {}  # controller -> why

    @property
    def join(self) -> list[Path]:
        return [folder / "cgroup.procs" for folder in dict.fromkeys(self.folders.values())]

    def members(self) -> set[int]:
        """The pids in it."""
        found: set[int] = set()
        for path in self.join:
            with contextlib.suppress(OSError):
                found |= {int(pid) for pid in path.read_text(encoding="ascii").split()}
        return found - {0, os.getpid()}

    def end(self) -> bool:
        """Kill every member, by its pid. Whether there was any."""
        deadline, any_left = time.monotonic() + _END_SECONDS, False
        while (members := self.members()) and time.monotonic() < deadline:
            any_left = True
            for pid in members:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        return any_left

    @property
    def killed(self) -> int:
        """How many processes the kernel has killed for want of memory."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        return self._fact(name, "oom_kill")

    @property
    def most_memory(self) -> int:
        """The most bytes that all members had together, page cache included; 0 where nobody counts."""
        return self._fact("memory.peak" if self.version == 2 else "memory.max_usage_in_bytes")

    def _fact(self, file: str, key: str = "") -> int:
        try:
            words = (self.folders["memory"] / file).read_text(encoding="ascii").split()
            return int(words[words.index(key) + 1 if key else 0])
        except (KeyError, OSError, ValueError, IndexError):
            return 0


@contextmanager
def limited(limits: Limits, parents: Parents | None = None) -> Iterator[Group]:
    """A new group with these limits, where the machine allows; its members are ended, and it is removed, on leaving."""
    parents = parents_of() if parents is None else parents
    group = Group(parents.version)
    group.unlimited.update(parents.missing)
    name = f"autograder-{os.getpid()}-{os.urandom(3).hex()}"
    made: list[Path] = []
    try:
        for controller, parent in parents.folders.items():
            folder = parent / name
            try:
                if folder not in made:
                    folder.mkdir()
                    made.append(folder)
                for file, value, needed in _settings(parents.version, controller, limits):
                    _set(folder / file, value, needed)
                group.folders[controller] = folder
            except OSError as error:
                group.unlimited[controller] = error.strerror or str(error)
        yield group
    finally:
        group.end()
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()


def _settings(version: int, controller: str, limits: Limits) -> list[tuple[str, str, bool]]:
    """(file, value, whether it must succeed) for one controller. Swap would be memory beyond the limit."""
    quota = int(limits.cpus * _PERIOD)
    if version == 2:
        if controller == "memory":
            return [("memory.max", str(limits.memory), True), ("memory.swap.max", "0", False)]
        return [("cpu.max", f"{quota} {_PERIOD}", True)]
    if controller == "memory":
        limit = str(limits.memory)
        return [("memory.limit_in_bytes", limit, True), ("memory.memsw.limit_in_bytes", limit, False)]
    return [("cpu.cfs_period_us", str(_PERIOD), True), ("cpu.cfs_quota_us", str(quota), True)]


def _set(file: Path, value: str, needed: bool) -> None:
    try:
        file.write_text(value, encoding="ascii")
    except OSError:
        if needed:
            raise

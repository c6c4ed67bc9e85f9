"""A root file system of its own for simulated runs: what the zip needs of a machine shows, and nothing else is there.

Trusted side, Linux, root. How it works::

    DIR                        a system as debootstrap makes it; only read
    images/<key>/upper         what setup.sh has changed of it: system packages, /autograder/source, /autograder/venv
    runs/<random>/upper        what a run has changed: /autograder/submission, /autograder/results, ...

Each program is started in a mount namespace of its own, in which these are laid over one another (overlay), with
/proc, /sys and /dev, and which goes away with its last process: nothing is ever mounted on the machine. Where there is
no overlay, the layers are copies. A run has no network, and the memory and the CPU of ``cgroup.Limits`` where the
machine has control groups; the build step has what the machine has. The program is the direct child of the simulator:
``unshare``, ``sh`` and ``chroot`` replace themselves by it.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from . import image
from .cgroup import Group, Limits, limited
from .feedback.errors import GraderError, InputError
from .gradescope import clean
from .image import Image, Machine, Tell

ROOT = "/autograder"  # where the platform has it
_TOOLS = ("unshare", "mount", "chroot", "cp")
_SUITE = "stable"
_PACKAGES = "ca-certificates"
_LOG_LINES = 5

# $1 where to, $2 options of the overlay or nothing, $3 files that take our pid, then the program
_ENTER = """
set -eu
root=$1 overlay=$2 groups=$3
shift 3
for file in $groups; do echo $$ >"$file"; done
if [ -n "$overlay" ]; then mount -t overlay -o "$overlay" overlay "$root"; fi
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$root/sys"
mount -t tmpfs -o mode=755,size=1m tmpfs "$root/dev"
for name in null zero full random urandom; do
  : >"$root/dev/$name"
  mount --bind "/dev/$name" "$root/dev/$name"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/dev/shm"
mount -t tmpfs -o mode=1777,size=64m tmpfs "$root/dev/shm"
exec chroot "$root" /bin/sh -c 'cd /autograder && exec "$@"' sh "$@"
"""


class Rootfs(Machine):
    """Runs the programs of a zip in a root file system.

    Args:
        tree: the system; see :func:`prepared`.
        group: whose limits a run gets.
        overlay: whether layers are laid over one another, rather than copied.
    """

    def __init__(self, tree: Path, group: Group, overlay: bool) -> None:
        self._tree, self._group, self._overlay = tree, group, overlay

    def root(self, folder: Path) -> Path:
        """See ``Machine``."""
        return folder / "upper" / ROOT[1:]

    @property
    def key(self) -> object:
        """An image holds only what was changed of this very system."""
        status = self._tree.stat()
        return "rootfs", str(self._tree), status.st_ino, int((self._tree / "usr").stat().st_mtime), self._overlay

    def open(self, folder: Path, below: Image | None) -> Path:
        """The layer of an image (``below`` is None) or of a run."""
        upper = folder / "upper"
        if self._overlay:
            for name in ("upper", "work", "merged"):
                (folder / name).mkdir()
                (folder / name).chmod(0o755)
            lower = [str(below.folder / "upper")] if below is not None else []
            (folder / "lower").write_text(":".join([*lower, str(self._tree)]), encoding="utf-8")
        else:
            _copy(self._tree if below is None else below.folder / "upper", upper)
        root = self.root(folder)
        root.mkdir(exist_ok=True)
        root.chmod(0o755)
        if below is not None and not self._overlay:
            for name in ("source", "submission", "results"):
                shutil.rmtree(root / name, ignore_errors=True)
        return root

    def adopt(self, root: Path, below: Image) -> None:
        """What the image holds shows through; but for source/, which the run has of its own, whole."""
        if self._overlay:
            os.setxattr(root / "source", "trusted.overlay.opaque", b"y")

    def close_build(self, folder: Path) -> None:
        """As the platform does: nothing left in temporary folders survives."""
        for name in ("tmp", "var/tmp"):
            for entry in (folder / "upper" / name).glob("*"):
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        for name in ("work", "merged", "lower"):
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def start_build(self, program: Sequence[str], folder: Path, output: IO[bytes]) -> subprocess.Popen[bytes]:
        """With network, and what the machine says about reaching it: names, certificates, proxies."""
        upper = folder / "upper"
        environment = {}
        for name, value in image.passed_on().items():
            if name == "PYTHON" or Path(value).is_dir():
                continue  # a place of this machine, which is not there inside
            environment[name] = value
            if value.startswith("/") and Path(value).is_file():
                _lend(Path(value), upper, self._tree)
        _lend(Path("/etc/resolv.conf"), upper, self._tree)
        _lend(Path("/etc/hosts"), upper, self._tree)
        return self._enter(program, folder, output, [], network=True, **environment)

    def start_run(self, program: Sequence[str], folder: Path, output: IO[bytes]) -> subprocess.Popen[bytes]:
        """Without network."""
        return self._enter(program, folder, output, self._group.join, network=False)

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """The container ends: everything in it does."""
        image.kill_group(process)
        self._group.end()

    def most_memory(self) -> int:
        """See ``Machine``."""
        return self._group.most_memory

    def killed_for_memory(self) -> int:
        """See ``Machine``."""
        return self._group.killed

    def _enter(
        self,
        program: Sequence[str],
        folder: Path,
        output: IO[bytes],
        groups: Sequence[Path],
        *,
        network: bool,
        **more: str,
    ) -> subprocess.Popen[bytes]:
        upper, options = folder / "upper", ""
        if self._overlay:
            lower = (folder / "lower").read_text(encoding="utf-8")
            options = f"lowerdir={lower},upperdir={upper},workdir={folder / 'work'}"
        namespaces = ["--mount", "--propagation", "private", "--ipc", "--uts", *([] if network else ["--net"])]
        merged = folder / "merged" if self._overlay else upper
        enter = [shutil.which("unshare") or "unshare", *namespaces, "/bin/sh", "-c", _ENTER, "sh"]
        return image.start(
            [*enter, str(merged), options, " ".join(map(str, groups)), *program],
            folder,
            output,
            **{"HOME": "/root", "AUTOGRADER_ROOT": ROOT, "PATH": image.PATH, **more},
        )


@contextmanager
def rootfs(tree: Path, cache: Path, tell: Tell, limits: Limits | None = None) -> Iterator[Rootfs]:
    """A machine that runs programs in ``tree``, made by debootstrap when it is not there or empty.

    Raises:
        InputError: not Linux, not root, a tool or a system is missing, or the path will not do.
        GraderError: debootstrap failed, or nothing can be started in the tree.
    """
    tree = tree.absolute()
    require(tree, cache)
    prepare(tree, tell)
    with limited(limits or Limits()) as group:
        for controller, why in group.unlimited.items():
            tell(f"note: {controller} is not limited here: {why}")
        machine = Rootfs(tree, group, overlay=True)
        why = _cannot_start(machine, cache)
        if why:
            tell(f"note: no overlay here ({why}); each run gets a copy of {tree}")
            machine = Rootfs(tree, group, overlay=False)
            why = _cannot_start(machine, cache)
        if why:
            raise GraderError(f"nothing can be started in {tree}: {why}")
        yield machine


def require(tree: Path, cache: Path) -> None:
    """Refuse what cannot work, before anything is made.

    Raises:
        InputError: one line.
    """
    if not sys.platform.startswith("linux"):
        raise InputError("--rootfs needs Linux")
    if os.geteuid() != 0:
        raise InputError("--rootfs needs root: it mounts a file system and changes its root; try sudo")
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        raise InputError(f"--rootfs needs {', '.join(missing)}, which this machine does not have")
    if tree.is_symlink() or (tree.exists() and not tree.is_dir()):
        raise InputError(f"{tree} should be a folder, and no link to one")
    for path in (tree, cache):
        if any(character in str(path) for character in ":,\\ \n"):  # they mean something to mount and to the shell
            raise InputError(f"{path}: --rootfs needs paths without blanks, commas, colons and backslashes")
    if tree == Path("/") or tree in cache.parents or tree == cache:
        raise InputError(f"{tree}: --rootfs needs a folder that is used for nothing else")


def prepare(tree: Path, tell: Tell) -> None:
    """Make the system unless it is there.

    Raises:
        InputError: there is something else, or nothing to make it with.
        GraderError: debootstrap failed; nothing is left.
    """
    if tree.is_dir() and any(tree.iterdir()):
        if not (tree / "bin/sh").exists() or not (tree / "usr/bin/env").exists():
            raise InputError(f"{tree} holds something, but no system: /bin/sh or /usr/bin/env is missing")
        return
    debootstrap = shutil.which("debootstrap")
    if debootstrap is None:
        raise InputError(
            f"{tree} is empty: install debootstrap, or fill it yourself, such as from a container's export"
        )
    suite, mirror = apt_source()
    tell(f"making a system in {tree} with debootstrap (once, a minute or two)")
    try:
        tree.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{tree.name}.", dir=tree.parent))
    except OSError as error:
        raise InputError(f"{tree}: {error.strerror}") from None
    try:
        command = [debootstrap, "--variant=minbase", f"--include={_PACKAGES}", suite, str(unfinished), *mirror]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if done.returncode:
            said = clean(done.stdout.decode("utf-8", "replace")).strip().splitlines()[-_LOG_LINES:]
            raise GraderError(f"debootstrap ended with status {done.returncode}: {' | '.join(said)}")
        unfinished.chmod(0o755)
        unfinished.rename(tree)  # an empty folder may be in its place
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def apt_source() -> tuple[str, list[str]]:
    """(suite, mirror) that this machine's own apt uses; debootstrap's default where there is no apt."""
    try:
        done = subprocess.run(
            ["apt-get", "indextargets", "--format", "$(RELEASE) $(COMPONENT) $(SITE)", "Created-By: Packages"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return _SUITE, []
    for line in done.stdout.splitlines():
        suite, component, site = line.split(" ", 2)
        if component == "main" and not suite.endswith(("-updates", "-security", "-backports")):
            return suite, [site]
    return _SUITE, []


def _cannot_start(machine: Rootfs, cache: Path) -> str:
    """Why nothing can be started in it; empty when something can."""
    with image.run_folder(cache) as folder, tempfile.TemporaryFile() as output:
        machine.open(folder, None)
        process = machine.start_run(["true"], folder, output)
        status = process.wait()
        output.seek(0)
        said = clean(output.read().decode("utf-8", "replace")).strip().splitlines()
    return (said or [f"status {status}"])[-1] if status else ""


def _copy(source: Path, into: Path) -> None:
    """With owners, modes and devices, sharing blocks where the file system can."""
    into.mkdir()
    done = subprocess.run(
        ["cp", "-a", "--reflink=auto", f"{source}/.", str(into)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise GraderError(f"cannot copy {source}: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")


def _lend(path: Path, upper: Path, tree: Path) -> None:
    """A copy of a file of this machine at the same place in a layer."""
    target = upper / str(path).lstrip("/")
    try:
        for parent in reversed(target.relative_to(upper).parents):
            if not (upper / parent).is_dir():  # in an overlay it covers the system's own: it must look like that
                (upper / parent).mkdir()
                covered = tree / parent
                (upper / parent).chmod(stat.S_IMODE(covered.stat().st_mode) if covered.is_dir() else 0o755)
        target.unlink(missing_ok=True)
        shutil.copyfile(path, target)
    except OSError:
        return  # without it the build may still do, and says what it misses if not
    target.chmod(0o644)

"""Keeps the zygotes of one job for the next: importing NumPy and PyTorch costs more than many a submission.

Trusted, in the host. A zygote never runs student code, so nothing of one submission is in it when the next one comes;
``settle`` kills what a killed session left behind. Another set of given files gets other zygotes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from .feedback.assignment import Assignment, load_assignment
from .feedback.errors import GraderError
from .pool import Given, Zygote, start_workers
from .removal import remove_tree
from .session import Job, given_files

_ITEM = re.compile(r"@item\(\s*[\"'](\w+)")


class Nursery:
    """The zygotes that a host keeps; none on systems where a zygote is no use.

    Args:
        place: a folder for its files, for those who may be killed: somebody else removes it. None for one of its own.
    """

    def __init__(self, place: Path | None = None) -> None:
        self._place = place
        self._zygotes: dict[bool, Zygote] = {}
        self._digest = b""
        self._folder: Path | None = None

    def zygotes(self, job: Job) -> Mapping[bool, Zygote]:
        """Those for a job, by whether they have PyTorch; started now, ready when they are first asked.

        Raises:
            InputError: the job's assignment is unusable.
        """
        assignment = load_assignment(Path(job.home) / "assignment.toml")
        given = given_files(assignment, Path(job.staging))
        if given is None:
            return {}
        digest = _digest(given)
        if digest != self._digest:
            self.close()
            self._digest, self._folder = digest, Path(tempfile.mkdtemp(prefix="autograder-given-", dir=self._place))
            self._folder.chmod(0o755)
            shutil.copytree(given.folder / given.package, self._folder / given.package)
        assert self._folder is not None
        for torch in (False, True) if _wants_torch(job, assignment) else (False,):
            if torch in self._zygotes and self._zygotes[torch].process.poll() is not None:  # somebody has killed it
                self._zygotes.pop(torch).close()
            if torch not in self._zygotes:
                zygote = start_workers(torch, Given(self._folder, given.package))
                if isinstance(zygote, Zygote):
                    self._zygotes[torch] = zygote
        return self._zygotes

    def settle(self) -> None:
        """After a job, however it ended: nothing that was forked for it lives, and what does not answer is replaced."""
        for torch, zygote in list(self._zygotes.items()):
            try:
                left = zygote.settle()
            except GraderError:
                left = 1
            if left:
                del self._zygotes[torch]
                zygote.close()

    def close(self) -> None:
        """End them all."""
        for zygote in self._zygotes.values():
            zygote.close()
        self._zygotes.clear()
        if self._folder is not None:
            remove_tree(self._folder)
        self._digest, self._folder = b"", None


def _digest(given: Given) -> bytes:
    digest = hashlib.sha256(given.package.encode())
    for path in sorted((given.folder / given.package).iterdir()):
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.digest()


def _wants_torch(job: Job, assignment: Assignment) -> bool:
    slugs = {item.slug for item in assignment.items if item.torch}
    if job.items:
        return not slugs.isdisjoint(job.items)
    if job.tests:
        files = {name.partition("::")[0] for name in job.tests}
        paths = [name if name.startswith("hidden/") else f"public/{name}" for name in files]
        return any(not slugs.isdisjoint(_items_in(os.path.join(job.home, "tests", path))) for path in paths)
    return bool(slugs)


@lru_cache(maxsize=1000)
def _items_in(path: str) -> frozenset[str]:
    try:
        return frozenset(_ITEM.findall(Path(path).read_text(encoding="utf-8")))
    except OSError:
        return frozenset()  # the session will say so

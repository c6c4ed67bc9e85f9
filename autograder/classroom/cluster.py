"""Spreads submissions over graders by dask.distributed: the cores of this machine, or any cluster with a scheduler.

A task only supervises: what a student wrote runs in workers of the grader, confined, under users of their own. So no
task can hang or crash for what was handed in; when a machine dies, the scheduler gives its tasks to another one. On
this machine the cluster lies in this process; only its status pages listen, on the loopback.
"""

from __future__ import annotations

import atexit
import logging
import queue
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..feedback.errors import GraderError, InputError
from .export import Source
from .grader import Grader, Setup
from .records import FAILED, Entry

Task = tuple[str, Source]  # content, and where it lies
RETRIES = 3  # of a task whose machine died, or has another version
LOOPBACK = "127.0.0.1:0"  # for Dask's status pages, which cannot be left out
CONNECT = 20.0  # seconds for a scheduler to answer
_LOOK = 1.0  # seconds between two looks at whether the scheduler lives
_AHEAD = 3  # tasks a thread that wait at the scheduler: a class of any size takes no memory

_graders: dict[Setup, Grader] = {}
_lock = threading.Lock()


def grade_task(setup: Setup, content: str, source: Source, grader: str) -> Entry:
    """One task, on whichever machine: its grader starts with the first one and stays warm."""
    if not Path(source.path).exists():
        return Entry(content, grader, FAILED, output=f"{source.path} is not there on the machine that should grade it")
    with _lock:
        if setup not in _graders:
            _graders[setup] = Grader(setup)
            atexit.register(_graders[setup].close)
    try:
        entry = _graders[setup].grade(source, grader)
    except InputError as error:
        return Entry(content, grader, FAILED, output=str(error))
    if entry.content != content:
        return Entry(content, grader, FAILED, output="the submission changed while it was graded")
    return entry


class Cluster:
    """A client of a scheduler."""

    def __init__(self, client: Any, setup: Setup, grader: str) -> None:
        self._client, self._setup, self._grader = client, setup, grader

    def run(self, tasks: Iterable[Task]) -> Iterator[Entry]:
        """The entries of tasks, in the order in which they end.

        Raises:
            GraderError: the scheduler is gone.
        """
        waiting = iter(tasks)
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        running: dict[Any, str] = {}
        while True:
            for content, source in self._next(waiting, len(running)):
                future = self._client.submit(
                    grade_task, self._setup, content, source, self._grader, key=f"grade-{content}", retries=RETRIES
                )
                running[future] = content
                future.add_done_callback(done.put)
            if not running:
                return
            try:
                future = done.get(timeout=_LOOK)
            except queue.Empty:
                self._require_scheduler()
                continue
            if future.status in ("cancelled", "lost"):
                self._require_scheduler()
                raise GraderError("the scheduler gave up a task")
            content = running.pop(future)
            error = future.exception() if future.status == "error" else None
            if error is not None:
                said = f"{type(error).__name__}: {error}"
                yield Entry(content, self._grader, FAILED, output=said)
            else:
                yield future.result()
            future.release()

    def _next(self, waiting: Iterator[Task], running: int) -> Iterator[Task]:
        room = _AHEAD * max(1, sum(self._client.nthreads().values())) - running
        for _, task in zip(range(room), waiting, strict=False):
            yield task

    def _require_scheduler(self) -> None:
        if self._client.status != "running":
            raise GraderError("the scheduler is gone; what was graded is in the journal: run it again to go on")


@contextmanager
def local_cluster(setup: Setup, grader: Grader) -> Iterator[Cluster]:
    """The cores of this machine: ``setup.jobs`` submissions at once, by a grader that is there already."""
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.ERROR)
    _graders[setup] = grader
    try:
        with (
            LocalCluster(
                n_workers=1,
                threads_per_worker=setup.jobs,
                processes=False,
                memory_limit=0,
                dashboard_address=LOOPBACK,
                worker_dashboard_address=LOOPBACK,
            ) as cluster,
            Client(cluster) as client,
        ):
            try:
                yield Cluster(client, setup, grader.digests.whole)
            finally:
                grader.stop()  # whoever leaves early waits for nobody
    finally:
        del _graders[setup]


@contextmanager
def remote_cluster(address: str, setup: Setup, grader: Grader) -> Iterator[Cluster]:
    """A cluster whose scheduler listens at an address such as ``tcp://10.0.0.1:8786``.

    Its workers need this package, the same libraries, and the same paths: the home and the export on a shared disk.

    Raises:
        InputError: nobody answers there.
    """
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(f"{address}: no scheduler answers ({str(error) or 'time-out'})") from None
    with client:
        if not client.nthreads():
            raise InputError(f"{address}: the scheduler has no workers; start some: dask worker {address}")
        yield Cluster(client, setup, grader.digests.whole)

"""Measures what a grading costs: time, processor, workers, calls, memory.

    python -m benchmarks.grading

Linux, as root. The solutions are graded as the platform does it, by ``entry``, with what the machine has, and on half
a core (a control group; else pinned beside a busy loop). Workers and calls are measured apart, in a pool of their own:
median, best and the slowest tenth. All figures depend on what else the machine does: its load is printed first.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autograder.cgroup import Limits, limited
from autograder.deadlines import Deadlines
from autograder.feedback.assignment import Assignment, load_assignment
from autograder.grade import staged
from autograder.pool import Pool
from tests.staff.runs import ROOT, children, copy_home, write_submission

SAMPLE_SECONDS = 0.1


@dataclass(frozen=True)
class Cost:
    """Of one grading. ``memory``: the most bytes of all processes together, shared pages counted once (PSS)."""

    wall: float
    processor: float  # seconds, user and system, of all processes
    memory: int
    processes: int
    document: dict[str, Any]


def grade_once(home: Path, folder: Path, join: Sequence[Path] = (), pin: int | None = None) -> Cost:
    """Grade the solutions as the platform does.

    Args:
        home: of the assignment.
        folder: empty; other users may pass through it.
        join: files that take the pid of the grader, to make it a member of a control group.
        pin: the only core that it may use.
    """
    source = copy_home(folder / "source", home)
    shutil.copytree(ROOT / "autograder", source / "autograder", ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(source / "autograder", quiet=2)  # as setup.sh does
    for private in ("solutions", "tests"):
        (source / private).chmod(0o700)
    package = load_assignment(home / "assignment.toml").package
    submission = write_submission(folder / "upload", home)
    (submission / package).rename(folder / "submission")
    (folder / "results").mkdir(mode=0o700)
    enter = "".join(f"echo $$ >{path}\n" for path in join) + 'exec "$@"'
    command = ["/bin/sh", "-c", enter, "sh", sys.executable, "-I", "-B", str(source / "autograder" / "entry.py")]
    if pin is not None:
        command = ["taskset", "-c", str(pin), *command]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen(
        command, env={**os.environ, "AUTOGRADER_ROOT": str(folder)}, stdout=subprocess.PIPE, text=True
    )
    most, count = [0], [0]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(SAMPLE_SECONDS):
            pids = _family(process.pid)
            count[0] = max(count[0], len(pids))
            most[0] = max(most[0], sum(map(_pss, pids)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    said = process.communicate()[0]
    wall = time.monotonic() - began
    over.set()
    watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode != 0:
        raise SystemExit(f"the solutions cannot be graded:\n{said}")
    processor = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    document = json.loads((folder / "results" / "results.json").read_bytes())
    return Cost(wall, processor, most[0], count[0], document)


def _family(pid: int) -> list[int]:
    found, new = [pid], [pid]
    while new:
        new = [child for parent in new for child in children(parent)]
        found += new
    return found


def _pss(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


@contextmanager
def busy(core: int) -> Iterator[None]:
    """A process that takes half of a core from whoever is pinned to it."""
    process = subprocess.Popen(["taskset", "-c", str(core), sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def on_half_a_core(home: Path, folder: Path) -> tuple[str, Cost]:
    """(how it was halved, cost)."""
    with limited(Limits()) as group:
        if "cpu" in group.folders:
            how = "control group: 0.5 cores" + ("" if "memory" not in group.folders else ", 768 MiB")
            return how, grade_once(home, folder, group.join)
    core = min(os.sched_getaffinity(0))
    with busy(core):
        return "pinned beside a busy loop", grade_once(home, folder, pin=core)


def workers_and_calls(home: Path, assignment: Assignment, torch: bool) -> tuple[list[float], list[float]]:
    """Seconds until a confined worker is ready, and seconds of a call that does nothing, for many of each."""
    starts: list[float] = []
    calls: list[float] = []
    item = replace(assignment.items[0], torch=torch)
    submission = home / "solutions"
    with staged(submission, home, assignment) as (staging, _):
        budgets = replace(assignment.budgets, item=1000.0, run=1000.0, test=100.0)
        pool = Pool(assignment, staging / "submission", staging / "scratch", Deadlines(budgets), submission)
        try:
            for _ in range(41):
                began = time.perf_counter()
                with pool.open(item) as student:
                    starts.append(time.perf_counter() - began)
                    student.put(0)
            with pool.open(item) as student:
                for _ in range(2000):
                    began = time.perf_counter()
                    student.put(0)
                    calls.append(time.perf_counter() - began)
        finally:
            pool.close()
    return starts[1:], calls[100:]  # the first ones wait for the zygote and for imports


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    about = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grading", description=about)
    parser.add_argument("--home", type=Path, default=ROOT, help="of the assignment (default: this repository)")
    parser.add_argument("--no-torch", action="store_true", help="measure no workers with torch")
    options = parser.parse_args(arguments)
    assignment = load_assignment(options.home / "assignment.toml")
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"python {platform.python_version()}, {os.cpu_count()} cores, load {load}", flush=True)
    for name, torch in (("numpy", False), ("torch", True)):
        if torch and (options.no_torch or not _has_torch()):
            continue
        starts, calls = workers_and_calls(options.home, assignment, torch)
        print(f"worker with {name}: {_spread(starts, 1e3)} ms; a call: {_spread(calls, 1e6)} µs", flush=True)
    with _folder() as folder:
        _print_cost("full speed", grade_once(options.home, folder))
    with _folder() as folder:
        _print_cost(*on_half_a_core(options.home, folder))
    return 0


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="grading-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _has_torch() -> bool:
    """Asked of another process: this one is the trusted one of a pool."""
    return subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False).returncode == 0


def _spread(seconds: Sequence[float], scale: float) -> str:
    ordered = sorted(seconds)
    low, high = ordered[0], ordered[-len(ordered) // 10]
    return f"{statistics.median(ordered) * scale:.1f} ({low * scale:.1f} to {high * scale:.1f})"


def _print_cost(how: str, cost: Cost) -> None:
    facts = cost.document["extra_data"]["isolation"]
    points = sum(row["score"] for row in cost.document["tests"])
    print(
        f"{how}: {cost.wall:.1f} s, processor {cost.processor:.1f} s, memory {cost.memory / 1e6:.0f} MB "
        f"in at most {cost.processes} processes; {points:g} points, rung {facts['rung']}, {facts['workers']} workers, "
        f"{facts['calls']} calls, torch in the trusted process: {'yes' if facts['torch_in_trusted_process'] else 'no'}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())

"""Kills parts of a regrade at random moments, and looks whether the journal becomes that of an undisturbed run.

    python -m benchmarks.kill_the_regrade --rounds 20

Linux, as root. By turns SIGKILL hits the ``run`` itself, a grader's ``host``, its ``session`` or its ``zygote``, a
``worker`` of a Dask cluster of a scheduler and two workers (programs of their own), and their ``scheduler``; and the
run is interrupted as by Ctrl-C. A run that ends with an error is started again, with a new cluster where it had one.
In the end each content must stand in the journal with the very verdict of the undisturbed run, once, and no process is
left.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from autograder.classroom.records import FAILED, Entry, journals, read_lines
from tests.staff.runs import POCKET, ROOT, children, command_line, is_alive, wait_until, write_submission

VICTIMS = ("run", "host", "session", "zygote", "worker", "scheduler", "interrupt")
SUBMISSIONS, SLOW = 6, 0.15  # seconds of a slow function, so that there is a run to be disturbed
END_SECONDS, GONE_SECONDS = 120.0, 20.0
TRIES = 6  # starts of a run that was killed once
PR_SET_CHILD_SUBREAPER = 36
_LAUNCH = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from distributed.cli.dask_{{0}} import main; main()"


def make_class(folder: Path) -> Path:
    """Submissions that differ, some of them wrong, slow enough to be hit."""
    for number in range(SUBMISSIONS):
        submission = write_submission(folder / f"student{number}", POCKET)
        file = submission / "pocket" / "alpha.py"
        text = file.read_text(encoding="utf-8").replace(
            "    return 2 * x\n", f"    import time\n\n    time.sleep({SLOW})\n    return {2 + number % 2} * x\n"
        )
        file.write_text(f"{text}\n# {number}\n", encoding="utf-8")
    return folder


def verdicts(grades: Path) -> tuple[dict[str, bytes], list[str]]:
    """Content -> verdict without its time; and what is wrong with the journal itself."""
    found: dict[str, bytes] = {}
    problems = []
    for path in journals(grades):
        for entry in read_lines(path, Entry):
            if entry.status == FAILED:
                continue
            if entry.content in found:
                problems.append(f"{entry.content[:8]} stands in the journal twice")
            found[entry.content] = msgspec.json.encode(msgspec.structs.replace(entry, seconds=0.0))
    return found, problems


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers as programs of their own: the address, and the processes, the scheduler first."""
    told = folder / f"scheduler{time.monotonic_ns()}.json"
    processes: list[subprocess.Popen[bytes]] = []

    def start(what: str, *arguments: str) -> None:
        command = [sys.executable, "-c", _LAUNCH.format(what), "--scheduler-file", str(told), "--no-dashboard"]
        log = folder / f"{what}{len(processes)}.log"
        with log.open("wb") as file:
            processes.append(subprocess.Popen([*command, *arguments], stdout=file, stderr=file, cwd=folder))

    try:
        start("scheduler", "--host", "127.0.0.1", "--port", "0")
        wait_until(lambda: told.is_file() and told.read_bytes().rstrip().endswith(b"}"))
        for _ in range(2):
            start("worker", "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--memory-limit", "0")
        for number in (1, 2):
            log = folder / f"worker{number}.log"
            wait_until(lambda log=log: b"Registered to" in log.read_bytes())
        yield json.loads(told.read_bytes())["address"], processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


class Round:
    """One regrade that is disturbed once."""

    def __init__(self, export: Path, folder: Path, victim: str) -> None:
        self._export, self._folder, self._victim = export, folder, victim
        self.grades = folder / "grades"
        (folder / "tmp").mkdir()
        for path in (folder, folder / "tmp"):
            path.chmod(0o711)

    def play(self, delay: float) -> bool:
        """Disturb it so long after its start of grading, and bring it to its end. False: it was over before."""
        hit = False
        for _ in range(TRIES):
            with contextlib.ExitStack() as stack:
                address, processes = "", []
                if self._victim in ("worker", "scheduler"):
                    address, processes = stack.enter_context(cluster(self._folder))
                run = self._start(address)
                try:
                    if not hit:
                        hit = self._disturb(run, processes, delay)
                    if run.wait(END_SECONDS) == 0:
                        return hit
                finally:
                    run.kill()
                    run.wait()
        raise AssertionError(f"{self._victim}: it does not come to its end in {TRIES} runs: {self._log().read_text()}")

    def _start(self, address: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", "import sys; from autograder.cli import main; main()", "--home", str(POCKET)]
        command += ["regrade", str(self._export), "--out", str(self.grades), "--jobs", "2"]
        command += ["--scheduler", address] if address else []
        environment = {**os.environ, "TMPDIR": str(self._folder / "tmp"), "PYTHONPATH": str(ROOT)}
        with self._log().open("ab") as file:
            return subprocess.Popen(command, stdout=file, stderr=file, env=environment)

    def _log(self) -> Path:
        return self._folder / "log"

    def _disturb(self, run: subprocess.Popen[bytes], processes: list[subprocess.Popen[bytes]], delay: float) -> bool:
        wait_until(lambda: run.poll() is not None or list(self.grades.glob("journal*")))
        time.sleep(delay)
        tops = [run.pid, *(process.pid for process in processes)]
        found = list(self._found(tops, processes))
        if run.poll() is not None or not found:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(found[0], signal.SIGINT if self._victim == "interrupt" else signal.SIGKILL)
        return True

    def _found(self, tops: Sequence[int], processes: list[subprocess.Popen[bytes]]) -> Iterator[int]:
        if self._victim in ("run", "interrupt"):
            yield tops[0]
        elif self._victim in ("scheduler", "worker"):
            yield processes[self._victim == "worker"].pid
        else:
            for host in (pid for top in tops for pid in children(top) if b"host.py" in command_line(pid)):
                for child in children(host):
                    if (b"zygote.py" in command_line(child)) == (self._victim == "zygote"):
                        yield host if self._victim == "host" else child


def leftovers() -> list[int]:
    """What lives below this process, once it had time to end."""
    end = time.monotonic() + GONE_SECONDS
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        left = [pid for pid in children(os.getpid()) if is_alive(pid)]
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.02)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. 0 when every round leaves what it must."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.kill_the_regrade", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--victim", choices=VICTIMS, help="only this one")
    options = parser.parse_args(arguments)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    draw = random.Random(options.seed)
    folder = Path(tempfile.mkdtemp(prefix="kill-"))
    folder.chmod(0o711)
    counts: Counter[str] = Counter()
    off = 0
    try:
        export = make_class(folder / "class")
        whole = Round(export, _fresh(folder / "whole"), "nobody")
        began = time.monotonic()
        whole.play(0.0)
        seconds = time.monotonic() - began
        expected, problems = verdicts(whole.grades)
        assert len(expected) == SUBMISSIONS, "the undisturbed run lacks verdicts"
        number = tries = 0
        while number < options.rounds and tries < 4 * options.rounds:
            tries += 1
            victim = options.victim or VICTIMS[number % len(VICTIMS)]
            played = Round(export, _fresh(folder / f"round{tries}"), victim)
            if not played.play(draw.uniform(0.0, 0.6 * seconds)):
                continue
            number += 1
            counts[victim] += 1
            got, problems = verdicts(played.grades)
            problems += [f"{sum(got.get(key) != value for key, value in expected.items())} verdicts differ"] * (
                got != expected
            )
            problems += [f"alive afterwards: {[command_line(pid) for pid in left]}"] if (left := leftovers()) else []
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            if problems:
                off += 1
                print(f"{victim}: {'; '.join(problems)}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{number} disturbed regrades ({', '.join(f'{name} {counts[name]}' for name in VICTIMS)}): {off} off")
    return 1 if off or number < options.rounds else 0


def _fresh(folder: Path) -> Path:
    folder.mkdir()
    return folder


if __name__ == "__main__":
    sys.exit(main())

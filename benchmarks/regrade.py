"""Grades a simulated class with `autograder regrade`, and a sample of it by a fresh `autograder grade` for each.

    python -m benchmarks.regrade --n 1000 --sample 60

Prints submissions a second of both, by wall time of the same machine with as many jobs, and their ratio (goal: at least
2.5); the memory of all processes of the regrade, at a tenth and at the end of the run; and, with ``--double``, the time
of a class of twice the size (goal: twice, within 10 %). The fresh gradings run as ``xargs -P`` would run them. The
sample is drawn evenly over the class, and both are measured one after the other: nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMAND = [str(Path(sys.executable).with_name("autograder")), "--home", str(ROOT)]


def memory_of(group: int) -> float:
    """MB of all processes of a session: what each has for itself, and its part of what is shared."""
    total = 0
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.getsid(int(entry)) == group:
                text = Path(f"/proc/{entry}/smaps_rollup").read_text(encoding="ascii")
                total += int(text.partition("\nPss:")[2].split()[0])
        except (OSError, ProcessLookupError, IndexError, ValueError):
            continue
    return total / 1024


def regrade(export: Path, out: Path, jobs: int) -> tuple[float, list[tuple[float, float]]]:
    """Seconds of a regrade, and its memory (second, MB) over time."""
    began = time.monotonic()
    seen: list[tuple[float, float]] = []
    command = [*COMMAND, "regrade", str(export), "--out", str(out), "--jobs", str(jobs)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        over = threading.Event()

        def watch() -> None:
            while not over.wait(5.0):
                seen.append((time.monotonic() - began, memory_of(process.pid)))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            code = process.wait()
        finally:
            over.set()
            watcher.join()
    if code not in (0, 3):
        raise SystemExit(f"the regrade ended with {code}")
    return time.monotonic() - began, seen


def fresh(folders: Sequence[Path], jobs: int) -> float:
    """Seconds of a fresh `autograder grade` for each, so many at once."""
    began = time.monotonic()
    names = b"\0".join(os.fsencode(folder) for folder in folders)
    command = ["xargs", "-0", "-P", str(jobs), "-n", "1", *COMMAND, "grade"]
    subprocess.run(command, input=names, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.monotonic() - began


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. 0 when the goal is met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regrade", description=__doc__.partition("\n")[0])
    parser.add_argument("--n", type=int, default=100, help="submissions of the class")
    parser.add_argument("--sample", type=int, default=20, help="how many of them are graded afresh")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--double", action="store_true", help="grade a class of twice the size as well")
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="class-"))
    folder.chmod(0o711)
    try:
        times = []
        for count in (options.n, 2 * options.n) if options.double else (options.n,):
            export = folder / f"export{count}"
            make = [*COMMAND, "class", str(count), "--out", str(export), "--seed", str(options.seed)]
            subprocess.run(make, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            seconds, seen = regrade(export, folder / f"grades{count}", options.jobs)
            submissions = sorted(path for path in export.iterdir() if path.is_dir())
            times.append(seconds / len(submissions))
            print(f"regrade: {len(submissions)} submissions in {seconds:.0f} s, {len(submissions) / seconds:.3f}/s")
            if seen:
                early = [mb for at, mb in seen if at <= seen[-1][0] / 5] or [seen[0][1]]
                late = [mb for at, mb in seen if at >= seen[-1][0] * 4 / 5]
                print(f"memory: at most {max(early):.0f} MB in the first fifth, {max(late):.0f} MB in the last")
        if options.double:
            print(f"twice the class: {2 * times[1] / times[0]:.2f} times the time")
        submissions = sorted(path for path in (folder / f"export{options.n}").iterdir() if path.is_dir())
        chosen = submissions[:: max(1, len(submissions) // options.sample)][: options.sample]
        seconds = fresh(chosen, options.jobs)
        print(f"fresh:   {len(chosen)} submissions in {seconds:.0f} s, {len(chosen) / seconds:.3f}/s")
        ratio = seconds / len(chosen) / times[0]
        print(f"ratio {ratio:.2f} (goal 2.5)")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if ratio >= 2.5 else 1


if __name__ == "__main__":
    sys.exit(main())

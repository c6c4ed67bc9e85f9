"""A trusted process that has pytest and numpy imported and forks a session for each job.

One submission needs one job; an audit or a class hundreds, and starting an interpreter would cost more than most of
them. Nothing of a job outlives it: each runs in a fork of its own. The zygotes, which never run student code, stay.

As a program (``python -I -B host.py ENGINE_PARENT [FOLDER]``; FOLDER is for its files, and whoever gives it removes it)
it reads one job a line from standard input and answers with one
line of JSON: exit code, standard output, standard error. It ends when its input closes.
"""

from __future__ import annotations

import signal
import sys

if __name__ == "__main__":  # run as a file by an isolated interpreter: find our own package, and nothing else
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; whoever started us ends us
    sys.path.insert(0, sys.argv[1])

import contextlib
import io
import os
import selectors
import subprocess
import tempfile
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import msgspec

from autograder.confine import die_with
from autograder.feedback.errors import GraderError, InputError
from autograder.nursery import Nursery
from autograder.pool import Zygote
from autograder.removal import remove_tree
from autograder.session import GRADER_FAILED, Job, run

BAD_JOB = 2
END_SECONDS = 10.0


class Answer(msgspec.Struct, frozen=True):
    """How a session ended."""

    code: int
    stdout: str
    stderr: str


class Host:
    """The near side of one host process. Starts with the first job; for one thread at a time, but for ``stop``."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None  # ours to remove, since the host may be killed
        self._stopped = False

    def run(self, job: Job, seconds: float) -> Answer:
        """Run a job to its end, ``seconds`` at most; a session that takes longer is killed with its host."""
        if self._process is None:
            self._folder = Path(tempfile.mkdtemp(prefix="autograder-host-"))
            command = [sys.executable, "-I", "-B", __file__, str(Path(__file__).parents[1]), str(self._folder)]
            threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **threads}
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        if self._stopped:  # asked after the start: whoever stops us either saw this process or is seen here
            self.kill()
            return Answer(GRADER_FAILED, "", "the session was stopped")
        try:
            process.stdin.write(msgspec.json.encode(job) + b"\n")
            process.stdin.flush()
            line = next_line(process.stdout.fileno(), time.monotonic() + seconds)
        except OSError:
            line = b""
        if line is None:
            self.kill()
            return Answer(GRADER_FAILED, "", "the session did not end in time")
        if not line:
            self.kill()
            return Answer(GRADER_FAILED, "", "the session was killed")
        return msgspec.json.decode(line, type=Answer)

    def stop(self) -> None:
        """End the session, and take no job any more. May be called from another thread than ``run``."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    def kill(self) -> None:
        """End the host and its session at once; their workers end with them."""
        if self._process is not None:
            self._process.kill()
        self.close()

    def close(self) -> None:
        """End the host: END_SECONDS at most."""
        process, self._process = self._process, None
        if process is not None:
            end(process)
        folder, self._folder = self._folder, None
        if folder is not None:
            remove_tree(folder)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a program that serves until its input closes: by closing it and, after END_SECONDS, by SIGKILL."""
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        with contextlib.suppress(OSError):
            pipe.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def next_line(descriptor: int, deadline: float) -> bytes | None:
    """Everything up to the next end of line; b"" at the end of input; None at the deadline."""
    data = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while not data.endswith(b"\n"):
            if not selector.select(max(0.0, deadline - time.monotonic())):
                return None
            part = os.read(descriptor, 1 << 16)
            if not part:
                return b""
            data += part
    return bytes(data)


def _main(folder: Path | None = None) -> None:
    import pytest

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        # pytest imports most of itself only now; a run without tests does it once for all jobs
        pytest.main(["-c", os.devnull, "--rootdir", "/dev", "--noconftest", "-p", "no:cacheprovider", "-q", os.devnull])
    parent = os.getpid()
    with contextlib.closing(Nursery(folder)) as nursery:
        for line in sys.stdin.buffer:
            os.write(1, msgspec.json.encode(_answer(line, parent, nursery)) + b"\n")


def _answer(line: bytes, parent: int, nursery: Nursery) -> Answer:
    try:
        job = msgspec.json.decode(line, type=Job)
        zygotes = nursery.zygotes(job)
    except InputError as error:
        return Answer(BAD_JOB, "", f"{error}\n")
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        child = os.fork()
        if child == 0:
            code = GRADER_FAILED
            try:
                die_with(parent)
                for file, descriptor in ((stdout, 1), (stderr, 2)):
                    os.dup2(file.fileno(), descriptor)
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                code = _session(job, zygotes)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        nursery.settle()
        return Answer(os.waitstatus_to_exitcode(status), _text(stdout), _text(stderr))


def _session(job: Job, zygotes: Mapping[bool, Zygote]) -> int:
    try:
        return run(job, zygotes)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return BAD_JOB
    except GraderError as error:
        sys.stderr.write(f"{error}\n")
        return GRADER_FAILED
    except Exception:
        traceback.print_exc()
        return GRADER_FAILED


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


if __name__ == "__main__":
    _main(*map(Path, sys.argv[2:]))

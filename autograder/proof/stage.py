"""The far side of a rehearsal: a process that has collected the graded tests and plays packages of ours against them.

Started by ``rehearsal`` as ``python -I stage.py ENGINE_PARENT``. The first line on standard input is a ``Setting``,
each further one a ``Play``; each is answered by one line, a ``Played``. It ends when its input closes.

A play runs inline in a fork, test after test; what a test earned comes back over a pipe at once. Where the fork dies,
by a crash or because a test used up its time, that test is lost and another fork goes on behind it. The processor's
time is what counts: how much else the machine has to do changes no result.
"""

from __future__ import annotations

import signal
import sys

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; whoever started us ends us
    sys.path.insert(0, sys.argv[1])

import builtins
import gc
import importlib.util
import os
import py_compile
import random
import resource
import select
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
import pytest

from autograder import results
from autograder.confine import die_with
from autograder.deadlines import MISSES
from autograder.feedback import plugin as feedback
from autograder.feedback import scores
from autograder.feedback.graded import GradedSession
from autograder.feedback.scores import Case, Outcome
from autograder.removal import remove_tree
from autograder.zygote import preload

SECONDS = 5.0
WALL_SECONDS = 120.0  # a test that waits uses no processor
BROKEN = 70  # how a fork ends in which something of ours has failed
FAR = 1e99  # JSON has no infinity
PAGE = resource.getpagesize()
SEEN = "_functions_seen"  # the name in builtins that a package calls which says what is executed


class Setting(msgspec.Struct, frozen=True):
    """What all plays have in common.

    Attributes:
        home: holds assignment.toml, solutions/ and tests/.
        secret: seed of the hidden inputs, in hexadecimal.
        seconds: of the processor that a test may use.
    """

    home: str
    secret: str
    seconds: float = SECONDS


class Play(msgspec.Struct, frozen=True):
    """A package and the tests to run.

    Attributes:
        files: "lm/rnn.py" -> content, of what differs from the solved package in ``home``.
        tests: as "hidden/test_x.py::test_y", or "test_x.py::test_y" for a public one; empty for all.
        items: only these items; empty for all.
        enough: an item that has lost is not tried any further.
        once: nothing is tried any further when an item has lost.
        traces: what each failing check saw is wanted, and how far every number was off.
    """

    files: dict[str, bytes]
    tests: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    enough: bool = False
    once: bool = False
    traces: bool = False


class Seen(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of one case of a test.

    Attributes:
        place, key, reason: the ``Trace`` of the check that failed.
        measured: [what, error / allowed] of every comparison of numbers.
        functions: those of the package that it executed, if the package says so (``executed``).
    """

    test: str
    case: str
    item: str
    state: str
    fraction: float = 0.0
    message: str = ""
    detail: str = ""
    hint: str = ""
    mistakes: tuple[str, ...] = ()
    place: str = ""
    key: bytes = b""
    reason: str = ""
    measured: list[tuple[str, float]] = []
    functions: list[str] = []


class Played(msgspec.Struct, frozen=True):
    """What came of a play: the document that a grading would write, and every case."""

    results: dict[str, Any]
    cases: list[Seen]


class Stage:
    """The pytest plugin that runs nothing by itself and plays what it is asked for."""

    def __init__(self, setting: Setting, requests: IO[bytes], replies: IO[bytes]) -> None:
        self._setting, self._requests, self._replies = setting, requests, replies
        self._decoder = msgspec.json.Decoder(Play)
        self._death = Outcome(scores.NOT_RUN)  # why the last fork did not get further

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.option.tbstyle = "no"  # nobody reads it, and it takes longer than the test

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("a test file cannot be collected")
        graded = session.config.stash[feedback.SESSION]
        graded.secret = bytes.fromhex(self._setting.secret)
        assert graded.reference_folder is not None
        _load_reference(graded, torch=False)
        tests = [item for item in session.items if isinstance(item, pytest.Function) and feedback.CASE in item.stash]
        base = _compiled(graded.reference_folder / graded.assignment.package)
        gc.collect()
        gc.freeze()
        for line in self._requests:
            played = self._play(self._decoder.decode(line), graded, tests, base)
            self._replies.write(msgspec.json.encode(played) + b"\n")
            self._replies.flush()
        return True

    def _play(self, play: Play, graded: GradedSession, tests: list[pytest.Function], base: dict[str, bytes]) -> Played:
        chosen = [
            test
            for test in tests
            if (not play.tests or _test(test.stash[feedback.CASE]) in play.tests)
            and (not play.items or test.stash[feedback.CASE].item in play.items)
        ]
        if "torch" not in sys.modules and any(_needs_torch(graded, test) for test in chosen):
            _load_torch(graded)
        folder = Path(tempfile.mkdtemp(prefix="play-"))
        seen: list[Seen] = []
        try:
            _lay_down(folder, base, play.files)
            deaths: dict[str, int] = {}
            while len(seen) < len(chosen):
                rest = chosen[len(seen) :]
                case = rest[0].stash[feedback.CASE]
                most = 1 if play.enough else MISSES
                if deaths.get(case.item, 0) >= most or (play.once and deaths):
                    seen.append(_told(case, Outcome(scores.LATE, 0.0, "not run: the item ended before")))
                    continue
                lost = {one.item for one in seen if one.state != scores.PASSED}
                seen += self._fork(play, graded, rest, folder, lost)
                if len(seen) < len(chosen):
                    case = chosen[len(seen)].stash[feedback.CASE]
                    deaths[case.item] = deaths.get(case.item, 0) + 1
                    seen.append(_told(case, self._death))
        finally:
            remove_tree(folder)
        graded.outcomes = {
            test.stash[feedback.CASE].key: Outcome(
                one.state, one.fraction, one.message, one.detail, one.hint, one.mistakes
            )
            for test, one in zip(chosen, seen, strict=True)
        }
        document = results.document(graded.item_scores(), results.Heading(), {}, 0.0)
        return Played(document, seen)

    def _fork(
        self, play: Play, graded: GradedSession, tests: list[pytest.Function], folder: Path, lost: set[str]
    ) -> list[Seen]:
        """What one fork got done, in order; ``_death`` says why it did not get further."""
        reader, writer = os.pipe()
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            try:
                os.close(reader)
                die_with(parent)
                self._perform(play, graded, tests, folder, lost, writer)
                os._exit(0)
            finally:
                os._exit(BROKEN)
        os.close(writer)
        seen: list[Seen] = []
        late = False
        with open(reader, "rb", buffering=0) as pipe:
            try:
                seen.extend(_received(pipe))
            except TimeoutError:
                late = True
                os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF):
            self._death = Outcome(scores.LATE, 0.0, f"your code did not finish within {self._setting.seconds:g} s")
        elif os.WIFEXITED(status) and os.WEXITSTATUS(status) == BROKEN:
            self._death = Outcome(scores.GRADER_ERROR, 0.0, "", "the stage failed")
        else:
            self._death = Outcome(scores.FAILED, 0.0, "your code ended its process (os._exit, a crash, ...)")
        return seen

    def _perform(
        self,
        play: Play,
        graded: GradedSession,
        tests: list[pytest.Function],
        folder: Path,
        lost: set[str],
        pipe: int,
    ) -> None:
        """In the fork: run the tests, and send what came of each."""
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.chdir(folder)
        # in use already is what our own forks share
        limit = (graded.assignment.budgets.memory << 20) + int(Path("/proc/self/statm").read_text().split()[0]) * PAGE
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002 - as in a worker
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(0)
        gc.enable()
        sys.dont_write_bytecode = False  # the next test of this play imports the same files again
        graded.submission, graded.outcomes = folder, {}
        measured: list[tuple[str, float]] = []
        functions: set[str] = set()
        setattr(builtins, SEEN, functions.add)
        if play.traces:
            graded.measured = lambda case, what, ratio: measured.append((what, min(ratio, FAR)))
        for test, following in zip(tests, [*tests[1:], None], strict=True):
            case = test.stash[feedback.CASE]
            outcome, graded.traces = Outcome(scores.NOT_RUN), {} if play.traces else None
            if (play.enough and case.item in lost) or (play.once and lost):
                # what the last test left open for this one's module, the next one may not want
                test.session._setupstate.teardown_exact(following)
            else:
                # nobody handles SIGPROF: it ends this process
                signal.setitimer(signal.ITIMER_PROF, self._setting.seconds)
                test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
                signal.setitimer(signal.ITIMER_PROF, 0)
                outcome = graded.outcomes.get(case.key, outcome)
                if outcome.state != scores.PASSED:
                    lost.add(case.item)
            told = _told(case, outcome)
            seen = graded.traces.get(case.key) if graded.traces else None
            told = msgspec.structs.replace(told, measured=measured, functions=sorted(functions))
            if seen is not None:
                told = msgspec.structs.replace(told, place=seen.place, key=seen.key, reason=seen.reason)
            data = msgspec.msgpack.encode(told)
            _write(pipe, struct.pack("<I", len(data)) + data)
            measured.clear()
            functions.clear()


def _told(case: Case, outcome: Outcome) -> Seen:
    return Seen(
        test=_test(case),
        case=case.key[2],
        item=case.item,
        state=outcome.state,
        fraction=outcome.fraction,
        message=outcome.message,
        detail=outcome.detail,
        hint=outcome.hint,
        mistakes=outcome.mistakes,
    )


def _write(pipe: int, data: bytes) -> None:
    while data:
        data = data[os.write(pipe, data) :]


def _received(pipe: IO[bytes]) -> Iterator[Seen]:
    """What comes through the pipe until its end. Raises TimeoutError when nothing comes for too long."""
    decoder = msgspec.msgpack.Decoder(Seen)
    while True:
        parts: list[bytes] = []
        for size in (4, 0):
            wanted = size or struct.unpack("<I", parts[0])[0]
            data = b""
            while len(data) < wanted:
                if not select.select([pipe], [], [], WALL_SECONDS)[0]:
                    raise TimeoutError
                part = pipe.read(wanted - len(data))
                if not part:
                    return
                data += part
            parts.append(data)
        yield decoder.decode(parts[1])


def _test(case: Case) -> str:
    return f"{case.key[0]}::{case.key[1]}"


def _needs_torch(graded: GradedSession, test: pytest.Function) -> bool:
    return graded.assignment.by_slug[test.stash[feedback.CASE].item].torch


def _load_torch(graded: GradedSession) -> None:
    """Import PyTorch before the first fork that needs it, not before: with it every fork takes three times as long."""
    preload(torch=True)
    _load_reference(graded, torch=True)
    gc.collect()
    gc.freeze()


def _load_reference(graded: GradedSession, torch: bool) -> None:
    """Import the solved package's modules: those of the files of torch items, or the others."""
    assert graded.reference_folder is not None
    told = graded.assignment
    for file in sorted((graded.reference_folder / told.package).glob("*.py")):
        if file.name not in {"__init__.py", *told.left_out} and (file.name in told.torch_files) == torch:
            getattr(graded.reference, file.stem)


def _compiled(folder: Path) -> dict[str, bytes]:
    """The files of the solved package and the bytecode of its modules: path -> content."""
    files: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory(prefix="play-") as scratch:
        for path in sorted(folder.rglob("*")):
            if not path.is_file() or "__pycache__" in path.parts:
                continue
            name = path.relative_to(folder.parent).as_posix()
            files[name] = path.read_bytes()
            if path.suffix == ".py":
                cache = importlib.util.cache_from_source(name)
                mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
                py_compile.compile(str(path), cfile=f"{scratch}/code", dfile=name, doraise=True, invalidation_mode=mode)
                files[cache] = Path(scratch, "code").read_bytes()
    return files


def _lay_down(folder: Path, base: dict[str, bytes], files: dict[str, bytes]) -> None:
    """The package of a play, with the bytecode of what is as in the solutions."""
    stale = {importlib.util.cache_from_source(name) for name in files if name.endswith(".py")}
    for name, content in {**base, **files}.items():
        if name not in stale:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def _main() -> int:
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    setting = msgspec.json.decode(requests.readline(), type=Setting)
    home = Path(setting.home)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    arguments = ["-c", os.devnull, "--rootdir", str(home), "--confcutdir", str(home / "tests"), "--noconftest"]
    for plugin in ("cacheprovider", "terminal", "faulthandler", "threadexception", "unraisableexception"):
        arguments += ["-p", f"no:{plugin}"]
    arguments += ["-p", "autograder.feedback.plugin", "--import-mode=importlib", "--assert=plain", "--capture=no"]
    arguments += ["-o", f"assignment={home / 'assignment.toml'}", "--submission", str(home / "solutions")]
    arguments += ["--reference", str(home / "solutions"), str(home / "tests/public"), str(home / "tests/hidden")]
    return int(pytest.main(arguments, plugins=[Stage(setting, requests, replies)]))


if __name__ == "__main__":
    sys.exit(_main())

"""The first things a worker does, one by one, and how it ends: ``autograder.worker``. Needs root, as in CI."""

from __future__ import annotations

import os
import random
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.feedback.errors import Ended, StudentError
from autograder.feedback.handles import Student
from autograder.pool import Pool, Report, WorkerLink
from tests.staff.links import ITEM, PROBE, open_pool

MODULES = {
    "probe": PROBE,
    "other": "from . import probe\nname = __name__\n",
    "draws": """
        import random
        import numpy as np

        numbers = [random.random(), float(np.random.rand()), hash("word")]
        words = list({"the", "cow", "eats", "corn", "in", "barn"})
    """,
}


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[Pool, Path]]:
    """A pool whose zygote was started while our environment held a secret."""
    os.environ["COURSE_TOKEN"] = "a secret of the trusted process"
    try:
        with open_pool(MODULES) as (pool, folder):
            yield pool, folder
    finally:
        del os.environ["COURSE_TOKEN"]


@pytest.fixture
def far(site: tuple[Pool, Path]) -> Iterator[Student]:
    """The student's side, in a worker."""
    with site[0].open(ITEM) as student:
        yield student


def run(far: Student, source: str, **names: Any) -> Any:
    """Run code as the student; it leaves its result in ``answer``."""
    return far.probe.run(source, **names)


def test_worker_leads_a_session_of_its_own(far: Student) -> None:
    """A worker is in nobody's session or process group: no signal of a terminal reaches it, none of its ours."""
    pid, session, group = run(far, "import os; answer = [os.getpid(), os.getsid(0), os.getpgrp()]")
    assert session == group == pid
    assert session != os.getsid(0)


def test_standard_streams_are_the_null_device(far: Student) -> None:
    """What a student prints goes nowhere, and there is nothing to read."""
    null = os.stat(os.devnull).st_rdev
    assert run(far, "import os; answer = [os.fstat(n).st_rdev for n in (0, 1, 2)]") == [null] * 3


def test_input_ends_at_once(far: Student) -> None:
    """``input()`` is an EOFError, not a wait."""
    with pytest.raises(EOFError, match="input\\(\\) is not available here"):
        run(far, "answer = input('name? ')")
    assert run(far, "import sys; answer = sys.stdin.read()") == ""


def test_torch_cannot_be_imported_where_it_is_not_asked_for(far: Student) -> None:
    """Whether the machine has torch or not, a numpy part says the same."""
    for source in ("import torch", "import torch.nn", "from torch import nn"):
        with pytest.raises(ModuleNotFoundError, match="torch is not allowed in this part"):
            run(far, source)


def test_breakpoint_ends_at_once(far: Student) -> None:
    """``breakpoint()`` is an error that says so, not a debugger that nobody sits at."""
    with pytest.raises(RuntimeError, match="breakpoint\\(\\) is not available here"):
        run(far, "breakpoint()")


def test_memory_error_says_how_much_there_is(far: Student) -> None:
    """Python's own MemoryError has no text."""
    with pytest.raises(MemoryError, match="no more memory than 1024 MiB"):
        run(far, "answer = bytearray(8 << 30)")


def test_output_is_withheld(far: Student, capfd: pytest.CaptureFixture[str]) -> None:
    """Prints, floods and writes to the descriptors do not show, and do not block."""
    run(far, "import os, sys; print('x' * 1000000); sys.stderr.write('y'); os.write(1, b'z'); os.system('echo w')")
    assert tuple(capfd.readouterr()) == ("", "")


def test_nothing_is_open_but_the_link(far: Student) -> None:
    """Of all descriptors a worker has the three standard ones and its own socket."""
    source = """
        import os
        answer = []
        for number in range(128):
            try:
                os.fstat(number)
                answer.append(number)
            except OSError:
                pass
    """
    found = run(far, source)
    assert found[:3] == [0, 1, 2]
    assert len(found) == 4


def test_signals_are_as_in_a_new_process(far: Student) -> None:
    """Handlers of the zygote are gone; a broken pipe is an error, not a death."""
    names = ["SIGINT", "SIGTERM", "SIGCHLD", "SIGPIPE"]
    source = "import signal; answer = [int(signal.getsignal(getattr(signal, n))) for n in names]"
    assert run(far, source, names=names) == [signal.SIG_DFL] * 3 + [signal.SIG_IGN]


def test_environment_is_our_choice(far: Student, site: tuple[Pool, Path]) -> None:
    """Nothing of the trusted process' environment is there: a short list of names, and the scratch folder as home."""
    environment = run(far, "import os; answer = dict(os.environ)")
    scratch = run(far, "import os; answer = os.getcwd()")
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    assert environment == {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "HOME": scratch,
        "TMPDIR": scratch,
        **threads,
    }
    assert Path(scratch).parent == site[1] / "scratch"


def test_scratch_folder_is_the_place_for_files(far: Student) -> None:
    """The current folder is empty, writable, and where temporary files go."""
    source = """
        import os, tempfile
        answer = [os.listdir()]
        with tempfile.NamedTemporaryFile(dir=None, delete=False) as file:
            answer.append(os.path.dirname(file.name) == os.getcwd())
    """
    assert run(far, source) == [[], True]


def test_generators_start_alike_in_every_worker(site: tuple[Pool, Path]) -> None:
    """Random numbers, hashes and the order of sets are the same each time: so is the score."""
    seen = []
    for _ in range(3):
        with site[0].open(ITEM) as student:
            seen.append((student.draws.numbers, student.draws.words))
    assert seen[0] == seen[1] == seen[2]
    random.seed(0)
    state = np.random.RandomState(0)
    assert seen[0][0][:2] == [random.random(), float(state.rand())]


def test_generators_start_alike_in_every_run() -> None:
    """A second zygote gives the same numbers as the first."""
    seen = []
    for _ in range(2):
        with open_pool(MODULES) as (pool, _), pool.open(ITEM) as student:
            seen.append((student.draws.numbers, student.draws.words))
    assert seen[0] == seen[1]


def test_package_is_imported_under_its_own_name(far: Student) -> None:
    """Relative imports work, and every module is imported once."""
    assert far.other.name == "mini.other"
    assert run(far, "import mini.other, mini.probe; answer = mini.other.probe is mini.probe") is True


def test_first_place_to_import_from_is_the_students(far: Student, site: tuple[Pool, Path]) -> None:
    """The folder that holds the package stands where a script's own folder would; nothing of ours does."""
    path = run(far, "import sys; answer = sys.path")
    assert path[0] == str(site[1] / "submission")
    ours = Path(__file__).resolve().parents[2]
    assert str(ours) not in path
    assert str(ours / "autograder") not in path


@pytest.mark.parametrize(
    "name", ["solutions.lm.ngram", "tests.hidden.test_ngram", "tests.staff.links", "conftest", "pool"]
)
def test_nothing_beside_the_engine_can_be_imported(far: Student, name: str) -> None:
    """Solutions and tests lie on no import path of a worker."""
    with pytest.raises(ModuleNotFoundError):
        run(far, f"import {name}")


def test_worker_has_seen_no_trusted_module(far: Student) -> None:
    """Of the engine a worker holds what speaks and confines, and neither pytest nor torch."""
    loaded = set(run(far, "import sys; answer = list(sys.modules)"))
    ours = {name.removeprefix("autograder.") for name in loaded if name.startswith("autograder.")}
    speaking = {"worker", "wire", "confine", "seccomp", "landlock", "zygote"}
    feedback = {"feedback", "feedback.server", "feedback.values", "feedback.errors", "feedback.loading"}
    assert ours <= {*speaking, *feedback, "feedback.marks"}  # the package itself imports the marks
    assert not loaded & {"pytest", "_pytest", "torch"}


def test_no_bytecode_is_written(far: Student) -> None:
    """A worker leaves no compiled files, wherever it imports from."""
    source = """
        import os, sys
        sys.path.insert(0, os.getcwd())
        open("fresh.py", "w").write("x = 1")
        import fresh
        answer = sorted(os.listdir())
    """
    assert run(far, source) == ["fresh.py"]


def test_garbage_is_collected(far: Student) -> None:
    """The zygote collects none, so as to share its memory; a worker does."""
    assert run(far, "import gc; answer = gc.isenabled()") is True


def test_frames_of_a_call_show_no_test(far: Student) -> None:
    """Whoever walks the stack finds the server and the zygote, and no value of a test's."""
    source = "import inspect; answer = sorted({os.path.basename(f.filename) for f in inspect.stack()} - {'<string>'})"
    assert run(far, "import os\n" + source) == ["probe.py", "server.py", "worker.py", "zygote.py"]


def test_exit_handlers_are_not_run(site: tuple[Pool, Path]) -> None:
    """A worker leaves by ``os._exit`` when its link closes: what was registered to run at exit does not run."""
    with site[0]._worker(site[0]._post(), torch=False) as (sock, _):
        student = Student(WorkerLink(sock, None, Report()))
        run(student, link_of_the_worker("import atexit; atexit.register(os.write, link.fileno(), b'exit')"))
        sock.shutdown(socket.SHUT_WR)
        assert sock.recv(1) == b""


def link_of_the_worker(then: str) -> str:
    """Code of a student's that finds the socket on which it is asked."""
    return f"""
        import os, socket, stat
        def is_socket(number):
            try:
                return stat.S_ISSOCK(os.fstat(number).st_mode)
            except OSError:
                return False
        link = socket.socket(fileno=next(number for number in range(3, 128) if is_socket(number)))
        {then}
        link.detach()
    """


@pytest.mark.parametrize(
    ("then", "message"),
    [
        ("link.sendall(b'garbage, and then more of it' * 9)", "sent an invalid reply"),
        ("link.sendall(bytes([255] * 8))", "sent an invalid reply"),
        ("link.sendall(bytes([3, 0, 0, 0, 192, 192, 192]))", "sent an invalid reply"),
        ("link.close()", "ended its process"),
        ("link.shutdown(socket.SHUT_RDWR)", "ended its process"),
        ("os._exit(0)", "ended its process"),
        ("os.abort()", "ended its process"),
        ("os.kill(os.getpid(), 9)", "ended its process"),
    ],
    ids=["garbage", "length", "header", "close", "shutdown", "exit", "abort", "kill"],
)
def test_student_who_takes_the_link_ends_his_own_test(far: Student, then: str, message: str) -> None:
    """Whatever a student does with the socket that he finds, his test ends, and it is his fault."""
    with pytest.raises(Ended, match=message):
        run(far, link_of_the_worker(then))
    with pytest.raises(Ended, match=message):
        run(far, "answer = 1")


def test_student_who_answers_for_the_server_gets_nothing_by_it(far: Student) -> None:
    """A forged answer to a later request is told by its number."""
    forged = "from autograder import wire; from autograder.feedback.values import flatten"
    source = link_of_the_worker(f"{forged}; wire.send(link, 99, 'ok', flatten(1.0, None))")
    with pytest.raises(Ended, match="invalid reply"):
        run(far, source)


def test_tampered_server_is_the_students_own_harm(far: Student) -> None:
    """A worker whose server was patched answers what it likes: a value, or an error of the student's."""
    run(far, "from autograder.feedback import server; server.Server.answer = lambda *a: ('ok', None)")
    with pytest.raises(Ended):
        run(far, "answer = 1")


def test_system_exit_does_not_end_a_worker(far: Student) -> None:
    """``sys.exit`` is an exception like any other."""
    with pytest.raises(StudentError) as caught:
        run(far, "import sys; sys.exit(3)")
    assert caught.value.kind == "SystemExit"
    assert run(far, "answer = 1") == 1


def test_threads_of_a_student_do_not_hold_an_answer_back(far: Student) -> None:
    """A thread that a student leaves running does not keep his call from being answered."""
    assert run(far, "import threading, time; threading.Thread(target=time.sleep, args=(99,)).start(); answer = 1") == 1


def test_descriptors_that_a_worker_sends_are_not_kept(far: Student) -> None:
    """Open files attached to an answer are closed on arrival."""
    before = len(os.listdir("/proc/self/fd"))
    then = "socket.send_fds(link, [bytes([255] * 8)], [0, 1, 2])"
    with pytest.raises(Ended):
        run(far, link_of_the_worker(then))
    assert len(os.listdir("/proc/self/fd")) == before

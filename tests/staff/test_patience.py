"""feedback/patience.py: an endless loop on a laptop ends, is told with its place, and costs one long wait."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from autograder.feedback.patience import OutOfPatienceError, Patience


def loop() -> None:
    """Never ends by itself."""
    while True:
        pass


@pytest.fixture(params=[signal.default_int_handler, signal.SIG_IGN], ids=["in-front", "in-the-background"])
def _ctrl_c(request: pytest.FixtureRequest) -> Iterator[None]:
    """What the process does on Ctrl-C: a script that is started in the background ignores it."""
    before = signal.signal(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ctrl_c")
def test_an_endless_loop_is_interrupted() -> None:
    """The traceback says where it was."""
    with pytest.raises(OutOfPatienceError, match=r"0\.2") as ended, Patience(0.2).with_call("a"):
        loop()
    traceback = ended.value.interrupt.__traceback__
    names = []
    while traceback is not None:
        names.append(traceback.tb_frame.f_code.co_name)
        traceback = traceback.tb_next
    assert "loop" in names


def test_what_was_late_once_gets_less_time() -> None:
    """Another item gets all of it."""
    patience = Patience(0.3, after=0.1)
    told = []
    for about in ("a", "a", "b"):
        with pytest.raises(OutOfPatienceError) as ended, patience.with_call(about):
            loop()
        told.append(str(ended.value))
    assert told == ["0.3", "0.1", "0.3"]


def test_ctrl_c_is_ctrl_c() -> None:
    """An interrupt of somebody's is passed on."""
    with pytest.raises(KeyboardInterrupt), Patience(60).with_call("a"):
        raise KeyboardInterrupt


def test_what_ends_in_time_is_left_alone() -> None:
    """Nothing comes later, either."""
    patience = Patience(0.2)
    with patience.with_call("a"):
        pass
    deadline = time.monotonic() + 0.5
    while time.monotonic() < deadline:
        pass


def test_no_patience_is_for_ever() -> None:
    """Then no thread looks."""
    patience = Patience(0)
    with patience.with_call("a"):
        pass
    assert patience._watch is None


def test_time_at_a_debugger_does_not_count() -> None:
    """Whoever sits at one may take their time."""
    ended = time.monotonic() + 0.5
    at_a_debugger = eval(
        "lambda: [None for _ in iter(lambda: clock() < ended, False)]",
        {
            "__name__": "pdb",
            "clock": time.monotonic,
            "ended": ended,
            "iter": iter,
        },
    )
    with Patience(0.2).with_call("a"):
        at_a_debugger()

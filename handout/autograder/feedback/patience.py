"""An end to endless loops on a laptop, where no other process watches.

A thread interrupts the main one, as Ctrl-C does, when a call of student code takes too long. In grading the worker is
killed from outside; this here is a courtesy, and what does not react to Ctrl-C does not react to it.

A signal ends a sleep as well. Where the process ignores it, in the background of a script, or where there are no such
signals, on Windows, the exception is put into the main thread itself.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

LOOK_EVERY = 0.1  # seconds
_DEBUGGERS = ("pdb", "bdb", "pydevd", "debugpy", "ipdb", "pudb")


class OutOfPatienceError(Exception):
    """A call took longer than it may. ``interrupt`` is what ended it: its traceback says where the call was."""

    def __init__(self, seconds: float, interrupt: KeyboardInterrupt) -> None:
        super().__init__(f"{seconds:g}")
        self.interrupt = interrupt


class Patience:
    """Seconds that a call of student code may take; in what was late once, much less.

    Args:
        seconds: for the first call that is late. 0 for ever.
        after: for calls in something that was late before: one endless loop costs one long wait, not one a test.
    """

    def __init__(self, seconds: float, after: float = 1.0) -> None:
        self.seconds, self._after = seconds, min(after, seconds)
        self._late: set[str] = set()
        self._deadline: float | None = None
        self._fired = False
        self._lock = threading.Lock()
        self._watch: threading.Thread | None = None

    @contextmanager
    def with_call(self, about: str) -> Iterator[None]:
        """Around a call.

        Args:
            about: what it is about; one that was late is given less time.

        Raises:
            OutOfPatienceError: the time is up.
        """
        if not self.seconds or threading.current_thread() is not threading.main_thread():
            yield
            return
        if self._watch is None:
            self._watch = threading.Thread(target=self._look, name="patience", daemon=True)
            self._watch.start()
        seconds = self._after if about in self._late else self.seconds
        self._fired = arrived = False
        self._deadline = time.monotonic() + seconds
        try:
            yield
        except KeyboardInterrupt as interrupt:
            if not self._fired:
                raise  # somebody's Ctrl-C
            arrived = True
            self._late.add(about)
            raise OutOfPatienceError(seconds, interrupt) from None
        finally:
            with self._lock:
                self._deadline = None
            if self._fired and not arrived:  # the call ended in that moment: the interrupt is on its way
                with suppress(KeyboardInterrupt):
                    time.sleep(2 * LOOK_EVERY)

    def _look(self) -> None:
        main = threading.main_thread().ident
        while True:
            time.sleep(LOOK_EVERY)
            with self._lock:
                if self._deadline is None or time.monotonic() < self._deadline:
                    continue
                if _in_debugger(sys._current_frames().get(main or 0)):
                    continue
                self._fired, self._deadline = True, None
                _interrupt(main or 0)


def _interrupt(thread: int) -> None:
    if hasattr(signal, "pthread_kill") and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.pthread_kill(thread, signal.SIGINT)
    else:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))


def _in_debugger(frame: FrameType | None) -> bool:
    """Whether somebody sits at a debugger: then time does not count."""
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] in _DEBUGGERS:
            return True
        frame = frame.f_back
    return False

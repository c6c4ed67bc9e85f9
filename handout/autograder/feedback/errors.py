"""Whose fault it is, as a type. Loaded in both processes; imports nothing of ours.

::

    Exception
     +-- AssertionError
     |    +-- CheckFailed          the student's value is wrong
     +-- StudentError              the student's code raised, or gave something it must not
     |    +-- WrongType            an object where a plain value was expected          (sticky)
     |    +-- Ended                the student's process is gone                       (sticky)
     |    +-- Late                 the student's code did not finish in time           (sticky)
     +-- GraderError               ours: a test, the reference or the engine is broken
     |    +-- NotSendable          a test sent a value that may not cross
     +-- InputError                the caller's: a path, a file or an option is wrong (exit 2)

A *sticky* error fails its test even when the test's own ``pytest.raises`` swallowed it; so is what a stub raises.
"""

from __future__ import annotations

import builtins


class CheckFailed(AssertionError):
    """A value is wrong. ``str()`` is what the student may see, ``detail`` is for staff only.

    ``place`` says which check of its test it was, ``got`` holds what that check was given, in a tuple of one.
    """

    place = ""
    got: tuple[object, ...] = ()

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class StudentError(Exception):
    """The student's code raised. ``kind`` is the name of its exception class.

    ``frames`` are the student's own frames, outermost first: (file, line, function). ``importing`` names the module
    whose import raised.
    """

    kind = "StudentError"
    frames: tuple[tuple[str, int, str], ...] = ()
    importing = ""
    sticky = False

    def __str__(self) -> str:
        # not the builtin's __str__: KeyError would quote, OSError would want two arguments
        return str(self.args[0]) if self.args else ""


class WrongType(StudentError):
    """An object came where a plain value was expected."""

    kind = "WrongType"
    sticky = True


class Ended(StudentError):
    """The student's process ended, or no longer speaks our protocol."""

    kind = "Ended"
    sticky = True


class Late(StudentError):
    """The student's code did not finish in time."""

    kind = "Late"
    sticky = True


class GraderError(Exception):
    """A fault of ours. Never costs the student points silently."""


class NotSendable(GraderError):
    """A test tried to send a value that may not cross."""


class InputError(Exception):
    """The caller gave something unusable: one clear line, exit code 2."""


# A test iterates over results: these three would end its loop early and let assertions run zero times.
_CONTROL_FLOW = (StopIteration, StopAsyncIteration, GeneratorExit)
_classes: dict[tuple[str, str], type[StudentError]] = {}


def student_error(base: str, kind: str, message: str, frames: tuple[tuple[str, int, str], ...]) -> StudentError:
    """The exception to raise in a test for one that the student's code raised.

    Args:
        base: name of the nearest builtin class among the exception's bases.
        kind: name of the exception's own class.
        message: its text, already cut to what may be shown.
        frames: the student's frames.

    Returns:
        A StudentError that is also an instance of the builtin, so that ``pytest.raises(ValueError)`` works,
        when that builtin is an Exception that can be built from one text.
    """
    cls = _classes.get((base, kind))
    if cls is None:
        cls = _classes[base, kind] = _class_for(base, kind)
    error = cls(message)
    error.frames = frames
    error.sticky = kind == "NotImplementedError"  # a RuntimeError for Python: a stub passes no test that wants one
    return error


def _class_for(base: str, kind: str) -> type[StudentError]:
    builtin = getattr(builtins, base, None)
    bases: tuple[type, ...] = (StudentError,)
    if isinstance(builtin, type) and issubclass(builtin, Exception) and not issubclass(builtin, _CONTROL_FLOW):
        bases = (StudentError, builtin)
    name = kind if kind.isidentifier() else "StudentError"
    try:
        cls = type(name, bases, {"kind": name})
        cls("try")
    except TypeError:  # UnicodeDecodeError and its kin want five arguments
        cls = type(name, (StudentError,), {"kind": name})
    return cls

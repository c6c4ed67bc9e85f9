"""The student's side: a table of objects, and one function per request.

Loaded in the worker and, without a wire, inline. It runs student code, so nothing that it answers is trusted.
An object keeps its number as long as this server lives: the same object is always the same handle.
"""

from __future__ import annotations

import builtins
import importlib
import operator
import os
import py_compile
import re
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from .values import Flat, Refused, flatten, unflatten

OPERATORS: dict[str, Callable[..., Any]] = {
    name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "matmul", "pow", "neg")
}
MESSAGE_LENGTH = 200
FRAMES = 6
HIDDEN = "(its message cannot be shown)"


def load_torch() -> Any:
    """PyTorch, which is imported on this side only."""
    return importlib.import_module("torch")


class Server:
    """Answers requests about one package of student code.

    Args:
        package: its name; it must be importable.
        folder: where its files lie: only frames of these files are reported.
        inline: raise KeyboardInterrupt instead of reporting it, so that Ctrl-C works on a laptop.
        given: where the package's given files were imported from, if not from ``folder``.
    """

    def __init__(self, package: str, folder: str, inline: bool = False, given: str = "") -> None:
        self.package, self.folder, self.inline = package, os.path.realpath(folder), inline
        self.given = os.path.realpath(given or folder)
        self.objects: list[object] = []
        self.numbers: dict[int, int] = {}
        self.last_error: BaseException | None = None  # inline only: for the traceback and the debugger

    def answer(self, request: str, arguments: Flat) -> tuple[str, Flat]:
        """Carry out one request.

        Returns:
            ``("ok", value)``, ``("refused", [what])`` when the answer may not cross, or
            ``("error", [builtin base, class, message, frames])`` when the student's code raised.
        """
        self.last_error = None
        try:
            function = _REQUESTS[request]
            value = function(self, *unflatten(arguments, self._resolve, writeable=True))
            if request in _ANSWER_WITH_HANDLE:
                return "ok", flatten(_Pinned(value), lambda pinned: self._refer(pinned.value))  # type: ignore[attr-defined]
            return "ok", flatten(value, self._refer, _tensor_contents)
        except Refused as refused:
            return "refused", flatten([str(refused)], self._refer)
        except BaseException as error:  # sys.exit and KeyboardInterrupt are the student's too
            if self.inline:
                if isinstance(error, KeyboardInterrupt):
                    raise
                self.last_error = error
            try:
                return "error", flatten(self._describe(error), self._refer)
            except Exception:  # its class, its text or its traceback raises in turn
                return "error", flatten(["Exception", "Exception", HIDDEN, []], self._refer)

    def _refer(self, value: object) -> tuple[int, str]:
        number = self.numbers.get(id(value))
        if number is None:
            number = self.numbers[id(value)] = len(self.objects)
            self.objects.append(value)  # kept alive, so that its id stays its own
        return number, type(value).__name__[:80]

    def _resolve(self, number: int, name: str) -> object:
        return self.objects[number]

    def _describe(self, error: BaseException) -> list[Any]:
        # by identity: a class of the student's may have any name and say that it was anybody's
        base = next(cls.__name__ for cls in type(error).__mro__ if getattr(builtins, cls.__name__, None) is cls)
        try:
            message = _in_words(error)
        except BaseException:
            message = HIDDEN
        frames = self.places(error)
        if isinstance(error, SyntaxError):
            name = self._short_name(str(error.filename))
            if name is not None:
                magic = re.match(r"\s*(%%?|!)\w", str(error.text or ""))
                message = f"{error.msg} (a command that only notebooks have)" if magic else str(error.msg)
                frames.append([name, error.lineno or 0, "<module>"])
        return [base, type(error).__name__[:80], _legal(message), frames[-FRAMES:]]

    def places(self, error: BaseException) -> list[list[Any]]:
        """The student's own frames of an error, outermost first: [file, line, function] each."""
        frames = traceback.extract_tb(error.__traceback__)
        named = [(self._short_name(frame.filename), frame) for frame in frames]
        return [[name, frame.lineno or 0, frame.name] for name, frame in named if name is not None]

    def _short_name(self, filename: str) -> str | None:
        """A file of the student's, seen from the folder that holds the package; None for any other file."""
        filename = os.path.realpath(filename)
        for folder in (self.folder, self.given):
            if filename.startswith(folder + os.sep):
                return os.path.relpath(filename, os.path.dirname(folder))
        return None

    # One method a request. The names are what `handles` asks for.

    def module(self, name: str) -> Any:
        return importlib.import_module(f"{self.package}.{name}")

    def compiled(self, name: str) -> bytes:
        """A module's bytecode, made in the current folder without running any of it."""
        source, target = os.path.join(self.folder, f"{name}.py"), os.path.abspath(f"{name}.pyc")
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(source, cfile=target, doraise=True, invalidation_mode=mode)
        with open(target, "rb") as file:
            return file.read()

    def torch(self) -> Any:
        return load_torch()

    def get(self, target: Any, name: str) -> Any:
        return getattr(target, name)

    def set(self, target: Any, name: str, value: Any) -> None:
        setattr(target, name, value)

    def call(self, target: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        return target(*arguments, **keywords)

    def item(self, target: Any, index: Any) -> Any:
        return target[index]

    def setitem(self, target: Any, index: Any, value: Any) -> None:
        target[index] = value

    def math(self, name: str, *operands: Any) -> Any:
        return OPERATORS[name](*operands)

    def put(self, value: Any) -> Any:
        return value

    def fetch(self, target: Any) -> Any:
        return target

    def like(self, module: str, name: str, fields: dict[str, Any]) -> Any:
        return getattr(self.module(module), name)(**fields)

    def tensor(self, value: Any) -> Any:
        return self.torch().as_tensor(value)


class _Pinned:
    """Wraps an answer that must be a handle even where its value could cross."""

    def __init__(self, value: object) -> None:
        self.value = value


_REQUESTS: dict[str, Callable[..., Any]] = {
    "module": Server.module,
    "compiled": Server.compiled,
    "torch": Server.torch,
    "get": Server.get,
    "set": Server.set,
    "call": Server.call,
    "item": Server.item,
    "setitem": Server.setitem,
    "math": Server.math,
    "put": Server.put,
    "fetch": Server.fetch,
    "like": Server.like,
    "tensor": Server.tensor,
}
_ANSWER_WITH_HANDLE = frozenset({"module", "torch", "put", "like", "tensor"})


def no_debugger(*arguments: object, **keywords: object) -> None:
    """What ``breakpoint()`` does where nobody sits."""
    raise RuntimeError("breakpoint() is not available here: nobody sits at a debugger; take it out")


def _in_words(error: BaseException) -> str:
    """The text of an error; where Python says too little for somebody who is not there, what has happened."""
    message = str(error)
    if type(error) is EOFError and message == "EOF when reading a line":
        return "input() is not available here: nobody is there to answer"
    if type(error) is NameError and message == "name 'get_ipython' is not defined":
        return f"{message} (only notebooks have it)"
    if type(error) is MemoryError and not message:
        return f"there is no more memory than {_memory_limit()}"
    return message


def _memory_limit() -> str:
    try:
        import resource  # not on Windows
    except ImportError:
        return "this machine has"
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return "this machine has" if limit == resource.RLIM_INFINITY else f"{limit >> 20} MiB"


def _legal(message: str) -> str:
    """Cut to what may be shown, and made to cross."""
    return message[:MESSAGE_LENGTH].encode("utf-8", "replace").decode()


def _tensor_contents(value: object) -> np.ndarray | None:
    """A torch tensor's numbers: detached, on the CPU, dense. None for anything that is no tensor."""
    torch = sys.modules.get("torch")
    if torch is None or not issubclass(type(value), torch.Tensor):
        return None
    tensor: Any = value
    if tensor.layout is not torch.strided or tensor.device.type != "cpu":
        raise Refused(f"a {tensor.layout} tensor on {tensor.device.type}, expected a dense one on the CPU")
    try:
        contents: np.ndarray = tensor.detach().resolve_conj().resolve_neg().numpy()
    except TypeError:  # numpy has no such numbers
        raise Refused(f"a tensor of dtype {tensor.dtype}") from None
    return contents

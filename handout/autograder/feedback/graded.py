"""What one pytest run knows of its graded tests: cases, outcomes, and how students and the reference are opened.

Inline by default: the student's code runs in this process. The isolated run puts its own way in ``open_student``.
"""

from __future__ import annotations

import hashlib
import hmac
import importlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from . import diagnosis, marks, scores
from .assignment import Assignment, Item
from .errors import GraderError
from .handles import Student
from .inline import InlineLink
from .language import Language
from .loading import load_as
from .patience import Patience
from .scores import Case, Outcome


class GradedSession:
    """The graded tests of one pytest run. One object, in the config's stash.

    Attributes:
        cases: every graded test, in the order in which they run.
        outcomes: what those that have run have earned.
        leaderboard: column -> (value, order).
        open_student: gives a context manager that yields the Student for one test.
        seed: of the inputs of public tests. ``secret`` is the seed of hidden ones.
        reference_folder: where the solved package lies; None in the handout.
        language: in which students are told.
        patience: how long a call may take inline; None for ever.
        listeners: called with (case, outcome) after each test.
        traces: what failing checks saw, by case; kept for whoever sets it to a dict.
        measured: set as that of every ``Check``, with the case before its arguments.
    """

    def __init__(
        self, assignment: Assignment, submission: Path, reference: Path | None, seed: int, secret: bytes | None
    ) -> None:
        self.assignment, self.submission, self.reference_folder = assignment, submission, reference
        self.seed, self.secret = seed, secret
        self.cases: dict[tuple[str, str, str], Case] = {}
        self.outcomes: dict[tuple[str, str, str], Outcome] = {}
        self.marks: dict[tuple[str, str, str], marks.Marks] = {}
        self.leaderboard: dict[str, tuple[float | str, str]] = {}
        self.said: set[str] = set()  # messages that were shown
        self.listeners: list[Callable[[Case, Outcome], None]] = []
        self.traces: dict[tuple[str, str, str], diagnosis.Trace] | None = None
        self.measured: Callable[[Case, str, float], None] | None = None
        self.language = Language()
        self.patience: Patience | None = None
        self.open_student: Callable[[Item], AbstractContextManager[Student]] = self._open_inline
        self.open_reference: Callable[[], Student] = self._open_reference_inline
        self.current: Student | None = None
        self._reference: Reference | None = None
        self._sheet = scores.ScoreSheet(assignment)

    @property
    def reference(self) -> Reference:
        """The solved package, loaded once."""
        if self._reference is None:
            self._reference = Reference(self)
        return self._reference

    @property
    def reference_package(self) -> str:
        """The name under which the reference is loaded, which is not the student's."""
        return f"reference_{self.assignment.package}"

    @property
    def inline(self) -> bool:
        """Whether student code runs in this process, with what this machine has installed."""
        return self.open_student == self._open_inline

    def seed_for(self, case: Case) -> int:
        """The seed of a test's inputs, from its item, file, function and case id alone."""
        secret = self.secret if case.hidden and self.secret is not None else f"seed {self.seed}".encode()
        message = "\0".join((case.item, *case.key)).encode()
        return int.from_bytes(hmac.digest(secret, message, hashlib.sha256), "big")

    def item_scores(self) -> list[scores.ItemScore]:
        """The score of every item as things stand."""
        return self._sheet.rows(self.cases.values(), self.outcomes)

    @contextmanager
    def _open_inline(self, item: Item) -> Iterator[Student]:
        yield Student(InlineLink(self.submission, self.assignment.package, self.patience, item.slug))

    def _open_reference_inline(self) -> Student:
        assert self.reference_folder is not None
        load_as(self.reference_folder, self.assignment.package, self.reference_package)
        from .server import Server  # not before it is needed: the isolated run never serves in this process

        folder = self.reference_folder / self.assignment.package
        server = Server(self.reference_package, str(folder), inline=True)

        class Direct:
            def ask(self, request: str, arguments: Any) -> Any:
                return server.answer(request, arguments)

        return Student(Direct(), ours=True)


class Reference:
    """The solved package under another name: real modules, but for those that need torch.

    The trusted process never imports torch: what needs it is asked of a second, trusted worker, by the same handles
    as the student's.
    """

    _TORCH = ("torch", "tensor", "put", "get", "like")

    def __init__(self, session: GradedSession) -> None:
        if session.reference_folder is None:
            raise GraderError("hidden tests need --reference DIR, the folder of the solved package")
        self._session = session
        self._worker: Student | None = None
        self._torch_modules = {file.removesuffix(".py") for file in session.assignment.torch_files}
        load_as(session.reference_folder, session.assignment.package, session.reference_package)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._TORCH or name in self._torch_modules:
            if self._worker is None:
                self._worker = self._session.open_reference()
            return getattr(self._worker, name)
        return importlib.import_module(f"{self._session.reference_package}.{name}")

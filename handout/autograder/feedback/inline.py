"""The link without a wire: the same server, called in the same process.

For laptops and debuggers: the student's frames are here, so breakpoints and tracebacks work. Values still cross by
the rules of ``values``: what works here works in grading.
"""

from __future__ import annotations

from pathlib import Path

from .errors import Late
from .loading import forget, import_from
from .patience import OutOfPatienceError, Patience
from .server import Server, load_torch
from .values import Flat

__all__ = ["InlineLink", "load_torch"]


class InlineLink:
    """A link to the package ``package`` in ``folder``, imported afresh: no module state outlives a test.

    Args:
        folder, package: where it is.
        patience: for each call; None for ever.
        about: what the calls are about, for ``patience``.
    """

    def __init__(self, folder: Path, package: str, patience: Patience | None = None, about: str = "") -> None:
        self._patience, self._about = patience or Patience(0), about
        forget(package)
        import_from(folder)
        self._server = Server(package, str(folder / package), inline=True)

    def ask(self, request: str, arguments: Flat) -> tuple[str, Flat]:
        """See ``handles.Link``."""
        try:
            with self._patience.with_call(self._about):
                return self._server.answer(request, arguments)
        except OutOfPatienceError as error:
            late = Late(f"your code did not finish within {error} s")
            late.frames = tuple((file, line, name) for file, line, name in self._server.places(error.interrupt)[-2:])
            raise late from None

    @property
    def cause(self) -> BaseException | None:
        """The exception that the student's code raised last, with its frames."""
        return self._server.last_error

"""The link without a wire: the same server, called in the same process.

For laptops and debuggers: the student's frames are here, so breakpoints and tracebacks work. Values still cross by
the rules of ``values``: what works here works in grading.
"""

from __future__ import annotations

from pathlib import Path

from .loading import forget, import_from
from .server import Server
from .values import Flat


class InlineLink:
    """A link to the package ``package`` in ``folder``, imported afresh: no module state outlives a test."""

    def __init__(self, folder: Path, package: str) -> None:
        forget(package)
        import_from(folder)
        self._server = Server(package, str(folder / package), inline=True)

    def ask(self, request: str, arguments: Flat) -> tuple[str, Flat]:
        """See ``handles.Link``."""
        return self._server.answer(request, arguments)

    @property
    def cause(self) -> BaseException | None:
        """The exception that the student's code raised last, with its frames."""
        return self._server.last_error

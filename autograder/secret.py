"""The secret from which hidden inputs are drawn: one a term, never in the repository.

``build --secret FILE`` puts it into the zip as the file ``secret``; without one the development secret is used, which
everybody who reads this line knows.
"""

from __future__ import annotations

from pathlib import Path

from .feedback.errors import InputError

DEVELOPMENT = b"the development secret: not for a term"
MIN_LENGTH, MAX_LENGTH = 16, 4096  # bytes
NAME = "secret"


def read_secret(path: Path) -> bytes:
    """A term's secret from a file: its bytes, without the white space around them.

    Raises:
        InputError: no such file, or it is too short to be one.
    """
    try:
        with path.open("rb") as file:
            secret = file.read(MAX_LENGTH + 1).strip()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if not MIN_LENGTH <= len(secret) <= MAX_LENGTH:
        raise InputError(
            f"{path}: a secret has {MIN_LENGTH} to {MAX_LENGTH} bytes; make one with: openssl rand -hex 32"
        )
    return secret


def secret_of(home: Path) -> bytes:
    """The secret of an unpacked zip, or the development secret in a repository."""
    path = home / NAME
    return read_secret(path) if path.is_file() else DEVELOPMENT

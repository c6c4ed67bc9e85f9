"""What the commands share: exit codes, the home folder, paths to write to, and other people's text on one line."""

from __future__ import annotations

from pathlib import Path

from .. import gradescope
from ..feedback.errors import InputError

FOUND, BAD_INPUT, GRADER_FAILED, INTERRUPTED = 1, 2, 3, 130


def legal(text: object) -> str:
    """Text of somebody else's, such as a path that a student chose, as one harmless line."""
    return gradescope.clean(str(text)).replace("\n", " ")


def home_of(home: Path | None) -> Path:
    """The folder with assignment.toml, solutions/ and tests/."""
    if home is None:
        here = Path.cwd()
        home = next((folder for folder in (here, *here.parents) if (folder / "assignment.toml").is_file()), None)
        if home is None:
            raise InputError("no assignment.toml here or above; give --home")
    if not (home / "assignment.toml").is_file():
        raise InputError(f"{home}: no assignment.toml here")
    return home.resolve()


def require_writable(path: Path) -> None:
    """Find out before the work is done, and leave no trace."""
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    existed = path.exists()
    try:
        with path.open("ab"):
            pass
        if not existed:
            path.unlink()
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None

"""Submissions that a TOML file cannot describe: links, archives, compiled files, code at a module's head.

Each function makes one in ``folder`` out of the solved submission files, ``{"ngram.py": b"...", ...}``, and returns
what is handed in: a folder or a zip.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def _plain(folder: Path, files: Mapping[str, bytes]) -> Path:
    """A folder with these files, by path inside it."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def _at_import(folder: Path, solved: Mapping[str, bytes], code: str, module: str = "metrics.py") -> Path:
    """The solved files, with code that runs when a module is imported, after everything that it defines."""
    return _plain(folder, {**solved, module: solved[module] + b"\n\n" + code.encode()})


# --- groups files and process -----------------------------------------------------------------------------------


def exits_at_import(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """The process ends, with an exit code that says all is well."""
    return _at_import(folder, solved, "import os\nos._exit(0)\n")


# --- the other groups: add functions below this line ------------------------------------------------------------

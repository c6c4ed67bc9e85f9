"""Removing folders in which student code has worked. Trusted side."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def remove_tree(folder: Path) -> None:
    """Remove a folder, whatever was made in it: what cannot be removed is left, and nothing is raised.

    A tree that is nested a thousand folders deep ends Python's own function with a RecursionError; ``rm`` has no such
    limit.
    """
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:
        subprocess.run(["rm", "-rf", "--", str(folder)], stderr=subprocess.DEVNULL, check=False)

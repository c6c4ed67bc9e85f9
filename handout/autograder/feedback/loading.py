"""How a package in a folder is imported: afresh, or under another name.

Loaded in both processes; imports ``errors`` only.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path

from .errors import InputError


def forget(package: str) -> None:
    """Drop a package and its modules, so that the next import runs their code again."""
    for name in [name for name in sys.modules if name == package or name.startswith(package + ".")]:
        del sys.modules[name]
    importlib.invalidate_caches()


def import_from(folder: Path) -> None:
    """Put ``folder`` first on the import path, once."""
    entry = os.path.abspath(folder)
    if sys.path[:1] != [entry]:
        if entry in sys.path:
            sys.path.remove(entry)
        sys.path.insert(0, entry)


def load_as(folder: Path, package: str, name: str) -> None:
    """Load the package in ``folder`` under another name: the reference beside a student's package.

    Raises:
        InputError: there is no such package.
    """
    start = folder / package / "__init__.py"
    if not start.is_file():
        raise InputError(f"{folder}: no package {package!r} here")
    forget(name)
    spec = importlib.util.spec_from_file_location(name, start, submodule_search_locations=[str(start.parent)])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)

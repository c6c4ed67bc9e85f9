"""Keeps outcomes of items by what they depend on, on disk: of a class of any size, nothing of it is held in memory.

SQLite, since several threads and processes of one machine read and write it. Losing it costs time and nothing else.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from ..feedback.errors import InputError
from ..recall import ItemOutcomes

_WAIT = 60.0  # seconds for another writer


class Memory:
    """A file of outcomes; made when it is not there, or is none.

    Raises:
        InputError: it cannot be used now.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._make()
        except sqlite3.OperationalError as error:  # locked, or a full disk: others may be using it
            raise InputError(f"cannot use {path}: {error}") from None
        except sqlite3.DatabaseError:  # it is none
            path.unlink(missing_ok=True)
            self._make()

    def _make(self) -> None:
        with self._open() as store:
            store.execute("CREATE TABLE IF NOT EXISTS items (key BLOB PRIMARY KEY, outcomes BLOB) WITHOUT ROWID")

    def recall(self, keys: Mapping[str, bytes]) -> dict[str, ItemOutcomes]:
        """Item -> outcomes, of those whose key is known."""
        found = {}
        with suppress(sqlite3.Error, msgspec.DecodeError), self._open() as store:  # what is damaged is not known
            for item, key in keys.items():
                row = store.execute("SELECT outcomes FROM items WHERE key = ?", (key,)).fetchone()
                if row is not None:
                    found[item] = msgspec.json.decode(row[0], type=ItemOutcomes)
        return found

    def remember(self, outcomes: Mapping[bytes, ItemOutcomes]) -> None:
        """Keep outcomes by key; what is known already stays. Where it cannot be written, nothing is kept."""
        if outcomes:
            rows = [(key, msgspec.json.encode(value)) for key, value in outcomes.items()]
            with suppress(sqlite3.Error), self._open() as store:
                store.executemany("INSERT OR IGNORE INTO items VALUES (?, ?)", rows)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        store = sqlite3.connect(self.path, timeout=_WAIT)
        try:
            store.execute("PRAGMA synchronous = OFF")
            with store:
                yield store
        finally:
            store.close()

"""Data, not tests of this repository: pytest must not collect the small assignment that lies here."""

from __future__ import annotations

collect_ignore_glob = ["*"]

"""How much of each item its public tests carry: in the handout nobody can tell, so the builder writes it down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

FILE = "shares.json"  # beside the tests


def shares_in(folder: Path) -> dict[str, float] | None:
    """Slug -> the part of the item's weight that the tests in this folder carry; None where it is not written down."""
    try:
        told = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return {slug: float(share) for slug, share in told.items()} if isinstance(told, dict) else None


def as_text(shares: Mapping[str, float]) -> str:
    """The file."""
    return json.dumps({slug: round(share, 4) for slug, share in shares.items()}, indent=1) + "\n"

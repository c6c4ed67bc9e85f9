"""What the builder knows and a handout cannot tell by itself; it lies beside the tests.

How much of each item the public tests carry, and how the stubs looked: a file that is still as it was handed out need
not be run to know that nothing in it is started.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

FILE = "facts.json"
_STUB = re.compile(r"""raise NotImplementedError\(["']((\w+): [\w.]+)["']\)""")


@dataclass(frozen=True)
class Facts:
    """See above.

    Attributes:
        shares: slug -> the part of the item's weight that the public tests carry.
        stubs: file of the package -> digest of it as it was handed out.
    """

    shares: Mapping[str, float] = field(default_factory=dict)
    stubs: Mapping[str, str] = field(default_factory=dict)

    def as_text(self) -> str:
        """The file."""
        shares = {slug: round(share, 4) for slug, share in self.shares.items()}
        return json.dumps({"shares": shares, "stubs": dict(self.stubs)}, indent=1) + "\n"

    def stub_of(self, package: Path, file: str, slug: str) -> str | None:
        """The text of an item's first stub, if its file is as it was handed out; else None."""
        if file not in self.stubs:
            return None
        try:
            content = (package / file).read_bytes()
        except OSError:
            return None
        if digest(content) != self.stubs[file]:
            return None
        found = (text for text, named in _STUB.findall(content.decode("utf-8", "replace")) if named == slug)
        return next(found, None)


def digest(content: bytes) -> str:
    """Of a file, whatever its line ends are."""
    return hashlib.sha256(content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")).hexdigest()


@lru_cache(maxsize=8)
def facts_in(folder: Path) -> Facts:
    """The facts that lie in a folder of tests; none where there is no such file, or a broken one."""
    try:
        told = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return Facts({slug: float(share) for slug, share in told["shares"].items()}, dict(told["stubs"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Facts()

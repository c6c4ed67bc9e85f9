"""Hostile submissions of a simulated class: attacks of the repository that are plain files, and some of our own.

Nothing here is run; it is written into files that only a confined worker imports.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ..feedback.errors import InputError
from ..proof.attacks import Attack, hand_in, load_attacks
from .pieces import Pieces

_OWN: Mapping[str, str] = {
    "own-endless-loop": "while True:\n    pass\n",
    "own-memory-eater": "hoard = []\nwhile True:\n    hoard.append(bytearray(1 << 24))\n",
    "own-fork-bomb": "import os\n\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n",
    "own-not-python": "def unfinished(:\n    retrun 1\n",
    "own-sleeper": "import time\n\ntime.sleep(10**6)\n",
    "own-loud": "while True:\n    print('A' * 10_000)\n",
}
_TRICKS = 0.5  # share of those from the repository, where it has any


class Troublemakers:
    """What hostile students hand in.

    Args:
        pieces: of the class.
    """

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        attacks = load_attacks(pieces.home / "tests" / "attacks", pieces.assignment)
        # links, archives and compiled files have makers; what is refused is no submission
        self._attacks = [attack for attack in attacks if not attack.make and not attack.refused]

    def files(self, rng: random.Random) -> tuple[str, dict[str, bytes]]:
        """(what it is called, the files)."""
        if self._attacks and rng.random() < _TRICKS:
            attack = rng.choice(self._attacks)
            made = self._attack(attack)
            if made is not None:
                return attack.id, made
        name = rng.choice(sorted(_OWN))
        files = dict(self._pieces.solved)
        target = rng.choice([file for file in files if file.endswith(".py")])
        files[target] += b"\n\n" + _OWN[name].encode("utf-8")
        return name, files

    def _attack(self, attack: Attack) -> dict[str, bytes] | None:
        """None for one that cannot be applied, as where its item is switched off."""
        with tempfile.TemporaryDirectory(prefix="autograder-class-") as temporary:
            folder = Path(temporary)
            try:
                hand_in(attack, self._pieces.home, self._pieces.package, self._pieces.assignment, folder)
            except InputError:
                return None
            paths = sorted(path for path in folder.rglob("*") if path.is_file())
            return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}

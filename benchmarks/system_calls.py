"""Compare the grader's table of system calls with libseccomp's, for both architectures. Run it after changing a row.

    PYTHON benchmarks/system_calls.py

PYTHON needs ``pyseccomp`` (see ``docker_like.py``) and nothing of the grader's. Exit 1 when a number is wrong.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

TABLE = Path(__file__).parents[1] / "autograder" / "seccomp.py"


def main() -> int:
    """Print each number that differs."""
    import pyseccomp

    wrong = 0
    (table,) = [
        node.value
        for node in ast.parse(TABLE.read_text(encoding="utf-8")).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "NUMBERS"
    ]
    assert table is not None
    rows = ast.literal_eval(table)
    for name, numbers in rows.items():
        for architecture, number in zip((pyseccomp.Arch.X86_64, pyseccomp.Arch.AARCH64), numbers, strict=True):
            known = pyseccomp.resolve_syscall(architecture, name)  # negative: there is no such call
            if (number if number is not None else -1) != max(known, -1):
                sys.stdout.write(f"{name} on {architecture}: {number}, libseccomp says {known}\n")
                wrong += 1
    sys.stdout.write(f"{len(rows)} calls compared, {wrong} wrong\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

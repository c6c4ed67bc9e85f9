# /// script
# requires-python = ">=3.10"
# dependencies = [
#     "gradescope-utils>=0.5",
#     "numpy>=1.26",
#     "pytest>=8.2",
#     "rich>=13.7",
#     "tomli>=2; python_version < '3.11'",
# ]
# ///
"""Check your work: ``python check.py``. What else it does: ``python check.py --help``.

In a notebook: ``from check import check``, and then ``check("2.4")``.
"""

from __future__ import annotations

import html
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).resolve().parent
NEEDED = ["numpy", "pytest", "gradescope_utils", *(["tomli"] if sys.version_info < (3, 11) else [])]


def missing(needed: list[str] = NEEDED, windows: bool = os.name == "nt") -> str:
    """What has to be installed first, with the two lines that do it; empty when nothing has to."""
    absent = [name for name in needed if importlib.util.find_spec(name) is None]
    if not absent:
        return ""
    python, then = ("py", ";") if windows else ("python3", " &&")
    own = ".venv\\Scripts\\python" if windows else ".venv/bin/python"
    return (
        f"{', '.join(absent)}: not installed in this Python. These two lines, in this folder, help:\n\n"
        f"  {python} -m venv .venv{then} {own} -m pip install -r requirements.txt -c constraints.txt\n"
        f"  {own} check.py"
    )


class Checked(list):  # type: ignore[type-arg]
    """The items that were checked, each a dict; shows itself as a table in a notebook."""

    def __repr__(self) -> str:
        lines = []
        for item in self:
            lines.append(f"{item['number']:5} {item['title']}: {item['said']}")
            for one in _failing(item):
                lines += [f"      {line}" for line in _lines(one)]
        return "\n".join(lines) or "nothing was checked"

    def _repr_html_(self) -> str:
        rows = []
        for item in self:
            said = "<br><br>".join("<br>".join(map(html.escape, _lines(one))) for one in _failing(item))
            cells = (item["number"], html.escape(item["title"]), html.escape(item["said"]), said)
            rows.append("<tr>" + "".join(f'<td style="text-align: left">{cell}</td>' for cell in cells) + "</tr>")
        return f"<table>{''.join(rows)}</table>"


def _failing(item: dict) -> list[dict]:  # type: ignore[type-arg]
    return [one for one in item["checks"] if one["state"] not in ("passed", "not started", "skipped")][:3]


def _lines(one: dict) -> list[str]:  # type: ignore[type-arg]
    return [line for line in (one["title"], *one["message"].splitlines(), one["hint"]) if line]


def check(item: str | None = None, seed: int = 0, lang: str | None = None) -> Checked:
    """Check one item, or everything, in a process of its own: what was saved last counts."""
    command = [sys.executable, str(HOME / "check.py"), "--json", "--seed", str(seed)]
    command += ["--item", item] if item else []
    command += ["--lang", lang] if lang else []
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=environment, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.strip() or done.stdout.strip())
    return Checked(json.loads(done.stdout))


def main() -> int:
    """The command."""
    if sys.version_info < (3, 10):  # noqa: UP036 - whoever has an old one should read a line, not a traceback
        print(f"This takes Python 3.10 or newer; this one is {sys.version.split()[0]}.")
        return 2
    problem = missing()
    if problem:
        print(problem)
        return 2
    sys.path.insert(0, str(HOME))
    from autograder.feedback.front import main as front

    return front(HOME)


if __name__ == "__main__":
    sys.exit(main())

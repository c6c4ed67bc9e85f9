"""What run_autograder calls on the platform. Run as a file, so that nothing need be installed but the dependencies.

Exit 0 whatever the score; 3 when the grader itself failed, so that the platform says so and nobody takes the
outcome for a score.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import contextlib
import os
import traceback

import msgspec

from autograder import canaries, landlock
from autograder.feedback.assignment import load_assignment
from autograder.feedback.errors import InputError
from autograder.grade import make_job, require_reachable, staged
from autograder.session import GRADER_FAILED, run

HARNESS = "harness.py"  # the platform's own, beside us
EVERYBODYS = ("/tmp", "/var/tmp", "/dev/shm")


def main() -> int:
    """Grade $AUTOGRADER_ROOT/submission and write $AUTOGRADER_ROOT/results/results.json."""
    root = Path(os.environ.get("AUTOGRADER_ROOT", "/autograder"))
    home = Path(__file__).resolve().parents[1]
    results = root / "results" / "results.json"
    try:
        assignment = load_assignment(home / "assignment.toml")
        minimum = _minimum_rung(root)
        require_reachable()
        if (root / HARNESS).exists() and not landlock.version():
            _close_what_everybody_writes_to()
        if not (root / "submission").is_dir():
            raise InputError(f"{root / 'submission'}: no such folder")
        results.parent.mkdir(mode=0o700, exist_ok=True)
        with staged(root / "submission", home, assignment, accept_nothing=True) as (staging, taken):
            job = make_job(assignment, home, staging, taken, results)
            return run(msgspec.structs.replace(job, minimum=minimum))
    except InputError as error:
        sys.stdout.write(f"the autograder cannot run: {error}\n")
        return GRADER_FAILED
    except Exception:
        traceback.print_exc(file=sys.stdout)  # which instructors see; what was earned so far is in results.json
        return GRADER_FAILED


def _minimum_rung(root: Path) -> str:
    """On the platform (its harness is there) code is isolated or nothing is graded; elsewhere if somebody says so."""
    on_platform = (root / HARNESS).exists()
    rung = os.environ.get("AUTOGRADER_MINIMUM_RUNG") or (canaries.PLATFORM_MINIMUM if on_platform else "")
    if rung and rung not in canaries.RUNGS:
        raise InputError(f"AUTOGRADER_MINIMUM_RUNG is one of {', '.join(canaries.RUNGS)}, not {rung!r}")
    return rung


def _close_what_everybody_writes_to() -> None:
    """A poor man's Landlock: no folder is left in which two workers, or a worker and a later one, could meet."""
    for folder in EVERYBODYS:
        with contextlib.suppress(OSError):
            os.chmod(folder, 0o755)


if __name__ == "__main__":
    sys.exit(main())

"""What run_autograder calls on the platform. Run as a file, so that nothing need be installed but the dependencies.

Exit 0 whatever the score; 3 when the grader itself failed, so that the platform says so and nobody takes the
outcome for a score.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import os

from autograder.feedback.assignment import load_assignment
from autograder.feedback.errors import InputError
from autograder.grade import make_job, require_reachable, staged
from autograder.session import GRADER_FAILED, run


def main() -> int:
    """Grade $AUTOGRADER_ROOT/submission and write $AUTOGRADER_ROOT/results/results.json."""
    root = Path(os.environ.get("AUTOGRADER_ROOT", "/autograder"))
    home = Path(__file__).resolve().parents[1]
    results = root / "results" / "results.json"
    try:
        assignment = load_assignment(home / "assignment.toml")
        require_reachable()
        results.parent.mkdir(mode=0o700, exist_ok=True)
        with staged(root / "submission", home, assignment, accept_nothing=True) as (staging, taken):
            return run(make_job(assignment, home, staging, taken, results))
    except InputError as error:
        sys.stdout.write(f"the autograder cannot run: {error}\n")
        return GRADER_FAILED


if __name__ == "__main__":
    sys.exit(main())

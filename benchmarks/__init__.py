"""Commands that measure the grader and try to break it. Run by hand: ``python -m benchmarks.NAME``."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "solutions"))  # for what the experiments have too

"""Run experiments: print what they find, keep it as CSV and, with matplotlib, as pictures."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from .run import Run

NAMES = {
    "1": "ngrams",
    "2": "autodiff",
    "3": "tape",
    "4": "torch_basics",
    "5": "rnn",
    "6": "through_time",
    "7": "real_text",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Exit code 1 when something lies outside its band, 3 when a part waits for an item."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__.partition("\n")[0])
    parser.add_argument("which", nargs="+", choices=[*NAMES, "all"], metavar="N", help="1 to 7, or all")
    parser.add_argument("--quick", action="store_true", help="less of everything: minutes become seconds")
    parser.add_argument("--seed", type=int, default=0, help="of data, parameters and samples")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for CSV files and pictures")
    parser.add_argument(
        "--text", type=Path, nargs="+", metavar="FILE", help="for experiment 7: training text, held-out text"
    )
    parser.add_argument("--lang", choices=["en", "zh"], default="en", help="of titles and pictures")
    options = parser.parse_args(arguments)
    which = list(NAMES) if "all" in options.which else options.which
    run = Run(options.out, quick=options.quick, seed=options.seed, lang=options.lang, text=options.text or [])
    for number in which:
        module = importlib.import_module(f".{NAMES[number]}", __package__)
        run.experiment(number, module)
    return run.finish()


if __name__ == "__main__":
    sys.exit(main())

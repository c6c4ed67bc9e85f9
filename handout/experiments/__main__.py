"""Run experiments: print what they find, keep it as CSV and, with matplotlib, as pictures."""

from __future__ import annotations

import argparse
import ast
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
INTERRUPTED = 130


def language(asked: str | None) -> str:
    """As in ``check.py``: what is asked for, AUTOGRADER_LANG, or this machine's; English where neither is there."""
    try:
        from autograder.feedback.language import chosen
    except ImportError:  # the experiments alone, away from the handout
        return asked or "en"
    lang = chosen(asked)
    try:
        "\u4e2d".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "en"
    return lang


def titles() -> str:
    """The experiments by number, a line each. Nothing of them is run for it."""
    lines = []
    for number, name in NAMES.items():
        text = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
        lines.append(f"  {number}  {(ast.get_docstring(ast.parse(text)) or name).partition(chr(10))[0]}")
    return "experiments:\n" + "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Exit code 1 when something lies outside its band, 3 when a part waits for an item."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=__doc__.partition("\n")[0],
        epilog=titles(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("which", nargs="+", choices=[*NAMES, "all"], metavar="N", help="a number from below, or all")
    parser.add_argument("--quick", action="store_true", help="less of everything: minutes become seconds")
    parser.add_argument("--seed", type=int, default=0, help="of data, parameters and samples")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for CSV files and pictures")
    parser.add_argument(
        "--text", type=Path, nargs="+", metavar="FILE", help="for experiment 7: training text, held-out text"
    )
    parser.add_argument("--lang", choices=["en", "zh"], help="English or Chinese (default: this machine's)")
    options = parser.parse_args(arguments)
    which = list(NAMES) if "all" in options.which else options.which
    run = Run(options.out, options.quick, options.seed, language(options.lang), options.text or [])
    try:
        for number in which:
            run.experiment(number, importlib.import_module(f".{NAMES[number]}", __package__))
    except KeyboardInterrupt:
        print("\n" + run.say("interrupted; what was measured so far:", "已中断；到目前为止测得："))
        run.finish()
        return INTERRUPTED
    return run.finish()


if __name__ == "__main__":
    sys.exit(main())

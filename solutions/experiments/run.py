"""What all experiments share: steps that may have to wait, tables, pictures, figures with bands. Given.

An experiment is a module with a docstring, whose first line is its title, and a list ``STEPS`` of functions that take a
``Run``. Each step stands alone: where it meets a function that you have not written yet, it says which item it waits
for, and the next step goes on.
"""

from __future__ import annotations

import csv
import hashlib
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

INSIDE, OUTSIDE, WAITING = 0, 1, 3  # exit codes


@dataclass
class Figure:
    """One number that the lectures print.

    Attributes:
        key: "4.6 test perplexity".
        value: what was measured.
        low, high: the band; equal for an exact figure.
        lecture: what the lecture says, in its own words.
    """

    key: str
    value: float
    low: float
    high: float
    lecture: str

    @property
    def holds(self) -> bool:
        return self.low <= self.value <= self.high


@dataclass
class Run:
    """One run of the command.

    Attributes:
        out: folder for what is kept.
        quick: less of everything.
        seed: of everything random.
        lang: "en" or "zh".
        text: files for experiment 7.
        figures: all that were measured.
        shared: what one step leaves for others, a trained model for example.
    """

    out: Path
    quick: bool = False
    seed: int = 0
    lang: str = "en"
    text: Sequence[Path] = ()
    figures: list[Figure] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    shared: dict[str, Any] = field(default_factory=dict)
    number: str = ""

    def experiment(self, number: str, module: ModuleType) -> None:
        """Run the steps of one experiment."""
        self.number = number
        english, _, chinese = str(module.__doc__).partition("\n")[0].partition(" | ")
        title = chinese or english if self.lang == "zh" else english
        print(f"\n{'=' * 100}\n{number}  {title}", flush=True)
        for step in module.STEPS:
            started = time.perf_counter()
            try:
                step(self)
            except NotImplementedError as error:
                slug, _, function = str(error).partition(": ")
                self.waiting.append(f"{number} {step.__name__}: {slug}")
                print(f"\n-- waits for your {function or slug} (item {slug}): python check.py --item {slug}")
            except ModuleNotFoundError as error:
                if error.name != "torch":
                    raise
                self.waiting.append(f"{number} {step.__name__}: torch")
                print("\n-- needs PyTorch, which is not installed")
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                self.waiting.append(f"{number} {step.__name__}: {type(error).__name__}")
                where = f"{Path(place.filename).name}:{place.lineno}"
                print(f"\n-- ended by {type(error).__name__}: {error} (in {where})")
            else:
                print(f"   ({time.perf_counter() - started:.1f} s)", flush=True)

    def rng(self, name: str) -> np.random.Generator:
        """A generator for one purpose: the same numbers whatever else runs."""
        digest = hashlib.sha256(f"{self.seed} {self.number} {name}".encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "big"))

    def say(self, english: str, chinese: str) -> str:
        """The one of two texts that is wanted."""
        return chinese if self.lang == "zh" else english

    def table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Print a table and keep it as ``out/N-name.csv``."""
        shown = [[_short(value) for value in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(columns, *shown, strict=True)]
        print()
        for row in (list(columns), *shown):
            print("  " + "  ".join(value.rjust(width) for value, width in zip(row, widths, strict=True)).rstrip())
        self.out.mkdir(parents=True, exist_ok=True)
        with (self.out / f"{self.number}-{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(rows)

    def look(self, english: str, chinese: str) -> None:
        """The line that says what to see in the table or picture above."""
        print(f"  >> {self.say(english, chinese)}")

    def figure(self, key: str, value: float, low: float, high: float, lecture: str = "") -> float:
        """Note a figure of the lectures and say whether it lies in its band."""
        found = Figure(key, float(value), low, high, lecture)
        self.figures.append(found)
        band = f"exactly {_short(low)}" if low == high else f"{_short(low)} to {_short(high)}"
        word = "ok" if found.holds else "OUTSIDE"
        told = f"   lecture: {lecture}" if lecture else ""
        print(f"  [{word}] {key} = {_short(found.value)}   band: {band}{told}")
        return found.value

    @contextmanager
    def picture(self, name: str, width: float = 7.0, height: float = 4.0) -> Iterator[Any]:
        """A matplotlib figure, kept as ``out/N-name.svg``; None where there is no matplotlib.

        Lines differ by style and marker, not by colour alone: it must be readable in black and white.
        """
        try:
            import matplotlib
        except ImportError:
            yield None
            return
        matplotlib.use("agg")
        from matplotlib import pyplot

        style = {
            "svg.hashsalt": "lm",
            "font.sans-serif": ["Noto Sans CJK SC", "Microsoft YaHei", "PingFang SC", "DejaVu Sans"],
        }
        style["axes.prop_cycle"] = pyplot.cycler(
            linestyle=["-", "--", ":", "-."] * 2, marker=list("osv^Dx+*"), color=["black", "dimgrey"] * 4
        )
        with pyplot.rc_context(style):
            drawn = pyplot.figure(figsize=(width, height), layout="constrained")
            yield drawn
            self.out.mkdir(parents=True, exist_ok=True)
            path = self.out / f"{self.number}-{name}.svg"
            drawn.savefig(path, metadata={"Date": None})
            pyplot.close(drawn)
            print(f"  picture: {path}")

    def progress(self, text: str) -> None:
        """A line that is overwritten, on a terminal only."""
        if sys.stderr.isatty():
            print(f"\r  {text:<70}", end="", file=sys.stderr, flush=True)

    def finish(self) -> int:
        """Keep all figures as ``out/figures.csv``, and say how many lie in their bands."""
        if self.figures:
            self.out.mkdir(parents=True, exist_ok=True)
            with (self.out / "figures.csv").open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(["figure", "value", "low", "high", "holds", "lecture"])
                writer.writerows([f.key, f.value, f.low, f.high, f.holds, f.lecture] for f in self.figures)
        outside = [found.key for found in self.figures if not found.holds]
        print(f"\n{len(self.figures) - len(outside)} of {len(self.figures)} figures lie in their bands")
        for key in outside:
            print(f"  OUTSIDE: {key}")
        for line in self.waiting:
            print(f"  waits: {line}")
        return OUTSIDE if outside else WAITING if self.waiting else INSIDE


Step = Callable[[Run], None]


def _short(value: Any) -> str:
    """A number with five digits; a whole one with all of them."""
    if not isinstance(value, (float, np.floating)):
        return str(value)
    number = float(value)
    if number.is_integer() and abs(number) < 1e15:
        return f"{number:.0f}"
    text = f"{number:.5g}"
    return text if re.fullmatch(r"[-\d.]+", text) else f"{number:.2e}"

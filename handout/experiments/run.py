"""What all experiments share: steps that may have to wait, tables, pictures, figures with bands. Given.

An experiment is a module with a docstring, whose first line is its title, and a list ``STEPS`` of functions that take a
``Run``. Each step stands alone: where it meets a function that you have not written yet, it says which item it waits
for, where one of yours goes wrong, it says so, and the next step goes on.
"""

from __future__ import annotations

import csv
import hashlib
import math
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .pictures import drawing
from .waiting import reason
from .words import Quoted, chinese, padded, untranslated, width

INSIDE, OUTSIDE, WAITING = 0, 1, 3  # exit codes


@dataclass
class Figure:
    """One number that the lectures print.

    Attributes:
        key: "4.6 test perplexity".
        value: what was measured.
        low, high: the band; equal for an exact figure, infinite for one that says more about the seed than anything.
        lecture: what the lecture says, in its own words.
        experiment: its number.
    """

    key: str
    value: float
    low: float
    high: float
    lecture: str
    experiment: str = ""

    @property
    def judged(self) -> bool:
        return self.low > -math.inf or self.high < math.inf

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
        waiting: "1 chain_rule: count_ngrams", a line for each step that did not end, and why.
        shared: what one step leaves for others, a trained model for example.
        untranslated: English texts that were shown and have no translation: there should be none.
    """

    out: Path
    quick: bool = False
    seed: int = 0
    lang: str = "en"
    text: Sequence[Path] = ()
    figures: list[Figure] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    shared: dict[str, Any] = field(default_factory=dict)
    untranslated: list[str] = field(default_factory=list)
    number: str = ""

    def experiment(self, number: str, module: ModuleType) -> None:
        """Run the steps of one experiment. Whatever happens in one of them, the next one runs."""
        self.number = number
        english, _, title = str(module.__doc__).partition("\n")[0].partition(" | ")
        print(f"\n{'=' * 100}\n{number}  {self.say(english, title or english)}", flush=True)
        for step in module.STEPS:
            started = time.perf_counter()
            print(f"\n{self.shown(str(step.__doc__).partition(chr(10))[0])}")
            try:
                step(self)
            except (Exception, SystemExit) as error:  # a student's function may raise, or end, whatever it likes
                short, line = reason(error, self.lang)
                self.waiting.append(f"{number} {step.__name__}: {short}")
                print(f"  -- {line}")
            else:
                print(f"   ({time.perf_counter() - started:.1f} s)", flush=True)

    def rng(self, name: str) -> np.random.Generator:
        """A generator for one purpose: the same numbers whatever else runs."""
        digest = hashlib.sha256(f"{self.seed} {self.number} {name}".encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "big"))

    def say(self, english: str, chinese_text: str) -> str:
        """The one of two texts that is wanted."""
        return chinese_text if self.lang == "zh" else english

    def shown(self, text: str) -> str:
        """A text of a table or of a figure as it is shown."""
        if isinstance(text, Quoted):
            return text
        if untranslated(text):
            self.untranslated.append(text)
        return chinese(text) if self.lang == "zh" else text

    def table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Print a table and keep it as ``out/N-name.csv``, which is in English always: programs read it, too."""
        cells = [[self._cell(value) for value in row] for row in (list(columns), *rows)]
        widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
        print()
        for row in cells:
            print("  " + "  ".join(map(padded, row, widths)).rstrip())
        self.out.mkdir(parents=True, exist_ok=True)
        with (self.out / f"{self.number}-{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(rows)

    def _cell(self, value: Any) -> str:
        return value if isinstance(value, Quoted) else self.shown(value) if isinstance(value, str) else _short(value)

    def look(self, english: str, chinese_text: str) -> None:
        """The line that says what to see in the table or picture above."""
        print(f"  >> {self.say(english, chinese_text)}")

    def figure(self, key: str, value: float, low: float, high: float, lecture: str = "") -> float:
        """Note a figure of the lectures and say whether it lies in its band."""
        found = Figure(key, float(value), low, high, lecture, self.number)
        self.figures.append(found)
        if not found.judged:
            no_band = self.say("no band: it depends on the seed", "没有范围：取决于种子")
            told = f"{self.say('lecture', '讲义')}: {self.shown(lecture)}"
            print(f"  [--] {self._named(key)} = {_short(found.value)}   {no_band}   {told}")
            return found.value
        exactly, between = self.say("exactly {}", "恰为 {}"), self.say("{} to {}", "{} 至 {}")
        band = exactly.format(_short(low)) if low == high else between.format(_short(low), _short(high))
        word = self.say("ok", "符合") if found.holds else self.say("OUTSIDE", "超出")
        told = f"   {self.say('lecture', '讲义')}: {self.shown(lecture)}" if lecture else ""
        print(f"  [{word}] {self._named(key)} = {_short(found.value)}   {self.say('band', '范围')}: {band}{told}")
        return found.value

    def _named(self, key: str) -> str:
        """A figure's name as it is shown: without the number that it is found by in ``figures.csv``."""
        return self.shown(re.sub(r"^(4\.\d|7|B (5\.\d|ex\. 5)|lecture A 5\.2:) ", "", key))

    @contextmanager
    def picture(self, name: str, width: float = 7.0, height: float = 4.0) -> Iterator[Any]:
        """A matplotlib figure, kept as ``out/N-name.svg``; None where there is no matplotlib.

        Lines differ by style and marker, not by colour alone: it must be readable in black and white. Where no font
        has Chinese characters its words are English.
        """
        lang = self.lang
        with drawing(self.out / f"{self.number}-{name}.svg", width, height, lang == "zh") as (drawn, writes_chinese):
            self.lang = "zh" if writes_chinese else "en"
            try:
                yield drawn
            finally:
                self.lang = lang
        if drawn is not None:
            note = "" if writes_chinese or lang == "en" else "（没有找到中文字体，图中文字为英文）"
            print(f"  {self.say('picture', '图')}: {self.out / f'{self.number}-{name}.svg'}{note}")

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
                writer.writerow(["figure", "value", "low", "high", "holds", "lecture", "experiment"])
                writer.writerows(
                    [f.key, f.value, f.low, f.high, f.holds, f.lecture, f.experiment] for f in self.figures
                )
        outside = [found.key for found in self.figures if not found.holds]
        of_all = sum(found.judged for found in self.figures)
        inside = of_all - len(outside)
        english = f"{inside} of {of_all} figures lie in their bands"
        print("\n" + self.say(english, f"{of_all} 个数中 {inside} 个在范围内"))
        if self.quick:
            english = "(--quick trains less: figures that need a full run are left out or have bands of their own)"
            print(self.say(english, "（--quick 训练得少：需要完整运行的数不判断，或者另有范围）"))
        for key in outside:
            print(f"  {self.say('OUTSIDE', '超出')}: {self._named(key)}")
        for line in self.waiting:
            print(f"  {self.say('waits', '等待')}: {line}")
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

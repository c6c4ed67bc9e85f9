"""benchmarks/results.py: the page of the lectures' figures follows from what single seeds found, nothing else."""

from __future__ import annotations

import json
import math
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks import results

ROOT = Path(__file__).resolve().parents[2]
NEEDED = (
    "4.2 unigram test perplexity",
    "4.2 unseen 3-grams in test",
    "4.6 tau = 1.5: grammatical",
    "4.6 agreement after epoch 1, k = 1",
)


def figure(key: str, value: float, low: float = 0, high: float = 1, number: str = "1") -> dict[str, Any]:
    """A figure as ``figures.csv`` has it."""
    holds = str(low <= value <= high)
    return {
        "figure": key, "value": str(value), "low": str(low), "high": str(high), "holds": holds, "lecture": "0.5",
        "experiment": number,
    }  # fmt: skip


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Two seeds that are measured already: of one figure one of them lies outside, another one is exact."""
    for seed, value in ((3, 0.25), (4, 1.25)):
        figures = [figure("4.1 one", value), figure("4.9 nodes", 136, 136, 136, "3"), *(figure(k, 0.5) for k in NEEDED)]
        figures.append(figure("4.6 by the seed", 0.5, -math.inf, math.inf))
        told = {"versions": "Python 3.99", "figures": figures}
        (tmp_path / f"seed-{seed}.json").write_text(json.dumps(told), encoding="utf-8")
    return tmp_path


def test_the_page_says_mean_range_band_and_what_holds(work: Path) -> None:
    """Nothing is run again; what lies outside with some seed is in bold."""
    out = work / "page.md"
    assert results.main(["--seeds", "3", "4", "--work", str(work), "--out", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    assert "| one | 0.5 | 0.75 | 0.25 to 1.25 | 0 to 1 | **1 of 2** |" in page
    assert "| by the seed | 0.5 | 0.5 | 0.5 | none | not judged |" in page
    assert "| nodes | 0.5 | 136 | 136 | exactly 136 | yes |" in page
    assert "Of 6 figures 5 lie in their bands with every seed (11 of 12 measurements)." in page
    assert "--seeds 3 4\n" in page
    assert "Python 3.99" in page
    assert page.index("| one |") < page.index("## 3 The tape") < page.index("| nodes |") < page.index("## What cannot")


def test_a_run_that_fails_makes_no_page(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is measured so far is kept, and the page is not written."""
    ended = subprocess.CompletedProcess((), 3, "  waits: 1 chain_rule: count_ngrams\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)
    out = work / "page.md"
    assert results.main(["--seeds", "3", "5", "--work", str(work), "--out", str(out)]) == 2
    assert not out.exists()
    assert not (work / "seed-5.json").exists()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (136, "136"),
        (31118.0, "31,118"),
        (2.543214, "2.5432"),
        (22999.7, "23,000"),
        (5.5e-17, "5.5e-17"),
        (0.00075, "7.5e-04"),
        (0.0, "0"),
    ],
    ids=["whole", "thousands", "fraction", "large", "tiny", "small", "zero"],
)
def test_numbers_are_short(value: float, shown: str) -> None:
    """Five digits, all of a whole number."""
    assert results.short(value) == shown


def test_the_committed_page_is_about_all_figures() -> None:
    """Every experiment has a table, at least three seeds were run, and no date is on it."""
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    tables = [block for block in page.split("\n## ") if "| figure |" in block]
    assert [int(table[0]) for table in tables] == [1, 2, 3, 4, 5, 6, 7]
    assert sum(table.count("\n| ") - 2 for table in tables) >= 195
    seeds = re.search(r"--seeds ([\d ]+)", page)
    assert seeds is not None
    assert len(seeds[1].split()) >= 3
    assert not re.search(r"20\d\d-\d\d", page)

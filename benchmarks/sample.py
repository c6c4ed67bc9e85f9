"""2,000 sentences from the trained RNN language model: all at once, and one at a time.

    python -m benchmarks.sample

Both use ``rnn_step_forward`` and the same uniforms, so they write the same sentences; that is checked first. One at a
time is ``decoding.generate`` with a step function. Exit code 1 when the goal is missed.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.side_by_side import ROOT, Goal, packages, protocol, race, report

SENTENCES, MAX_LEN, ONE_BY_ONE = 2_000, 30, 100
ROWS = 500  # of one product: what the step computes on the way stays in the cache
GOALS = (Goal("all at once", "one at a time", 1 / 15),)


def all_at_once(package: ModuleType, params: Any, uniforms: np.ndarray) -> list[list[int]]:
    """All sentences that have not ended take a step together, a few products each."""
    rnn, decoding = (importlib.import_module(f".{name}", package.__name__) for name in ("rnn", "decoding"))
    rows = np.full(uniforms.shape, decoding.EOS_ID)
    alive = np.arange(len(uniforms))
    words = np.full(len(uniforms), decoding.BOS_ID)
    h = np.zeros((len(uniforms), len(params.b_h)))
    bias = params.b_y[:, None].copy()
    bias[[decoding.PAD_ID, decoding.BOS_ID]] = -np.inf  # never written
    for t in range(uniforms.shape[1]):
        for start in range(0, len(h), ROWS):
            part = slice(start, start + ROWS)
            h[part] = rnn.rnn_step_forward(params.E[words[part]], h[part], params)
        cumulative = params.W_hy @ h.T  # a column a sentence: maxima and sums go along rows, over all sentences at once
        cumulative += bias
        cumulative -= cumulative.max(axis=0)
        np.exp(cumulative, out=cumulative)
        np.cumsum(cumulative, axis=0, out=cumulative)
        words = np.count_nonzero(cumulative <= uniforms[alive, t] * cumulative[-1], axis=0)
        rows[alive, t] = words
        going_on = words != decoding.EOS_ID
        if not going_on.all():
            alive, words, h = alive[going_on], words[going_on], h[going_on]
    ends = np.where((rows == decoding.EOS_ID).any(axis=1), (rows == decoding.EOS_ID).argmax(axis=1), rows.shape[1])
    return [row[:end].tolist() for row, end in zip(rows, ends, strict=True)]


def one_at_a_time(package: ModuleType, params: Any, uniforms: np.ndarray) -> list[list[int]]:
    rnn, decoding = (importlib.import_module(f".{name}", package.__name__) for name in ("rnn", "decoding"))

    def step(word: int, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        h = rnn.rnn_step_forward(params.E[[word]], h, params)
        return (h @ params.W_hy.T + params.b_y)[0], h

    start = np.zeros((1, len(params.b_h)))
    return [decoding.generate(step, start, row, MAX_LEN) for row in uniforms]


def main() -> int:
    uniforms = np.random.default_rng(0).random((SENTENCES, MAX_LEN))
    with packages([]) as (package,):
        weights = importlib.import_module(".weights", package.__name__)
        params = weights.load_weights(ROOT / "solutions" / "lm" / weights.WEIGHTS)
        few = uniforms[:ONE_BY_ONE]
        if all_at_once(package, params, uniforms)[:ONE_BY_ONE] != one_at_a_time(package, params, few):
            raise SystemExit("the two write different sentences")
        times = race(
            {
                "all at once": lambda: all_at_once(package, params, uniforms),
                "one at a time": lambda: one_at_a_time(package, params, few),
            }
        )
    sentences = {"all at once": SENTENCES, "one at a time": ONE_BY_ONE}
    each = {name: seconds / sentences[name] for name, seconds in times.items()}
    return report("A sentence from the RNN language model", each, "one at a time", GOALS, "µs")


if __name__ == "__main__":
    protocol("benchmarks.sample")
    sys.exit(main())

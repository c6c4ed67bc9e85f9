"""Exercise 7 of lecture B: what the RNN has seen decides what it can do. A step of experiment 5. Given."""

from __future__ import annotations

import sys

import numpy as np
from lm.corpus import Splits, agreement_set, splits
from lm.weights import init_params

from .rnn_tools import ATTRACTORS, VOCAB
from .run import Run

K_WEIGHTS = {"(a) k = 0": (1.0,), "(b) k = 0, 1": (0.5, 0.5), "(c) k = 0, 1, 2": (0.5, 0.3, 0.2)}
QUICK_SENTENCES, QUICK_EPOCHS = 10_000, 2


def extrapolation(run: Run, k_weights: tuple[float, ...]) -> list[float]:
    """Agreement for k = 0 to 6, all nouns between of the other number, after training on k of these weights."""
    from lm.train import EPOCHS, accuracy, train

    data, epochs = splits(run.seed, k_weights), EPOCHS
    if run.quick:
        data, epochs = Splits(data.train[:QUICK_SENTENCES], data.val[:500], data.test), QUICK_EPOCHS
    rng = np.random.default_rng(run.seed)
    params = init_params(rng)
    for _ in train(params, data, VOCAB, rng, epochs, bar=sys.stderr.isatty()):
        pass
    return [accuracy(params, agreement_set(k, "opposite", run.seed), VOCAB) for k in ATTRACTORS]


def training_sets(run: Run) -> None:
    """Exercise 7: three training sets that differ in k."""
    shares = {name: extrapolation(run, weights) for name, weights in K_WEIGHTS.items()}
    run.table(
        "training-sets",
        ["training text", *(f"k = {k}" for k in ATTRACTORS)],
        [[name, *row] for name, row in shares.items()],
    )
    run.look(
        "Each after its last epoch. (a) has never met a noun between subject and verb and follows the last one, as a "
        "trigram does. (b) can do what it has seen, and less and less beyond. (c) has seen phrase after phrase, and "
        "goes far beyond.",
        "都是最后一轮之后的模型。(a) 没见过主语和动词之间的名词，和 trigram 一样跟着最后一个名词走。"
        "(b) 会做见过的，再远越来越差。(c) 见过介词短语接介词短语，能推广到远得多。",
    )
    with run.picture("training-sets") as drawn:
        if drawn is not None:
            axes = drawn.subplots()
            for name, row in shares.items():
                axes.plot(ATTRACTORS, row, label=name)
            axes.axhline(0.5, color="lightgrey", linestyle="-", marker="", zorder=0)
            axes.set_xlabel(run.say("k, nouns of the other number before the verb", "k：动词前数相反的名词个数"))
            axes.set_ylabel(run.say("right verb forms", "动词形式正确率"))
            axes.set_title(run.say("Three training texts, one test", "三种训练集，同一个测试"))
            drawn.legend(title=run.say("trained on", "训练集"), loc="outside right upper")
    a, b, c = shares.values()
    run.figure("4.7 (a) highest of k = 1..6", max(a[1:]), 0, 0.2 if run.quick else 0.10, "as the trigram")
    if run.quick:
        return
    run.figure("4.7 (a) k = 0", a[0], 0.99, 1)
    run.figure("4.7 (b) k = 1", b[1], 0.97, 1, "1.0")
    run.figure("4.7 (b) k = 2", b[2], 0.55, 0.93, "0.83")
    run.figure("4.7 (b) k = 6", b[6], 0, 0.75, "0.37")
    run.figure("4.7 (b) k = 2 less k = 6", b[2] - b[6], 0, 1)
    run.figure("4.7 (c) lowest of k = 0..2", min(c[:3]), 0.97, 1)
    run.figure("4.7 (c) k = 6", c[6], 0.65, 1, "up to k = 6")
    run.figure("4.7 (c) less (b), k = 6", c[6] - b[6], 0.15, 1)

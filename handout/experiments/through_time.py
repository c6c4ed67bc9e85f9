"""The gradient through time, and what a model does with its own words | 穿越时间的梯度，以及模型读自己写的词

Lecture B, 4.8: the gradient of the verb's log-probability by the states before it, back to the subject 18 steps away.
Lecture A, 5.2: training reads true words, writing reads one's own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from lm.weights import init_params

from .exposure_tools import exposure_bias
from .lstm_tools import lstm
from .rnn_tools import trained
from .run import Run
from .through_time_tools import SUBJECT, before_the_verb, decay, left, left_without_tanh, mean_slope

SHOWN = range(0, SUBJECT + 1, 3)  # the d of the tables: one noun to the next


def vanishing(run: Run) -> None:
    """Untrained: what is left of the gradient, d steps back."""
    from lm.rnn import spectral_radius

    params = init_params(np.random.default_rng(run.seed))
    d = decay(params, *before_the_verb(run.seed))
    rho = spectral_radius(params.W_hh)
    run.table("untrained", ["steps back", *map(str, SHOWN)], [["gradient left", *d[: SUBJECT + 1 : SHOWN.step]]])
    run.look(
        f"From the verb back to its subject, {SUBJECT} steps, about a millionth is left: at first, training hardly "
        "hears that the subject matters.",
        f"从动词往回 {SUBJECT} 步到主语，梯度只剩百万分之一左右：刚开始训练时几乎听不到“主语很重要”。",
    )
    run.figure("4.8 untrained: spectral radius", rho, 0.55, 0.70, "0.608")
    run.figure("4.8 untrained: left at d = 18", d[SUBJECT], 1e-7, 6e-6, "7.5e-07")
    run.figure("4.8 untrained: left of each step", d[SUBJECT] ** (1 / SUBJECT), 0.41, 0.51, "0.46")


def larger_weights(run: Run) -> None:
    """W_hh of the untrained net times 1, 2 and 4, with tanh and without."""
    from lm.rnn import spectral_radius

    inputs, verbs = before_the_verb(run.seed)
    params = init_params(np.random.default_rng(run.seed))
    rows = {}
    for factor in (1, 2, 4):
        net = replace(params, W_hh=factor * params.W_hh)
        rho = spectral_radius(net.W_hh)
        tanh, linear = left(net, inputs, verbs), left_without_tanh(net, inputs, verbs)
        rows[factor] = (rho, rho**SUBJECT, linear, tanh, mean_slope(net, inputs))
    run.table(
        "larger-weights",
        ["W_hh times", "spectral radius rho", "rho^18", "left without tanh", "left with tanh", "mean of 1 - h^2"],
        [[factor, *row] for factor, row in rows.items()],
    )
    run.look(
        "Without tanh the gradient goes like rho^18, down or up. With tanh larger weights saturate the units (1 - h^2 "
        "falls), and that holds it back: at rho = 1.2 it vanishes all the same.",
        "没有 tanh 时，梯度大致按 rho^18 变化，可小可大。有 tanh 时，权重一大单元就饱和（1 - h^2 变小），"
        "把增长压住：rho = 1.2 时照样消失。",
    )
    rho, power, linear, tanh, slope = rows[4]
    run.figure("4.8 times 4: rho / rho of times 1", rho / rows[1][0], 4 - 1e-9, 4 + 1e-9, "2.43 / 0.608")
    run.figure("4.8 times 4: left without tanh", linear, 5e5, 5e7, "5e6")
    run.figure("4.8 times 4: that / rho^18", linear / power, 1 / 30, 30, "the same order")
    run.figure("4.8 times 4: left with tanh", tanh, 4, 80, "15")
    run.figure("4.8 times 4: without / with tanh", linear / tanh, 1e4, 1e8, "five orders")
    run.figure("4.8 times 2: left with tanh", rows[2][3], 0, 1)
    run.figure("4.8 times 2: left without tanh", rows[2][2], 1, 1e3)
    run.figure("4.8 times 1: mean of 1 - h^2", rows[1][4], 0.70, 0.82, "0.749")
    run.figure("4.8 times 4: mean of 1 - h^2", slope, 0.35, 0.46, "0.399")


def lasting(run: Run) -> None:
    """The same before and after training, and a picture."""
    from lm.rnn import spectral_radius

    inputs, verbs = before_the_verb(run.seed)
    nets = {"untrained": init_params(np.random.default_rng(run.seed)), "trained": trained(run).params}
    rows = {name: decay(params, inputs, verbs) for name, params in nets.items()}
    run.table(
        "trained",
        ["RNN", *(f"d = {d}" for d in SHOWN), "rho", "mean of 1 - h^2"],
        [
            [name, *rows[name][:: SHOWN.step], spectral_radius(params.W_hh), mean_slope(params, inputs)]
            for name, params in nets.items()
        ],
    )
    part = rows["trained"][SUBJECT]
    ratio = part / rows["untrained"][SUBJECT]
    run.look(
        f"Training has made the gradient last: {ratio:,.0f} times as much of it reaches the subject. Yet rho is far "
        "above 1 and nearly all units are saturated: in a trained net rho alone says nothing.",
        f"训练让梯度衰减变慢：传到主语的是原来的 {ratio:,.0f} 倍。而 rho 远大于 1，单元几乎都饱和了："
        "在训练好的网络里，只看 rho 说明不了什么。",
    )
    with run.picture("gradient") as drawn:
        if drawn is not None:
            axes = drawn.subplots()
            names = {"untrained": run.say("untrained", "未训练"), "trained": run.say("trained", "训练后")}
            for name, row in rows.items():
                axes.semilogy(range(len(row)), row, label=names[name])
            axes.axvline(SUBJECT, color="lightgrey", linestyle="-", marker="", zorder=0)
            axes.set_xlabel(run.say("steps back from the verb (18: its subject)", "从动词往回的步数（18 是主语）"))
            axes.set_ylabel(run.say("gradient left", "剩下的梯度"))
            axes.set_title(run.say("RNN before and after training", "训练前后的 RNN"))
            axes.set_xticks(SHOWN)
            axes.legend()
    run.figure("4.8 trained / untrained, left at d = 18", ratio, 50, 1e7, "3500")
    if run.quick:
        return
    run.figure("4.8 trained: left at d = 18", part, 5e-5, 0.2, "2.6e-03")
    run.figure("4.8 trained: left of each step", part ** (1 / SUBJECT), 0.58, 0.92, "0.72")


STEPS = [
    vanishing,
    larger_weights,
    lasting,
    lstm,
    exposure_bias,
]

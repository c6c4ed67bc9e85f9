"""The tape: a program that writes down its own graph | 磁带：边运行边记下计算图的程序

The small net of the lecture on a tape, three spiral arms that it learns, and backpropagation through time for nothing:
a loop over the words is recorded like any other program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .run import Run, Step
from .tape_tools import (
    ARMS,
    EPOCHS,
    NAMES,
    SENTENCE,
    LeafForEachUse,
    first_weights,
    gradients,
    in_modules,
    overwrite,
    predictions,
    recorded,
    regions,
    relative_error,
    sentence,
    small_params,
    spiral,
    train,
)
from .tape_torch import against_pytorch
from .words import Quoted

DESCENT = 80
UNROLLED = 9 * 15 + 1  # nine operations a word, and the mean


def written_out(run: Run) -> None:
    """The small net on a tape has the gradients of the formulas written out by hand."""
    from lm import procedural
    from lm.modules import CrossEntropy, Softmax
    from lm.tape import Tape, sigmoid, softmax_cross_entropy

    rng = run.rng("small net")
    x, alpha, beta = rng.normal(size=4), rng.normal(size=(5, 4)), rng.normal(size=(3, 5))
    y = np.eye(3)[1]
    values = procedural.forward(x, y, alpha, beta)
    by_hand = procedural.backward(x, y, alpha, beta, values)
    rows: list[list[Any]] = []
    for fused in (False, True):
        tape = Tape()
        a, b = tape.leaf(alpha), tape.leaf(beta)
        logits = b @ sigmoid(a @ x)
        loss = softmax_cross_entropy(logits, 1) if fused else in_modules(logits, Softmax(), CrossEntropy(y))
        count = len(tape)
        tape.backward(loss)
        error = max(float(np.abs(leaf.grad - g).max()) for leaf, g in zip((a, b), by_hand, strict=True))
        end = "softmax+CE" if fused else "softmax, CE"
        rows.append([f"linear, sigmoid, linear, {end}", count, len(tape), abs(float(loss.data) - values.J), error])
    run.table("small-net", ["recorded", "nodes", "left", "loss: difference", "gradients: difference"], rows)
    run.look(
        "the same numbers, but for the last digit; after backward the tape is empty: a second gradient needs a second"
        " forward pass",
        "数值相同（只差最后一位）；反向之后磁带是空的：要再求一次梯度，就得重新跑一遍前向",
    )
    run.figure("4.9 small net: nodes on the tape", rows[0][1], 5, 5, "5")
    run.figure("4.9 small net: nodes left after backward", rows[0][2], 0, 0, "0")
    run.figure("4.9 small net: tape against formulas", max(row[4] for row in rows), 0, 1e-12, "0")


def three_arms(run: Run) -> None:
    """The tape trains a net on the spiral; a linear classifier cannot learn it."""
    from lm.tape import Tape, sigmoid

    points, arms = spiral(run.rng("spiral"))
    tape, linear_tape = Tape(), Tape()
    net: dict[str, Any] = {name: tape.leaf(array) for name, array in first_weights(run.rng("weights")).items()}
    linear = {"W": linear_tape.leaf(np.zeros((ARMS, 3)))}

    def with_hidden(leaves: dict[str, Any], x: np.ndarray) -> Any:
        return leaves["U"] @ sigmoid(leaves["W"] @ x) + leaves["c"]

    def without(leaves: dict[str, Any], x: np.ndarray) -> Any:
        return leaves["W"] @ x

    columns = ["epoch", "loss", "right before its step", "right after the epoch"]
    curve: list[list[float]] = []
    rows: list[list[Any]] = []
    for epoch, (loss, right) in enumerate(train(tape, net, with_hidden, points, arms, run.rng("order")), 1):
        after = float((predictions(net, points) == arms).mean())
        curve.append([epoch, loss, right, after])
        run.progress(f"spiral: epoch {epoch}, loss {loss:.3f}")
        if epoch in (1, 2, 5, 10, 20, 50, EPOCHS):
            rows.append(curve[-1])
    order = run.rng("linear order")  # at the rate 0.3 it would wander about its best, by 5 % either way
    for loss, right in train(linear_tape, linear, without, points, arms, order, rate=0.03, epochs=30):
        last = ["no hidden layer", loss, right]
    rows.append([*last, float((predictions(linear, points) == arms).mean())])
    run.table("spiral", columns, rows)
    run.look(
        "without a hidden layer a third of the points stay wrong: straight lines cannot part arms that wind",
        "没有隐藏层时约三分之一的点始终分错：直线分不开缠绕的旋臂",
    )
    run.figure("4.9 spiral: loss in epoch 1", curve[0][1], 0.90, 1.12, "1.03")
    run.figure("4.9 spiral: accuracy in epoch 1", curve[0][2], 0.42, 0.72, ".587")
    run.figure("4.9 spiral: loss in epoch 100", curve[-1][1], 0, 0.015, ".005")
    run.figure("4.9 spiral: accuracy after epoch 100", curve[-1][3], 0.995, 1, "1.000")
    run.figure("4.9 spiral: accuracy without a hidden layer", rows[-1][3], 0.56, 0.70, ".627")
    regions(run, points, arms, net, linear)
    with run.picture("spiral-training") as drawn:
        if drawn is not None:
            axes, epochs = drawn.subplots(), [row[0] for row in curve]
            axes.plot(epochs, [row[1] for row in curve], "-", marker="", label=run.say("loss (nats)", "损失（nat）"))
            accuracy = run.say("accuracy after the epoch", "每轮之后的准确率")
            axes.plot(epochs, [row[3] for row in curve], "--", marker="", label=accuracy)
            axes.set(xlabel=run.say("epoch", "轮"), xscale="log", ylim=(0, 1.15))
            axes.set_title(run.say("The tape learns three spiral arms", "磁带学会三条旋臂"))
            axes.set_xticks([1, 10, EPOCHS], ["1", "10", str(EPOCHS)])
            axes.legend(loc="center right")


def unrolled(run: Run) -> None:
    """A sentence on the tape: 136 nodes, and the gradient of a shared matrix is the sum over its uses."""
    inputs, targets = sentence()
    arrays = small_params(run.rng("sentence"))
    tape, params, loss = recorded(arrays, inputs, targets)
    nodes = len(tape)
    tape.backward(loss)
    left = len(tape)
    english = f"{len(inputs)} words to read, {nodes} nodes, {left} left after backward"
    chinese = f"读 {len(inputs)} 个词，{nodes} 个节点，反向之后剩 {left} 个"
    print(f'\n  "{SENTENCE}": {run.say(english, chinese)}')

    each = LeafForEachUse(arrays["W_hh"])  # the same numbers, a leaf for each word
    parts = each.parts(arrays, inputs, targets)
    error = float(np.abs(sum(parts) - params.W_hh.grad).max())
    words = ["<s>", *SENTENCE.split()]
    rows: list[list[Any]] = [
        [t, Quoted(word), float(np.linalg.norm(part))]
        for t, (word, part) in enumerate(zip(words, parts, strict=True), 1)
    ]
    rows.append(["", "sum of all", float(np.linalg.norm(sum(parts)))])
    run.table("shared-matrix", ["step", "reads", "norm of its part of the gradient by W_hh"], rows)
    run.look(
        "one matrix, used 15 times: its gradient is the sum of 15 parts; the first is 0, for h_0 = 0",
        "同一个矩阵用了 15 次：它的梯度是 15 份之和；第一份是 0，因为 h_0 = 0",
    )
    run.figure("4.9 sentence: nodes on the tape", nodes, UNROLLED, UNROLLED, "136")
    run.figure("4.9 sentence: nodes left after backward", left, 0, 0, "0")
    run.figure("4.9 sentence: gradient by W_hh against the sum of its 15 parts", error, 0, 1e-12, "1.8e-15")


def overwritten(run: Run) -> None:
    """With ``=`` in place of ``+=`` all six gradients are wrong, and nothing is learned."""
    from lm.tape import Tape, sigmoid, softmax_cross_entropy

    found = []
    for wrong in (False, True):
        rng, tape = run.rng("used once"), Tape()
        alpha, beta = tape.leaf(rng.normal(size=(5, 4))), tape.leaf(rng.normal(size=(3, 5)))
        loss = softmax_cross_entropy(beta @ sigmoid(alpha @ rng.normal(size=4)), 1)
        if wrong:
            overwrite(tape, loss)
        else:
            tape.backward(loss)
        found.append([alpha.grad, beta.grad])
    rows: list[list[Any]] = [
        [f"small net, {name}", 1, relative_error(got, right)]
        for name, right, got in zip(("alpha", "beta"), *found, strict=True)
    ]
    arrays = small_params(run.rng("sentence"))
    (_, right), (_, got) = gradients(arrays), gradients(arrays, wrong=True)
    errors = {name: relative_error(got[name], right[name]) for name in NAMES}
    rows += [[f"sentence, {name}", 15, errors[name]] for name in NAMES]
    run.table("overwritten", ["gradient", "uses", "relative error"], rows)
    run.look(
        "where everything is used once, nobody notices; in a loop every gradient is wrong: only the first step's part,"
        " the last to come back, is left, and W_hh's is 0",
        "每个量只用一次时，谁也看不出来；在循环里所有梯度都错：只剩最后传回的第一步那一份，而 W_hh 的那份是 0",
    )
    kept = [int(np.abs(g["E"]).any(axis=1).sum()) for g in (right, got)]
    run.figure("4.9 overwritten: smallest error of the six gradients", min(errors.values()), 0.3, 1.5, ".56 to 1.0")
    run.figure("4.9 overwritten: error of W_hh", errors["W_hh"], 1, 1)
    run.figure("4.9 added: rows of E with a gradient", kept[0], 12, 12)
    run.figure("4.9 overwritten: rows of E with a gradient", kept[1], 1, 1)


def learned(run: Run) -> None:
    """What 80 steps of gradient descent make of the one sentence, with right and with overwritten gradients."""
    curves: dict[bool, list[float]] = {}
    for wrong in (False, True):
        arrays = small_params(run.rng("sentence"))
        curves[wrong] = []
        for _ in range(DESCENT):
            loss, found = gradients(arrays, wrong)
            curves[wrong].append(loss)
            for name, array in arrays.items():
                array -= 0.5 * found[name]
    added, replaced = curves[False], curves[True]
    rows = [[i, added[i], replaced[i]] for i in (0, 1, 2, 5, 10, 20, 40, DESCENT - 1)]
    run.table("overwritten-training", ["step", "loss, added", "loss, overwritten"], rows)
    run.look(
        "added up, the gradients lead to a loss of almost 0; overwritten, they lead nowhere, and no error tells you",
        "累加的梯度把损失降到几乎为 0；被覆盖的梯度什么也学不到，而且不会有任何报错",
    )
    with run.picture("overwritten") as drawn:
        if drawn is not None:
            axes = drawn.subplots()
            axes.plot(added, "-", marker="", label=run.say("added up (+=)", "累加（+=）"))
            axes.plot(replaced, "--", marker="", label=run.say("overwritten (=)", "覆盖（=）"))
            axes.set(xlabel=run.say("step", "步"), ylabel=run.say("loss of the sentence (nats)", "这句话的损失（nat）"))
            axes.set_ylim(0)
            axes.set_title(run.say("One sentence, 80 steps of gradient descent", "一句话，80 步梯度下降"))
            axes.legend(loc="center right")


STEPS: list[Step] = [
    written_out,
    three_arms,
    unrolled,
    against_pytorch,
    overwritten,
    learned,
]

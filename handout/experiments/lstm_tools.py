"""The LSTM beside the RNN: how much of the gradient reaches the subject. A step of experiment 6. Given."""

from __future__ import annotations

from typing import Any

import numpy as np
from lm.batching import batches
from lm.weights import init_params

from .rnn_tools import VOCAB, corpus, trained
from .run import Run
from .through_time_tools import SUBJECT, before_the_verb, decay

BATCH, LEARNING_RATE, MAX_NORM, EPOCHS, QUICK_BATCHES = 32, 3e-3, 1.0, 4, 200


def new_lstm(seed: int) -> Any:
    """``LSTMLM`` with the sizes of the RNN; PyTorch's own stream of random numbers stays where it was."""
    import torch
    from lm.lstm import LSTMLM

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LSTMLM(len(VOCAB), 32, 64)


def train_lstm(run: Run, model: Any) -> list[float]:
    """Four epochs, or 200 batches when it has to be quick. The loss of each batch."""
    import torch
    from lm.torch_lm import train_step
    from lm.torch_tools import tensors

    optimiser = torch.optim.Adam(model.parameters(), LEARNING_RATE)
    rng, losses = run.rng("lstm"), []
    for epoch in range(1, 1 + (1 if run.quick else EPOCHS)):
        for batch in batches(corpus(run).train, VOCAB, BATCH, rng):
            losses.append(train_step(model, optimiser, *tensors(batch), MAX_NORM))
            if len(losses) % 50 == 0:
                run.progress(f"LSTM, epoch {epoch}: {len(losses)} batches, loss {losses[-1]:.3f}")
            if run.quick and len(losses) == QUICK_BATCHES:
                break
    return losses


def lstm_decay(model: Any, inputs: np.ndarray, verbs: np.ndarray) -> dict[str, np.ndarray]:
    """``decay`` for the two states of an LSTM, "h" and "c"."""
    import torch
    from lm.lstm import lstm_cell

    h = c = torch.zeros(len(inputs), model.W_hy.in_features)
    states: dict[str, list[Any]] = {"h": [], "c": []}
    for word in torch.from_numpy(inputs).unbind(dim=1):
        h, c = lstm_cell(model.E(word), h, c, model.W_xh[0], model.W_hh[0], model.b[0])
        states["h"].append(h)
        states["c"].append(c)
    log_p = torch.log_softmax(model.W_hy(h), dim=-1)[torch.arange(len(verbs)), torch.from_numpy(verbs)]
    result = {}
    for name, kept in states.items():
        found = torch.autograd.grad(log_p.sum(), kept, retain_graph=True)  # no sentence touches another one
        means = np.array([float(gradient.norm(dim=1).mean()) for gradient in reversed(found)])
        result[name] = means / means[0]
    return result


def lstm(run: Run) -> None:
    """RNN and LSTM, before and after training."""
    model = new_lstm(run.seed)
    inputs, verbs = before_the_verb(run.seed)
    before = lstm_decay(model, inputs, verbs)
    losses = train_lstm(run, model)
    after = lstm_decay(model, inputs, verbs)
    untrained = decay(init_params(np.random.default_rng(run.seed)), inputs, verbs)
    rows = {
        ("RNN, h", "untrained"): untrained,
        ("LSTM, h", "untrained"): before["h"],
        ("LSTM, c", "untrained"): before["c"],
        ("RNN, h", "trained"): decay(trained(run).params, inputs, verbs),
        ("LSTM, h", "trained"): after["h"],
        ("LSTM, c", "trained"): after["c"],
    }
    run.table(
        "lstm",
        ["state", "", *(f"d = {d}" for d in range(0, SUBJECT + 1, 3)), "left of each step"],
        [[*names, *row[: SUBJECT + 1 : 3], row[SUBJECT] ** (1 / SUBJECT)] for names, row in rows.items()],
    )
    gain = before["c"][SUBJECT] / untrained[SUBJECT]
    run.look(
        f"Untrained, the LSTM's cell keeps {gain:,.0f} times as much as the RNN's state: its forget gate is open (f is "
        f"about sigmoid(1) = 0.73), and c = f c + .. is a sum. (Trained on {len(losses):,} batches here, last losses "
        f"{np.mean(losses[-50:]):.3f}.)",
        f"未训练时，LSTM 的记忆单元留下的梯度是 RNN 状态的 {gain:,.0f} 倍：遗忘门是开的（f 约为 sigmoid(1) = 0.73），"
        f"而 c = f c + .. 是加法。（这里训练了 {len(losses):,} 个 batch，最后的损失是 {np.mean(losses[-50:]):.3f}。）",
    )
    with run.picture("lstm", 8, 4.5) as drawn:
        if drawn is not None:
            axes = drawn.subplots()
            words = {"untrained": run.say("untrained", "未训练"), "trained": run.say("trained", "训练后")}
            for (state, when), row in rows.items():
                axes.semilogy(range(len(row)), row, label=f"{state}, {words[when]}")
            axes.set_xlabel(run.say("steps back from the verb (18: its subject)", "从动词往回的步数（18 是主语）"))
            axes.set_ylabel(run.say("gradient left", "剩下的梯度"))
            axes.set_title(run.say("RNN and LSTM", "RNN 与 LSTM"))
            axes.set_xticks(range(0, 21, 3))
            axes.legend()
    run.figure("4.8 untrained: LSTM's cell / RNN's state, left at d = 18", gain, 100, 1e6)

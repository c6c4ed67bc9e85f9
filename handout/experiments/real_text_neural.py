"""Experiment 7, second half: a window, an RNN and an LSTM on the text; all models compared; samples side by side."""

from __future__ import annotations

import itertools
import math
from typing import Any

from .real_text_tools import bundled, clip, note, rows_of, text_of, vocab_of, with_text
from .run import Run, Step
from .texts import Text

WINDOW = 4
SMALL, LARGE = (32, 64), (64, 128)  # embedding and hidden size: on the excerpt or in quick mode, and in full
BANDS = {  # test perplexities of the excerpt, seeds 0 to 4 and a little more; quick, in full
    "fixed window": ((53, 62), (53, 62)),
    "RNN": ((50.5, 56), (50.5, 56)),
    "LSTM": ((50.5, 54.5), (45.5, 51.5)),
}
LONG = 20_000  # words to train on from which a text is no longer small


def budget(run: Run, text: Text) -> Any:
    """Sizes and epochs: seconds a model on the excerpt and in quick mode, in full one to three minutes of a core."""
    from .text_nets import Budget

    words = sum(map(len, text.train))
    if words < LONG:
        return Budget(*SMALL, epochs=6 if run.quick else 12, streams=8)
    return Budget(*SMALL, epochs=3, streams=16) if run.quick else Budget(*LARGE, epochs=5, streams=32)


def fit(run: Run, text: Text, name: str, model_class: Any, parameters: int, **more: Any) -> None:
    """Train one model, show its epochs, and keep model and test perplexity."""
    import torch

    from . import text_nets

    torch.set_num_threads(1)
    torch.manual_seed(int(run.rng(name).integers(2**31)))
    vocab, sizes = vocab_of(text), budget(run, text)
    model = model_class(len(vocab), sizes.embedding, sizes.hidden, **more)
    run.figure(f"7 {name}: parameters", sum(p.numel() for p in model.parameters()), parameters, parameters)
    ids = [text_nets.stream(part, vocab) for part in (text.train, text.tune, text.test)]
    history = text_nets.train(model, ids[0], ids[1], vocab, sizes, lambda line: run.progress(f"{name}, {line}"))
    value = text_nets.perplexity(model, ids[2], vocab)
    note(run, name, value)
    run.shared.setdefault("text networks", {})[name] = model
    run.table(f"{name.replace(' ', '-')}", ["epoch", "perplexity in training", "to tune"], history)
    best = min(history, key=lambda epoch: epoch.tune)
    print(f"  {run.say('test perplexity after epoch', '测试困惑度，取自第几轮')} {best.epoch}: {value:.1f}")
    if bundled(text):
        run.figure(f"7 {name}: test perplexity of the excerpt", value, *BANDS[name][not run.quick])
    run.look(
        f"d = {sizes.embedding}, H = {sizes.hidden}, {sizes.epochs} epochs, one thread: a small budget.",
        f"d = {sizes.embedding}，H = {sizes.hidden}，{sizes.epochs} 轮，单线程：预算很小。",
    )


def sizes_of(run: Run, text: Text) -> tuple[int, int, int]:
    """V, d, H."""
    sizes = budget(run, text)
    return len(vocab_of(text)), sizes.embedding, sizes.hidden


@with_text
def fixed_window(run: Run, text: Text) -> None:
    """Bengio's model: V d + n d H + H V weights (lecture A, 3.2) and H + V biases."""
    from lm.torch_lm import FixedWindowLM

    V, d, H = sizes_of(run, text)
    fit(run, text, "fixed window", FixedWindowLM, V * d + WINDOW * d * H + H * V + H + V, window=WINDOW)


@with_text
def rnn(run: Run, text: Text) -> None:
    """The vanilla RNN, with truncated BPTT."""
    from lm.torch_lm import VanillaRNNLM

    V, d, H = sizes_of(run, text)
    fit(run, text, "RNN", VanillaRNNLM, V * d + d * H + H + H * H + H * V + V)


@with_text
def lstm(run: Run, text: Text) -> None:
    """The LSTM, in the same way."""
    from lm.lstm import LSTMLM

    V, d, H = sizes_of(run, text)
    fit(run, text, "LSTM", LSTMLM, V * d + 4 * H * (d + H + 1) + H * V + V)


@with_text
def side_by_side(run: Run, text: Text) -> None:
    """All perplexities so far, the highest first."""
    found = sorted(run.shared.get("text perplexities", {}).items(), key=lambda pair: -pair[1])
    if not found:
        return
    run.table("perplexities", ["model", "test perplexity"], found)
    finite = [(name, value) for name, value in found if value < math.inf]
    with run.picture("perplexities", height=0.28 * len(finite) + 1) as figure:
        if figure is not None and finite:
            axes = figure.subplots()
            for name, value in finite:
                neural = name in run.shared.get("text networks", {})
                fill = "white" if neural else "black"
                row = run.shown(name)
                axes.plot([value], [row], marker="s" if neural else "o", color="black", markerfacecolor=fill)
                axes.annotate(f"{value:.1f}", (value, row), (8, -3.5), textcoords="offset points")
            low, high = finite[-1][1] / 1.1, finite[0][1] * 1.45
            ticks = [mark * 10**e for e in range(6) for mark in (1, 2, 5) if low <= mark * 10**e <= high]
            axes.set(xscale="log", xlim=(low, high))
            axes.minorticks_off()
            axes.set_xticks(ticks, [str(tick) for tick in ticks])
            axes.grid(axis="y", linestyle=":", color="lightgrey")
            axes.set_xlabel(run.say("test perplexity (white squares: neural)", "测试困惑度（白色方块：神经模型）"))
            axes.set_title(run.say(f"The same {len(text.test)} sentences", f"同样的 {len(text.test)} 个句子"))
    run.look(
        "The same predictions for all. With little text and little time good counts are hard to beat.",
        "所有模型预测同样的词。文本少、训练时间短时，好的计数模型很难超过。",
    )


@with_text
def samples(run: Run, text: Text) -> None:
    """What each model writes, all with the same random numbers."""
    from lm.decoding import generate
    from lm.ngram import generate as ngram_generate

    from .text_nets import reader

    vocab = vocab_of(text)
    uniforms = [run.rng(f"side by side {i}").random(25).tolist() for i in range(2)]
    trigram = run.shared.get("text trigram")
    written = [("3-gram", ngram_generate(trigram, u, 25)) for u in uniforms if trigram is not None]
    for name, model in run.shared.get("text networks", {}).items():
        for tau, u in itertools.product((1.0, 0.5) if name == "LSTM" else (1.0,), uniforms):
            label = name if tau == 1 else f"{name}, tau = {tau:g}"
            written.append((label, list(vocab.decode(generate(reader(model), None, u, 25, tau)))))
    if not written:
        return
    rows = rows_of([name for name, _ in written], [clip(words) for _, words in written])
    run.table("samples", ["model", "sample"], rows)
    run.look(
        "Nobody keeps to a subject for long; tau = 0.5 keeps to frequent words instead.",
        "没有哪个模型能长久围绕一个话题；tau = 0.5 只是更偏向常见词。",
    )


def lecture_script(run: Run) -> None:
    """The lecture's script for WikiText-2 (A.2): its size here; to train it is a command of its own."""
    from . import wikitext

    V, E = 20_004, 200
    expected = V * E + 2 * (4 * E * 2 * E + 2 * 4 * E) + E * V + V
    run.figure("7 the lecture's WikiText-2 LSTM: parameters", wikitext.parameters(V), expected, expected)
    print(f"  python -m experiments.wikitext --text TRAIN HELD_OUT   ({wikitext.COST})")
    text = text_of(run)
    if text is None or run.quick or bundled(text) or text.source.kind != "WikiText":
        return
    wikitext.trial(run, text.source)
    run.look(
        "Words in a second, and what an epoch would take at that rate.",
        "每秒词数，以及按此速度一轮要多久。",
    )


NEURAL: list[Step] = [fixed_window, rnn, lstm, side_by_side, samples, lecture_script]

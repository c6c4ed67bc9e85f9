"""Real text: counting, smoothing and neural models on the same words | 真实文本：同一批词上的计数、平滑与神经模型

``--text FILE [FILE]`` names a text; without it see ``texts.py``. What a model does not know of its words is ``<unk>``,
the same for all models. The figures with bands are those of the bundled excerpt: another text has others.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
from lm.types import NgramModel
from lm.vocab import UNK

from .array_ngrams import MAX_ORDER, Found, interpolated, perplexity
from .array_ngrams import Counts as ArrayCounts
from .array_ngrams import Text as ArrayText
from .real_text_neural import NEURAL
from .real_text_tools import (
    bundled,
    clip,
    joined,
    longest_copied,
    note,
    orders,
    predictions,
    questions,
    ranks,
    rows_of,
    tables,
    vocab_of,
    weights_of,
    with_text,
)
from .run import Run, Step
from .texts import Text, prepare

KS = (1.0, 0.1, 0.01)
DISCOUNT = 0.75
SOUGHT = {True: 60, False: 200}  # words that are looked for among all words, quick or not


@with_text
def the_text(run: Run, text: Text) -> None:
    """Which text it is, and how much of it."""
    print(f"\n  {run.say('text', '文本')}: {run.shown(text.source.name)} ({run.shown(text.source.kind)})")
    for line in text.source.passed_over:
        print(f"  {run.say('not used', '未使用')}: {run.shown(line)}")
    parts = {"train": text.train, "tune": text.tune, "test": text.test}
    rows = []
    for name, part in parts.items():
        unknown = sum(word == UNK for sentence in part for word in sentence)
        rows.append([name, len(part), predictions(part), 100 * unknown / max(predictions(part), 1)])
    run.table("text", ["part", "sentences", "predictions", "% <unk>"], rows)
    size = len(vocab_of(text).predictable)
    run.look(
        f"V = {size:,}: words that occur twice or more, </s> and <unk>. More <unk> makes any text easier to predict.",
        f"V = {size:,}：至少出现两次的词、</s> 与 <unk>。<unk> 越多，任何文本都越好预测。",
    )


@with_text
def trigrams(run: Run, text: Text) -> None:
    """Sentences from unsmoothed n-grams, and why their perplexity is infinite (lecture A, 2.5)."""
    from lm.metrics import perplexity as model_perplexity
    from lm.ngram import MLE, generate

    models = [MLE(counts) for counts in tables(run, text, 4)]
    train, rows, samples = joined(text.train), [], []
    for model in models:
        for sample in range(2):
            words = generate(model, run.rng(f"sample {model.order} {sample}").random(25).tolist(), 25)
            rows.append([str(model.order), len(words), longest_copied(words, train)])
            samples.append(clip(words))
    names, lengths, copied = zip(*rows, strict=True)
    run.table("samples-by-order", ["order", "words", "copied", "sample"], rows_of(names, samples, lengths, copied))
    run.look(
        "Higher orders read better, and copy longer pieces of the training text word for word.",
        "阶数越高读起来越通顺，逐字照抄训练文本的片段也越长。",
    )
    trigram = run.shared["text trigram"] = models[2]
    asked = [(w, (*("<s>",) * 2, *s)[i : i + 2]) for s in text.test for i, w in enumerate((*s, "</s>"))]
    unseen = sum(trigram.prob(word, context) == 0 for word, context in asked)
    value = model_perplexity(trigram, text.test)
    run.table("trigram", ["test predictions", "unseen trigrams", "%", "perplexity"],
              [[len(asked), unseen, 100 * unseen / len(asked), value]])  # fmt: skip
    run.look(
        "One unseen trigram is enough for an infinite perplexity, and in real text a large share of them is unseen.",
        "只要有一个没见过的三元组，困惑度就是无穷大；而真实文本里没见过的占很大一部分。",
    )


def compare(run: Run, text: Text, name: str, models: Mapping[str, Sequence[NgramModel]]) -> dict[str, list[float]]:
    """Perplexities of models, each of several orders, as a table; kept for later steps."""
    from lm.metrics import perplexity as model_perplexity

    found = {}
    for label, family in models.items():
        found[label] = [model_perplexity(model, text.test) for model in family]
        for model, value in zip(family, found[label], strict=True):
            note(run, f"{model.order}-gram, {label}", value)
    heads = [f"n = {model.order}" for model in next(iter(models.values()))]
    run.table(name, ["model", *heads], [[label, *values] for label, values in found.items()])
    return found


def keep(run: Run, name: str, model: NgramModel) -> None:
    """Remember a trigram model for the ranking."""
    run.shared.setdefault("text trigrams", {})[name] = model


@with_text
def adding(run: Run, text: Text) -> None:
    """Add-k: the cure that lecture A, 2.3 calls too crude."""
    from lm.ngram import AddK

    words, counts = vocab_of(text).predictable, tables(run, text, orders(run)[-1])
    models = {f"add-{k:g}": [AddK(counts[n - 1], k, words) for n in orders(run)] for k in KS}
    found = compare(run, text, "add-k", models)
    keep(run, f"add-{KS[-1]:g}", models[f"add-{KS[-1]:g}"][1])
    run.look(
        "Longer contexts make it worse: most of the probability of a rare context goes to words that never follow it.",
        "上下文越长反而越差：在少见的上下文中，大部分概率给了从不跟在后面的词。",
    )
    if bundled(text):
        ratio = found["add-1"][1] / found["add-1"][0]
        run.figure("7 add-1: trigram perplexity over bigram perplexity", ratio, 2.5, 2.9, "adding is too crude")


@with_text
def mixing(run: Run, text: Text) -> None:
    """Interpolation, its weights by EM on text that was neither counted nor tested on."""
    from lm.ngram import MLE, Interpolated
    from lm.smoothing import tune_em

    models = [MLE(counts) for counts in tables(run, text, orders(run)[-1])]
    lambdas = tune_em(models, text.tune)
    run.table("em-lambdas", ["order", "lambda"], [[n, weight] for n, weight in lambdas.items()])
    family = [Interpolated(models[:n], lambdas) for n in orders(run)]
    compare(run, text, "interpolated", {"interpolated by EM": family})
    keep(run, "interpolated by EM", family[1])
    run.look(
        "The weights fall with the order: on little text a long context is seldom to be trusted.",
        "阶数越高权重越小：文本不多时，长上下文很少可信。",
    )


@with_text
def kneser_ney(run: Run, text: Text) -> None:
    """Kneser-Ney, interpolated."""
    from lm.smoothing import KneserNey

    family = [KneserNey(counts, DISCOUNT) for counts in tables(run, text, orders(run)[-1])[1:]]
    compare(run, text, "kneser-ney", {f"Kneser-Ney, D = {DISCOUNT}": family})
    keep(run, f"Kneser-Ney, D = {DISCOUNT}", family[1])
    run.look(
        "The lowest perplexity of all that count: it asks in how many contexts a word occurs, not how often.",
        "计数类模型中困惑度最低：它问的是一个词出现在多少种上下文里，而不是出现多少次。",
    )
    others = {k: v for k, v in run.shared["text perplexities"].items() if k.startswith("3-gram")}
    if bundled(text) and len(others) == len(KS) + 2:
        first = min(others, key=others.__getitem__).startswith("3-gram, Kneser")
        run.figure("7 Kneser-Ney is the best trigram model", first, 1, 1, "until today the SOTA of n-grams")


@with_text
def ranking(run: Run, text: Text) -> None:
    """Stupid backoff gives scores, no probabilities: so the models are asked to sort all words."""
    from lm.smoothing import StupidBackoff

    words = vocab_of(text).predictable
    asked = questions(text.test, SOUGHT[run.quick], run.rng("ranks"))
    models = {"stupid backoff": StupidBackoff(tables(run, text, 3)), **run.shared.get("text trigrams", {})}
    rows = []
    for name, model in models.items():
        run.progress(f"ranks by {name}")
        place = ranks(model, asked, words)
        rows.append([name, float(np.median(place)), 100 * float((place <= 10).mean()), float((1 / place).mean())])
    run.table("ranks", ["trigram model", "median rank", "% in the first 10", "mean 1 / rank"], rows)
    run.look(
        f"{len(asked)} words, each among {len(words):,}: scores that do not sum to 1 rank better than add-k's.",
        f"{len(asked)} 个词，各在 {len(words):,} 个词中排名：不是概率的分数，排得也比 add-k 好。",
    )


@with_text
def arrays(run: Run, text: Text) -> None:
    """All of the text, orders 1 to 6, as sorted integers; then the dictionaries beside them."""
    whole = text if run.quick else prepare(text.source, 10**9, 10**9)
    ids = vocab_of(whole).ids
    train, tune, test = (ArrayText.of(part, ids) for part in (whole.train, whole.tune, whole.test))
    rows, kept, tuned, tested = [], [], [], list[Found]()
    for n in range(1, MAX_ORDER + 1):
        started = time.perf_counter()
        counts = ArrayCounts.of(train, n)
        seconds = time.perf_counter() - started
        kept.append(counts)
        tuned.append(counts.find(tune.keys(n)))
        tested.append(counts.find(test.keys(n)))
        value = perplexity(interpolated(tested, weights_of(tuned)))
        unseen = 100 * float((tested[-1].count == 0).mean())
        once = 100 * float((counts.count == 1).mean())
        rows.append([n, len(counts), once, counts.nbytes / 1e6, 1e3 * seconds, unseen, value])
    columns = ["order", "n-grams", "% seen once", "MB", "ms", "% of test unseen", "interpolated"]
    run.table("arrays", columns, rows)
    with run.picture("arrays") as figure:
        if figure is not None:
            axes = figure.subplots()
            of_order = [row[0] for row in rows]
            axes.plot(
                of_order, [row[5] for row in rows], label=run.say("of the test text: unseen", "测试文本中没见过的")
            )
            axes.plot(
                of_order, [row[2] for row in rows], label=run.say("n-grams seen once only", "只见过一次的 n-gram")
            )
            axes.set(xlabel=run.say("order n", "阶数 n"), ylabel="%", ylim=(0, 103), xticks=of_order)
            axes.set_title(run.say(f"{len(train):,} words of real text", f"{len(train):,} 词的真实文本"))
            axes.legend()
    run.look(
        "The tables grow with the order and hold mostly n-grams seen once; what is asked for is mostly not among them.",
        "阶数越高表越大，其中多数 n-gram 只见过一次；而要查的多半不在表中。",
    )
    if bundled(text):
        run.figure("7 test trigrams unseen, %", rows[2][5], 63, 67)
    from lm.ngram import count

    started = time.perf_counter()
    dictionaries = count(whole.train, 3)
    ratio = 1e3 * (time.perf_counter() - started) / rows[2][4]
    numbers = sorted(times for row in dictionaries.values() for times in row.values())
    run.figure("7 trigram counts that differ: dictionaries, arrays", sorted(kept[2].count.tolist()) != numbers, 0, 0)
    print(f"  {run.say('your dictionaries take as long as', '你的字典用时是数组的')} {ratio:.0f} x")


STEPS: list[Step] = [
    the_text,
    trigrams,
    adding,
    mixing,
    kneser_ney,
    ranking,
    arrays,
    *NEURAL,
]

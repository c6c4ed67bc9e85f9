"""N-gram models of the farm language | 农场语言的 n-gram 模型

The chain rule is an identity and the trigram a model; what counting sees; perplexity with and without smoothing;
agreement beyond the window; the quality of samples by order.
"""

from __future__ import annotations

import math
import random
from typing import get_args

from lm import corpus

from . import ngrams_tools as tools
from .ngrams_data import chain_rule, cows_eat, the_corpus, trigram_as_a_model, true
from .ngrams_tools import ORDERS
from .run import Run, Step

UNSEEN = {3: (0, 10, "1 of about 23,000"), 4: (20, 45, ""), 5: (330, 405, ""), 6: (1_050, 1_260, "")}
AGREEMENT = (  # rows of 4.3: attractors, orders, k, band, lecture
    ("opposite", range(2, 7), range(1), 0.99, 1, "1.0"),
    ("opposite", range(2, 3), range(2, 3), 0.02, 0.11, "0.052"),
    ("opposite", range(3, 4), range(2, 3), 0.02, 0.11, "0.052"),
    ("same", range(2, 3), range(2, 3), 0.89, 0.98, "0.956"),
    ("same", range(3, 4), range(2, 3), 0.89, 0.98, "0.956"),
    ("opposite", range(4, 5), range(1, 7), 0.37, 0.56, "about 0.4"),
    ("same", range(4, 5), range(1, 7), 0.42, 0.63, ""),
    ("opposite", range(5, 6), range(1, 2), 0.74, 0.88, "0.84 (0.82)"),
    ("opposite", range(6, 7), range(1, 2), 0.74, 0.88, "0.82"),
    ("opposite", range(5, 7), range(2, 7), 0.11, 0.31, "0.2"),
    ("same", range(5, 7), range(2, 7), 0.70, 0.89, ""),
    ("random", range(2, 7), range(2, 7), 0.38, 0.62, "about 0.5"),
)
WEIGHTS = (0.5, 0.65, 0.8, 0.9, 0.95, 0.99)  # what one_weight tries
DRAWN, DRAWN_QUICKLY = 2_000, 400  # samples of each order
SAMPLES = {  # bands of 4.4: grammatical, agreeing among these, copied; and of the copied what the lecture says
    1: ((0, 0.002), None, (0, 0.002), ""),
    2: ((0.15, 0.26), (0.58, 0.76), (0.01, 0.05), ""),
    3: ((0.62, 0.72), (0.58, 0.68), (0.10, 0.17), ""),
    4: ((1, 1), (0.68, 0.77), (0.27, 0.37), ""),
    5: ((1, 1), (0.77, 0.87), (0.37, 0.47), "0.40"),
    6: ((1, 1), (0.77, 0.86), (0.48, 0.60), ""),
}


def unsmoothed(run: Run) -> None:
    """Maximum likelihood: one unseen n-gram makes the perplexity infinite."""
    from lm.metrics import perplexity

    test, rows = tools.data(run).test, []
    found = tools.perplexities(run, "MLE")
    new = {n: tools.unseen(tools.mle(run, n), test) for n in ORDERS}
    for n in ORDERS:
        found[n] = perplexity(tools.mle(run, n), test)
        rows.append([n, sum(map(len, tools.counts(run, n).values())), new[n], found[n]])
    run.table("mle", ["n", "entries", "unseen in test", "perplexity"], rows)
    run.look(
        "A handful of new trigrams among 23,000, and the perplexity is infinite.",
        "两万三千个三元组里只要有几个没见过，困惑度就是无穷大。",
    )
    run.figure("4.2 unigram test perplexity", found[1], 25.4, 26.2, "25.42")
    run.figure("4.2 bigram test perplexity", found[2], 3.74, 3.89, "lost")
    for n, (low, high, lecture) in UNSEEN.items():
        run.figure(f"4.2 unseen {n}-grams in test", new[n], low, high, lecture)
    if new[3] > 0:  # so for the published seed; about one seed in 25 has none
        run.figure("4.2 unsmoothed trigram: infinite", math.isinf(found[3]), 1, 1, "inf")
    run.figure("4.2 unsmoothed 4-, 5-, 6-gram: infinite", sum(math.isinf(found[n]) for n in (4, 5, 6)), 3, 3, "inf")
    run.figure("4.2 non-zero 6-gram entries", rows[-1][1], 30_600, 31_700, "31,136")


def add_one(run: Run) -> None:
    """Add-one smoothing: finite, and worse with every order."""
    from lm.metrics import perplexity
    from lm.ngram import AddK

    words, found = corpus.vocabulary().predictable, tools.perplexities(run, "add-1")
    for n in ORDERS:
        found[n] = perplexity(AddK(tools.counts(run, n), 1, words), tools.data(run).test)
    run.table("add-1", ["n", "perplexity"], list(found.items()))
    run.look(
        "Finite, but the longer the context, the more probability goes to words that cannot come.",
        "不再是无穷大；但上下文越长，越多的概率被分给了根本不可能出现的词。",
    )
    run.figure("4.2 add-1 trigram test perplexity", found[3], 3.30, 3.50)
    run.figure("4.2 add-1 6-gram test perplexity", found[6], 5.35, 6.0, "5.734")
    worse = found[6] > found[5] > found[3]
    run.figure("4.2 add-1: 6-gram worse than 5-gram worse than trigram", worse, 1, 1, "so")


def interpolated(run: Run) -> None:
    """Interpolation, a weight for each order, tuned on validation: the best that n-grams do here."""
    from lm.metrics import cross_entropy

    test, weights, found = tools.data(run).test, tools.lambdas(run), tools.perplexities(run, "interpolated")
    floor, rows = math.log(true(test)), []
    for n in ORDERS:
        entropy = cross_entropy(tools.interpolated(run, n), test)
        found[n] = math.exp(entropy)
        rows.append([n, weights.get(n, ""), found[n], entropy - floor])
    run.table("interpolated", ["n", "lambda", "perplexity", "nats a word above the truth"], rows)
    run.look(
        "Each order still helps a little, but between the best of them and the truth a gap remains.",
        "每高一阶仍有一点帮助，但最好的模型离真实分布还有差距。",
    )
    run.figure("4.2 interpolated 6-gram test perplexity", found[6], 2.76, 2.93, "2.856")
    run.figure("4.2 interpolated: the 6-gram is the best", min(found, key=found.__getitem__) == 6, 1, 1, "so")
    run.figure("4.2 6-gram gap to truth, nats a word", entropy - floor, 0.120, 0.155, "0.137")


def one_weight(run: Run) -> None:
    """The same lambda for all orders: then the highest order is not the best one."""
    from lm.metrics import perplexity
    from lm.ngram import Interpolated

    held_out, rows = tools.data(run).val[:300], []
    for n in ORDERS[1:]:
        models = [tools.mle(run, order) for order in range(1, n + 1)]
        mixtures = [Interpolated(models, dict.fromkeys(range(2, n + 1), weight)) for weight in WEIGHTS]
        on_held_out = [perplexity(mixture, held_out) for mixture in mixtures]
        best = on_held_out.index(min(on_held_out))
        rows.append((n, WEIGHTS[best], perplexity(mixtures[best], tools.data(run).test)))
    run.table("one-weight", ["n", "lambda of all orders", "perplexity"], rows)
    run.look(
        "What suits n = 2 does not suit n = 6: with one lambda for all of them the 5-gram wins.",
        "适合 n = 2 的权重不适合 n = 6：所有阶共用一个 λ 时，最好的是 5-gram。",
    )
    best_order = min(rows, key=lambda row: row[2])[0]
    run.figure("4.2 one lambda for all orders: the best n", best_order, 5, 5, "6; its lambdas are not told")


def side_by_side(run: Run) -> None:
    """All perplexities in one picture."""
    names = ["MLE", "add-1", "interpolated"]
    found = {name: tools.perplexities(run, name) for name in names}
    nan = math.nan
    run.table("perplexity", ["n", *names], [[n, *(found[name].get(n, nan) for name in names)] for n in ORDERS])
    with run.picture("perplexity") as figure:
        if figure is not None:
            labels = [run.say("MLE", "最大似然"), run.say("add-1", "加一平滑"), run.say("interpolated", "插值")]
            curves = {
                label: [y if math.isfinite(y := found[name].get(n, nan)) else nan for n in range(2, 7)]
                for label, name in zip(labels, names, strict=True)
            }
            axes = tools.lines(figure, range(2, 7), curves, "n", run.say("test perplexity", "测试集困惑度"))
            floor = true(tools.data(run).test)
            axes.axhline(floor, color="black", linewidth=0.8)
            axes.text(2, floor + 0.04, run.say("the truth", "真实分布"))
            axes.set_xticks(range(2, 7))
            english, chinese = (
                "Perplexity by order (MLE: infinite from n = 3)",
                "各阶的困惑度（最大似然：n ≥ 3 时无穷大）",
            )
            axes.set_title(run.say(english, chinese))
    run.look(
        "Add-one turns up where interpolation keeps falling.",
        "加一平滑的曲线掉头向上，插值的曲线继续下降。",
    )


def agreement(run: Run) -> None:
    """Subject and verb with k nouns in between, all of the other number, of the same, or of any."""
    ks = range(7)
    found = {
        (numbers, n): [tools.agreement(run, tools.interpolated(run, n), k, numbers) for k in ks]
        for numbers in get_args(corpus.Numbers)
        for n in ORDERS[1:]
    }
    table = [[numbers, n, *accuracy] for (numbers, n), accuracy in found.items()]
    run.table("agreement", ["attractors", "n", *(f"k={k}" for k in ks)], table)
    run.look(
        "n = 2, 3 follow the nearest noun; n = 4 tosses a coin; n = 5, 6 see past one noun, not past two.",
        "n = 2、3 跟着最近的名词走；n = 4 像抛硬币；n = 5、6 能看过一个名词，看不过两个。",
    )
    with run.picture("agreement") as figure:
        if figure is not None:
            curves = {f"n = {n}": found["opposite", n] for n in ORDERS[1:]}
            x = run.say("k, attractors of the other number", "干扰名词个数 k（单复数都与主语相反）")
            axes = tools.lines(figure, ks, curves, x, run.say("share of right verbs", "动词形式正确的比例"))
            axes.axhline(0.5, color="black", linewidth=0.5)
            axes.set_title(run.say("Agreement of n-grams (interpolated)", "n-gram 的主谓一致（插值）"))

    for numbers, orders, k, low, high, lecture in AGREEMENT:
        key = f"4.3 agreement, n = {span(orders)}, k = {span(k)} {numbers}"
        tools.extremes(run, key, [found[numbers, n][i] for n in orders for i in k], low, high, lecture)


def span(numbers: range) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}..{numbers[-1]}"


def samples(run: Run) -> None:
    """What unsmoothed models of each order say: grammar, agreement, and how much of it is learnt by heart."""
    from lm.ngram import generate

    train, size = set(tools.data(run).train), DRAWN_QUICKLY if run.quick else DRAWN
    found: dict[int | str, tuple[float, ...]] = {}
    examples = []
    for n in ORDERS:
        run.progress(f"sampling, n = {n}")
        rng, model = run.rng(f"samples {n}"), tools.Remembering(tools.mle(run, n))
        drawn = [tuple(generate(model, rng.random(60).tolist(), 60)) for _ in range(size)]
        found[n] = tools.judge(drawn, train)
        examples += [f"n = {n}:  {' '.join(words[:16])}{' ...' * (len(words) > 16)}" for words in drawn[:2]]
    stream = random.Random(f"experiment 1, true samples, seed {run.seed}")
    found["truth"] = tools.judge([corpus.sample(stream) for _ in range(size)], train)
    columns = ["n", "grammatical", "of these agree", "both", "copied from train", "different"]
    run.table("samples", columns, [[n, *row] for n, row in found.items()])
    print("\n" + "\n".join(f"  {line}" for line in examples))
    run.look(
        "From n = 4 on nothing local is wrong; agreement never gets there, and more and more is copied.",
        "n = 4 起局部结构不再出错；主谓一致却始终上不去，而照抄的越来越多。",
    )
    for n, (grammar, agree, copy, lecture) in SAMPLES.items():
        grammatical, agreeing, _, copied, _ = found[n]
        exact = grammar[0] == grammar[1]
        if exact or not run.quick:
            run.figure(f"4.4 n = {n}, grammatical samples", grammatical, *grammar, "never wrong" if exact else "")
        if agree is not None and not run.quick:
            run.figure(f"4.4 n = {n}, agreeing among the grammatical", agreeing, *agree)
        if not run.quick:
            run.figure(f"4.4 n = {n}, copied samples", copied, *copy, lecture)
    run.figure("4.4 truth, grammatical and agreeing", found["truth"][2], 1, 1)
    if not run.quick:
        run.figure("4.4 truth, copied samples", found["truth"][3], 0.50, 0.61, "0.55")


STEPS: list[Step] = [
    the_corpus,
    chain_rule,
    trigram_as_a_model,
    cows_eat,
    unsmoothed,
    add_one,
    interpolated,
    one_weight,
    side_by_side,
    agreement,
    samples,
]

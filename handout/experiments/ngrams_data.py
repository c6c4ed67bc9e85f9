"""Experiment 1, what comes before the models: the corpus, the chain rule, and what counting sees."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from lm import corpus, truth
from lm.farm import ANIMALS, K_WEIGHTS
from lm.types import Sentence

from . import ngrams_tools as tools
from .run import Run
from .words import Quoted

FREQUENT = (
    "the bats eat flies at night .",
    "the bat eats flies at night .",
    "the bat makes noise at night .",
    "the owls eat mice at night .",
    "the horse eats hay in the field .",
    "the horses eat hay in the field .",
    "the cow eats corn in the field .",
)
"""Short sentences that are among the most frequent ones."""


def the_corpus(run: Run) -> None:
    """What the corpus looks like, and what its own distribution would score."""
    data = tools.data(run)
    train, test = set(data.train), data.test
    rng = random.Random(f"samples {run.seed}")
    samples = [corpus.sample(rng) for _ in range(2_000)]
    mean = float(np.mean([len(sentence) for sentence in data.train]))
    run.table(
        "corpus",
        ["split", "sentences", "different", "mean length", "predictions", "true perplexity"],
        [
            [name, len(split), len(set(split)), sum(map(len, split)) / len(split), predictions(split), true(split)]
            for name, split in data._asdict().items()
        ],
    )
    run.look(
        "No model can get below the true perplexity on average: about 2.49 words between which even the truth wavers.",
        "平均而言，任何模型的困惑度都不会低于真实困惑度：真实分布自己也平均在大约 2.49 个词之间拿不定主意。",
    )
    run.figure("4.1 vocabulary", len(corpus.vocabulary().words), 56, 56, "56")
    run.figure("4.1 mean length of a training sentence", mean, 10.48, 10.68, "10.6")
    run.figure("4.1 test predictions", predictions(test), 22_600, 23_750, "about 23,000")
    run.figure("4.1 true perplexity, by formula", round(true_perplexity(), 4), 2.4897, 2.4897, "2.491 on its test set")
    run.figure("4.1 true perplexity on test", true(test), 2.45, 2.53, "2.491")
    run.figure("4.1 true perplexity on train", true(data.train), 2.478, 2.500)
    run.figure("4.1 different training sentences", len(train), 10_050, 10_570)
    copied = sum(sample in train for sample in samples) / len(samples)
    run.figure("4.1 true samples found in train", copied, 0.50, 0.61, "0.55")


def chain_rule(run: Run) -> None:
    """The chain rule is an identity; the trigram is a model."""
    from lm.ngram import count

    train = tools.data(run).train
    longest = max(map(len, train))
    rows = count(train, longest + 1)  # contexts so long that they are the whole history
    totals = {context: sum(row.values()) for context, row in rows.items()}
    times = Counter(train)
    wrong = 0
    for sentence, n in times.items():
        history, product = ("<s>",) * longest, Fraction(1)
        for word in (*sentence, "</s>"):
            product *= Fraction(rows.get(history, {}).get(word, 0), totals.get(history, 1))
            history = (*history[1:], word)
        wrong += product != Fraction(n, len(train))
    english = f"{len(times):,} sentences, as exact fractions: product of all conditionals = count / {len(train):,}"
    print("\n  " + run.say(english, f"{len(times):,} 个句子，用精确分数：所有条件概率之积 = 次数 / {len(train):,}"))
    run.figure("4.5 sentences for which the chain rule fails", wrong, 0, 0, "none: it is an identity")


def trigram_as_a_model(run: Run) -> None:
    """What the trigram makes of the probabilities that the chain rule has exactly."""
    from lm.ngram import sentence_logprob

    train = tools.data(run).train
    times, model = Counter(train), tools.mle(run, 3)

    def ratio(sentence: Sentence) -> float:
        logarithm = math.log(times[tuple(sentence)] / len(train)) - sentence_logprob(model, sentence)
        return math.exp(logarithm) if math.isfinite(logarithm) else math.inf

    short = {words: ratio(words) for words in (tuple(text.split()) for text in FREQUENT) if words in times}
    found = {words: ratio(words) for words in times if attractors(words) == 1}
    common = sorted(found, key=lambda words: (-times[words], words))[:3]
    rows = []
    for words, r in [*short.items(), *((words, found[words]) for words in common)]:
        empirical = times[words] / len(train)
        rows.append([Quoted(" ".join(words)), times[words], empirical, empirical / r, r])
    run.table("chain-rule", ["sentence", "count", "empirical", "trigram", "ratio"], rows)
    run.look(
        "At the object the trigram no longer sees the subject: short sentences get too little, long ones far less.",
        "到宾语时三元模型已看不到主语：短句的概率被低估，主语和动词之间隔着短语的句子更是被严重低估。",
    )
    tools.extremes(run, "4.5 frequent short sentences, ratio", list(short.values()), 1.3, 4.8, "2 to 3.5")
    median = float(np.median([found[words] for words in train if words in found]))
    run.figure("4.5 sentences with one attractor, median ratio", median, 90, 165, "344 for one long sentence")


def cows_eat(run: Run) -> None:
    """What follows "cows eat", and how often the cows only stand beside who eats."""
    train = tools.data(run).train
    row = tools.counts(run, 3).get(("cows", "eat"), {})
    beside: Counter[str] = Counter()
    for sentence in train:
        for i in range(2, len(sentence) - 2):  # the subject is word 1
            if sentence[i : i + 2] == ("cows", "eat"):
                beside[sentence[i + 2]] += 1
    first = sorted(row, key=lambda word: (-row[word], word))
    total, aside = sum(row.values()), sum(beside.values())
    run.table(
        "cows-eat",
        ["cows eat ...", "count", "p", "cows are the subject", "cows are an attractor"],
        [
            *([Quoted(word), row[word], row[word] / total, row[word] - beside[word], beside[word]] for word in first),
            ["together", total, 1.0, total - aside, aside],
        ],
    )
    run.look(
        "About a quarter of these cows do not eat at all: two words of context cannot say who does.",
        "这里约四分之一的 cows 根本不是主语：只看两个词，不可能知道是谁在吃。",
    )
    run.figure("4.1 cows eat", total, 360, 505, "433")
    run.figure("4.1 cows eat, cows as an attractor", aside, 85, 160, "119")
    as_told = first[:3] == ["corn", "grass", "hay"]
    run.figure("4.1 cows eat: corn before grass before hay before all others", as_told, 1, 1, "so")
    others = [row.get(food, 0) for food in ("flies", "mice", "fish", "bones", "seeds", "eggs")]
    run.figure("4.1 cows eat: foods of no cow that occur", sum(n > 0 for n in others), 6, 6)
    share = windows(train)
    run.figure("4.1 windows 'N prep the N' whose first N is an attractor", share, 0.375, 0.405, "0.396")


def predictions(sentences: Sequence[Sentence]) -> int:
    """Words and sentence ends."""
    return sum(len(sentence) + 1 for sentence in sentences)


def true(sentences: Sequence[Sentence]) -> float:
    """The perplexity of the true distribution on a text."""
    logs = {sentence: truth.log_probability(sentence) for sentence in {tuple(sentence) for sentence in sentences}}
    return math.exp(-math.fsum(logs[tuple(sentence)] for sentence in sentences) / predictions(sentences))


def true_perplexity() -> float:
    """The perplexity of the language by itself: its entropy a sentence over the predictions in a sentence."""

    def entropy(*weights: float) -> float:
        return -sum(p * math.log(p) for p in weights if p > 0)

    nouns, mean = 2 * len(ANIMALS), sum(k * p for k, p in enumerate(K_WEIGHTS))
    nats = entropy(*K_WEIGHTS) + math.log(nouns) + mean * (math.log(3) + math.log(nouns))
    words = 2 + 3 * mean + 1 + 1  # the subject, the phrases, the verb, the full stop
    for habits in ANIMALS.values():
        nats += (entropy(*habits.verbs.values()) + entropy(*habits.when.values())) / len(ANIMALS)
        words += sum(p * len(when.split()) for when, p in habits.when.items()) / len(ANIMALS)
        for verb, p in habits.verbs.items():
            nats += p * entropy(*habits.objects[verb].values()) / len(ANIMALS)
            words += sum(p * q * len(what.split()) for what, q in habits.objects[verb].items()) / len(ANIMALS)
    return math.exp(nats / (words + 1))


def attractors(sentence: Sentence) -> int:
    """The number of phrases between subject and verb."""
    return sum(word in ("near", "behind", "beside") for word in sentence)


def windows(sentences: Sequence[Sentence]) -> float:
    """The share of windows "N prep the N" in which the first noun is not the subject."""
    k = [attractors(sentence) for sentence in sentences]
    return sum(n - 1 for n in k if n > 0) / sum(k)

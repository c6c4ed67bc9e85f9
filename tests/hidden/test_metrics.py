"""Hidden tests of lm/metrics.py: random text, closed forms, and the corners that are promised."""

from math import exp, fsum, inf, log

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

WORDS = ("ant", "bee", "cat", "dog")


def text(rng, sentences=12, longest=7):
    """Random sentences of 1 to ``longest`` words, and an empty one."""
    lengths = [0, *rng.integers(1, longest + 1, size=sentences)]
    return [[WORDS[i] for i in rng.integers(0, len(WORDS), size=length)] for length in lengths]


def random_table(rng, n, sentences):
    """A model of order n that gives each n-gram of the text a probability of its own: ``{context: {word: p}}``."""
    table = {}
    for sentence in sentences:
        padded = ("<s>",) * (n - 1) + tuple(sentence) + ("</s>",)
        for i in range(len(sentence) + 1):
            *context, word = padded[i : i + n]
            table.setdefault(tuple(context), {}).setdefault(word, float(rng.uniform(0.02, 1)))
    return table


def losses(table, n, sentences):
    """-log p of every prediction, by the definition."""
    for sentence in sentences:
        padded = ("<s>",) * (n - 1) + tuple(sentence) + ("</s>",)
        for i in range(len(sentence) + 1):
            yield -log(table[padded[i : i + n - 1]][padded[i + n - 1]])


# --- perplexity


@item("perplexity")
@weight(3)
@pytest.mark.parametrize("n", [1, 2, 3, 5], ids=["n1", "n2", "n3", "n5"])
def test_cross_entropy_is_the_mean_over_all_predictions(student, rng, check, n):
    """The mean of -log p over all words and the </s> of each sentence, each in its own padded context."""
    sentences = text(rng)
    table = random_table(rng, n, sentences)
    every = list(losses(table, n, sentences))
    model = student.testing.TableModel(table, order=n)
    check.close(student.metrics.cross_entropy(model, sentences), fsum(every) / len(every), "the cross-entropy")


@item("perplexity")
@weight(3)
@pytest.mark.parametrize("n", [1, 2, 4], ids=["n1", "n2", "n4"])
def test_perplexity_is_its_exponential(student, rng, check, n):
    """Perplexity is exp of the cross-entropy in nats."""
    sentences = text(rng)
    table = random_table(rng, n, sentences)
    every = list(losses(table, n, sentences))
    model = student.testing.TableModel(table, order=n)
    check.close(student.metrics.perplexity(model, sentences), exp(fsum(every) / len(every)), "the perplexity")


@item("perplexity")
@pytest.mark.parametrize("size", [1, 7, 27, 54], ids=["one", "seven", "letters", "fifty-four"])
def test_perplexity_of_a_uniform_model_is_the_size_of_its_vocabulary(student, rng, check, size):
    """A model that gives each of V words 1/V has perplexity V on any text of these words."""
    vocabulary = ["</s>", *(f"word{i}" for i in range(size - 1))]
    lengths = (3, 0, 9) if size > 1 else (0, 0)
    sentences = [[vocabulary[i] for i in rng.integers(1, max(size, 2), size=length)] for length in lengths]
    model = student.testing.UniformModel(vocabulary, order=3)
    check.close(student.metrics.perplexity(model, sentences), float(size), "the perplexity")
    check.close(student.metrics.cross_entropy(model, sentences), log(size), "the cross-entropy")


@item("perplexity")
@weight(2)
@pytest.mark.parametrize("where", ["word", "context", "end"], ids=["word", "context", "end"])
def test_one_zero_makes_it_infinite(student, check, where):
    """One prediction of probability 0 among many makes cross-entropy and perplexity infinite, without an error."""
    table = {("<s>",): {"ant": 0.5, "cat": 0.5}, ("ant",): {"bee": 0.5, "</s>": 0.5}, ("bee",): {"ant": 1.0}}
    model = student.testing.TableModel(table)
    bad = {"word": ["ant", "ant"], "context": ["cat", "ant"], "end": ["ant", "bee"]}[where]
    sentences = [["ant", "bee", "ant"]] * 6 + [bad] + [["ant"]]
    check.close(student.metrics.cross_entropy(model, sentences), inf, "the cross-entropy")
    check.close(student.metrics.perplexity(model, sentences), inf, "the perplexity")


@item("perplexity")
def test_a_long_text_does_not_underflow(student, check):
    """5,000 words in one sentence and 5,000 sentences of one word have the perplexity that short texts have."""
    table = {("<s>",): {"ant": 0.25}, ("ant",): {"ant": 0.25, "</s>": 0.25}}
    model = student.testing.TableModel(table)
    check.close(student.metrics.perplexity(model, [["ant"] * 5000]), 4.0, "the perplexity of a long sentence")
    check.close(student.metrics.perplexity(model, [["ant"]] * 5000), 4.0, "the perplexity of many sentences")


@item("perplexity")
def test_rare_words_surprise_as_much_as_they_should(student, check):
    """Words of probability 1e-9, 1e-12 and 1e-15: 9, 12 and 15 times log 10, and nothing is added before."""
    table = {("<s>",): {"ant": 1e-9}, ("ant",): {"bee": 1e-12, "</s>": 0.1}, ("bee",): {"ant": 1e-15}}
    model = student.testing.TableModel(table)
    got = student.metrics.cross_entropy(model, [["ant", "bee", "ant"]])
    check.close(got, 37 / 4 * log(10), "the cross-entropy of rare words")
    check.close(student.metrics.perplexity(model, [["ant"]]), 1e5, "the perplexity of a rare word")


@item("perplexity")
def test_every_prediction_weighs_the_same(student, check):
    """Long sentences count for more than short ones: it is no mean of means, and no mean of perplexities."""
    model = student.testing.TableModel({("<s>",): {"ant": 1.0, "</s>": 0.125}, ("ant",): {"ant": 1.0, "</s>": 0.5}})
    sentences = [["ant"] * 5, []]  # 5 words of 1, </s> of 1/2; </s> of 1/8: 4 log 2 over 7 predictions
    check.close(student.metrics.cross_entropy(model, sentences), 4 * log(2) / 7, "the cross-entropy")
    check.close(student.metrics.perplexity(model, sentences), 2 ** (4 / 7), "the perplexity")


@item("perplexity")
def test_the_order_of_the_sentences_does_not_matter(student, rng, check):
    """Sentences in another order, or all of them twice, have the same perplexity: none is context of the next."""
    sentences = text(rng)
    table = random_table(rng, 3, sentences)
    expected = exp(fsum(losses(table, 3, sentences)) / sum(len(s) + 1 for s in sentences))
    model = student.testing.TableModel(table, order=3)
    for version in (sentences[::-1], [sentences[i] for i in rng.permutation(len(sentences))], sentences * 2):
        check.close(student.metrics.perplexity(model, version), expected, "the perplexity")


# The entropy tests of nltk.lm: a text, the probabilities of its events, and whether they are of words alone. nltk
# gives entropies in bits. Its unigram text has <s> as a word, which is "S" here.
NLTK = {
    "mle-bigrams": ("a b <unk> a d", [1 / 2, 1 / 2, 1 / 2, 1 / 3, 1 / 2, 1 / 2]),  # 1.0975 bits, 2.1398
    "mle-unigrams": ("S a c <unk> d c", [2 / 14, 2 / 14, 1 / 14, 3 / 14, 2 / 14, 1 / 14, 2 / 14]),  # 3.0095, 8.0529
    # 4.0917, 17.0504
    "lidstone": ("a c <unk> d c", [1.1 / 2.8, 0.1 / 2.8, 0.1 / 1.8, 0.1 / 3.8, 0.1 / 2.8, 0.1 / 1.8]),
    "laplace": ("a c <unk> d c", [2 / 10, 1 / 10, 1 / 9, 1 / 11, 1 / 10, 1 / 9]),  # 3.1275, 8.7393
    "mle-unseen": ("a c d", [1 / 2, 0, 1, 1 / 2]),  # infinite
}


@item("perplexity")
@pytest.mark.parametrize("name", NLTK, ids=list(NLTK))
def test_entropies_of_nltk(student, check, name):
    """The texts and models of nltk.lm's own tests: the cross-entropy in nats, and its perplexity, which has no base."""
    sentence, probabilities = NLTK[name][0].split(), NLTK[name][1]
    words = ["<s>", *sentence, "</s>"]
    table = {}
    for context, word, p in zip(words[:-1], words[1:], probabilities, strict=True):
        table.setdefault(() if name == "mle-unigrams" else (context,), {})[word] = p
    model = student.testing.TableModel(table)
    nats = inf if 0 in probabilities else -fsum(map(log, probabilities)) / len(probabilities)
    check.close(student.metrics.cross_entropy(model, [sentence]), nats, "the cross-entropy")
    check.close(student.metrics.perplexity(model, [sentence]), exp(nats), "the perplexity")


@item("perplexity")
def test_perplexity_of_a_markov_chain(student, check):
    """A text in which each word is followed as often as the chain says has the entropy rate of the chain."""
    chain = {
        ("<s>",): {"ant": 1 / 2, "bee": 1 / 2},
        ("ant",): {"ant": 1 / 2, "bee": 1 / 4, "</s>": 1 / 4},
        ("bee",): {"ant": 1 / 4, "</s>": 3 / 4},
    }
    # 14 sentences: of 14 beginnings 7 and 7, of 20 ants 10, 5 and 5, of 12 bees 3 and 9
    sentences = [["bee"]] * 4 + [["bee", "ant"]] * 3 + [["ant", "bee"]] * 4 + [["ant"] * 5 + ["bee"]]
    sentences += [["ant"] * 4] * 2
    times = {"<s>": 14, "ant": 20, "bee": 12}
    rate = -fsum(times[c] / 46 * p * log(p) for (c,), row in chain.items() for p in row.values())
    model = student.testing.TableModel(chain)
    check.close(student.metrics.cross_entropy(model, sentences), rate, "the cross-entropy")
    check.close(student.metrics.perplexity(model, sentences), exp(rate), "the perplexity")


@item("perplexity")
def test_a_certain_model_has_perplexity_one(student, check):
    """Where every prediction has probability 1, the cross-entropy is 0 and the perplexity 1."""
    model = student.testing.TableModel({("<s>",): {"ant": 1.0}, ("ant",): {"bee": 1.0}, ("bee",): {"</s>": 1.0}})
    check.close(student.metrics.cross_entropy(model, [["ant", "bee"]] * 3), 0.0, "the cross-entropy")
    check.close(student.metrics.perplexity(model, [["ant", "bee"]] * 3), 1.0, "the perplexity")


@item("perplexity")
def test_sentences_may_be_tuples_and_are_not_changed(student, rng, check):
    """A sentence is a list or a tuple, and is the same afterwards."""
    sentences = text(rng)
    table = random_table(rng, 2, sentences)
    expected = fsum(losses(table, 2, sentences)) / sum(len(s) + 1 for s in sentences)
    model = student.testing.TableModel(table, order=2)
    given = student.put(sentences)
    check.close(student.metrics.cross_entropy(model, given), expected, "the cross-entropy")
    check.close(student.metrics.perplexity(model, given), exp(expected), "the perplexity")
    check.equal(student.get(given), sentences, "the sentences afterwards")
    tuples = [tuple(s) for s in sentences]
    check.close(student.metrics.cross_entropy(model, tuples), expected, "the cross-entropy of tuples of words")


@item("perplexity")
@pytest.mark.parametrize(
    ("nats", "bits"),
    [(log(2), 1.0), (log(1000), log(1000, 2)), (0.0, 0.0), (-3 * log(2), -3.0), (inf, inf)],
    ids=["one", "thousand", "zero", "negative", "infinite"],
)
def test_bits_of_nats(student, check, nats, bits):
    """log 2 nats are one bit, and infinitely many stay so."""
    check.close(student.metrics.bits(nats), bits, "the number of bits")


# --- agreement


@item("agreement")
@weight(3)
@pytest.mark.parametrize("kind", ["probabilities", "logits"], ids=["probabilities", "logits"])
def test_agreement_is_the_share_of_right_forms_that_score_higher(student, rng, check, kind):
    """The share of pairs whose right form scores strictly higher than its wrong form, whatever else scores."""
    scores, pairs = {}, []
    for i in range(40):
        prefix = (*(WORDS[j] for j in rng.integers(0, 4, size=5)), f"word{i}")
        good, bad = rng.uniform(0, 0.4, size=2) if kind == "probabilities" else rng.normal(-3, 8, size=2)
        scores[prefix] = {"makes": float(good), "make": float(bad), "eats": 99.0}
        pairs.append((prefix, "makes", "make") if i % 2 else (prefix, "make", "makes"))
    won = sum(scores[prefix][right] > scores[prefix][wrong] for prefix, right, wrong in pairs)
    got = student.metrics.agreement_accuracy(student.testing.ScoreTable(scores), pairs)
    check.close(got, won / len(pairs), "the accuracy")


@item("agreement")
@weight(2)
def test_equal_scores_are_not_right(student, check):
    """A model that gives both forms the same score earns nothing for it, at 0 and at -inf either."""
    rows = [(0.25, 0.25), (0.0, 0.0), (-inf, -inf), (-2.0, -2.0), (0.25, 0.125)]
    prefixes = [("the", "bat", str(i)) for i in range(len(rows))]
    scores = {prefix: {"makes": good, "make": bad} for prefix, (good, bad) in zip(prefixes, rows, strict=True)}
    pairs = [(prefix, "makes", "make") for prefix in prefixes]
    got = student.metrics.agreement_accuracy(student.testing.ScoreTable(scores), pairs)
    check.close(got, 1 / 5, "the accuracy")


@item("agreement")
@pytest.mark.parametrize("won", [0, 1, 2, 3], ids=["none", "one", "two", "all"])
def test_agreement_over_few_pairs(student, check, won):
    """From 0 when no right form wins to 1 when all do."""
    prefixes = [("the", "cow", str(i)) for i in range(3)]
    scores = {prefix: {"sees": -1.0, "see": -2.0 if i < won else -0.5} for i, prefix in enumerate(prefixes)}
    pairs = [(prefix, "sees", "see") for prefix in prefixes]
    got = student.metrics.agreement_accuracy(student.testing.ScoreTable(scores), pairs)
    check.close(got, won / 3, "the accuracy")


@item("agreement")
def test_agreement_over_seven_pairs(student, check):
    """All pairs count, the first and the last: five of these seven are right."""
    rows = [(0.375, 0.25), (0.75, 0.5), (0.25, 0.125), (0.125, 0.625), (0.875, 0.25), (0.0625, 0.0), (0.5, 0.75)]
    scores = {("the", str(i)): {"sees": good, "see": bad} for i, (good, bad) in enumerate(rows)}
    pairs = [(prefix, "sees", "see") for prefix in scores]
    got = student.metrics.agreement_accuracy(student.testing.ScoreTable(scores), pairs)
    check.close(got, 5 / 7, "the accuracy")


@item("agreement")
def test_a_likelier_other_word_does_not_matter(student, check):
    """Only the two forms of one verb are compared: neither a threshold nor another pair's scores play a part."""
    scores = {
        ("a",): {"eats": 1e-9, "eat": 1e-12, "hears": 0.7},
        ("b",): {"eat": 0.9, "eats": 0.95, "hears": 0.1},
        ("c",): {"hears": -np.inf, "hear": -1e300, "eats": 0.0},
        ("d",): {"hears": -1e300, "hear": -np.inf, "eats": 0.0},
    }
    pairs = [(("a",), "eats", "eat"), (("b",), "eat", "eats"), (("c",), "hears", "hear"), (("d",), "hears", "hear")]
    given = student.put(pairs)
    got = student.metrics.agreement_accuracy(student.testing.ScoreTable(scores), given)
    check.close(got, 0.5, "the accuracy")
    check.equal(student.get(given), pairs, "the pairs afterwards")

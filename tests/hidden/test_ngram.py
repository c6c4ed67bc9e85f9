"""Hidden tests of lm/ngram.py: random text, exact fractions, published figures and the corners that are promised."""

from fractions import Fraction
from math import fsum, log

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

WORDS = ("ant", "bee", "cat", "dog", ".")


def text(rng, sentences=15, words=WORDS, longest=6):
    """Random sentences of 1 to ``longest`` words, and an empty one."""
    lengths = [0, *rng.integers(1, longest + 1, size=sentences)]
    return [[words[i] for i in rng.integers(0, len(words), size=length)] for length in lengths]


def windows(sentence, n):
    """Its n-grams, padded."""
    padded = ("<s>",) * (n - 1) + tuple(sentence) + ("</s>",)
    return [padded[i : i + n] for i in range(len(sentence) + 1)]


def frequencies(reference, sentences, n):
    """``{context: {word: relative frequency}}``: the table of a model that needs nobody's code."""
    counts = reference.ngram.count(sentences, n)
    return {context: {w: c / sum(row.values()) for w, c in row.items()} for context, row in counts.items()}


def tables(reference, sentences, n):
    """Tables of the orders 1 to n of the same text."""
    return [frequencies(reference, sentences, order) for order in range(1, n + 1)]


def stack(testing, rows):
    """One table model an order, lowest first."""
    return [testing.TableModel(table, order=order) for order, table in enumerate(rows, start=1)]


# --- count_ngrams


@item("count_ngrams")
@weight(2)
@pytest.mark.parametrize("n", [1, 2, 3, 5], ids=["n1", "n2", "n3", "n5"])
def test_ngrams_are_the_windows_of_the_padded_sentence(student, reference, rng, check, n):
    """n - 1 times <s> before the sentence, one </s> after it, and a window of n words for each word and </s>."""
    sentence = [WORDS[i] for i in rng.integers(0, len(WORDS), size=7)]
    got = student.testing.collect(student.ngram.ngrams(sentence, n))
    check.equal(got, reference.ngram.ngrams(sentence, n), f"the {n}-grams of a sentence")


@item("count_ngrams")
@pytest.mark.parametrize("n", [1, 2, 4], ids=["n1", "n2", "n4"])
def test_ngrams_of_sentences_shorter_than_n(student, check, n):
    """A sentence of one word has two n-grams and an empty sentence one, whatever n is."""
    for sentence in (["bee"], []):
        got = student.testing.collect(student.ngram.ngrams(sentence, n))
        check.equal(got, windows(sentence, n), f"the {n}-grams of a sentence of {len(sentence)} words")


@item("count_ngrams")
@weight(4)
@pytest.mark.parametrize("n", [1, 2, 3, 4], ids=["n1", "n2", "n3", "n4"])
def test_counts_of_a_text(student, reference, rng, check, n):
    """count holds each context of n - 1 words with the words that follow it, and how often."""
    sentences = text(rng)
    check.equal(student.ngram.count(sentences, n), reference.ngram.count(sentences, n), "the counts")


@item("count_ngrams")
@pytest.mark.parametrize("n", [2, 3], ids=["n2", "n3"])
def test_no_ngram_reaches_into_the_next_sentence(student, check, n):
    """The first word of a sentence follows <s>, never the last word of the sentence before."""
    start = ("<s>",) * (n - 2)
    expected = {
        (*start, "<s>"): {"ant": 1, "bee": 2},
        (*start, "ant"): {"</s>": 1},
        (*start, "bee"): {"</s>": 2},
    }
    check.equal(student.ngram.count([["ant"], ["bee"], ["bee"]], n), expected, "the counts")


@item("count_ngrams")
def test_words_are_counted_as_they_are_written(student, check):
    """Capital letters, punctuation, spaces and words in other scripts are left alone."""
    words = ["The", "the", "THE", " the", ".", "", "蝙蝠", "<unk>"]
    expected = {(): {**dict.fromkeys(words, 2), "</s>": 2}}
    check.equal(student.ngram.count([words, words[::-1]], 1), expected, "the counts")


@item("count_ngrams")
def test_sentences_may_be_tuples_and_are_not_changed(student, reference, rng, check):
    """A sentence is a list or a tuple, and is the same afterwards."""
    sentences = text(rng, sentences=4)
    expected = reference.ngram.count(sentences, 3)
    check.equal(student.ngram.count([tuple(s) for s in sentences], 3), expected, "the counts of tuples of words")
    given = student.put(sentences)
    check.equal(student.ngram.count(given, 3), expected, "the counts")
    check.equal(student.get(given), sentences, "the sentences afterwards")


@item("count_ngrams")
def test_counts_of_nltks_text(student, check):
    """The two sentences of nltk.lm's own tests. We do not count <s>: 12 words and ends, where nltk has 14."""
    sentences = [list("abcd"), ["<unk>", "<unk>", "a", "d", "b", "<unk>"]]  # "e g a d b e" with unknown words replaced
    unigrams = {"a": 2, "b": 2, "c": 1, "d": 2, "</s>": 2, "<unk>": 3}
    bigrams = {
        ("<s>",): {"a": 1, "<unk>": 1},
        ("a",): {"b": 1, "d": 1},
        ("b",): {"c": 1, "<unk>": 1},
        ("c",): {"d": 1},
        ("d",): {"</s>": 1, "b": 1},
        ("<unk>",): {"<unk>": 1, "a": 1, "</s>": 1},
    }
    check.equal(student.ngram.count(sentences, 1), {(): unigrams}, "the counts of words")
    check.equal(student.ngram.count(sentences, 2), bigrams, "the counts of bigrams")


@item("count_ngrams")
def test_each_call_counts_anew(student, reference, rng, check):
    """What was counted before plays no part in the next call, whatever its n."""
    one, two = text(rng, sentences=3), text(rng, sentences=3)
    for sentences, n in ((one, 2), (two, 2), (one, 3), (one, 2)):
        check.equal(student.ngram.count(sentences, n), reference.ngram.count(sentences, n), "the counts")


# --- mle


@item("mle")
@weight(3)
@pytest.mark.parametrize("n", [1, 2, 3], ids=["n1", "n2", "n3"])
def test_mle_is_the_relative_frequency(student, reference, rng, check, n):
    """p(word | context) is count(context, word) / count(context), for each context and each word."""
    counts = reference.ngram.count(text(rng), n)
    prob = student.ngram.MLE(counts).prob
    for context, row in counts.items():
        for word in (*WORDS, "</s>"):
            exact = Fraction(row.get(word, 0), sum(row.values()))
            check.close(prob(word, context), float(exact), "p(word | context)")


# The Berkeley Restaurant Project (Jurafsky and Martin, chapter 3): how often each of eight words occurs, and how often
# each of the eight comes after it. "..." stands for all words that are not printed there.
EIGHT = ("i", "want", "to", "eat", "chinese", "food", "lunch", "spend")
RESTAURANT = {
    "i": (2533, 5, 827, 0, 9, 0, 0, 0, 2),
    "want": (927, 2, 0, 608, 1, 6, 6, 5, 1),
    "to": (2417, 2, 0, 4, 686, 2, 0, 6, 211),
    "eat": (746, 0, 0, 2, 0, 16, 2, 42, 0),
    "chinese": (158, 1, 0, 0, 0, 0, 82, 1, 0),
    "food": (1093, 15, 0, 15, 0, 1, 4, 0, 0),
    "lunch": (341, 2, 0, 0, 0, 0, 1, 0, 0),
    "spend": (278, 1, 0, 1, 0, 0, 0, 0, 0),
}


def restaurant():
    """Its counts, ``{context: {word: count}}``, without the zeros."""
    counts = {}
    for context, (total, *row) in RESTAURANT.items():
        counts[context,] = {word: times for word, times in zip(EIGHT, row, strict=True) if times}
        counts[context,]["..."] = total - sum(row)
    return counts


@item("mle")
def test_mle_of_eight_words_in_a_restaurant(student, check):
    """All 64 probabilities that Jurafsky and Martin print: 0.33, 0.66, 0.28, 0.52, 0.056 and many zeros among them."""
    prob = student.ngram.MLE(restaurant()).prob
    for context, (total, *row) in RESTAURANT.items():
        for word, times in zip(EIGHT, row, strict=True):
            check.close(prob(word, (context,)), times / total, f"P({word} | {context})")


@item("mle")
def test_mle_agrees_with_nltk(student, check):
    """The scores of nltk.lm's own tests. It reads unknown words as <unk> itself; our MLE is asked for <unk>."""
    bigrams = {("c",): {"d": 1}, ("a",): {"b": 1, "d": 1}, ("<unk>",): {"<unk>": 1, "a": 1, "</s>": 1}}
    unigrams = {(): {"a": 2, "b": 2, "c": 1, "d": 2, "S": 2, "</s>": 2, "<unk>": 3}}  # nltk counts <s>: "S" here
    one, two = (student.ngram.MLE(counts) for counts in (unigrams, bigrams))
    check.close(two.prob("d", ("c",)), 1.0, "P(d | c)")
    check.close(two.prob("d", ("<unk>",)), 0.0, "P(d | e), e unknown")
    for word, times in (("a", 2), ("<unk>", 3), ("z", 0)):
        check.close(one.prob(word, ()), times / 14, f"P({word})")
    padded_twice = {(): {**unigrams[()], "S": 4, "</s>": 4}}  # its trigram model pads both ends twice: 18 tokens
    for word, times in (("a", 2), ("<unk>", 3), ("z", 0)):
        check.close(student.ngram.MLE(padded_twice).prob(word, ()), times / 18, f"P({word}) of 18")


@item("mle")
def test_mle_of_first_letters(student, check):
    """How 32,033 names begin (the names of makemore, with one mark before and one behind each)."""
    firsts = {"a": 4410, "b": 1306, "c": 1542, "d": 1690, "e": 1531}
    prob = student.ngram.MLE({("<s>",): {**firsts, "...": 32033 - sum(firsts.values())}}).prob
    for letter, times in firsts.items():
        check.close(prob(letter, ("<s>",)), times / 32033, f"P({letter} | <s>)")


@item("mle")
def test_mle_of_a_restaurant_corpus(student, check):
    """The published bigram probabilities of the Berkeley Restaurant Project (Jurafsky and Martin, chapter 3)."""
    # rows of its bigram counts; "..." stands for all words that are not printed there
    counts = {
        ("i",): {"i": 5, "want": 827, "eat": 9, "spend": 2, "...": 2533 - 843},
        ("want",): {"i": 2, "to": 608, "eat": 1, "chinese": 6, "food": 6, "lunch": 5, "spend": 1, "...": 927 - 629},
        ("chinese",): {"i": 1, "food": 82, "lunch": 1, "...": 158 - 84},
    }
    prob = student.ngram.MLE(counts).prob
    for context, word, exact in (
        ("i", "want", Fraction(827, 2533)),  # 0.33
        ("want", "to", Fraction(608, 927)),  # 0.66
        ("chinese", "food", Fraction(82, 158)),  # 0.52
        ("chinese", "want", Fraction(0)),
    ):
        check.close(prob(word, (context,)), float(exact), f"P({word} | {context})")


@item("mle")
@pytest.mark.parametrize("kind", ["seen", "start", "longer"], ids=["seen", "start", "longer"])
def test_mle_sums_to_one(student, reference, rng, check, kind):
    """In a context that was seen, the probabilities of all words sum to 1."""
    counts = reference.ngram.count(text(rng), 3)
    prob = student.ngram.MLE(counts).prob
    start = ("<s>", "<s>")
    inside = next(context for context in counts if "<s>" not in context)
    context = {"seen": inside, "start": start, "longer": ("bee", "fish", *inside)}[kind]
    total = fsum(check.number(prob(word, context), "p(word | context)") for word in (*WORDS, "</s>"))
    check.close(total, 1.0, "the sum of the probabilities of all words")


@item("mle")
@pytest.mark.parametrize("n", [2, 3], ids=["n2", "n3"])
def test_mle_of_an_unseen_context_is_zero(student, reference, rng, check, n):
    """In a context that was never seen every word has probability 0.0, without an error."""
    counts = reference.ngram.count(text(rng), n)
    prob = student.ngram.MLE(counts).prob
    unseen = (*["<s>"] * (n - 2), "fish")
    for context in (unseen, ("ant", *unseen), (*["<s>"] * (n - 2), "</s>")):
        for word in ("ant", "</s>", "fish"):
            check.close(prob(word, context), 0.0, "p(word | unseen context)")


@item("mle")
def test_mle_of_a_word_that_never_followed_is_zero(student, reference, rng, check):
    """A word that never followed has probability 0.0: <s>, a new word, also where <unk> was counted."""
    words = ("ant", "bee", "<unk>")
    counts = reference.ngram.count([*text(rng, words=words), ["ant", "<unk>"], ["ant", "ant"]], 2)
    prob = student.ngram.MLE(counts).prob
    row = counts["ant",]
    check.close(prob("<unk>", ("ant",)), row["<unk>"] / sum(row.values()), "p(<unk> | context)")
    for word in ("<s>", "fish", "Ant"):
        check.close(prob(word, ("ant",)), 0.0, "p(a word that never followed | context)")
    check.close(prob("ant", ("fish",)), 0.0, "p(word | unseen context)")


@item("mle")
@pytest.mark.parametrize("n", [1, 2, 3], ids=["n1", "n2", "n3"])
def test_mle_looks_at_the_last_words_of_the_context(student, reference, rng, check, n):
    """Of a longer context only the last n - 1 words matter; for n = 1 none."""
    counts = reference.ngram.count(text(rng), n)
    prob = student.ngram.MLE(counts).prob
    for context, row in list(counts.items())[:6]:
        for more in (("<s>",), ("fish", "ant"), ("cat", "dog", "bee", "ant")):
            for word in ("ant", "bee", "</s>"):
                exact = row.get(word, 0) / sum(row.values())
                check.close(prob(word, (*more, *context)), exact, "p(word | longer context)")


@item("mle")
def test_a_thousand_questions_change_nothing_in_mle(student, reference, rng, check):
    """Asking adds nothing to the counts and changes no answer, and a second model is a model of its own."""
    counts, others = (reference.ngram.count(text(rng), 2) for _ in range(2))
    given = student.put(counts)
    prob, other = student.ngram.MLE(given).prob, student.ngram.MLE(others)
    contexts = ("<s>", *WORDS, "fish", "eel", "</s>")
    places = [(word, (context,)) for word in (*WORDS, "fish", "<s>") for context in contexts]
    expected = [counts.get(c, {}).get(w, 0) / max(sum(counts.get(c, {}).values()), 1) for w, c in places]
    for _ in range(16):
        for (word, context), exact in zip(places, expected, strict=True):
            check.close(prob(word, context), exact, "p(word | context)")
    row = others["<s>",]
    exact = row.get("ant", 0) / sum(row.values())
    check.close(other.prob("ant", ("<s>",)), exact, "p(word | context) of a second model")
    check.equal(student.get(given), counts, "the counts afterwards")


# --- sentence_logprob


@item("sentence_logprob")
@weight(4)
@pytest.mark.parametrize("n", [1, 2, 3, 5], ids=["n1", "n2", "n3", "n5"])
def test_logprob_is_the_sum_over_the_words_and_the_end(student, reference, rng, check, n):
    """The logarithms of the probabilities of all words and of </s> add up, each in its own context."""
    sentences = text(rng)
    table = frequencies(reference, sentences, n)
    model = student.testing.TableModel(table, order=n)
    for sentence in sentences[:8]:
        exact = fsum(log(table[gram[:-1]][gram[-1]]) for gram in windows(sentence, n))
        check.close(student.ngram.sentence_logprob(model, sentence), exact, "log p(sentence)")


@item("sentence_logprob")
def test_logprob_of_a_sentence_in_a_restaurant(student, check):
    """Jurafsky and Martin: "i want english food" has the probability .25 * .33 * .0011 * .5 * .68 = 0.000031."""
    table = {
        ("<s>",): {"i": 0.25},
        ("i",): {"want": 0.33},
        ("want",): {"english": 0.0011},
        ("english",): {"food": 0.5},
        ("food",): {"</s>": 0.68},
    }
    got = student.ngram.sentence_logprob(student.testing.TableModel(table), "i want english food".split())
    check.close(got, log(3.0855e-5), "log p(sentence)")


@item("sentence_logprob")
@pytest.mark.parametrize("where", ["word", "context", "end"], ids=["word", "context", "end"])
def test_logprob_with_a_zero_is_minus_infinity(student, check, where):
    """One prediction of probability 0 makes it -inf, without an error."""
    model = student.testing.TableModel({("<s>",): {"ant": 0.5, "cat": 0.5}, ("ant",): {"</s>": 0.5, "bee": 0.5}})
    sentence = {"word": ["ant", "ant"], "context": ["cat", "ant"], "end": ["ant", "bee"]}[where]
    check.close(student.ngram.sentence_logprob(model, sentence), -np.inf, "log p(sentence)")


@item("sentence_logprob")
def test_logprob_of_a_long_sentence_is_finite(student, check):
    """5,000 words do not underflow."""
    model = student.testing.TableModel({("<s>",): {"ant": 0.5}, ("ant",): {"ant": 0.25, "</s>": 0.125}})
    exact = log(0.5) + 4999 * log(0.25) + log(0.125)
    check.close(student.ngram.sentence_logprob(model, ["ant"] * 5000), exact, "log p(sentence)")


@item("sentence_logprob")
def test_logprob_takes_a_tuple_and_changes_nothing(student, reference, rng, check):
    """A sentence is a list or a tuple, and is the same afterwards."""
    sentence = [WORDS[i] for i in rng.integers(0, len(WORDS), size=5)]
    model = student.testing.TableModel(frequencies(reference, [sentence, ["ant"], ["bee", "ant"]], 2), order=2)
    given = student.put(sentence)
    first = check.number(student.ngram.sentence_logprob(model, given), "log p(sentence)")
    check.equal(student.get(given), sentence, "the sentence afterwards")
    check.close(student.ngram.sentence_logprob(model, tuple(sentence)), first, "log p(tuple of words)")
    check.that(np.isfinite(first) and first < 0, "log p(sentence) of a sentence from the text should be below 0")


# --- add_k


@item("add_k")
@weight(4)
@pytest.mark.parametrize(
    ("n", "k"),
    [(1, Fraction(1, 4)), (2, Fraction(1, 4)), (2, Fraction(1)), (3, Fraction(5, 2))],
    ids=["n1-quarter", "n2-quarter", "n2-one", "n3-more"],
)
def test_add_k_is_the_formula(student, reference, rng, check, n, k):
    """p(word | context) is (count(context, word) + k) / (count(context) + k V), for each context and word."""
    counts = reference.ngram.count(text(rng), n)
    vocabulary = ["</s>", *WORDS, "eel", "fly"]  # two words that the text lacks
    prob = student.ngram.AddK(counts, float(k), vocabulary).prob
    for context, row in counts.items():
        for word in vocabulary:
            exact = (row.get(word, 0) + k) / (sum(row.values()) + k * len(vocabulary))
            check.close(prob(word, context), float(exact), "p(word | context)")


@item("add_k")
@weight(2)
@pytest.mark.parametrize("k", [0.25, 1.0], ids=["quarter", "one"])
@pytest.mark.parametrize("kind", ["seen", "start", "unknown", "longer"], ids=["seen", "start", "unknown", "longer"])
def test_add_k_sums_to_one(student, reference, rng, check, kind, k):
    """Over the vocabulary the probabilities sum to 1 in every context, also where the text contains <unk>."""
    for words in (WORDS, (*WORDS, "<unk>")):
        counts = reference.ngram.count([*text(rng, words=words), [*words, "cat"]], 2)
        model = student.ngram.AddK(counts, k, ["</s>", *words])
        context = {"seen": ("cat",), "start": ("<s>",), "unknown": ("fish",), "longer": ("fish", "dog", "bee")}[kind]
        total = fsum(check.number(model.prob(word, context), "p(word | context)") for word in ("</s>", *words))
        check.close(total, 1.0, "the sum of the probabilities over the vocabulary")


@item("add_k")
@pytest.mark.parametrize("n", [2, 3], ids=["n2", "n3"])
def test_add_k_in_an_unseen_context_is_uniform(student, reference, rng, check, n):
    """In a context that was never seen each word of the vocabulary has probability 1/V."""
    counts = reference.ngram.count(text(rng), n)
    vocabulary = ["</s>", *WORDS, "eel", "fly", "gnu"]
    prob = student.ngram.AddK(counts, 0.5, vocabulary).prob
    for context in ((*["<s>"] * (n - 2), "eel"), ("ant",) * (n - 2) + ("fish",)):
        for word in vocabulary:
            check.close(prob(word, context), 1 / 9, "p(word | unseen context)")


@item("add_k")
@pytest.mark.parametrize("n", [1, 2, 3], ids=["n1", "n2", "n3"])
def test_add_k_looks_at_the_last_words_of_the_context(student, reference, rng, check, n):
    """Of a longer context only the last n - 1 words matter; for n = 1 none."""
    counts = reference.ngram.count(text(rng), n)
    prob = student.ngram.AddK(counts, 0.25, ["</s>", *WORDS]).prob
    for context, row in list(counts.items())[:6]:
        for more in (("<s>",), ("fish", "ant"), ("cat", "dog", "bee", "ant")):
            for word in ("ant", "bee", "</s>"):
                exact = (row.get(word, 0) + 0.25) / (sum(row.values()) + 1.5)
                check.close(prob(word, (*more, *context)), exact, "p(word | longer context)")


@item("add_k")
def test_add_k_gives_nothing_to_words_outside_the_vocabulary(student, reference, rng, check):
    """Without <unk> a word outside the vocabulary has probability 0.0; <s> has it always."""
    counts = reference.ngram.count([*text(rng), ["ant"]], 2)
    plain = student.ngram.AddK(counts, 0.5, ["</s>", *WORDS])
    with_unk = student.ngram.AddK(counts, 0.5, ["</s>", "<unk>", *WORDS])
    for context in ("ant", "<s>", "fish"):
        for word in ("fish", "<unk>", "<s>"):
            check.close(plain.prob(word, (context,)), 0.0, "p(word outside the vocabulary | context)")
        check.close(with_unk.prob("<s>", (context,)), 0.0, "p(<s> | context)")


@item("add_k")
@weight(2)
@pytest.mark.parametrize("kind", ["word", "context", "both"], ids=["word", "context", "both"])
def test_add_k_reads_unknown_words_as_unk(student, reference, rng, check, kind):
    """With <unk> in the vocabulary, an unknown word counts as <unk>, as the word and in the context; <s> does not."""
    words = ("ant", "bee", "<unk>")
    sentences = [*text(rng, words=words), ["ant", "<unk>", "bee"], ["<unk>", "<unk>", "<unk>"]]
    counts = reference.ngram.count(sentences, 3)
    vocabulary = ["</s>", *words]
    prob = student.ngram.AddK(counts, 0.25, vocabulary).prob
    places = {  # (asked, the same with <unk>)
        "word": [("fish", ("<s>", "ant"), "<unk>", ("<s>", "ant")), ("eel", ("<s>", "<s>"), "<unk>", ("<s>", "<s>"))],
        "context": [
            ("bee", ("ant", "fish"), "bee", ("ant", "<unk>")),
            ("</s>", ("eel", "fish"), "</s>", ("<unk>", "<unk>")),
            ("ant", ("<s>", "fish"), "ant", ("<s>", "<unk>")),
        ],
        "both": [
            ("eel", ("fish", "fish"), "<unk>", ("<unk>", "<unk>")),
            ("eel", ("<s>", "eel"), "<unk>", ("<s>", "<unk>")),
        ],
    }
    for word, context, known, row in places[kind]:
        seen = counts[row]
        exact = (seen.get(known, 0) + 0.25) / (sum(seen.values()) + 0.25 * len(vocabulary))
        check.close(prob(word, context), exact, "p(word | context) with unknown words")


@item("add_k")
@pytest.mark.parametrize("k", [0.1, 1.0], ids=["tenth", "one"])
def test_add_k_agrees_with_nltk(student, check, k):
    """The hand-derived scores of nltk.lm's own tests (Lidstone 0.1 and Laplace)."""
    # text "a b c d" and "e g a d b e" with e and g read as <unk>; nltk's <s> is one of its 8 types: "S" here
    vocabulary = ["a", "b", "c", "d", "z", "S", "</s>", "<unk>"]
    bigrams = {("c",): {"d": 1}, ("a",): {"b": 1, "d": 1}, ("<unk>",): {"<unk>": 1, "a": 1, "</s>": 1}}
    unigrams = {(): {"a": 2, "b": 2, "c": 1, "d": 2, "S": 2, "</s>": 2, "<unk>": 3}}
    one, two = (student.ngram.AddK(counts, k, vocabulary) for counts in (unigrams, bigrams))
    # tenth: 1.1/1.8, 0.1/3.8, 2.1/14.8, 0.1/14.8, 3.1/14.8; one: 2/9, 1/11, 3/22, 1/22, 4/22
    check.close(two.prob("d", ("c",)), (1 + k) / (1 + 8 * k), "P(d | c)")
    check.close(two.prob("d", ("e",)), k / (3 + 8 * k), "P(d | e), e unknown")
    check.close(one.prob("a", ()), (2 + k) / (14 + 8 * k), "P(a)")
    check.close(one.prob("z", ()), k / (14 + 8 * k), "P(z)")
    check.close(one.prob("y", ()), (3 + k) / (14 + 8 * k), "P(y), y unknown")


@item("add_k")
def test_add_one_of_a_restaurant_corpus(student, check):
    """The published add-one probabilities of the Berkeley Restaurant Project (Jurafsky and Martin, chapter 3)."""
    counts = {
        ("i",): {"i": 5, "want": 827, "eat": 9, "spend": 2, "...": 2533 - 843},
        ("want",): {"i": 2, "to": 608, "eat": 1, "chinese": 6, "food": 6, "lunch": 5, "spend": 1, "...": 927 - 629},
        ("chinese",): {"i": 1, "food": 82, "lunch": 1, "...": 158 - 84},
    }
    printed = ["i", "want", "to", "eat", "chinese", "food", "lunch", "spend", "...", "</s>"]
    vocabulary = printed + [f"word {i}" for i in range(1446 - len(printed))]  # V = 1446
    prob = student.ngram.AddK(counts, 1, vocabulary).prob
    for context, word, exact in (
        ("want", "to", Fraction(609, 2373)),  # 0.26
        ("i", "want", Fraction(828, 3979)),  # 0.21
        ("chinese", "food", Fraction(83, 1604)),  # 0.052
        ("chinese", "want", Fraction(1, 1604)),
    ):
        check.close(prob(word, (context,)), float(exact), f"P({word} | {context})")


@item("add_k")
def test_add_one_reconstitutes_counts(student, check):
    """Jurafsky and Martin: 608 times "want to" shrink to 238, 827 times "i want" to 527, 82 "chinese food" to 8.2."""
    vocabulary = [*EIGHT, "...", "</s>", *(f"word {i}" for i in range(1436))]  # V = 1446
    prob = student.ngram.AddK(restaurant(), 1, vocabulary).prob
    for context, word, exact in (
        ("want", "to", Fraction(609 * 927, 2373)),  # 237.90, a discount of 0.39
        ("i", "want", Fraction(828 * 2533, 3979)),  # 527.1
        ("chinese", "food", Fraction(83 * 158, 1604)),  # 8.18, a discount of 0.10
    ):
        p = check.number(prob(word, (context,)), f"P({word} | {context})")
        check.close(p * RESTAURANT[context][0], float(exact), f"the reconstituted count of {context} {word}")


@item("add_k")
@pytest.mark.parametrize("types", [11, 12], ids=["eleven", "twelve"])
def test_add_one_of_sam(student, reference, check, types):
    """Jurafsky and Martin's three sentences with </s> among the types, V = 11, and with one more (they have <s>)."""
    sentences = ["I am Sam".split(), "Sam I am".split(), "I do not like green eggs and ham".split()]
    vocabulary = sorted({word for sentence in sentences for word in sentence}) + ["</s>", "one more"][: types - 10]
    prob = student.ngram.AddK(reference.ngram.count(sentences, 2), 1, vocabulary).prob
    check.close(prob("am", ("I",)), 3 / (3 + types), "P(am | I)")  # 3/14 and 1/5
    check.close(prob("Sam", ("am",)), 2 / (2 + types), "P(Sam | am)")  # 2/13 and 1/7


@item("add_k")
def test_a_thousand_questions_change_nothing_in_add_k(student, reference, rng, check):
    """Asking adds nothing to the counts and changes no answer, and a second model is a model of its own."""
    counts, others = (reference.ngram.count(text(rng), 2) for _ in range(2))
    given, vocabulary = student.put(counts), ["</s>", *WORDS]
    prob, other = student.ngram.AddK(given, 0.25, vocabulary).prob, student.ngram.AddK(others, 2.0, vocabulary)
    places = [(word, (context,)) for word in vocabulary for context in ("<s>", *WORDS, "fish", "eel")]
    expected = []
    for word, context in places:
        row = counts.get(context, {})
        expected.append((row.get(word, 0) + 0.25) / (sum(row.values()) + 1.5))
    for _ in range(21):
        for (word, context), exact in zip(places, expected, strict=True):
            check.close(prob(word, context), exact, "p(word | context)")
    row = others["<s>",]
    exact = (row.get("ant", 0) + 2) / (sum(row.values()) + 12)
    check.close(other.prob("ant", ("<s>",)), exact, "p(word | context) of a second model")
    check.equal(student.get(given), counts, "the counts afterwards")


# --- interpolation


def mixed(rows, lambdas, word, context):
    """The mixture by its definition, from the tables of the orders 1 to N."""
    order = len(rows)
    own = context[len(context) - order + 1 :] if order > 1 else ()
    if order == 1:
        return rows[0][()].get(word, 0.0)
    lower = mixed(rows[:-1], lambdas, word, context)
    if own not in rows[-1]:
        return lower
    return lambdas[order] * rows[-1][own].get(word, 0.0) + (1 - lambdas[order]) * lower


@item("interpolation")
@weight(3)
@pytest.mark.parametrize("n", [2, 3, 4], ids=["n2", "n3", "n4"])
def test_interpolation_mixes_all_orders(student, reference, rng, check, n):
    """Each order has its own weight, and what is left goes to the mixture of the lower orders."""
    sentences = text(rng)
    rows = tables(reference, sentences, n)
    lambdas = {order: float(rng.uniform(0.1, 0.9)) for order in range(2, n + 1)}
    prob = student.ngram.Interpolated(stack(student.testing, rows), lambdas).prob
    for context in [gram[:-1] for sentence in sentences[:6] for gram in windows(sentence, n)]:
        for word in ("ant", "bee", "</s>"):
            check.close(prob(word, context), mixed(rows, lambdas, word, context), "p(word | context)")


@item("interpolation")
@weight(2)
@pytest.mark.parametrize("seen", [1, 2, 3], ids=["one", "two", "three"])
def test_interpolation_falls_back_in_full(student, rng, check, seen):
    """Where an order has not seen the context, the mixture of the lower orders stands for it, its weight included."""
    q = rng.uniform(0.05, 0.95, size=4)
    context = ("ant", "bee", "cat")
    rows = [{context[3 - i :]: {"dog": float(q[i]), "</s>": float(1 - q[i])}} for i in range(seen)]
    rows += [{("fish",) * i: {"dog": 1.0}} for i in range(seen, 4)]
    lambdas = {2: 0.7, 3: 0.4, 4: 0.85}
    prob = student.ngram.Interpolated(stack(student.testing, rows), lambdas).prob
    exact = q[0]
    for order in range(2, seen + 1):
        exact = lambdas[order] * q[order - 1] + (1 - lambdas[order]) * exact
    check.close(prob("dog", context), exact, "p(word | context that the higher orders have not seen)")


@item("interpolation")
def test_interpolation_takes_a_zero_of_a_seen_context_into_the_mixture(student, check):
    """A word that never followed a seen context has probability 0 in that order, and 0 is mixed in."""
    rows = [{(): {"ant": 0.5, "bee": 0.5}}, {("cat",): {"ant": 1.0}}, {("dog", "cat"): {"ant": 1.0}}]
    prob = student.ngram.Interpolated(stack(student.testing, rows), {2: 0.75, 3: 0.5}).prob
    check.close(prob("bee", ("dog", "cat")), 0.5 * 0.25 * 0.5, "p(word | context)")
    check.close(prob("bee", ("eel", "cat")), 0.25 * 0.5, "p(word | context)")
    check.close(prob("fish", ("dog", "cat")), 0.0, "p(unknown word | context)")


@item("interpolation")
def test_interpolation_of_one_order_is_that_order(student, rng, check):
    """With the model of order 1 alone there is nothing to mix, whatever the context."""
    p = float(rng.uniform())
    prob = student.ngram.Interpolated([student.testing.TableModel({(): {"ant": p, "</s>": 1 - p}})], {}).prob
    for context in ((), ("fish",), ("<s>", "ant")):
        check.close(prob("ant", context), p, "p(word)")


@item("interpolation")
@pytest.mark.parametrize("kind", ["seen", "start", "unknown", "longer"], ids=["seen", "start", "unknown", "longer"])
def test_interpolation_sums_to_one(student, reference, rng, check, kind):
    """The probabilities of all words sum to 1 in every context."""
    sentences = text(rng, words=(*WORDS, "<unk>"))
    rows = tables(reference, sentences, 3)
    prob = student.ngram.Interpolated(stack(student.testing, rows), {2: 0.6, 3: 0.3}).prob
    inside = next(context for context in rows[2] if "<s>" not in context)
    contexts = {"seen": inside, "start": ("<s>", "<s>"), "unknown": ("ant", "fish"), "longer": ("dog", "dog", *inside)}
    words = (*WORDS, "<unk>", "</s>")
    total = fsum(check.number(prob(word, contexts[kind]), "p(word | context)") for word in words)
    check.close(total, 1.0, "the sum of the probabilities of all words")


@item("interpolation")
def test_interpolation_changes_nothing(student, reference, rng, check):
    """The weights are the same afterwards, the same question has the same answer, two mixtures do not mix."""
    rows = tables(reference, text(rng), 2)
    given = student.put({2: 0.375})
    models = stack(student.testing, rows)
    one, two = student.ngram.Interpolated(models, given), student.ngram.Interpolated(models, {2: 0.875})
    for _ in range(3):
        for context in (("<s>",), ("fish",)):
            check.close(one.prob("ant", context), mixed(rows, {2: 0.375}, "ant", context), "p(word | context)")
            check.close(two.prob("ant", context), mixed(rows, {2: 0.875}, "ant", context), "p(word | context)")
    check.equal(student.get(given), {2: 0.375}, "the weights afterwards")


# --- tune_lambdas

ANYTHING = {"ant": 1.0, "bee": 1.0, "dog": 1.0, "</s>": 1.0}  # but cat; a table need not sum to 1


def check_lambdas(check, got, expected):
    """The weights have the right orders and the right values of the grid."""
    check.equal(sorted(got) if type(got) is dict else got, sorted(expected), "the orders that have a weight")
    for order, value in expected.items():
        check.close(got[order], value, f"the weight of order {order}")


@item("tune_lambdas")
@weight(2)
@pytest.mark.parametrize(
    ("events", "total"), [(1, 20), (11, 20), (3, 20), (49, 50)], ids=["lowest", "above-half", "below-half", "fine"]
)
def test_tuning_finds_the_share_of_the_higher_order(student, check, events, total):
    """Where the two orders are right in turn, never both, the best weight is the share of the higher one."""
    # sum of log-probabilities: events * log(lambda) + (total - events) * log(1 - lambda)
    models = stack(student.testing, [{(): ANYTHING}, {("<s>",): {"cat": 1.0}}])
    held_out = [["cat"]] * events + [["dog"]] * (total - events)
    check_lambdas(check, student.ngram.tune_grid(models, held_out), {2: events / total})


@item("tune_lambdas")
@pytest.mark.parametrize(("n", "texts"), [(3, 6), (4, 2)], ids=["n3", "n4"])
def test_tuning_all_orders_on_random_texts(student, reference, rng, check, n, texts):
    """Held-out texts that are like the training text in part: the weights of all orders, of all texts together."""
    words, weights, expected = (*WORDS, "eel", "fly"), [], []
    for _ in range(texts):
        shared = text(rng, sentences=6)
        rows = tables(reference, [*shared, *text(rng, sentences=12, words=words), list(words)], n)
        held_out = [*shared[::2], *text(rng, sentences=9, words=words)]
        right = reference.ngram.tune_grid(stack(reference.testing, rows), held_out)
        got = student.ngram.tune_grid(stack(student.testing, rows), held_out)
        check.equal(sorted(got) if type(got) is dict else got, sorted(right), "the orders that have a weight")
        weights += [check.number(got[order], f"the weight of order {order}") for order in right]
        expected += right.values()
    check.close(np.array(weights), np.array(expected), "the weights")


@item("tune_lambdas")
def test_tuning_on_a_text_with_an_impossible_word(student, check):
    """One word that no order can explain makes every weight equally bad: then it is the smallest."""
    models = stack(student.testing, [{(): ANYTHING}, {("<s>",): {"cat": 1.0}}])
    held_out = [["cat"]] * 7 + [["dog"]] * 13 + [["fish"]]
    check_lambdas(check, student.ngram.tune_grid(models, held_out), {2: 0.05})


@item("tune_lambdas")
@weight(2)
def test_tuning_keeps_the_weights_of_the_lower_orders(student, check):
    """lambda_2 is found for the orders 1 and 2 alone, and stays as it is when lambda_3 is looked for."""
    # order 2 is right after ant, order 1 after bee: lambda_2 = 1/2. Order 3 has seen only <s> ant, and is right there:
    # lambda_3 = 0.99. Looked for together, lambda_2 would have been 0.05.
    models = stack(
        student.testing,
        [{(): ANYTHING}, {("ant",): {"cat": 1.0}, ("bee",): {"fish": 1.0}}, {("<s>", "ant"): {"cat": 1.0}}],
    )
    held_out = [["ant", "cat"], ["bee", "dog"]] * 10
    check_lambdas(check, student.ngram.tune_grid(models, held_out), {2: 0.5, 3: 0.99})


@item("tune_lambdas")
def test_tuning_mixes_an_order_with_all_lower_ones(student, check):
    """Below order 3 lies the mixture of the orders 1 and 2, not order 1 or order 2 alone."""
    # lambda_2: both words have q_2 = 1/2 and p_1 = 0, so .99 is best. Then cat has 1 and .495, eel 0 and .495:
    # 15 log(.495 + .505 x) + 5 log(1 - x) is largest at x = .505
    models = stack(
        student.testing, [{(): ANYTHING}, {("ant",): {"cat": 0.5, "eel": 0.5}}, {("<s>", "ant"): {"cat": 1.0}}]
    )
    held_out = [["ant", "cat"]] * 15 + [["ant", "eel"]] * 5
    check_lambdas(check, student.ngram.tune_grid(models, held_out), {2: 0.99, 3: 0.5})


@item("tune_lambdas")
def test_tuning_counts_the_end_of_a_sentence(student, check):
    """</s> is predicted too: here order 2 is right about each word and wrong about each end."""
    models = stack(student.testing, [{(): ANYTHING}, {("<s>",): {"cat": 1.0}, ("cat",): {"eel": 1.0}}])
    check_lambdas(check, student.ngram.tune_grid(models, [["cat"], ["cat"]]), {2: 0.5})


@item("tune_lambdas")
def test_tuning_learns_nothing_from_unseen_contexts(student, check):
    """Where an order has not seen the context the lower orders stand in full, so its weight does not matter there."""
    # after <s>: cat 6 times (order 2 is right), dog 4 times (order 1 is). The 50 other predictions are in contexts
    # that order 2 has not seen. A mean of the means of sentences would weigh the short ones more: 0.9.
    models = stack(student.testing, [{(): ANYTHING}, {("<s>",): {"cat": 1.0}}])
    held_out = [["cat"]] * 6 + [["dog"] + ["bee"] * 10] * 4
    check_lambdas(check, student.ngram.tune_grid(models, held_out), {2: 0.6})


@item("tune_lambdas")
@pytest.mark.parametrize("kind", ["unseen", "impossible"], ids=["unseen", "impossible"])
def test_tuning_breaks_ties_towards_the_smaller_weight(student, check, kind):
    """Where all weights are equally good, also where all give probability 0, it is .05."""
    second = {"unseen": {("eel",): {"cat": 1.0}}, "impossible": {("<s>",): {"cat": 1.0}}}[kind]
    first = {"unseen": {"dog": 0.3, "</s>": 0.7}, "impossible": {"cat": 0.5, "</s>": 0.5}}[kind]
    # with the impossible dog left out, or at 1e-10, the cat would ask for .99
    held_out = {"unseen": [["dog"], ["dog", "dog"]], "impossible": [["cat"], ["dog"]]}[kind]
    models = stack(student.testing, [{(): first}, second])
    check_lambdas(check, student.ngram.tune_grid(models, held_out), {2: 0.05})


@item("tune_lambdas")
@weight(2)
def test_tuning_on_random_text(student, reference, rng, check):
    """Four orders of a random text, tuned on another one; the held-out text is the same afterwards."""
    held_out = text(rng, sentences=20)
    train = text(rng, sentences=30) + held_out[:6]
    rows = tables(reference, train, 4)
    rows[0] = {(): dict.fromkeys((*WORDS, "</s>"), 1 / 6)}  # nothing is impossible
    given = student.put(held_out)
    got = student.ngram.tune_grid(stack(student.testing, rows), given)
    check_lambdas(check, got, reference.ngram.tune_grid(stack(reference.testing, rows), held_out))
    check.equal(student.get(given), held_out, "the held-out text afterwards")


# --- sampling

ALMOST_ONE = 1 - 2**-53


@item("sampling")
@weight(2)
def test_draw_inverts_the_cumulative_sums(student, rng, check):
    """The index is the first whose cumulative probability exceeds u."""
    probs = [0.5, 0.0625, 0.3125, 0.125]  # sums 0.5, 0.5625, 0.875, 1
    draw = student.ngram.draw
    for u in rng.uniform(size=100):
        check.equal(draw(probs, float(u)), int((np.cumsum(probs) <= u).sum()), "the index drawn")


@item("sampling")
@pytest.mark.parametrize(
    ("probs", "u", "index"),
    [
        ([0.25, 0.25, 0.5], 0.0, 0),
        ([0.25, 0.25, 0.5], 0.25, 1),
        ([0.25, 0.25, 0.5], 0.5, 2),
        ([0.25, 0.25, 0.5], ALMOST_ONE, 2),
        ([0.0, 0.0, 0.75, 0.25], 0.0, 2),
        ([0.5, 0.0, 0.0, 0.5], 0.5, 3),
        ([0.5, 0.5, 0.0, 0.0], ALMOST_ONE, 1),
        ([0.5, 0.25, 0.0], 0.75, 1),
        ([0.125, 0.0, 0.25, 0.0, 0.0], 0.9, 2),
        ([0.25, 0.125, 0.125], 0.3125, 1),
        ([0.1] * 10 + [0.0], ALMOST_ONE, 9),
        ([1.0], ALMOST_ONE, 0),
    ],
    ids=[
        "zero",
        "first-boundary",
        "second-boundary",
        "almost-one",
        "zeros-first",
        "zeros-between",
        "zeros-last",
        "sum-too-small",
        "sum-far-too-small",
        "sum-of-one-half",
        "rounded-sum",
        "one-side",
    ],
)
def test_draw_at_the_boundaries(student, check, probs, u, index):
    """At u = 0, at a cumulative sum, just below 1 and above the last sum the stated rule decides."""
    check.equal(student.ngram.draw(probs, u), index, "the index drawn")
    check.equal(student.ngram.draw(np.array(probs), u), index, "the index drawn from an array")


@item("sampling")
@weight(3)
@pytest.mark.parametrize("n", [1, 2, 3, 4], ids=["n1", "n2", "n3", "n4"])
def test_generate_draws_word_by_word(student, reference, rng, check, n):
    """Each word is drawn given the n - 1 words before it, one number a word, until </s>."""
    table = frequencies(reference, text(rng, sentences=30), n)
    mine, theirs = (testing.TableModel(table, order=n) for testing in (student.testing, reference.testing))
    for _ in range(12):
        uniforms = rng.uniform(size=25).tolist()
        got = student.ngram.generate(mine, uniforms, 25)
        check.equal(got, reference.ngram.generate(theirs, uniforms, 25), "the sentence")


@item("sampling")
@pytest.mark.parametrize("max_len", [1, 4], ids=["one", "four"])
def test_generate_stops_after_max_len_words(student, check, max_len):
    """A sentence has at most max_len words."""
    model = student.testing.TableModel({("<s>",): {"ant": 1.0}, ("ant",): {"ant": 0.5, "</s>": 0.5}})
    check.equal(student.ngram.generate(model, [0.75] * 10, max_len), ["ant"] * max_len, "the sentence")


@item("sampling")
def test_generate_stops_at_the_end_mark(student, check):
    """When </s> is drawn the sentence is complete, without <s> and </s>, whatever numbers are left."""
    model = student.testing.TableModel({("<s>",): {"ant": 1.0}, ("ant",): {"</s>": 0.5, "ant": 0.5}})
    for words in range(1, 4):
        uniforms = [0.75] * words + [0.25] + [0.75] * 5
        check.equal(student.ngram.generate(model, uniforms, len(uniforms)), ["ant"] * words, "the sentence")


@item("sampling")
@pytest.mark.parametrize("vocabulary", [None, ["bee", "ant", "</s>"]], ids=["sorted", "other"])
@pytest.mark.parametrize("kind", ["later", "start"], ids=["later", "start"])
def test_generate_returns_what_it_has_in_a_dead_end(student, check, kind, vocabulary):
    """Where no word has a positive probability the sentence ends, without an error."""
    later = {("<s>", "<s>"): {"ant": 1.0}, ("<s>", "ant"): {"bee": 1.0}}
    table, expected = {"later": (later, ["ant", "bee"]), "start": ({("eel", "eel"): {"ant": 1.0}}, [])}[kind]
    model = student.testing.TableModel(table, order=3, vocabulary=vocabulary)
    check.equal(student.ngram.generate(model, [0.5] * 8, 8), expected, "the sentence")


@item("sampling")
def test_generate_goes_through_the_vocabulary_in_its_order(student, check):
    """The sides of the die are the words of model.vocabulary, in that order."""
    table = {(): {"ant": 0.25, "bee": 0.25, "cat": 0.25, "</s>": 0.25}}
    uniforms = np.array([0.1, 0.8, 0.3, 0.55])
    for vocabulary, expected in (
        (["cat", "ant", "</s>", "bee"], ["cat", "bee", "ant"]),
        (["bee", "</s>", "cat", "ant"], ["bee", "ant"]),
    ):
        model = student.testing.TableModel(table, vocabulary=vocabulary)
        check.equal(student.ngram.generate(model, uniforms, 4), expected, "the sentence")


@item("sampling")
def test_generate_depends_on_its_numbers_alone(student, reference, rng, check):
    """The same numbers give the same sentence, and they are the same afterwards."""
    table = frequencies(reference, text(rng, sentences=30), 2)
    model = student.testing.TableModel(table)
    uniforms = rng.uniform(size=20).tolist()
    expected = reference.ngram.generate(reference.testing.TableModel(table), uniforms, 20)
    given = student.put(uniforms)
    for _ in range(3):
        check.equal(student.ngram.generate(model, given, 20), expected, "the sentence")
    check.equal(student.get(given), uniforms, "the numbers afterwards")

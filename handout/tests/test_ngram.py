"""Tests of lm/ngram.py on corpora small enough to count by hand."""

from math import fsum, inf, log

import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

# The lecture's three sentences.
COWS = [["the", "cow", "eats", "corn"], ["the", "cow", "eats", "hay"], ["the", "bat", "eats", "flies"]]
COW_BIGRAMS = {
    ("<s>",): {"the": 3},
    ("the",): {"cow": 2, "bat": 1},
    ("cow",): {"eats": 2},
    ("bat",): {"eats": 1},
    ("eats",): {"corn": 1, "hay": 1, "flies": 1},
    ("corn",): {"</s>": 1},
    ("hay",): {"</s>": 1},
    ("flies",): {"</s>": 1},
}
COW_WORDS = ["</s>", "bat", "corn", "cow", "eats", "flies", "hay", "the"]  # what can be predicted: V = 8

# Those of Jurafsky and Martin, Speech and Language Processing, chapter 3.
SAM = [["I", "am", "Sam"], ["Sam", "I", "am"], ["I", "do", "not", "like", "green", "eggs", "and", "ham"]]
SAM_BIGRAMS = {
    ("<s>",): {"I": 2, "Sam": 1},
    ("I",): {"am": 2, "do": 1},
    ("am",): {"Sam": 1, "</s>": 1},
    ("Sam",): {"</s>": 1, "I": 1},
    ("do",): {"not": 1},
    ("not",): {"like": 1},
    ("like",): {"green": 1},
    ("green",): {"eggs": 1},
    ("eggs",): {"and": 1},
    ("and",): {"ham": 1},
    ("ham",): {"</s>": 1},
}
SAM_WORDS = ["</s>", "I", "Sam", "am", "and", "do", "eggs", "green", "ham", "like", "not"]  # V = 11


# --- count_ngrams


@item("count_ngrams")
@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (1, [("I",), ("am",), ("Sam",), ("</s>",)]),
        (2, [("<s>", "I"), ("I", "am"), ("am", "Sam"), ("Sam", "</s>")]),
        (3, [("<s>", "<s>", "I"), ("<s>", "I", "am"), ("I", "am", "Sam"), ("am", "Sam", "</s>")]),
    ],
    ids=["n1", "n2", "n3"],
)
def test_ngrams_of_a_sentence(student, check, n, expected):
    """One n-gram for each word and one for </s>; n - 1 times <s> fill up the first ones."""
    got = student.testing.collect(student.ngram.ngrams(["I", "am", "Sam"], n))
    check.equal(got, expected, f"the {n}-grams of 'I am Sam'")


@item("count_ngrams")
def test_ngrams_of_short_sentences(student, check):
    """Sentences shorter than n have n-grams too, and so has an empty one."""
    one = student.testing.collect(student.ngram.ngrams(["moo"], 4))
    check.equal(one, [("<s>", "<s>", "<s>", "moo"), ("<s>", "<s>", "moo", "</s>")], "the 4-grams of 'moo'")
    none = student.testing.collect(student.ngram.ngrams([], 3))
    check.equal(none, [("<s>", "<s>", "</s>")], "the trigrams of an empty sentence")


@item("count_ngrams")
@pytest.mark.parametrize(
    ("sentences", "n", "expected"),
    [
        (COWS, 1, {(): {"the": 3, "cow": 2, "bat": 1, "eats": 3, "corn": 1, "hay": 1, "flies": 1, "</s>": 3}}),
        (COWS, 2, COW_BIGRAMS),
        (SAM, 2, SAM_BIGRAMS),
    ],
    ids=["cows-n1", "cows-n2", "Sam-n2"],
)
def test_counts_of_a_small_corpus(student, check, sentences, n, expected):
    """How often each word follows each context."""
    check.equal(student.ngram.count(sentences, n), expected, "the counts")


@item("count_ngrams")
def test_sentences_are_counted_one_by_one(student, check):
    """The second sentence starts after <s>, not after the last word of the first."""
    expected = {
        ("<s>", "<s>"): {"moo": 2},
        ("<s>", "moo"): {"</s>": 1, "Moo": 1},
        ("moo", "Moo"): {"</s>": 1},
    }
    check.equal(student.ngram.count([["moo"], ["moo", "Moo"]], 3), expected, "the trigram counts")


@item("count_ngrams")
def test_counting_changes_no_sentence(student, check):
    """The sentences are the same afterwards, and a second count starts from zero. Tuples do as well as lists."""
    sentences = student.put(COWS)
    for _ in range(2):
        check.equal(student.ngram.count(sentences, 2), COW_BIGRAMS, "the counts")
    check.equal(student.get(sentences), COWS, "the sentences afterwards")
    check.equal(student.ngram.count([tuple(s) for s in COWS], 2), COW_BIGRAMS, "the counts of tuples of words")


# --- mle


@item("mle")
@pytest.mark.parametrize(
    ("word", "context", "expected"),
    [("cow", "the", 2 / 3), ("corn", "eats", 1 / 3), ("</s>", "corn", 1.0), ("corn", "the", 0.0)],
    ids=["cow-the", "corn-eats", "end-corn", "corn-the"],
)
def test_mle_of_the_cows(student, check, word, context, expected):
    """A relative frequency: of the 3 words after "the", 2 are "cow"."""
    model = student.ngram.MLE(COW_BIGRAMS)
    check.close(model.prob(word, (context,)), expected, f"P({word} | {context})")


@item("mle")
def test_mle_of_sam(student, check):
    """The probabilities in the textbook of Jurafsky and Martin, and the lecture's four cows that eat corn."""
    model = student.ngram.MLE(SAM_BIGRAMS)
    for word, context, expected in (
        ("I", "<s>", 2 / 3),
        ("Sam", "<s>", 1 / 3),
        ("am", "I", 2 / 3),
        ("</s>", "Sam", 1 / 2),
        ("Sam", "am", 1 / 2),
        ("do", "I", 1 / 3),
    ):
        check.close(model.prob(word, (context,)), expected, f"P({word} | {context})")
    trigrams = student.ngram.MLE({("cows", "eat"): {"corn": 4, "grass": 3, "hay": 2, "if": 1, "which": 1}})
    check.close(trigrams.prob("corn", ("cows", "eat")), 4 / 11, "P(corn | cows eat)")


@item("mle")
def test_mle_of_what_was_never_seen(student, check):
    """0.0, without an error: in an unseen context, for an unknown word, for <s>. Asking changes nothing."""
    counts = student.put(COW_BIGRAMS)
    model = student.ngram.MLE(counts)
    for word, context in (("cow", "fish"), ("fish", "fish"), ("fish", "the"), ("<s>", "the"), ("the", "</s>")):
        check.close(model.prob(word, (context,)), 0.0, f"P({word} | {context})")
    check.equal(student.get(counts), COW_BIGRAMS, "the counts afterwards")


@item("mle")
def test_mle_looks_at_the_last_words_only(student, check):
    """Of a longer context a bigram model reads the last word and a unigram model none; all words sum to 1."""
    bigrams = student.ngram.MLE(COW_BIGRAMS)
    unigrams = student.ngram.MLE({(): {"the": 3, "cow": 2, "bat": 1, "</s>": 2}})
    check.close(bigrams.prob("cow", ("<s>", "fish", "the")), 2 / 3, "P(cow | <s> fish the)")
    check.close(unigrams.prob("cow", ("<s>", "the")), 2 / 8, "P(cow)")
    total = fsum(check.number(bigrams.prob(word, ("bat", "eats")), "P(word | bat eats)") for word in COW_WORDS)
    check.close(total, 1.0, "the sum of P(word | bat eats) over all words")


# --- sentence_logprob

# The relative frequencies of the bigrams above, as a model that needs no code of yours.
COW_TABLE = {
    ("<s>",): {"the": 1.0},
    ("the",): {"cow": 2 / 3, "bat": 1 / 3},
    ("cow",): {"eats": 1.0},
    ("bat",): {"eats": 1.0},
    ("eats",): {"corn": 1 / 3, "hay": 1 / 3, "flies": 1 / 3},
    ("corn",): {"</s>": 1.0},
    ("hay",): {"</s>": 1.0},
    ("flies",): {"</s>": 1.0},
}


@item("sentence_logprob")
@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        # 1 * 1/3 * 1 * 1/3 * 1: possible, though it is none of the three sentences
        (["the", "bat", "eats", "corn"], log(1 / 9)),
        # 1 * 2/3 * 1 * 1/3 * 1
        (("the", "cow", "eats", "hay"), log(2 / 9)),
    ],
    ids=["bat", "cow-tuple"],
)
def test_logprob_of_a_sentence(student, check, sentence, expected):
    """The logarithms of five probabilities add up: four words and </s>."""
    model = student.testing.TableModel(COW_TABLE)
    check.close(student.ngram.sentence_logprob(model, sentence), expected, "log P(sentence)")


@item("sentence_logprob")
def test_logprob_of_an_impossible_sentence(student, check):
    """-inf, without an error, also when only the end is impossible."""
    model = student.testing.TableModel(COW_TABLE)
    for sentence in (["the", "cow", "eats", "fish"], ["the", "cow", "eats"], []):
        check.close(student.ngram.sentence_logprob(model, sentence), -inf, f"log P({' '.join(sentence)})")


@item("sentence_logprob")
def test_logprob_reads_contexts_of_the_right_length(student, check):
    """A trigram model reads two words, at the start <s> <s>; a long sentence has a finite logarithm."""
    table = {
        ("<s>", "<s>"): {"moo": 1 / 2, "</s>": 1 / 4},
        ("<s>", "moo"): {"moo": 1 / 2},
        ("moo", "moo"): {"moo": 1 / 2, "</s>": 1 / 8},
    }
    model = student.testing.TableModel(table)
    check.close(student.ngram.sentence_logprob(model, []), log(1 / 4), "log P(empty sentence)")
    check.close(student.ngram.sentence_logprob(model, ["moo"] * 3), log(1 / 64), "log P(moo moo moo)")
    check.close(student.ngram.sentence_logprob(model, ["moo"] * 3000), -3003 * log(2), "log P(3000 times moo)")


# --- add_k


@item("add_k")
def test_add_one_of_the_cows(student, check):
    """Exercise 1: every count is one larger, and the denominator grows by V."""
    model = student.ngram.AddK(COW_BIGRAMS, 1, COW_WORDS)
    check.close(model.prob("corn", ("eats",)), 2 / 11, "P(corn | eats)")  # (1 + 1) / (3 + 8)
    check.close(model.prob("the", ("eats",)), 1 / 11, "P(the | eats)")  # (0 + 1) / (3 + 8)
    check.close(model.prob("fish", ("eats",)), 0.0, "P(fish | eats)")  # fish is not in the vocabulary
    check.close(model.prob("<s>", ("eats",)), 0.0, "P(<s> | eats)")
    larger = student.ngram.AddK(COW_BIGRAMS, 1, [*COW_WORDS, "fish"])
    check.close(larger.prob("fish", ("eats",)), 1 / 12, "P(fish | eats) with fish in the vocabulary")


@item("add_k")
@pytest.mark.parametrize(
    ("k", "word", "context", "expected"),
    [
        (1, "am", "I", 3 / 14),  # (2 + 1) / (3 + 11)
        (0.5, "am", "I", 2.5 / 8.5),  # (2 + 0.5) / (3 + 0.5 * 11)
        (0.5, "ham", "I", 0.5 / 8.5),
        (3, "</s>", "ham", 4 / 34),  # (1 + 3) / (1 + 3 * 11)
    ],
    ids=["one", "half", "half-unseen", "three"],
)
def test_add_k_of_sam(student, check, k, word, context, expected):
    """k is added, whatever it is, for words that were seen in this context and for those that were not."""
    model = student.ngram.AddK(SAM_BIGRAMS, k, SAM_WORDS)
    check.close(model.prob(word, (context,)), expected, f"P({word} | {context})")


@item("add_k")
@pytest.mark.parametrize(
    "context",
    [("the",), ("<s>",), ("fish",), ("the", "bat", "eats")],
    ids=["seen", "start", "unknown", "longer"],
)
def test_add_k_sums_to_one(student, check, context):
    """Over the vocabulary the probabilities sum to 1 in every context."""
    model = student.ngram.AddK(COW_BIGRAMS, 0.1, COW_WORDS)
    total = fsum(check.number(model.prob(word, context), "P(word | context)") for word in COW_WORDS)
    check.close(total, 1.0, "the sum of the probabilities over the vocabulary")


@item("add_k")
def test_add_k_in_an_unseen_context(student, check):
    """1/V for every word of the vocabulary: k cancels."""
    model = student.ngram.AddK(COW_BIGRAMS, 0.3, [*COW_WORDS, "fish"])
    for word in ("cow", "</s>", "fish"):
        check.close(model.prob(word, ("fish",)), 1 / 9, f"P({word} | fish)")


@item("add_k")
def test_add_k_with_unk(student, check):
    """Where the vocabulary has <unk>, it stands for unknown words, as the word and in the context; <s> stays <s>."""
    counts = {("<s>",): {"cow": 2, "<unk>": 1}, ("cow",): {"<unk>": 2}, ("<unk>",): {"cow": 1, "</s>": 3}}
    model = student.ngram.AddK(counts, 0.5, ["</s>", "<unk>", "cow"])  # V = 3: every denominator grows by 1.5
    check.close(model.prob("fish", ("cow",)), 2.5 / 3.5, "P(fish | cow) = P(<unk> | cow)")
    check.close(model.prob("cow", ("fish",)), 1.5 / 5.5, "P(cow | fish) = P(cow | <unk>)")
    check.close(model.prob("fish", ("hen",)), 0.5 / 5.5, "P(fish | hen) = P(<unk> | <unk>)")
    check.close(model.prob("fish", ("<s>",)), 1.5 / 4.5, "P(fish | <s>) = P(<unk> | <s>)")
    check.close(model.prob("<s>", ("cow",)), 0.0, "P(<s> | cow)")


@item("add_k")
def test_add_k_looks_at_the_last_words_and_changes_nothing(student, check):
    """Of a longer context a bigram model reads the last word. The counts are the same afterwards."""
    counts = student.put(SAM_BIGRAMS)
    model = student.ngram.AddK(counts, 2, SAM_WORDS)
    for _ in range(2):
        check.close(model.prob("am", ("<s>", "Sam", "I")), 4 / 25, "P(am | <s> Sam I)")  # (2 + 2) / (3 + 2 * 11)
        check.close(model.prob("am", ("Sam", "fish")), 1 / 11, "P(am | Sam fish)")
    check.equal(student.get(counts), SAM_BIGRAMS, "the counts afterwards")


# --- interpolation


def three_orders(student):
    """Models of the orders 1, 2 and 3, by their probabilities."""
    return [
        student.testing.TableModel({(): {"moo": 0.5, "</s>": 0.5}}),
        student.testing.TableModel({("cow",): {"moo": 0.25, "</s>": 0.75}}),
        student.testing.TableModel({("the", "cow"): {"moo": 1.0}}),
    ]


@item("interpolation")
def test_interpolation_of_three_orders(student, check):
    """The example of the docstring: the weight belongs to the higher order, the rest to the mixture below it."""
    model = student.ngram.Interpolated(three_orders(student), {2: 0.8, 3: 0.5})
    # p_2 = 0.8 * 0.25 + 0.2 * 0.5 = 0.3, p_3 = 0.5 * 1 + 0.5 * 0.3
    check.close(model.prob("moo", ("the", "cow")), 0.65, "P(moo | the cow)")
    check.close(model.prob("moo", ("<s>", "the", "cow")), 0.65, "P(moo | <s> the cow)")


@item("interpolation")
@pytest.mark.parametrize(
    ("context", "expected"), [(("a", "cow"), 0.3), (("a", "bat"), 0.5)], ids=["order-3-unseen", "order-2-unseen-too"]
)
def test_interpolation_in_an_unseen_context(student, check, context, expected):
    """The mixture of the lower orders, in full: the weight of an order that has not seen the context is not lost."""
    model = student.ngram.Interpolated(three_orders(student), {2: 0.8, 3: 0.5})
    check.close(model.prob("moo", context), expected, f"P(moo | {' '.join(context)})")


@item("interpolation")
def test_interpolation_with_a_zero(student, check):
    """A word that never followed a seen context is no unseen context: its 0 is mixed in. All words sum to 1."""
    model = student.ngram.Interpolated(three_orders(student), {2: 0.8, 3: 0.5})
    # p_2 = 0.8 * 0.75 + 0.2 * 0.5 = 0.7, p_3 = 0.5 * 0 + 0.5 * 0.7
    check.close(model.prob("</s>", ("the", "cow")), 0.35, "P(</s> | the cow)")


@item("interpolation")
def test_interpolation_of_fewer_orders(student, check):
    """Two orders, and one, which is itself whatever the context."""
    models = three_orders(student)
    two, one = student.ngram.Interpolated(models[:2], {2: 0.25}), student.ngram.Interpolated(models[:1], {})
    check.close(two.prob("moo", ("the", "cow")), 0.4375, "P(moo | the cow)")  # 0.25 * 0.25 + 0.75 * 0.5
    check.close(one.prob("moo", ("the", "cow")), 0.5, "P(moo)")


# --- tune_lambdas

# Order 1 gives 1 to every word here but "corn": easier to follow than numbers that sum to 1.
ALL_BUT_CORN = {"hay": 1.0, "cows": 1.0, "bats": 1.0, "</s>": 1.0}


def check_lambdas(check, got, expected):
    """A dict of the right orders, each with the right weight."""
    check.equal(sorted(got) if type(got) is dict else got, sorted(expected), "the orders that have a weight")
    for order, value in expected.items():
        check.close(got[order], value, f"the weight of order {order}")


@item("tune_lambdas")
def test_tuning_two_orders(student, check):
    """Order 2 is right about 7 first words of 20, order 1 about the other 13: the best weight is 7/20."""
    models = [
        student.testing.TableModel({(): ALL_BUT_CORN}),
        student.testing.TableModel({("<s>",): {"corn": 1.0}}),
    ]
    got = student.ngram.tune_grid(models, [["corn"]] * 7 + [["hay"]] * 13)
    check_lambdas(check, got, {2: 0.35})  # largest 7 log(x) + 13 log(1 - x)


@item("tune_lambdas")
def test_tuning_one_order_after_the_other(student, check):
    """lambda_2 is found for the orders 1 and 2 alone and then stays."""
    models = [
        student.testing.TableModel({(): ALL_BUT_CORN}),
        student.testing.TableModel({("cows",): {"corn": 1.0}, ("bats",): {"flies": 1.0}}),
        student.testing.TableModel({("<s>", "cows"): {"corn": 1.0}}),
    ]
    # order 2 is right after "cows" (3 times) and wrong after "bats" (once): 3 log(x) + log(1 - x), x = 3/4.
    # order 3 has seen "<s> cows" only and is always right there, so .99 is best. With .99 there, a small lambda_2
    # would do better for "bats", but it is not looked for again.
    got = student.ngram.tune_grid(models, [["cows", "corn"]] * 3 + [["bats", "hay"]])
    check_lambdas(check, got, {2: 0.75, 3: 0.99})


@item("tune_lambdas")
@weight(0.5)
def test_tuning_order_three_against_the_mixture_below(student, check):
    """lambda_3 is the weight against the mixture of the orders 1 and 2, not against order 1 alone."""
    models = [
        student.testing.TableModel({(): {**ALL_BUT_CORN, "flies": 0.5}}),
        student.testing.TableModel({("cows",): {"corn": 0.5, "flies": 0.5}}),
        student.testing.TableModel({("<s>", "cows"): {"corn": 1.0}}),
    ]
    # "corn" asks for the largest lambda_2: .99. Then p_2(corn) = .495 and p_2(flies) = .5, and
    # 3 log(.495 + .505 x) + log(.5 (1 - x)) is largest at x = .505. With p_1(corn) = 0 in place of p_2 it were .75.
    got = student.ngram.tune_grid(models, [["cows", "corn"]] * 3 + [["cows", "flies"]])
    check_lambdas(check, got, {2: 0.99, 3: 0.5})


@item("tune_lambdas")
@weight(0.5)
def test_tuning_on_an_impossible_text(student, check):
    """With a word that no order explains, every weight gives -inf: then it is the smallest, without an error."""
    models = [
        student.testing.TableModel({(): ALL_BUT_CORN}),
        student.testing.TableModel({("<s>",): {"corn": 1.0}}),
    ]
    check_lambdas(check, student.ngram.tune_grid(models, [["corn"]] * 7 + [["hay"]] * 3 + [["fish"]]), {2: 0.05})


@item("tune_lambdas")
@weight(0.5)
def test_tuning_counts_the_ends(student, check):
    """Order 2 is right about each of the words and wrong about each of the ends: 1/2."""
    models = [
        student.testing.TableModel({(): ALL_BUT_CORN}),
        student.testing.TableModel({("<s>",): {"corn": 1.0}, ("corn",): {"flies": 1.0}}),
    ]
    check_lambdas(check, student.ngram.tune_grid(models, [["corn"]] * 3), {2: 0.5})


@item("tune_lambdas")
@weight(0.5)
def test_tuning_in_unseen_contexts(student, check):
    """An order that has not seen a context says nothing there; where it never has, all weights tie: the smallest."""
    models = [
        student.testing.TableModel({(): ALL_BUT_CORN}),
        student.testing.TableModel({("<s>",): {"corn": 1.0}}),
        student.testing.TableModel({("fish", "fish"): {"corn": 1.0}}),
    ]
    # 4 first words of 5 are "corn"; what follows is in contexts that order 2 has not seen
    got = student.ngram.tune_grid(models, [["corn", "hay", "hay"]] * 4 + [["hay", "hay", "hay"]])
    check_lambdas(check, got, {2: 0.8, 3: 0.05})


# --- sampling


@item("sampling")
@pytest.mark.parametrize(
    ("u", "expected"),
    [(0.0, 0), (0.2, 0), (0.25, 1), (0.7, 1), (0.75, 2), (0.99, 2)],
    ids=["0", "20", "25", "70", "75", "99"],
)
def test_draw_throws_a_loaded_die(student, check, u, expected):
    """The first index whose cumulative probability exceeds u: the sums are 0.25, 0.75 and 1."""
    check.equal(student.ngram.draw([0.25, 0.5, 0.25], u), expected, f"the index drawn with u = {u}")


@item("sampling")
def test_draw_never_takes_an_impossible_index(student, check):
    """An index of probability 0 is not drawn: not with u = 0, not in between, not when the sum stays below u."""
    check.equal(student.ngram.draw([0.0, 0.5, 0.5], 0.0), 1, "the index drawn with u = 0")
    check.equal(student.ngram.draw([0.5, 0.0, 0.5], 0.5), 2, "the index drawn with u = 0.5")
    check.equal(student.ngram.draw([0.5, 0.25, 0.0], 0.9), 1, "the index drawn with u above the sum")


@item("sampling")
def test_generate_a_sentence(student, check):
    """One number a word, each in the context of the words before it."""
    model = student.testing.TableModel(COW_TABLE)
    # the words in order: </s>, bat, corn, cow, eats, flies, hay, the. After "the": bat up to 1/3, cow up to 1.
    # After "eats": corn up to 1/3, flies up to 2/3, hay up to 1.
    for animal, food, expected in (
        (0.1, 0.5, "the bat eats flies"),
        (0.4, 0.9, "the cow eats hay"),
        (0.9, 0.0, "the cow eats corn"),
    ):
        got = student.ngram.generate(model, [0.7, animal, 0.7, food, 0.7, 0.7, 0.7], 7)
        check.equal(got, expected.split(), "the sentence")


@item("sampling")
def test_generate_stops(student, check):
    """After max_len words, before </s>, or where nothing is possible any more: then it is what was drawn so far."""
    table = {
        ("<s>", "<s>"): {"moo": 1.0},
        ("<s>", "moo"): {"moo": 0.5, "baa": 0.5},
        ("moo", "moo"): {"moo": 0.75, "</s>": 0.25},
    }
    model = student.testing.TableModel(table)  # the words in order: </s>, baa, moo
    check.equal(student.ngram.generate(model, [0.9] * 6, 4), ["moo"] * 4, "a sentence of max_len words")
    check.equal(student.ngram.generate(model, [0.9, 0.9, 0.9, 0.1, 0.9], 5), ["moo"] * 3, "a sentence that ends")
    check.equal(student.ngram.generate(model, [0.9, 0.1, 0.9, 0.9], 4), ["moo", "baa"], "a sentence in a dead end")


@item("sampling")
def test_generate_in_the_order_of_the_vocabulary(student, check):
    """The die has the words of model.vocabulary on its sides, in their order; <s> is never drawn."""
    table = {(): {"moo": 0.5, "baa": 0.25, "</s>": 0.25}}
    model = student.testing.TableModel(table, vocabulary=["moo", "baa", "</s>"])
    check.equal(student.ngram.generate(model, [0.0, 0.6, 0.3, 0.8], 4), ["moo", "baa", "moo"], "the sentence")

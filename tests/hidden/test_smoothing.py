"""Hidden tests of lm/smoothing.py: random text, published figures and the corners that are promised."""

from math import fsum, log

import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

WORDS = ("ant", "bee", "cat", "dog", ".")


def text(rng, sentences=15, words=WORDS, longest=6):
    """Random sentences of 1 to ``longest`` words, and an empty one."""
    lengths = [0, *rng.integers(1, longest + 1, size=sentences)]
    return [[words[i] for i in rng.integers(0, len(words), size=length)] for length in lengths]


def tables(reference, sentences, n):
    """Counts of the orders 1 to n."""
    return [reference.ngram.count(sentences, order) for order in range(1, n + 1)]


def places(rng, n, words=WORDS, times=40):
    """Random questions: a word or the end, and n - 1 words before it, of which the first ones may be starts."""
    found = []
    for _ in range(times):
        starts = int(rng.integers(0, n))
        context = ["<s>"] * starts + [words[i] for i in rng.integers(0, len(words), size=n - 1 - starts)]
        found.append(([*words, "</s>"][int(rng.integers(0, len(words) + 1))], tuple(context)))
    return found


def numbers(check, got, expected, what, **room):
    """A dict of numbers has the right keys, and under each the right number."""
    check.equal(sorted(got) if type(got) is dict else got, sorted(expected), f"the keys of {what}")
    for key, value in expected.items():
        check.close(got[key], value, f"{what}: what belongs to {key}", **room)


def nltks_text(starts, ends, n):
    """Counts of the two sentences of nltk.lm's own tests, which count the start of a sentence as well: "S" here."""
    counts = {}
    for sentence in (list("abcd"), ["<unk>", "<unk>", "a", "d", "b", "<unk>"]):
        padded = ["S"] * starts + sentence + ["</s>"] * ends
        for i in range(len(padded) - n + 1):
            row = counts.setdefault(tuple(padded[i : i + n - 1]), {})
            row[padded[i + n - 1]] = row.get(padded[i + n - 1], 0) + 1
    return counts


# --- stupid_backoff


@item("stupid_backoff")
@weight(3)
@pytest.mark.parametrize("n", [1, 2, 4], ids=["n1", "n2", "n4"])
def test_backoff_on_random_text(student, reference, rng, check, n):
    """The longest context that the word has followed decides, and each word that was dropped costs the factor."""
    counts = tables(reference, text(rng), n)
    factor = float(rng.uniform(0.2, 0.9))
    model, right = student.smoothing.StupidBackoff(counts, factor), reference.smoothing.StupidBackoff(counts, factor)
    for word, context in places(rng, n):
        check.close(model.prob(word, context), right.prob(word, context), "S(word | context)")


@item("stupid_backoff")
def test_backoff_agrees_with_nltk(student, check):
    """The scores of nltk.lm's own tests, of a trigram model with the factor 0.4."""
    prob = student.smoothing.StupidBackoff([nltks_text(2, 2, n) for n in (1, 2, 3)]).prob
    check.close(prob("c", ("a", "b")), 1.0, "S(c | a b)")
    check.close(prob("c", ("z", "b")), 0.4 * 1 / 2, "S(c | z b)")
    check.close(prob("c", ("a", "<s>")), 0.4 * 0.4 * 1 / 18, "S(c), two words dropped")
    check.close(prob("y", ("a", "<s>")), 0.4 * 0.4 * 3 / 18, "S(an unknown word), two words dropped")


@item("stupid_backoff")
def test_backoff_pays_for_an_unseen_context(student, check):
    """Where a context was never seen, its oldest word is dropped, and that costs the factor as well."""
    counts = [{(): {"ant": 6, "bee": 4}}, {("cat",): {"ant": 3, "bee": 1}}, {("cat", "cat"): {"bee": 1}}]
    prob = student.smoothing.StupidBackoff(counts, 0.3).prob
    check.close(prob("ant", ("dog", "cat")), 0.3 * 3 / 4, "S(ant | one word dropped)")
    check.close(prob("ant", ("cat", "dog")), 0.3**2 * 6 / 10, "S(ant | two words dropped)")
    check.close(prob("ant", ("cat", "cat")), 0.3 * 3 / 4, "S(ant | a seen context that it never followed)")


@item("stupid_backoff")
def test_backoff_of_words_that_were_never_counted(student, reference, rng, check):
    """A word that was never counted has the score 0.0; <s> has it too."""
    prob = student.smoothing.StupidBackoff(tables(reference, text(rng), 3), 0.4).prob
    for word in ("fish", "<s>"):
        for context in (("<s>", "<s>"), ("fish", "eel"), ("ant", "bee")):
            check.close(prob(word, context), 0.0, "S(a word that was never counted)")


@item("stupid_backoff")
@weight(2)
def test_backoff_reads_unknown_words_as_unk(student, reference, rng, check):
    """Where <unk> was counted, it stands for unknown words, in place of the word and in the context; <s> stays."""
    words = ("ant", "bee", "<unk>")
    counts = tables(reference, [*text(rng, words=words), ["<unk>", "ant", "<unk>"], ["ant", "<unk>", "<unk>"]], 3)
    prob = student.smoothing.StupidBackoff(counts, 0.4).prob
    right = reference.smoothing.StupidBackoff(counts, 0.4).prob
    for word, context in (
        ("fish", ("<unk>", "ant")),
        ("fish", ("ant", "ant")),
        ("ant", ("<s>", "fish")),
        ("fish", ("ant", "eel")),
        ("ant", ("<s>", "<s>")),
    ):
        known = tuple("<unk>" if w in ("fish", "eel") else w for w in (word, *context))
        check.close(prob(word, context), right(known[0], known[1:]), "S(word | context) with unknown words")
    check.close(prob("<s>", ("ant", "<s>")), 0.0, "S(<s>)")


@item("stupid_backoff")
@pytest.mark.parametrize("n", [1, 3], ids=["n1", "n3"])
def test_backoff_looks_at_the_last_words_of_the_context(student, reference, rng, check, n):
    """Words before the last n - 1 cost nothing and change nothing, and neither does asking."""
    counts = tables(reference, text(rng), n)
    given = student.put(counts)
    model, right = student.smoothing.StupidBackoff(given, 0.4), reference.smoothing.StupidBackoff(counts, 0.4)
    for word, context in places(rng, n, times=15):
        check.close(model.prob(word, ("cat", "fish", *context)), right.prob(word, context), "S(word | longer context)")
    check.equal(student.get(given), counts, "the counts afterwards")


# --- good_turing

# Church and Gale (1991): bigrams of 22 million words of newswire, and how many occurred 0, 1, .., 9 times.
NEWSWIRE = (74_671_100_000, 2_018_046, 449_721, 188_933, 105_668, 68_379, 48_190, 35_709, 27_710, 22_280)


@item("good_turing")
@weight(2)
def test_good_turing_on_newswire(student, check):
    """The published column r*: 0.000027 for bigrams never seen, then 0.446, 1.26, 2.24, 3.24, ... 7.24."""
    got = student.smoothing.good_turing(dict(enumerate(NEWSWIRE)))
    expected = {r: (r + 1) * NEWSWIRE[r + 1] / NEWSWIRE[r] for r in range(9)}
    numbers(check, got, {**expected, 9: 9.0}, "the adjusted counts")


@item("good_turing")
@weight(2)
@pytest.mark.parametrize("kind", ["whole", "gaps", "zeros"], ids=["whole", "gaps", "zeros"])
def test_good_turing_of_random_counts(student, reference, rng, check, kind):
    """The formula where N_(r+1) > 0 and the count itself where it is 0, whether that is written down or not."""
    table = {r: int(rng.integers(1, 900)) for r in rng.permutation(range(1, 16)).tolist()}
    if kind != "whole":
        for r in (3, 7, 8, 12):
            table.update({r: 0}) if kind == "zeros" else table.pop(r)
    got = student.smoothing.good_turing(table)
    numbers(check, got, reference.smoothing.good_turing(table), "the adjusted counts")


@item("good_turing")
@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({5: 3}, {5: 5.0}),
        ({0: 8, 2: 3}, {0: 0.0, 2: 2.0}),
        ({0: 8, 1: 2}, {0: 0.25, 1: 1.0}),
        ({1: 4, 2: 7, 3: 9}, {1: 3.5, 2: 27 / 7, 3: 3.0}),
    ],
    ids=["one", "zero-with-a-gap", "zero", "grows"],
)
def test_good_turing_at_the_ends(student, check, table, expected):
    """At the largest r and at a gap the count stays; r = 0 follows the same formula; a count may grow."""
    numbers(check, student.smoothing.good_turing(table), expected, "the adjusted counts")


@item("good_turing")
def test_good_turing_keeps_the_total(student, rng, check):
    """What is taken from the counts goes to the next lower one: without gaps, sum N_r r* is the text and the top."""
    table = {r: int(rng.integers(1, 50)) for r in range(7)}
    given = student.put(table)
    got = student.smoothing.good_turing(given)
    total = fsum(table[r] * check.number(got[r], f"the adjusted count {r}*") for r in table)
    exact = sum(r * number for r, number in table.items()) + 6 * table[6]
    check.close(total, float(exact), "the sum of N_r r*")
    check.equal(student.get(given), table, "the counts of counts afterwards")


# --- kneser_ney


@item("kneser_ney")
@weight(2)
@pytest.mark.parametrize("n", [2, 4], ids=["n2", "n4"])
def test_continuations_are_types(student, reference, rng, check, n):
    """A continuation count is the number of different words that stood before the shorter n-gram."""
    counts = reference.ngram.count(text(rng, sentences=25), n)
    types = {(context, word) for context, row in counts.items() for word in row}
    expected = {}
    for context, word in types:
        row = expected.setdefault(context[1:], {})
        row[word] = len({other[0] for other, last in types if last == word and other[1:] == context[1:]})
    given = student.put(counts)
    check.equal(student.smoothing.continuation_counts(given), expected, "the continuation counts")
    check.equal(student.get(given), counts, "the counts afterwards")


@item("kneser_ney")
@weight(3)
@pytest.mark.parametrize("n", [1, 2, 3, 4], ids=["n1", "n2", "n3", "n4"])
def test_kneser_ney_on_random_text(student, reference, rng, check, n):
    """Discounted counts at the top, discounted continuation counts below, shares of contexts at the bottom."""
    counts = reference.ngram.count(text(rng), n)
    discount = float(rng.uniform(0.1, 0.9))
    model, right = student.smoothing.KneserNey(counts, discount), reference.smoothing.KneserNey(counts, discount)
    for word, context in places(rng, n):
        check.close(model.prob(word, context), right.prob(word, context), "p(word | context)")


@item("kneser_ney")
@weight(2)
def test_kneser_ney_agrees_with_nltk(student, check):
    """The scores of nltk.lm's own tests, with the discount 0.75; one more start makes our 14 bigrams its own."""
    prob = student.smoothing.KneserNey(nltks_text(3, 2, 3)).prob
    check.close(prob("c", ("a", "<s>")), 1 / 14, "P(c)")
    check.close(prob("y", ("a", "<s>")), 3 / 14, "P(an unknown word)")
    check.close(prob("c", ("a", "b")), 0.25 + 0.75 * (0.125 + 0.75 / 14), "P(c | a b)")
    check.close(prob("c", ("z", "b")), 0.125 + 0.75 / 14, "P(c | z b)")


@item("kneser_ney")
@weight(2)
@pytest.mark.parametrize("n", [2, 3], ids=["n2", "n3"])
def test_kneser_ney_sums_to_one(student, reference, rng, check, n):
    """In every context, seen or not, the probabilities of the vocabulary sum to 1, <unk> among it."""
    words = (*WORDS, "<unk>")
    counts = reference.ngram.count([*text(rng, words=words), list(words)], n)
    prob = student.smoothing.KneserNey(counts, 0.6).prob
    contexts = [next(iter(counts)), ("fish", "ant"), ("</s>", "</s>"), ("ant", "fish", "bee", "cat")]
    for context in contexts:
        total = fsum(check.number(prob(word, context), "p(word | context)") for word in (*words, "</s>"))
        check.close(total, 1.0, "the sum of the probabilities of the vocabulary")


@item("kneser_ney")
def test_kneser_ney_of_an_unseen_context_is_the_lower_order(student, check):
    """Where the context was never seen, the order below stands in full: its own discounted continuation counts."""
    counts = {("cat", "ant"): {"bee": 5, "cat": 1}, ("dog", "ant"): {"bee": 1}, ("ant", "bee"): {"cat": 2}}
    prob = student.smoothing.KneserNey(counts, 0.5).prob
    # the table of order 2: ant -> bee 2, cat 1; bee -> cat 1. Of order 1: bee 1, cat 2
    check.close(prob("bee", ("bee", "ant")), (1.5 + 0.5 * 2 * 1 / 3) / 3, "p(bee | an unseen context)")
    check.close(prob("cat", ("cat", "bee")), 0.5 + 0.5 * 2 / 3, "p(cat | an unseen context)")
    check.close(prob("cat", ("ant", "dog")), 2 / 3, "p(cat | nothing seen)")
    check.close(prob("cat", ("dog", "ant")), 0.5 * (0.5 + 0.5 * 2 * 2 / 3) / 3, "p(cat | a context seen once)")


@item("kneser_ney")
def test_kneser_ney_reads_unknown_words_as_unk(student, reference, rng, check):
    """Where <unk> was counted, it stands for unknown words, in the context as well; otherwise they have 0.0."""
    sentences = [*text(rng, words=("ant", "bee", "<unk>")), ["<unk>", "ant", "<unk>"], ["ant", "<unk>", "<unk>"]]
    counts = reference.ngram.count(sentences, 3)
    prob, right = student.smoothing.KneserNey(counts, 0.4).prob, reference.smoothing.KneserNey(counts, 0.4).prob
    for word, context in (("fish", ("<unk>", "ant")), ("ant", ("<s>", "fish")), ("fish", ("ant", "eel"))):
        known = tuple("<unk>" if w in ("fish", "eel") else w for w in (word, *context))
        check.close(prob(word, context), right(known[0], known[1:]), "p(word | context) with unknown words")
    check.close(prob("ant", ("<s>", "<s>")), right("ant", ("<s>", "<s>")), "p(ant | start)")
    check.close(prob("<s>", ("ant", "<s>")), 0.0, "p(<s> | context)")
    plain = student.smoothing.KneserNey(reference.ngram.count(text(rng), 2), 0.4).prob
    for word in ("fish", "<s>", "<unk>"):
        check.close(plain(word, ("ant",)), 0.0, "p(a word that was never counted)")


@item("kneser_ney")
def test_asking_changes_nothing_in_kneser_ney(student, reference, rng, check):
    """A longer context is cut, a second model is a model of its own, and the counts stay as they are."""
    counts, others = (reference.ngram.count(text(rng), 3) for _ in range(2))
    given = student.put(counts)
    model, other = student.smoothing.KneserNey(given, 0.75), student.smoothing.KneserNey(others, 0.25)
    right, second = reference.smoothing.KneserNey(counts, 0.75), reference.smoothing.KneserNey(others, 0.25)
    for word, context in places(rng, 3, times=12) * 2:
        longer = ("cat", "fish", *context)
        check.close(model.prob(word, longer), right.prob(word, context), "p(word | longer context)")
        check.close(other.prob(word, context), second.prob(word, context), "p(word | context) of a second model")
    check.equal(student.get(given), counts, "the counts afterwards")


# --- tune_em

ANYTHING = {"ant": 1.0, "bee": 1.0, "dog": 1.0, "</s>": 1.0}  # but cat; a table need not sum to 1
EXACT = {"rtol": 1e-9, "atol": 1e-9}  # the steps are prescribed: right code differs by 1e-14, a step by 1e-7


def stack(testing, rows):
    """One table model an order, lowest first."""
    return [testing.TableModel(table, order=order) for order, table in enumerate(rows, start=1)]


def frequencies(reference, sentences, n):
    """``{context: {word: relative frequency}}`` of each order up to n."""
    found = []
    for counts in tables(reference, sentences, n):
        found.append({context: {w: c / sum(row.values()) for w, c in row.items()} for context, row in counts.items()})
    return found


def one_weight(student, check, first, second, held_out):
    """The weight of order 2, of tables of the orders 1 and 2."""
    got = student.smoothing.tune_em(stack(student.testing, [first, second]), held_out)
    check.equal(sorted(got) if type(got) is dict else got, [2], "the orders that have a weight")
    return check.number(got[2], "the weight of order 2")


@item("tune_em")
@weight(3)
@pytest.mark.parametrize("n", [2, 3, 4], ids=["n2", "n3", "n4"])
def test_em_on_random_text(student, reference, rng, check, n):
    """Order after order, each to the end, with the weights below it as they were found."""
    held_out = text(rng, sentences=20)
    rows = frequencies(reference, text(rng, sentences=30) + held_out[:6], n)
    rows[0] = {(): dict.fromkeys((*WORDS, "</s>"), 1 / 6)}
    given = student.put(held_out)
    got = student.smoothing.tune_em(stack(student.testing, rows), given)
    right = reference.smoothing.tune_em(stack(reference.testing, rows), held_out)
    numbers(check, got, right, "the weights", **EXACT)
    check.equal(student.get(given), held_out, "the held-out text afterwards")


@item("tune_em")
@weight(2)
def test_em_stays_at_its_fixed_point(student, rng, check):
    """What comes out is the mean of its own posteriors, and the text is more probable than half way to any side."""
    high, low = rng.uniform(0.05, 0.9, size=(2, 4)).tolist()
    high[0], low[0], high[1], low[1] = 0.9, 0.1, 0.1, 0.9  # so that the best weight lies inside
    names = ("ant", "bee", "cat", "dog")
    held_out = [[name] for name, times in zip(names, (4, 4, 2, 3), strict=True) for _ in range(times)]
    first = {(): {**dict(zip(names, low, strict=True)), "</s>": 1.0}}
    found = one_weight(student, check, first, {("<s>",): dict(zip(names, high, strict=True))}, held_out)
    pairs = [(high[names.index(word)], low[names.index(word)]) for (word,) in held_out]
    posteriors = [found * q / (found * q + (1 - found) * p) for q, p in pairs]
    check.close(fsum(posteriors) / len(pairs), found, "the mean of the posteriors", atol=1e-5)
    at = {x: fsum(log(x * q + (1 - x) * p) for q, p in pairs) for x in (found, found / 2, (1 + found) / 2)}
    check.that(at[found] == max(at.values()), "another weight makes the held-out text more probable")


@item("tune_em")
@pytest.mark.parametrize("kind", ["limit", "change"], ids=["limit", "change"])
def test_em_stops_in_time(student, check, kind):
    """After 100 steps, or after the step that changes the weight by less than 1e-6."""
    # q = 1 for the one word that counts: each step divides the odds of the lower order by 1/p
    p, steps = {"limit": (0.95, 100), "change": (0.5, 20)}[kind]
    odds = p**steps
    found = one_weight(student, check, {(): {"ant": p, "</s>": 1.0}}, {("<s>",): {"ant": 1.0}}, [["ant"], ["ant"]])
    check.close(found, 1 / (1 + odds), "the weight of order 2", rtol=1e-9)


@item("tune_em")
@weight(2)
def test_em_counts_events_in_seen_contexts(student, check):
    """The mean is over events whose context was seen: with q = 0 they count too, in an unseen context they do not."""
    first = {(): ANYTHING}
    held_out = [["cat"]] * 6 + [["dog"] + ["bee"] * 10] * 4
    found = one_weight(student, check, first, {("<s>",): {"cat": 1.0}}, held_out)
    check.close(found, 0.6, "the weight of order 2")
    found = one_weight(student, check, first, {("<s>",): {"cat": 1.0}, ("cat",): {"eel": 1.0}}, [["cat"]] * 3)
    check.close(found, 0.5, "the weight of order 2 where each end counts")


@item("tune_em")
@weight(2)
def test_em_keeps_the_lower_weights(student, check):
    """lambda_2 is found for the orders 1 and 2 alone; order 3 is then mixed with that mixture."""
    rows = [{(): ANYTHING}, {("ant",): {"cat": 1.0}, ("bee",): {"fish": 1.0}}, {("<s>", "ant"): {"cat": 1.0}}]
    held_out = [["ant", "cat"], ["bee", "dog"]] * 10
    got = student.smoothing.tune_em(stack(student.testing, rows), held_out)
    # lambda_2 = 1/2; then order 3 has 1 where the mixture has 1/2: the odds double with each step
    numbers(check, got, {2: 0.5, 3: 1 / (1 + 0.5**20)}, "the weights", **EXACT)
    rows = [{(): {**ANYTHING, "cat": 0.25}}, {("ant",): {"cat": 0.25}}, {("<s>", "fish"): {"cat": 1.0}}]
    held_out = [["ant", "cat"], ["ant", "dog"], ["ant", "cat"]]
    got = student.smoothing.tune_em(stack(student.testing, rows), held_out)
    check.equal(sorted(got) if type(got) is dict else got, [2, 3], "the orders that have a weight")
    check.close(got[3], 0.5, "the weight of an order that has seen nothing")


@item("tune_em")
def test_em_where_only_the_highest_order_has_seen_the_context(student, check):
    """An order that has not seen a context leaves it to the orders below in full, also for the order above it."""
    # order 2 knows nothing after bee, so below order 3 dog has 1 and cat 0 there: 3 log(1 - x/2) + log(x/2), x = 1/2
    rows = [{(): ANYTHING}, {("ant",): {"cat": 1.0}}, {("<s>", "bee"): {"dog": 0.5, "cat": 0.5}}]
    held_out = [["ant", "cat"], ["ant", "dog"], ["bee", "dog"], ["bee", "dog"], ["bee", "dog"], ["bee", "cat"]]
    got = student.smoothing.tune_em(stack(student.testing, rows), held_out)
    numbers(check, got, {2: 0.5, 3: 0.5}, "the weights", **EXACT)


@item("tune_em")
def test_em_leaves_out_what_is_impossible(student, check):
    """An event to which both orders give probability 0 has no posterior; where no other is left, lambda stays 0.5."""
    held_out = [["cat"]] * 2 + [["dog"]] * 6 + [["fish"]] * 5
    found = one_weight(student, check, {(): ANYTHING}, {("<s>",): {"cat": 1.0}}, held_out)
    check.close(found, 0.25, "the weight of order 2 beside impossible words")
    found = one_weight(student, check, {(): {"dog": 1.0, "</s>": 1.0}}, {("<s>",): {"cat": 1.0}}, [["fish"]])
    check.close(found, 0.5, "the weight of order 2 where everything is impossible")
    found = one_weight(student, check, {(): ANYTHING}, {("eel",): {"cat": 1.0}}, [["ant"], ["dog"]])
    check.close(found, 0.5, "the weight of an order that has seen nothing")

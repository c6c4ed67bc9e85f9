"""The farm language: the published corpus byte for byte, its exact figures, and the bands that any seed must meet."""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import product

import pytest
from lm import corpus, truth
from lm.farm import ANIMALS, K_WEIGHTS, PREPOSITIONS, SINGULAR, Derivation, Noun
from lm.vocab import BOS, EOS, PAD, UNK, Vocab

SPECIFIED = (
    "<pad> <s> </s> . at barn bat bats behind beside bones cat cats chase chases corn cow cows day dog dogs eat eats "
    "eggs every field fish flies fox foxes grass hay hear hears hen hens holes horse horses in make makes mice milk "
    "morning near nests night noise owl owls see seeds sees the yard"
)
WORDS = SPECIFIED.split()
SHORT_WEIGHTS = (0.6, 0.4)

NOUNS = [Noun(animal, plural) for animal in ANIMALS for plural in (False, True)]


@pytest.fixture(scope="module")
def data() -> corpus.Splits:
    return corpus.splits()


@pytest.fixture(scope="module")
def trained(data: corpus.Splits) -> list[Derivation]:
    """The derivations of the training sentences."""
    return [found for found in map(truth.parse, data.train) if found is not None]


@pytest.fixture(scope="module")
def short() -> dict[tuple[str, ...], float]:
    """All sentences with at most one attractor, with their probabilities in the language that has no others."""
    return {text: truth.probability(text, SHORT_WEIGHTS) for text in sentences(0) + sentences(1)}


def digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def entropy(distribution: Iterable[float]) -> float:
    return -sum(p * math.log(p) for p in distribution if p > 0)


def sentences(k: int) -> list[tuple[str, ...]]:
    """All sentences of the language with k attractors."""
    phrases = list(product(product(PREPOSITIONS, NOUNS), repeat=k))
    return [
        Derivation(subject, between, verb, subject.plural, what, when).words
        for subject in NOUNS
        for habits in [ANIMALS[subject.animal]]
        for verb in habits.verbs
        for what in habits.objects[verb]
        for when in habits.when
        for between in phrases
    ]


def perplexity(texts: list[tuple[str, ...]]) -> float:
    """The true perplexity of sentences."""
    return math.exp(-sum(map(truth.log_probability, texts)) / sum(len(text) + 1 for text in texts))


# ------------------------------------------------------------------------------------- the published corpus


@pytest.mark.parametrize(
    ("split", "size", "expected"),
    [
        ("train", 20_000, "f1a5cc9b0803c215"),
        ("val", 2_000, "de99faa921b13b54"),
        ("test", 2_000, "e84bdc085077829e"),
    ],
    ids=["train", "val", "test"],
)
def test_published_split_is_the_same_everywhere(data: corpus.Splits, split: str, size: int, expected: str) -> None:
    """Seed 0 gives these sentences, to the letter."""
    texts = getattr(data, split)
    assert len(texts) == size
    assert digest(map(" ".join, texts)) == expected


def test_published_seed_has_unseen_test_trigrams(data: corpus.Splits) -> None:
    """Between 1 and 6 test trigrams never occur in training: the unsmoothed trigram's perplexity is infinite."""

    def trigrams(texts: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
        padded = [(BOS, BOS, *text, EOS) for text in texts]
        return [text[i : i + 3] for text in padded for i in range(len(text) - 2)]

    seen = set(trigrams(data.train))
    assert 1 <= sum(trigram not in seen for trigram in trigrams(data.test)) <= 6


def test_weights_decide_how_many_attractors_there_are() -> None:
    """Weights (.5, .5) give k = 0 and 1 only, about half each."""
    rng = random.Random(3)
    counts = Counter(sum(word in PREPOSITIONS for word in corpus.sample(rng, (0.5, 0.5))) for _ in range(2_000))
    assert sorted(counts) == [0, 1]
    assert 900 < counts[0] < 1100


def test_splits_pass_on_seed_and_weights() -> None:
    """Another seed is another stream, and a first weight of 1 gives a corpus without any preposition."""
    train = corpus.splits(seed=1, k_weights=(1.0,)).train
    rng = random.Random(1)
    assert train[:20] == [corpus.sample(rng, (1.0,)) for _ in range(20)]
    assert {word for text in train for word in text}.isdisjoint(PREPOSITIONS)


def test_weights_that_do_not_sum_to_one_are_refused() -> None:
    """(.5, .3) is an error, not a corpus with other weights."""
    with pytest.raises(ValueError, match="sum to 1"):
        corpus.splits(k_weights=(0.5, 0.3))


# --------------------------------------------------------------------------------------------- vocabulary


def test_language_has_56_words() -> None:
    """The vocabulary is the 56 words of the specification in the order of their ids, 54 of them predictable."""
    vocab = corpus.vocabulary()
    assert list(vocab.words) == WORDS
    assert len(vocab) == 56
    assert vocab.predictable == vocab.words[2:]
    assert len(vocab.predictable) == 54


def test_every_word_occurs_in_training(data: corpus.Splits) -> None:
    """The training set has all words of the language but the special ones, and no others."""
    assert sorted({word for text in data.train for word in text}) == WORDS[3:]


def test_vocab_numbers_special_words_first() -> None:
    """<pad> 0, <s> 1, </s> 2, then <unk> if asked for, then the words, sorted; repeats and special words are merged."""
    assert Vocab(["b", "a", "b", EOS]).words == (PAD, BOS, EOS, "a", "b")
    assert Vocab(["b", "a", UNK], unk=True).words == (PAD, BOS, EOS, UNK, "a", "b")
    assert Vocab(["b", "a"], unk=True).predictable == (EOS, UNK, "a", "b")


def test_vocab_encodes_and_decodes() -> None:
    """decode undoes encode; nothing is added at either end."""
    vocab = corpus.vocabulary()
    text = ("the", "bat", "makes", "noise", EOS)
    assert vocab.encode(text) == [WORDS.index(word) for word in text]
    assert vocab.decode(vocab.encode(text)) == text
    assert "bat" in vocab
    assert "fish-owl" not in vocab


def test_unknown_words_become_unk_or_an_error() -> None:
    """With <unk> an unknown word is id 3, without it a KeyError."""
    assert Vocab(["a"], unk=True).encode(["a", "z"]) == [4, 3]
    with pytest.raises(KeyError):
        Vocab(["a"]).encode(["z"])


# --------------------------------------------------------------------------------- exact figures (closed forms)


def test_tables_are_distributions() -> None:
    """Every row of every table sums to 1, and every verb that an animal has comes with objects."""
    for habits in ANIMALS.values():
        assert set(habits.verbs) == set(habits.objects) <= set(SINGULAR)
        for row in (habits.verbs, habits.when, *habits.objects.values()):
            assert math.fsum(row.values()) == pytest.approx(1, abs=1e-15)
    assert math.fsum(K_WEIGHTS) == pytest.approx(1, abs=1e-15)


def test_462_sentences_without_attractors() -> None:
    """There are 462 of them, all different, with total mass .45; with k = 1, 2, 3 it makes 52,180,590 sentences."""
    plain = sentences(0)
    assert len(plain) == len(set(plain)) == 462
    assert math.fsum(map(truth.probability, plain)) == pytest.approx(0.45, rel=1e-12)
    assert len(plain) * sum(48**k for k in range(4)) == 52_180_590


def test_all_mass_adds_up_to_one(short: dict[tuple[str, ...], float]) -> None:
    """The probabilities of all sentences of the language with k = 0 and 1 sum to 1."""
    assert len(short) == 462 * 49
    assert math.fsum(short.values()) == pytest.approx(1, rel=1e-12)


def mean_over_animals(value: dict[str, float]) -> float:
    return sum(value.values()) / len(value)


def exact(k_weights: tuple[float, ...]) -> tuple[dict[str, float], float]:
    """The entropy of each choice in nats, and the mean number of words, "." included."""
    mean_k = sum(k * p for k, p in enumerate(k_weights))
    objects = {
        animal: sum(p * entropy(habits.objects[verb].values()) for verb, p in habits.verbs.items())
        for animal, habits in ANIMALS.items()
    }
    parts = {
        "k": entropy(k_weights),
        "subject": math.log(16),
        "attractors": mean_k * (math.log(3) + math.log(16)),
        "verb": mean_over_animals({animal: entropy(habits.verbs.values()) for animal, habits in ANIMALS.items()}),
        "object": mean_over_animals(objects),
        "when": mean_over_animals({animal: entropy(habits.when.values()) for animal, habits in ANIMALS.items()}),
    }
    length = 3 * mean_k + sum(len(text) * truth.probability(text) for text in sentences(0)) / K_WEIGHTS[0]
    return parts, length


def test_entropy_of_each_choice() -> None:
    """The parts of the sentence entropy are those of the specification, 10.5652 nats in all."""
    parts, _ = exact(K_WEIGHTS)
    expected = {"k": 1.2353, "subject": 2.7726, "attractors": 3.4841, "verb": 1.3517, "object": 0.6244, "when": 1.0971}
    assert parts == pytest.approx(expected, abs=5e-5)
    assert sum(parts.values()) == pytest.approx(10.5652, abs=5e-5)


@pytest.mark.parametrize(
    ("k_weights", "length", "expected", "digits"),
    [
        (K_WEIGHTS, 10.5825, 2.4897, 4),
        ((1.0,), 7.8825, 1.931, 3),
        ((0.5, 0.5), 9.3825, 2.262, 3),
        ((0.5, 0.3, 0.2), 9.9825, 2.394, 3),
    ],
    ids=["published", "no-attractor", "up-to-one", "up-to-two"],
)
def test_true_perplexity(k_weights: tuple[float, ...], length: float, expected: float, digits: int) -> None:
    """exp(entropy / (mean length + 1)) has the exact value of the specification, </s> counted."""
    parts, found = exact(k_weights)
    assert found == pytest.approx(length, abs=1e-9)
    assert round(math.exp(sum(parts.values()) / (found + 1)), digits) == expected


def test_perplexity_of_the_exact_unigram_distribution() -> None:
    """A model that knows the true share of every word and nothing else has perplexity 25.790."""
    share = defaultdict(float, {EOS: 1.0})
    for text in sentences(0):
        for word in text:
            share[word] += truth.probability(text, (1.0,))
    mean_k = sum(k * p for k, p in enumerate(K_WEIGHTS))
    for word, p in [("the", 1.0), *((p, 1 / 3) for p in PREPOSITIONS), *((noun.word, 1 / 16) for noun in NOUNS)]:
        share[word] += mean_k * p
    total = sum(share.values())
    assert total == pytest.approx(11.5825, abs=1e-9)
    assert math.exp(entropy(n / total for n in share.values())) == pytest.approx(25.790, abs=5e-4)


# ------------------------------------------------------------------------------- probabilities word by word


def test_words_logs_sum_to_the_sentence_log(data: corpus.Splits) -> None:
    """Over the whole test set: one value a word and one for </s>, none above 0, summing to log P."""
    for text in data.test:
        logs = truth.token_log_probabilities(text)
        assert len(logs) == len(text) + 1
        assert max(logs) < 1e-12
        assert math.fsum(logs) == pytest.approx(truth.log_probability(text), rel=1e-12)


def test_each_words_probability_is_a_ratio_of_masses(short: dict[tuple[str, ...], float]) -> None:
    """p(word | words before it) is the mass of all sentences that begin so far, over the mass without that word."""
    mass: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for text, p in short.items():
        for i in range(len(text) + 1):
            mass[text[:i]] += p
    for text in list(short)[::50]:
        expected = [mass[text[: i + 1]] / mass[text[:i]] for i in range(len(text))]
        logs = truth.token_log_probabilities(text, SHORT_WEIGHTS)
        assert [math.exp(log) for log in logs] == pytest.approx([*expected, 1.0], rel=1e-10)


def test_words_of_an_impossible_sentence_have_no_probabilities() -> None:
    """A sentence of probability 0 is a ValueError, word by word."""
    with pytest.raises(ValueError, match="not a sentence"):
        truth.token_log_probabilities(("the", "hens", "make", "nests", "at", "night", "."))


# -------------------------------------------------------------------------------------------- the checker


def far(k: int, verb: str) -> str:
    """A sentence whose verb is k attractors away from its subject."""
    return " ".join(["the bat", *["near the cows"] * k, verb, "flies at night ."])


@pytest.mark.parametrize(
    ("text", "grammatical", "agrees", "possible"),
    [
        pytest.param("the bat makes noise at night .", True, True, True, id="lecture-1"),
        pytest.param("the cows near the dog behind the hens eat corn in the field .", True, True, True, id="lecture-2"),
        pytest.param("the cats chase the bats at night .", True, True, True, id="bats-as-object"),
        pytest.param("the hens behind the bat make nests at night .", True, True, False, id="no-habit"),
        pytest.param("the hens behind the hen eats corn in the morning .", True, False, False, id="last-noun-wins"),
        pytest.param("the bats at night .", False, False, False, id="no-verb"),
        pytest.param("the bat behind the dogs see the owls eat mice at night .", False, False, False, id="two-verbs"),
        pytest.param("the bat eats noise at night .", False, False, False, id="no-such-food"),
        pytest.param("the bat eats flies at night", False, False, False, id="no-stop"),
        pytest.param("the bat eats flies at night !", False, False, False, id="other-stop"),
        pytest.param("the bat eats flies at night . .", False, False, False, id="two-stops"),
        pytest.param("the bat eats at night .", False, False, False, id="no-object"),
        pytest.param("the bat eats flies .", False, False, False, id="no-time"),
        pytest.param("bat eats flies at night .", False, False, False, id="no-the"),
        pytest.param("the bat near the eats flies at night .", False, False, False, id="no-attractor"),
        pytest.param("the bat near cows eats flies at night .", False, False, False, id="bare-attractor"),
        pytest.param("the bird eats flies at night .", False, False, False, id="unknown-word"),
        pytest.param("<s> the bat eats flies at night . </s>", False, False, False, id="markers"),
        pytest.param("", False, False, False, id="empty"),
        pytest.param(far(3, "eats"), True, True, True, id="three-attractors"),
        pytest.param(far(6, "eats"), True, True, False, id="six-attractors"),
        pytest.param(far(6, "eat"), True, False, False, id="six-attractors-wrong"),
    ],
)
def test_checker(text: str, grammatical: bool, agrees: bool, possible: bool) -> None:
    """Grammar is the template with any animal's habits; agreement asks for the subject's number; truth for both."""
    words = text.split()
    assert truth.is_grammatical(words) is grammatical
    assert truth.agrees(words) is agrees
    assert (truth.probability(words) > 0) is possible
    assert (truth.log_probability(words) > -math.inf) is possible


def test_lecture_fragments_occur(data: corpus.Splits) -> None:
    """What the lecture quotes from the corpus is there."""
    text = "\n".join(map(" ".join, data.train))
    for fragment in ("chase the bats at night", "see the owls", "in the morning", "every", "hear"):
        assert fragment in text


def test_parsing_undoes_saying() -> None:
    """A drawn derivation is the parse of its own words, also with more attractors than training has."""
    rng = random.Random(5)
    for k in range(7):
        for _ in range(50):
            derivation = corpus.derive(rng, k)
            assert truth.parse(derivation.words) == derivation


def test_every_training_sentence_agrees(data: corpus.Splits, trained: list[Derivation]) -> None:
    """All 20,000 can be parsed, and their verbs have the subject's number."""
    assert len(trained) == len(data.train)
    assert all(found.plural == found.subject.plural for found in trained)


# ------------------------------------------------------------------------------- bands that any seed must meet


def test_size_of_the_corpus(data: corpus.Splits) -> None:
    """Mean length, test predictions and different training sentences lie in their bands."""
    assert 10.48 < sum(map(len, data.train)) / len(data.train) < 10.68
    assert 22_600 < sum(len(text) + 1 for text in data.test) < 23_750
    assert 10_050 < len(set(data.train)) < 10_570


def test_true_perplexity_of_the_data(data: corpus.Splits) -> None:
    """On the training sentences close to 2.4897; the test set is smaller and its band wider."""
    assert 2.478 < perplexity(data.train) < 2.500
    assert 2.45 < perplexity(data.test) < 2.53


def test_share_of_true_samples_that_training_has(data: corpus.Splits) -> None:
    """A little over half of what the language says has been said in training."""
    train, rng = set(data.train), random.Random(99)
    assert 0.50 < sum(corpus.sample(rng) in train for _ in range(2_000)) / 2_000 < 0.61


def test_cows_eat_what_others_eat(data: corpus.Splits, trained: list[Derivation]) -> None:
    """After "cows eat" come corn, grass, hay in this order, then other animals' food: there cows are attractors."""
    foods: Counter[str] = Counter()
    attractors = 0
    for text, found in zip(data.train, trained, strict=True):
        at = len(found.prefix)
        if text[at - 1 : at + 1] == ("cows", "eat"):
            foods[text[at + 1]] += 1
            attractors += bool(found.attractors)
    assert 360 < sum(foods.values()) < 505
    assert 85 < attractors < 160
    assert [food for food, _ in foods.most_common(3)] == ["corn", "grass", "hay"]
    assert set(foods) == {"corn", "grass", "hay", "flies", "mice", "fish", "bones", "seeds", "eggs"}


def test_share_of_nested_attractors(trained: list[Derivation]) -> None:
    """In "N near the N" the first noun is itself an attractor in .35/.90 = 38.9 % of the cases."""
    windows = sum(len(found.attractors) for found in trained)
    nested = sum(max(len(found.attractors) - 1, 0) for found in trained)
    assert 0.375 < nested / windows < 0.405


# ------------------------------------------------------------------------------------------ agreement sets


@pytest.mark.parametrize("numbers", ["opposite", "same"])
@pytest.mark.parametrize("k", range(7), ids=lambda k: f"k{k}")
def test_agreement_set(k: int, numbers: corpus.Numbers) -> None:
    """400 prefixes that end before the verb; all attractors have the asked number; the right verb is the subject's."""
    pairs = corpus.agreement_set(k, numbers)
    nouns = {noun.word: noun for noun in NOUNS}
    assert len(pairs) == 400
    for prefix, right, wrong in pairs:
        assert len(prefix) == 2 + 3 * k
        subject, *between = (nouns[word] for word in prefix[1::3])
        assert {noun.plural for noun in between} <= {subject.plural == (numbers == "same")}
        assert {right, wrong} in [set(forms) for forms in SINGULAR.items()]
        assert (right in SINGULAR) is subject.plural
        what = {"eat": "mice", "mak": "noise", "see": "mice", "hea": "mice", "cha": "mice"}[right[:3]]
        assert truth.agrees((*prefix, right, what, "at", "night", "."))
        assert not truth.agrees((*prefix, wrong, what, "at", "night", "."))


def test_agreement_sets_follow_habits() -> None:
    """Bats, cows, hens and horses never chase; both numbers of the subject come about equally often."""
    pairs = [pair for k in range(7) for pair in corpus.agreement_set(k, "opposite")]
    chasers = {prefix[1] for prefix, right, _ in pairs if right.startswith("chase")}
    assert chasers == {form for animal in ("dog", "owl", "fox", "cat") for form in (animal, ANIMALS[animal].plural)}
    assert 0.45 < sum(right in SINGULAR for _, right, _ in pairs) / len(pairs) < 0.55


def test_agreement_sets_are_streams_of_their_own() -> None:
    """The same (seed, k, numbers) gives the same set; a change of any of the three gives another one."""
    base = corpus.agreement_set(2, "opposite")
    assert base == corpus.agreement_set(2, "opposite")
    assert base[:10] == corpus.agreement_set(2, "opposite", n=10)

    def subjects(pairs: list[corpus.AgreementPair]) -> list[str]:
        return [prefix[1] for prefix, _, _ in pairs]

    others = [
        corpus.agreement_set(2, "opposite", seed=1),
        corpus.agreement_set(3, "opposite"),
        corpus.agreement_set(2, "same"),
        corpus.agreement_set(2, "random"),
    ]
    assert all(subjects(other) != subjects(base) for other in others)


def test_agreement_sets_are_the_same_everywhere() -> None:
    """The published agreement sets, to the letter: figures in the writeup are made with them."""
    lines = [
        " ".join((*prefix, right, wrong))
        for k in range(7)
        for numbers in ("opposite", "same")
        for prefix, right, wrong in corpus.agreement_set(k, numbers)
    ]
    assert digest(lines) == "36fa851492d21a38"


def test_random_numbers_are_mixed() -> None:
    """With "random", about half of the attractors have the subject's number."""
    nouns = {noun.word: noun for noun in NOUNS}
    pairs = corpus.agreement_set(2, "random")
    same = [nouns[prefix[1]].plural == nouns[word].plural for prefix, _, _ in pairs for word in prefix[4::3]]
    assert 0.43 < sum(same) / len(same) < 0.57


def test_unknown_kind_of_agreement_set_is_refused() -> None:
    """A misspelt kind is an error, not silently another set."""
    with pytest.raises(ValueError, match="opposite, same, random"):
        corpus.agreement_set(1, "incongruent")  # type: ignore[arg-type]

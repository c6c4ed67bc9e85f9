"""N-gram counts as sorted integers: real text in milliseconds, orders up to 6. Given.

    train, test = (Text.of(sentences, vocab.ids) for sentences in (...))    # vocab: lm.vocab.Vocab(words, unk=True)
    counts = Counts.of(train, 3)
    perplexity(add_k(counts.find(test.keys(3)), 0.1, len(vocab.predictable)))

An n-gram becomes one unsigned integer of 64 bits, its *key*: the last word in the low bits, the context above. Once the
keys are sorted equal n-grams are neighbours, and so are n-grams with the same context. Three arrays are kept, 16 bytes
an n-gram:

    keys     the bat   the cow   the sow   two bats         the distinct n-grams
    count    3         7         1         4                how often each occurs
    total    11        11        11        4                how often its context does

Questions are sorted before they are looked up: the place of each is close to that of the one before, in memory that
was just read. One search answers for the n-gram and for its context, which has the same neighbours.

A context whose words fit above the last word is written there word by word, exactly: on 14,000 words up to order 4, on
the farm language always. Any other is hashed to the h bits that there are (multiply-shift of a vector, Dietzfelbinger
1996, with fixed random factors). Two contexts then share a row with a chance of 2^-h, some two of C with one of at most
C^2 / 2^(h+1), counted and asked for ones together: 2e-5 for 200,000 over 14,000 words. Nothing else can go wrong.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_ORDER = 6
BOS, EOS, UNK = "<s>", "</s>", "<unk>"
_KEY_BITS = 64
_BLOCK = 16_384  # questions at a time: what is computed on the way stays in the cache
_MOST = 2**31 - 1  # predictions of a text: counts are kept in 32 bits
_FACTORS = np.random.default_rng(0).integers(2**64, size=MAX_ORDER, dtype=np.uint64)


class _Ids(dict[str, int]):
    """Ids of words, with one for all words that are not there."""

    def __init__(self, ids: Mapping[str, int]) -> None:
        super().__init__(ids)
        self.unknown = ids.get(UNK, len(ids))

    def __missing__(self, word: str) -> int:
        return self.unknown


@dataclass(frozen=True)
class Text:
    """Sentences as ids, each with ``<s>`` before it, as often as any order needs, and one ``</s>`` after it.

    Attributes:
        stream: all ids in a row.
        at: where in the stream the N predictions are: the words and the ends of the sentences, in the order of the
            text; never ``<s>``.
        words: how many ids there are. Without ``<unk>`` an unknown word has this number: it is no word's.
    """

    stream: Keys
    at: Integers
    words: int

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]], ids: Mapping[str, int]) -> Text:
        """A text whose words are looked up in ``ids``, numbers from 0 without a gap, ``<s>`` and ``</s>`` with them.

        Unknown words become ``<unk>`` where ``ids`` has it. The text may be empty, and so may be a sentence.
        """
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences)) + 1
        total = int(lengths.sum())
        if total > _MOST:
            raise ValueError(f"a text has at most {_MOST} predictions, not {total}")
        ended = itertools.chain.from_iterable((sentence, (EOS,)) for sentence in sentences)
        number = _Ids(ids).__getitem__
        padding = MAX_ORDER - 1
        at = np.arange(total) + np.repeat(np.arange(1, len(lengths) + 1) * padding, lengths)
        stream = np.full(total + padding * len(lengths), ids[BOS], np.uint64)
        stream[at] = np.fromiter(map(number, itertools.chain.from_iterable(ended)), np.uint64, total)
        return cls(stream, at, len(ids))

    def __len__(self) -> int:
        """The number N of predictions."""
        return len(self.at)

    @property
    def bits(self) -> int:
        """How many bits an id takes."""
        return self.words.bit_length()

    def keys(self, order: int) -> Keys:
        """(N,), the key of the n-gram that ends in each prediction. ValueError unless order is 1 .. MAX_ORDER."""
        if not 1 <= order <= MAX_ORDER:
            raise ValueError(f"order is 1 to {MAX_ORDER}, not {order}")
        bits, exact = np.uint64(self.bits), order * self.bits <= _KEY_BITS
        end = len(self.stream)
        keys = np.full(max(end - order + 1, 0), 0 if exact else _FACTORS[0], np.uint64)  # of all windows of the stream
        word = np.empty_like(keys)
        for back in range(order - 1, 0, -1):  # oldest first
            earlier = self.stream[order - 1 - back : end - back]
            if exact:
                keys |= earlier
                keys <<= bits
            else:
                keys += np.multiply(earlier, _FACTORS[back], out=word)  # modulo 2^64, as it should be
        if not exact:
            keys &= ~((np.uint64(1) << bits) - np.uint64(1))  # the high bits of the sum are the hash
        keys |= self.stream[order - 1 :]
        return keys[self.at - (order - 1)]


@dataclass(frozen=True)
class Found:
    """What the counts say of M n-grams.

    Attributes:
        count: (M,), how often the last word followed the context.
        total: (M,), how often any word did; 0 where the context was never seen.
        known: (M,), False where the last word has no id.
    """

    count: NDArray[np.int32]
    total: NDArray[np.int32]
    known: NDArray[np.bool_]


@dataclass(frozen=True)
class Counts:
    """How often each n-gram of one order occurs in a text: D distinct ones.

    Attributes:
        order, words: n, and the number of ids, as in ``Text``.
        keys: (D,), the distinct n-grams, ascending.
        count: (D,), how often each occurs; ``np.bincount(count)`` are the counts of counts.
        total: (D,), how often its context occurs.
    """

    order: int
    words: int
    keys: Keys
    count: NDArray[np.int32]
    total: NDArray[np.int32]

    @classmethod
    def of(cls, text: Text, order: int) -> Counts:
        """Sort, and see where a key differs from the one before it."""
        keys = text.keys(order)
        keys.sort()
        before = _starts(keys)  # so many n-grams stand before each distinct one
        keys = keys[before[:-1]]
        rows = _starts(keys >> np.uint64(text.bits))  # so many distinct ones before each context
        total = np.repeat(np.diff(before[rows]), np.diff(rows))
        return cls(order, text.words, keys, np.diff(before), total)

    def __len__(self) -> int:
        """The number D of distinct n-grams."""
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        """The memory of all that is kept."""
        return self.keys.nbytes + self.count.nbytes + self.total.nbytes

    def find(self, keys: Keys) -> Found:
        """What is known of n-grams, in their order: ``text.keys(order)`` of a text with the same ids."""
        ascending = np.argsort(keys)
        found = self.find_sorted(keys[ascending])
        back = np.empty_like(ascending)
        back[ascending] = np.arange(len(ascending))
        return Found(found.count[back], found.total[back], found.known[back])

    def find_sorted(self, keys: Keys) -> Found:
        """The same for keys that are sorted already, so that nothing has to be brought back into an order.

        A perplexity does not mind: ``counts.find_sorted(np.sort(text.keys(order)))`` is the fastest way to one.
        """
        count, total = np.zeros((2, len(keys)), np.int32)
        word = np.uint64((1 << self.words.bit_length()) - 1)
        for start in range(0, len(keys) if len(self) else 0, _BLOCK):
            block = slice(start, start + _BLOCK)
            wanted = keys[block]
            at = np.searchsorted(self.keys, wanted)
            np.minimum(at, len(self) - 1, out=at)
            different = self.keys[at] ^ wanted
            count[block] = self.count[at] * (different == 0)
            # n-grams with this context, if there are any, stand here or just before
            elsewhere = np.flatnonzero(different > word)
            at[elsewhere] -= at[elsewhere] > 0
            different[elsewhere] = self.keys[at[elsewhere]] ^ wanted[elsewhere]
            total[block] = self.total[at] * (different <= word)
        return Found(count, total, (keys & word) < np.uint64(self.words))


def mle(found: Found) -> Floats:
    """(M,), the relative frequencies; 0.0 where the context was never seen (``found.total == 0``)."""
    return found.count / np.maximum(found.total, 1)


def add_k(found: Found, k: float, size: int) -> Floats:
    """(M,), the probabilities with k added to each count. ``size`` is V: all words that can be predicted."""
    return np.where(found.known, (found.count + k) / (found.total + k * size), 0.0)


def interpolated(found: Sequence[Found], lambdas: Mapping[int, float]) -> Floats:
    """(M,), relative frequencies of the orders 1, 2, .. mixed. An order that has not seen the context has no part.

    Args:
        found: of each order, lowest first, what it knows of the same predictions in the same order (``find``).
        lambdas: from order 2 on the weight of each; the rest goes to the mixture of the lower ones.
    """
    p = mle(found[0])
    for order, higher in enumerate(found[1:], start=2):
        p = np.where(higher.total > 0, lambdas[order] * mle(higher) + (1 - lambdas[order]) * p, p)
    return p


def perplexity(p: Floats) -> float:
    """The perplexity of predictions with these probabilities, at least one; inf when one is 0."""
    with np.errstate(divide="ignore"):
        return float(np.exp(-np.log(p).mean()))


def _starts(values: Keys) -> NDArray[np.int32]:
    """Where each run of equal values begins, and where the last one ends."""
    new = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return np.append(np.flatnonzero(new), len(new)).astype(np.int32)

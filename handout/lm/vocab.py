"""Words and their ids. Given: there is nothing to fill in here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

PAD, BOS, EOS, UNK = "<pad>", "<s>", "</s>", "<unk>"
"""Padding of a batch; start and end of a sentence; any word outside the vocabulary."""


class Vocab:
    """The words of a corpus, numbered: ``<pad>`` 0, ``<s>`` 1, ``</s>`` 2, ``<unk>`` if asked for, then sorted.

    Args:
        words: the words of the corpus; repeats and special words among them do no harm.
        unk: whether there is an ``<unk>``, id 3. Without it an unknown word is a KeyError in ``encode``.

    Attributes:
        words: all words; ``words[i]`` has id i.
        ids: the other way round, ``{word: id}``.
        predictable: the words that a model gives probability to, in the order of their ids: with ``</s>`` and
            ``<unk>``, without ``<pad>`` and ``<s>``, which nothing ever predicts. Their number is the V of smoothing.
    """

    def __init__(self, words: Iterable[str], unk: bool = False) -> None:
        special = (PAD, BOS, EOS, UNK) if unk else (PAD, BOS, EOS)
        self.words: tuple[str, ...] = (*special, *sorted(set(words) - {PAD, BOS, EOS, UNK}))
        self.ids: dict[str, int] = {word: i for i, word in enumerate(self.words)}
        self.predictable: tuple[str, ...] = self.words[2:]

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.ids

    def encode(self, words: Sequence[str]) -> list[int]:
        """The ids of the words, nothing added. Unknown words become ``<unk>``; KeyError where there is none."""
        if UNK not in self.ids:
            return [self.ids[word] for word in words]
        return [self.ids.get(word, self.ids[UNK]) for word in words]

    def decode(self, ids: Iterable[int]) -> tuple[str, ...]:
        """The words with these ids, special words included. IndexError for an id that no word has."""
        return tuple(self.words[i] for i in ids)

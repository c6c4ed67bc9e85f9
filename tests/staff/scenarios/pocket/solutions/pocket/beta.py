"""Words."""

from __future__ import annotations


def tally(words):
    """``{word: how often}``."""
    # BEGIN SOLUTION tally
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts
    # END SOLUTION


def commonest(words):
    """The word that occurs most often; the first of them in the alphabet when there are several."""
    # BEGIN SOLUTION commonest
    counts = tally(words)
    return min(counts, key=lambda word: (-counts[word], word))
    # END SOLUTION

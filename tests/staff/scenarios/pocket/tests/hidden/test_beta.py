"""Hidden tests of beta.py."""

from __future__ import annotations

from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

WORDS = ("quokka", "zyzzyva", "numbat")


def text(rng):
    """Random words, 'quokka' the commonest."""
    words = [WORDS[i] for i in rng.integers(0, 3, size=12)]
    return words + ["quokka"] * 13


@item("tally")
@weight(2)
def test_tally_of_a_random_text(student, reference, rng, check):
    """Every word is counted, and nothing else."""
    words = text(rng)
    check.equal(student.beta.tally(words), reference.beta.tally(words), "the counts")


@item("commonest")
@weight(2)
def test_commonest_of_a_random_text(student, rng, check):
    """The word that occurs most often in a longer text."""
    check.equal(student.beta.commonest(text(rng)), "quokka", "the commonest word")

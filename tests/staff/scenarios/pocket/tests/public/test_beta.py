"""Public tests of beta.py."""

from __future__ import annotations

from autograder.feedback import item


@item("tally")
def test_tally_of_a_phrase(student, check):
    """How often each word occurs."""
    check.equal(student.beta.tally(["a", "rose", "a"]), {"a": 2, "rose": 1}, "the counts")


@item("commonest")
def test_commonest_of_a_phrase(student, check):
    """The word that occurs most often."""
    check.equal(student.beta.commonest(["a", "rose", "a"]), "a", "the commonest word")

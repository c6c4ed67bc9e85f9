"""The farm language: who lives there, who does what, and how that is said. Given: there is nothing to fill in here.

A sentence is ``the SUBJECT [PREPOSITION the NOUN] x k VERB OBJECT WHEN .`` The nouns between subject and verb distract:
the verb has the number of the subject, and verb, object and time or place follow the habits of the subject.
``corpus.py`` draws sentences, going through each table in the order in which it is written here; ``truth.py`` knows
their probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Habits(NamedTuple):
    """What one animal does, as probabilities that sum to 1."""

    plural: str
    verbs: dict[str, float]
    """p(verb | animal), verbs in the plural."""
    objects: dict[str, dict[str, float]]
    """p(object | animal, verb)."""
    when: dict[str, float]
    """p(time or place | animal)."""


K_WEIGHTS = (0.45, 0.30, 0.15, 0.10)
"""The probabilities of k = 0, 1, 2, 3 phrases between subject and verb."""

PREPOSITIONS = ("near", "behind", "beside")

SINGULAR = {"eat": "eats", "make": "makes", "see": "sees", "hear": "hears", "chase": "chases"}
"""The verbs: plural form to singular form."""

ANIMALS = {
    "bat": Habits(
        plural="bats",
        verbs={"eat": 0.40, "make": 0.20, "see": 0.10, "hear": 0.30},
        objects={
            "eat": {"flies": 0.8, "fish": 0.2},
            "make": {"noise": 1.0},
            "see": {"the owls": 0.6, "flies": 0.4},
            "hear": {"noise": 0.6, "the owls": 0.4},
        },
        when={"at night": 0.6, "in the barn": 0.3, "every night": 0.1},
    ),
    "cow": Habits(
        plural="cows",
        verbs={"eat": 0.55, "make": 0.15, "see": 0.20, "hear": 0.10},
        objects={
            "eat": {"corn": 0.5, "grass": 0.3, "hay": 0.2},
            "make": {"milk": 0.6, "noise": 0.4},
            "see": {"the dogs": 0.6, "grass": 0.4},
            "hear": {"noise": 0.6, "the dogs": 0.4},
        },
        when={"in the field": 0.5, "in the morning": 0.3, "in the barn": 0.2},
    ),
    "dog": Habits(
        plural="dogs",
        verbs={"eat": 0.20, "make": 0.20, "see": 0.10, "hear": 0.10, "chase": 0.40},
        objects={
            "eat": {"bones": 0.8, "fish": 0.2},
            "make": {"noise": 0.6, "holes": 0.4},
            "see": {"the cats": 0.6, "bones": 0.4},
            "hear": {"noise": 0.6, "the cats": 0.4},
            "chase": {"the cats": 0.6, "the foxes": 0.4},
        },
        when={"in the yard": 0.4, "at night": 0.2, "in the morning": 0.2, "every day": 0.2},
    ),
    "hen": Habits(
        plural="hens",
        verbs={"eat": 0.40, "make": 0.40, "see": 0.10, "hear": 0.10},
        objects={
            "eat": {"seeds": 0.6, "corn": 0.4},
            "make": {"nests": 0.6, "eggs": 0.4},
            "see": {"the foxes": 0.6, "seeds": 0.4},
            "hear": {"noise": 0.6, "the foxes": 0.4},
        },
        when={"in the yard": 0.5, "in the morning": 0.3, "every day": 0.2},
    ),
    "owl": Habits(
        plural="owls",
        verbs={"eat": 0.25, "make": 0.10, "see": 0.25, "hear": 0.20, "chase": 0.20},
        objects={
            "eat": {"mice": 0.8, "flies": 0.2},
            "make": {"noise": 0.6, "nests": 0.4},
            "see": {"mice": 0.6, "the bats": 0.4},
            "hear": {"mice": 0.8, "noise": 0.2},
            "chase": {"mice": 0.6, "the bats": 0.4},
        },
        when={"at night": 0.6, "in the barn": 0.3, "every night": 0.1},
    ),
    "fox": Habits(
        plural="foxes",
        verbs={"eat": 0.25, "make": 0.10, "see": 0.15, "hear": 0.10, "chase": 0.40},
        objects={
            "eat": {"eggs": 0.6, "mice": 0.4},
            "make": {"holes": 1.0},
            "see": {"the hens": 0.6, "mice": 0.4},
            "hear": {"the hens": 0.6, "mice": 0.4},
            "chase": {"the hens": 0.6, "mice": 0.4},
        },
        when={"at night": 0.4, "in the field": 0.3, "in the yard": 0.2, "every night": 0.1},
    ),
    "cat": Habits(
        plural="cats",
        verbs={"eat": 0.25, "make": 0.10, "see": 0.15, "hear": 0.10, "chase": 0.40},
        objects={
            "eat": {"fish": 0.6, "mice": 0.4},
            "make": {"noise": 1.0},
            "see": {"the owls": 0.6, "mice": 0.4},
            "hear": {"mice": 1.0},
            "chase": {"mice": 0.6, "the bats": 0.4},
        },
        when={"in the barn": 0.4, "at night": 0.3, "in the yard": 0.2, "every day": 0.1},
    ),
    "horse": Habits(
        plural="horses",
        verbs={"eat": 0.50, "make": 0.10, "see": 0.20, "hear": 0.20},
        objects={
            "eat": {"hay": 0.6, "grass": 0.4},
            "make": {"noise": 1.0},
            "see": {"the cows": 0.6, "grass": 0.4},
            "hear": {"noise": 0.6, "the cows": 0.4},
        },
        when={"in the field": 0.5, "in the barn": 0.3, "in the morning": 0.2},
    ),
}


class Noun(NamedTuple):
    """An animal in a number: ``Noun("fox", True).word == "foxes"``."""

    animal: str
    plural: bool

    @property
    def word(self) -> str:
        return ANIMALS[self.animal].plural if self.plural else self.animal


@dataclass(frozen=True)
class Derivation:
    """The choices behind a sentence. Each sentence has exactly one derivation.

    Attributes:
        subject: who acts.
        attractors: k pairs (preposition, noun) between subject and verb.
        verb: in the plural, whatever the sentence has.
        plural: the number that the verb has in the sentence.
        object, when: one to three words each.
    """

    subject: Noun
    attractors: tuple[tuple[str, Noun], ...]
    verb: str
    plural: bool
    object: str
    when: str

    @property
    def prefix(self) -> tuple[str, ...]:
        """The 2 + 3k words before the verb."""
        phrases = (word for preposition, noun in self.attractors for word in (preposition, "the", noun.word))
        return ("the", self.subject.word, *phrases)

    @property
    def words(self) -> tuple[str, ...]:
        """The whole sentence, "." included."""
        return (*self.prefix, verb_form(self.verb, self.plural), *self.object.split(), *self.when.split(), ".")


def verb_form(verb: str, plural: bool) -> str:
    """``verb_form("make", False) == "makes"``."""
    return verb if plural else SINGULAR[verb]

"""Invented students for a simulated class: who they are, what they can do, and when they hand in.

The model of ability. A student's ability is theta ~ N(0, 1). An item's difficulty is b ~ N(-0.6, 0.9), and 0.8 more for
a bonus item; both are drawn once from the seed. For each student and item there is one u ~ U(0, 1). At the student's
k-th submission (k = 0, 1, ...), with s(x) = 1 / (1 + exp(-x)) and z = 1.5 (theta + 0.5 k - b):

* the item is solved when u < s(z)
* it is tried and wrong when s(z) <= u < s(z + 1.5)
* else it is blank

This is a cumulative logit model (graded response) with the same u each time, so that who hands in again only gains.
Nothing is claimed about real classes but that they have these three states, and students and items that differ.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from ..feedback.assignment import Assignment
from .records import Person

BLANK, TRIED, SOLVED = "blank", "mistake", "solved"
HONEST, HOSTILE, NOTHING = "honest", "hostile", "nothing"
SLOPE, GAIN, TRYING = 1.5, 0.5, 1.5
DIFFICULTY, SPREAD, BONUS = -0.6, 0.9, 0.8
OF_NOTHING, OF_PAIRS, AGAIN = 0.02, 0.06, 0.7  # shares; AGAIN: of those who hand in once more, each time
DUE = datetime(2026, 10, 30, 23, 59, 59, tzinfo=timezone(timedelta(hours=-8)))

_GIVEN = """Ada Alan Amina Anna Barbara Chen Chloé Claude Diego Edsger Emre Fatima Fei Grace Guido Haruto Hedy Ines Ivan
Jing Jonas José Katherine Kofi Lan Leila Li Lin Linus Margaret Mehmet Mei Nadia Noam Olga Omar Priya Rahel Rui Sven
Tariq Tim Ursula Vera Wei Xin Yan Yuki Zoë 伟 芳 娜 静 磊""".split()
_FAMILY = """Adams Baker Becker Chen Costa Diaz Dubois Eze Fischer Garcia Hansen Hoang Ivanova Johansson Kaya Khan Kim
Kowalski Lehmann Li Liu Lopez Mendes Moreau Nakamura Ng Novak O'Brien Okafor Park Patel Petrov Rossi Sato Schmidt Silva
Singh Smith Sun Suzuki Tanaka Tran Turing Wang Weber Wu Yang Zhang Zhou Zhu""".split()
_HOSTILE = (
    "=1+2",
    "<script>alert(1)</script>",
    "@SUM(A1)",
    'Robert"); DROP',
    "-2+3",
    "</td><h1>",
    "\u202eevil",
    "a,b;c",
)


@dataclass(frozen=True)
class Student:
    """Who hands in together: one student, or a group of two that works as one.

    Attributes:
        number: from 0.
        people: who they are.
        ability: theta.
        kind: HONEST, HOSTILE, or NOTHING for an upload without a submission file.
        times: of the submissions, earliest first.
        luck: slug -> u.
    """

    number: int
    people: tuple[Person, ...]
    ability: float
    kind: str
    times: tuple[datetime, ...]
    luck: dict[str, float]


def difficulties(assignment: Assignment, seed: int) -> dict[str, float]:
    """Slug -> b."""
    return {
        item.slug: random.Random(f"{seed} item {item.slug}").gauss(DIFFICULTY + BONUS * item.bonus, SPREAD)
        for item in assignment.items
    }


def students(count: int, assignment: Assignment, seed: int, submissions: int, hostile: float) -> Iterator[Student]:
    """As many students as ``count`` people make; the last group may be one person short.

    Args:
        count: people.
        assignment: whose items they work on.
        seed: the same one gives the same class, and a larger class begins with the smaller one.
        submissions: the most that one student makes.
        hostile: share of students who mean harm, 0 to 1.
    """
    number = people = 0
    while people < count:
        rng = random.Random(f"{seed} student {number}")
        size = 2 if rng.random() < OF_PAIRS and people + 1 < count else 1
        draw = rng.random()
        kind = HOSTILE if draw < hostile else NOTHING if draw < hostile + OF_NOTHING else HONEST
        who = tuple(_person(people + place, rng, kind == HOSTILE) for place in range(size))
        ability = rng.gauss(0, 1)
        luck = {item.slug: rng.random() for item in assignment.items}
        yield Student(number, who, ability, kind, tuple(_times(rng, submissions)), luck)
        number, people = number + 1, people + size


def levels(student: Student, difficulty: dict[str, float], again: int) -> dict[str, str]:
    """Slug -> BLANK, TRIED or SOLVED at the submission of this index."""
    found = {}
    for slug, b in difficulty.items():
        z = SLOPE * (student.ability + GAIN * again - b)
        u = student.luck[slug]
        found[slug] = SOLVED if u < _logistic(z) else TRIED if u < _logistic(z + TRYING) else BLANK
    return found


def _logistic(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def _person(place: int, rng: random.Random, hostile: bool) -> Person:
    name = f"{rng.choice(_GIVEN)} {rng.choice(_FAMILY)}"
    if hostile and rng.random() < 0.5:
        name = rng.choice(_HOSTILE)
    return Person(name=name, sid=f"{20260001 + place}", email=f"student{place + 1}@example.edu")


def _times(rng: random.Random, submissions: int) -> list[datetime]:
    """One in the last days before the deadline, or some hours after it, and the earlier ones before that."""
    count = 1
    while count < submissions and rng.random() < AGAIN:
        count += 1
    last = (
        DUE + timedelta(hours=rng.uniform(0, 30)) if rng.random() < 0.04 else DUE - timedelta(days=rng.expovariate(1))
    )
    times = [last.replace(microsecond=rng.randrange(1_000_000))]
    while len(times) < count:
        times.append(times[-1] - timedelta(hours=rng.uniform(0.5, 40)))
    return times[::-1]

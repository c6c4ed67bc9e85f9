"""The part of the autograder that travels into the handout: values, checks, the score card.

A test author needs ``item`` and the fixtures ``student``, ``check``, ``rng`` and, in hidden tests, ``reference``.
"""

from .errors import StudentError
from .marks import item

__all__ = ["StudentError", "item"]

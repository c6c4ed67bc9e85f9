"""Deadlines of calls, tests, items and the run, as one pure object: asked "until when?", never waiting itself.

Invariants: every answer is an absolute time; an item that missed two deadlines is closed; nothing runs after the
run's end.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from .feedback.assignment import Budgets

MISSES = 2  # deadlines that an item may miss before the rest of it is not run


class Deadlines:
    """The clock of one run.

    Args:
        budgets: seconds a call, a test, an item and the run may take.
        clock: gives the time in seconds; a test passes its own.
    """

    def __init__(self, budgets: Budgets, clock: Callable[[], float] = time.monotonic) -> None:
        self._budgets, self._clock = budgets, clock
        self._run_ends = clock() + budgets.run
        self._spent: dict[str, float] = {}
        self._missed: dict[str, int] = {}
        self._item, self._began = "", 0.0

    def refusal(self, item: str) -> str:
        """Why no further test of this item may run; empty when one may."""
        if self._clock() >= self._run_ends:
            return f"not run: the time for the whole run ({self._budgets.run:g} s) was used up before this check"
        if self._missed.get(item, 0) >= MISSES:
            return f"not run: {MISSES} checks of this item did not finish in time"
        if self._spent.get(item, 0.0) >= self._budgets.item:
            return f"not run: the time for this item ({self._budgets.item:g} s) was used up before this check"
        return ""

    def begin(self, item: str) -> None:
        """A test of this item begins."""
        self._item, self._began = item, self._clock()

    def end(self) -> None:
        """The test that began last has ended."""
        self._spent[self._item] = self._spent.get(self._item, 0.0) + self._clock() - self._began

    def call(self) -> tuple[float, str]:
        """When a call that starts now must have ended, and what to say if it has not."""
        now, budgets = self._clock(), self._budgets
        left_of_item = budgets.item - self._spent.get(self._item, 0.0)
        too_long = "did not finish before the time for"
        return min(
            (now + budgets.call, f"did not finish within {budgets.call:g} s"),
            (self._began + budgets.test, f"did not let the whole check finish within {budgets.test:g} s"),
            (self._began + left_of_item, f"{too_long} this item ({budgets.item:g} s) was used up"),
            (self._run_ends, f"{too_long} the whole run ({budgets.run:g} s) was used up"),
        )

    def missed(self) -> None:
        """The test that runs now missed a deadline."""
        self._missed[self._item] = self._missed.get(self._item, 0) + 1

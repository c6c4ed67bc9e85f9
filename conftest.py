"""Gives the tests of this repository the fixtures that graded tests have: student, reference, rng and check."""

from __future__ import annotations

pytest_plugins = ["autograder.feedback.plugin"]

"""Gives the tests what they use: student, check, rng, and the score card at the end."""

pytest_plugins = ["autograder.feedback.plugin"]

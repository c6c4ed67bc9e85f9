"""The report on a graded class."""

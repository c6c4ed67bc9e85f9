"""The proof of the grader: its catalogue, its trials, and what is recorded of them. Nothing that grades needs it."""

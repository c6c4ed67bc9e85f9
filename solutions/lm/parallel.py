"""Sentences in two languages, for sequence to sequence. Given: there is nothing to fill in here."""

from __future__ import annotations

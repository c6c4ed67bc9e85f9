"""Section 8: how every figure is computed, who is left out and why, and what made the page."""

from __future__ import annotations

import numpy as np

from ... import __version__
from ..records import FAILED, REFUSED
from .formulas import FORMULAS
from .items import EASY, ENOUGH, GAP, GAP_COUNT, HARD, SURE
from .population import NOT_GRADED, NOT_HANDED_IN, Population
from .text import number, percent, safe
from .words import Words


def method(population: Population, words: Words, named: bool) -> str:
    """The body of the section."""
    outline, counts = population.outline, population.counts()

    def students(status: str) -> str:
        return words.counted("n students", counts[status])

    waived = words.counted("n items", sum(item.waived for item in outline.items))
    bonus = words.counted("n items", sum(item.bonus for item in outline.items))
    left = [
        words("left grader", n=students(FAILED)),
        words("left refused", n=students(REFUSED)),
        words("left absent", n=students(NOT_HANDED_IN), m=students(NOT_GRADED)),
        words("left waived", n=waived, m=bonus),
    ]
    thresholds = words(
        "thresholds text",
        enough=ENOUGH,
        easy=number(EASY),
        hard=number(HARD),
        sure=SURE,
        gap=percent(GAP),
        count=GAP_COUNT,
    )
    versions = words(
        "versions text",
        version=f"<code>{safe(outline.version)}</code>",
        grader=f"<code>{safe(outline.grader[:12])}</code>",
        autograder=f"<code>{safe(__version__)}</code>",
        numpy=f"<code>{safe(np.__version__)}</code>",
    )
    figures = "".join(f"<li>{words(f'def {key}')}{formula}</li>" for key, formula in FORMULAS.items())
    return (
        f"<h3>{words('who counts')}</h3><p>{words('who counts text')}</p>"
        f"<h3>{words('left out')}</h3><ul>{''.join(f'<li>{line}</li>' for line in left)}</ul>"
        f"<h3>{words('figures')}</h3><p>{words('symbols')}</p><ul class='figures'>{figures}</ul>"
        f"<p>{words('first and last')}</p>"
        f"<h3>{words('thresholds')}</h3><p>{thresholds}</p>"
        f"<h3>{words('privacy')}</h3><p>{words('privacy named' if named else 'privacy text')}</p>"
        f"<h3>{words('versions')}</h3><p>{versions}</p>"
    )

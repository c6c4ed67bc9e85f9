"""Grades a class: what is new gets graded, everything else is in the journal already.

export ──> roster (who handed in what) ──> contents that the journal does not know ──> cluster ──> journal
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from ..archive import write_file
from ..feedback import scores
from ..feedback.assignment import Assignment
from ..feedback.errors import InputError
from ..proof.catalogue import load_mistakes
from .cluster import local_cluster, remote_cluster
from .export import Export, Source, read_export
from .grader import Grader, Setup
from .journal import open_journal
from .records import (
    FAILED,
    OUTLINE,
    ROSTER,
    Entry,
    Handed,
    ItemFacts,
    MistakeFacts,
    Outline,
    PartFacts,
    lines_of,
)

MEMORY = "items.sqlite"
Tell = Callable[[int, int, Mapping[str, int]], None]  # done, of how many, how they ended
_PART = re.compile(r"<!-- part (\w+) -->")


@dataclass
class Summary:
    """What a regrade did.

    Attributes:
        submissions: in the export.
        graded: contents that were graded now.
        known: contents that were in the journal.
        elsewhere: contents of other shards.
        ends: how those that were graded now ended.
        failed: submissions without a verdict, and why.
        notes: what is odd about the export.
    """

    submissions: int
    graded: int = 0
    known: int = 0
    elsewhere: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[str, str]] = field(default_factory=list)
    notes: tuple[str, ...] = ()


def regrade(
    export: Path,
    home: Path,
    out: Path,
    *,
    secret: Path | None = None,
    jobs: int = 0,
    scheduler: str = "",
    shard: tuple[int, int] = (1, 1),
    tell: Tell = lambda done, total, ends: None,
    reading: Callable[[int, int], None] = lambda done, total: None,
) -> Summary:
    """Grade every submission of a class that was not graded yet, into a folder of grades.

    Args:
        export: a Gradescope export, or any folder of submissions.
        home: the repository, or an unpacked zip.
        out: the folder of grades: new, or that of an earlier run, which is gone on with.
        secret: file with the term's secret; None for the one that lies in ``home``.
        jobs: submissions at once on this machine; 0 for one a core.
        scheduler: address of a Dask scheduler in place of this machine's cores.
        shard: (i, n): only the i-th of n parts, for a job array; each part has a journal of its own.

    Raises:
        InputError: the export, the home or the folder cannot be used, or another regrade writes there.
        GraderError: the scheduler is gone; what was graded is in the journal.
    """
    number, count = shard
    if not 1 <= number <= count:
        raise InputError(f"--shard {number}/{count}: should be from 1/{count} to {count}/{count}")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror}") from None
    key = "" if secret is None else str(secret.resolve())
    own = Setup(str(home), key, str(out.resolve() / MEMORY), jobs or _cores())
    grader = Grader(own)
    try:
        whole = grader.digests.whole
        listed = read_export(export, grader.assignment)
        handed, sources = _with_contents(listed, grader, reading)
        with open_journal(out, whole, shard) as journal:
            write_file(out / OUTLINE, _json(outline_of(home, grader.assignment, whole)))
            write_file(out / ROSTER, lines_of(handed))
            mine = {content: source for content, source in sources.items() if _shard_of(content, count) == number}
            tasks = [(content, source) for content, source in mine.items() if content not in journal.known]
            summary = Summary(len(handed), known=len(mine) - len(tasks), elsewhere=len(sources) - len(mine))
            summary.notes = listed.notes
            names = {one.content: one.submission for one in reversed(handed)}
            if tasks:
                elsewhere = msgspec.structs.replace(own, memory="")
                opened = remote_cluster(scheduler, elsewhere, grader) if scheduler else local_cluster(own, grader)
                with opened as cluster:
                    tell(0, len(tasks), summary.ends)
                    for entry in cluster.run(tasks):
                        journal.append(entry)
                        _count(entry, summary, names)
                        tell(summary.graded, len(tasks), summary.ends)
    finally:
        grader.close()
    return summary


def _with_contents(
    listed: Export, grader: Grader, reading: Callable[[int, int], None]
) -> tuple[list[Handed], dict[str, Source]]:
    handed: list[Handed] = []
    sources: dict[str, Source] = {}
    for number, (one, source) in enumerate(listed.submissions, start=1):
        content = grader.content(source)
        handed.append(msgspec.structs.replace(one, content=content))
        sources.setdefault(content, source)
        reading(number, len(listed.submissions))
    return handed, sources


def _shard_of(content: str, count: int) -> int:
    """By the content alone: whoever lists the export anew gets the same parts."""
    return int(content[:8], 16) % count + 1


def _count(entry: Entry, summary: Summary, names: Mapping[str, str]) -> None:
    states = {row.state for row in entry.rows}
    if entry.status == FAILED:
        summary.failed.append((names.get(entry.content, entry.content[:8]), entry.output))
    ends = {
        "failed": entry.status == FAILED,
        "timeout": scores.LATE in states,
        "cannot import": scores.CANNOT_IMPORT in states,
    }
    summary.graded += 1
    summary.ends[next((name for name, so in ends.items() if so), "ok")] += 1


def outline_of(home: Path, assignment: Assignment, grader: str) -> Outline:
    """The assignment as reports want it; with the catalogue's hints where ``home`` has the catalogue."""
    pages = _pages(home / "solutions" / "writeup")
    catalogue = home / "tests" / "mistakes"
    mistakes = load_mistakes(catalogue, assignment) if catalogue.is_dir() else []
    return Outline(
        title=assignment.title,
        title_zh=assignment.title_zh,
        version=assignment.version,
        grader=grader,
        items=tuple(
            ItemFacts(
                slug=item.slug,
                number=item.number,
                part=item.part,
                title=item.title,
                title_zh=item.title_zh,
                points=item.points,
                file=item.file,
                bonus=item.bonus,
                waived=item.waived,
                page=pages.get(item.part, ""),
            )
            for item in assignment.items
        ),
        parts=tuple(PartFacts(part.slug, part.number, part.title, part.title_zh) for part in assignment.parts),
        mistakes={entry.id: MistakeFacts(entry.items, entry.hint, entry.hint_zh) for entry in mistakes},
        language=assignment.language,
        slot_bonus=assignment.slots.bonus,
    )


def _pages(folder: Path) -> dict[str, str]:
    """Part -> stem of its page of the writeup."""
    found = {}
    for path in sorted(folder.glob("*.md")):
        named = _PART.search(path.read_text(encoding="utf-8")) if not path.stem.endswith(".zh") else None
        if named:
            found[named.group(1)] = path.stem
    return found


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _json(struct: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(struct), indent=1)

"""Find-the-bug sheets from the catalogue: a function with a mistake in it, its line and its reason to be found.

Trusted side; imports ``build``, ``catalogue``, ``excerpt`` and ``feedback``. A question is an entry that changes one
short function in a few lines; some show right code, from the alternatives. The same seed makes the same sheets, on
every machine, and a new entry of the catalogue moves as few of the others as it can.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from ..build import package_members
from ..feedback.assignment import Assignment, Item, load_assignment
from ..feedback.errors import InputError
from ..proof.catalogue import Alternative, Mistake, apply, changed_functions, load_alternatives, load_mistakes
from .excerpt import excerpt

MOST_CHANGED = 3  # lines, on either side
SHARE = 3  # so many times more lines has a function in which they are rewritten, or no line is "the wrong one"
MOST_LINES = 40  # of a function: it should be read, not searched


@dataclass(frozen=True)
class Edit:
    """Lines ``first`` to ``last`` of the sheet, and what is right there. A missing line has no ``wrong``."""

    first: int
    last: int
    wrong: tuple[str, ...]
    right: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """A function to look at. ``edits`` are empty when nothing is wrong with it."""

    item: Item
    function: str
    id: str
    lines: tuple[str, ...]
    edits: tuple[Edit, ...] = ()
    hint: str = ""
    hint_zh: str = ""


def make_quiz(
    home: Path, slugs: Sequence[str], *, count: int | None = None, right: int | None = None, seed: int = 0
) -> dict[str, str]:
    """Two sheets and two keys, as file name -> Markdown.

    Args:
        home: the repository.
        slugs: the items.
        count: how many questions; None for one a function.
        right: how many of them show right code; None for about a quarter.
        seed: picks them.

    Raises:
        InputError: the catalogue does not have that many.
    """
    assignment = load_assignment(home / "assignment.toml")
    wrong, good = _questions(home, assignment, set(slugs))
    chosen = _choose(wrong, good, count, right, seed)
    order = {slug: place for place, slug in enumerate(assignment.by_slug)}
    chosen.sort(key=lambda question: (order[question.item.slug], _rank(seed, question.id)))
    command = f"autograder quiz --items {','.join(dict.fromkeys(slugs))}"
    command += f"{f' --count {count}' if count is not None else ''}{f' --right {right}' if right is not None else ''}"
    command += f" --seed {seed}"
    return {
        "quiz.md": _sheet(assignment, chosen),
        "quiz.zh.md": _sheet_zh(assignment, chosen),
        "key.md": _key(chosen, command),
        "key.zh.md": _key_zh(chosen, command),
    }


# --- what there is ----------------------------------------------------------------------------------------------


def _questions(home: Path, assignment: Assignment, slugs: set[str]) -> tuple[list[Question], list[Question]]:
    """Every question that the catalogue has on these items: with a mistake, and with right code."""
    package = {path: member.content for path, member in package_members(home, assignment, None).items()}
    alternatives = load_alternatives(home / "tests" / "alternatives", assignment)
    mistakes = load_mistakes(home / "tests" / "mistakes", assignment)
    by_id = {alternative.id: alternative for alternative in alternatives}
    wrong, good = [], []
    for mistake in mistakes:
        slug = Path(mistake.file).parent.name
        function = _only_function(mistake)
        if slug not in slugs or function is None:
            continue
        base = by_id.get(mistake.base)
        before = apply(base, package, alternatives) if base is not None else package
        shown = _lines(apply(mistake, package, alternatives), function, mistake.file)
        edits = _edits(shown, _lines(before, function, mistake.file))
        if edits is not None and len(shown) <= MOST_LINES:
            item, hints = assignment.by_slug[slug], (mistake.hint.strip(), mistake.hint_zh.strip())
            wrong.append(Question(item, function, mistake.id, shown, edits, *hints))
    for alternative in alternatives:
        function = _only_function(alternative)
        if alternative.item not in slugs or function is None:
            continue
        shown = _lines(apply(alternative, package, alternatives), function, alternative.file)
        if len(shown) <= MOST_LINES:
            good.append(Question(assignment.by_slug[alternative.item], function, alternative.id, shown))
    return wrong, good


def _only_function(entry: Mistake | Alternative) -> str | None:
    functions = changed_functions(entry)
    return next(iter(functions)) if len(functions) == 1 and not entry.files else None


def _lines(package: Mapping[str, bytes], function: str, file: str) -> tuple[str, ...]:
    module, _, qualname = function.partition(".")
    path = next(name for name in package if name.rpartition("/")[2] == f"{module}.py")
    return excerpt(package[path].decode("utf-8"), qualname, file).lines


def _edits(shown: tuple[str, ...], right: tuple[str, ...]) -> tuple[Edit, ...] | None:
    """Where the sheet differs from what is right; None when it does not, or in more than a few lines."""
    edits = [
        Edit(a + 1, b, shown[a:b], right[c:d])
        for kind, a, b, c, d in SequenceMatcher(None, shown, right, autojunk=False).get_opcodes()
        if kind != "equal"
    ]
    most = max(sum(len(edit.wrong) for edit in edits), sum(len(edit.right) for edit in edits))
    missing = len(edits) == 1 and not (edits[0].wrong and edits[0].right)  # or not wanted
    small = most <= 1 or missing or SHARE * most <= max(len(shown), len(right))
    return tuple(edits) if edits and most <= MOST_CHANGED and small else None


# --- the choice -------------------------------------------------------------------------------------------------


def _choose(
    wrong: list[Question], good: list[Question], count: int | None, right: int | None, seed: int
) -> list[Question]:
    """One question a function, until every function has one."""
    if not wrong:
        raise InputError("no mistake of these items is a small change of one function")
    total = count if count is not None else len({question.function for question in wrong})
    if right is not None and right > min(total, len(good)):
        raise InputError(f"{right} right ones are too many: there are {len(good)}, for {total} questions")
    share = right if right is not None else min((total + 1) // 4, len(good))
    chosen = _spread(good, seed)[:share]
    chosen += _spread(wrong, seed, {question.function for question in chosen})[: total - share]
    if len(chosen) < total:
        raise InputError(f"these items give {len(chosen)} questions, not {total}")
    return chosen


def _spread(questions: Iterable[Question], seed: int, used: Collection[str] = ()) -> list[Question]:
    """In an order of the seed's: the first of every function, then the second of every function, and so on.

    Functions that are ``used`` have had their first.
    """
    by_function: dict[str, list[Question]] = {}
    for question in sorted(questions, key=lambda question: _rank(seed, question.id)):
        by_function.setdefault(question.function, []).append(question)
    placed = [
        (place + (function in used), _rank(seed, function), question)
        for function, several in by_function.items()
        for place, question in enumerate(several)
    ]
    return [question for _, _, question in sorted(placed, key=lambda entry: entry[:2])]


def _rank(seed: int, name: str) -> str:
    """A number for a name, by which to sort; ``random`` may change with Python."""
    return hashlib.sha256(f"{seed}:{name}".encode()).hexdigest()


# --- the pages --------------------------------------------------------------------------------------------------


def _sheet(assignment: Assignment, questions: Sequence[Question]) -> str:
    lines = [
        f"# Find the bug: {assignment.title}",
        "",
        "Each question shows a function. Which line is wrong, and why? If a line is missing, say where. A function may",
        "be right as it stands: then say so.",
    ]
    for number, question in enumerate(questions, 1):
        item = question.item
        lines += ["", f"## {number}. {item.title} ({item.number})", "", f"`{question.function}`", ""]
        lines += [*_numbered(question), "", "Line: ________", "", "Reason:"]
    return "\n".join(lines) + "\n"


def _sheet_zh(assignment: Assignment, questions: Sequence[Question]) -> str:
    lines = [
        f"# 找错：{assignment.title_zh}",
        "",
        "每道题给出一个函数。哪一行错了？为什么？如果缺了一行，请写出它应在何处。有的函数可能本来就对，那就写“没有错”。",
    ]
    for number, question in enumerate(questions, 1):
        item = question.item
        lines += ["", f"## {number}. {item.title_zh}（{item.number}）", "", f"`{question.function}`", ""]
        lines += [*_numbered(question), "", "行号：________", "", "理由："]
    return "\n".join(lines) + "\n"


def _numbered(question: Question) -> list[str]:
    numbered = [f"{number:2d}  {line}".rstrip() for number, line in enumerate(question.lines, 1)]
    return ["```text", *numbered, "```"]


def _key(questions: Sequence[Question], command: str) -> str:
    lines = ["# Find the bug: the key", "", f"Made with `{command}`."]
    for number, question in enumerate(questions, 1):
        lines += ["", f"## {number}. {question.item.title} ({question.item.number})", ""]
        if not question.edits:
            lines += [f"Nothing is wrong (`{question.id}`)."]
            continue
        for edit in question.edits:
            several = edit.last > edit.first
            where = f"Lines {edit.first} to {edit.last}" if several else f"Line {edit.first}"
            if not edit.wrong:
                lines += [f"Missing after line {edit.first - 1}:", "", *_code(edit.right), ""]
            elif not edit.right:
                lines += [f"{where} should not be there.", ""]
            else:
                lines += [f"{where} {'are' if several else 'is'} wrong; right is:", "", *_code(edit.right), ""]
        lines += [f"{question.hint} (`{question.id}`)"]
    return "\n".join(lines) + "\n"


def _key_zh(questions: Sequence[Question], command: str) -> str:
    lines = ["# 找错：答案", "", f"由 `{command}` 生成。"]
    for number, question in enumerate(questions, 1):
        lines += ["", f"## {number}. {question.item.title_zh}（{question.item.number}）", ""]
        if not question.edits:
            lines += [f"没有错（`{question.id}`）。"]
            continue
        for edit in question.edits:
            where = f"第 {edit.first} 至 {edit.last} 行" if edit.last > edit.first else f"第 {edit.first} 行"
            if not edit.wrong:
                lines += [f"第 {edit.first - 1} 行之后缺少：", "", *_code(edit.right), ""]
            elif not edit.right:
                lines += [f"{where}不应存在。", ""]
            else:
                lines += [f"{where}有错，应为：", "", *_code(edit.right), ""]
        lines += [f"{question.hint_zh}（`{question.id}`）"]
    return "\n".join(lines) + "\n"


def _code(lines: Sequence[str]) -> list[str]:
    return ["```text", *lines, "```"]

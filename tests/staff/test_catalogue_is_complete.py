"""The catalogue as a whole: nothing that is known to go wrong is missing, and its hints are worth showing."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import pytest

from autograder.feedback.assignment import Assignment, load_assignment
from autograder.proof.catalogue import Mistake, load_alternatives, load_mistakes

ROOT = Path(__file__).parents[2]

#: What students are known to get wrong, by the chapters of the list that the sources name. Each entry is expressed by
#: at least one mistake, whose source is "mistakes-and-references <chapter>: <entry>".
KNOWN = {
    "2.1": """
        V includes <s> | V omits </s> | sentences concatenated | one <s> whatever n | last n-gram lost
        V is the continuations of this context | V is a token count | context reversed | unknown words not mapped
        joint for conditional | unseen context raises | lower-cases or strips | a second call doubles or resets
        unigrams include <s>
    """,
    "2.2": """
        numerator only | adds 1 whatever k is | smooths unseen n-grams only | unseen context gives 0 | smooths twice
    """,
    "2.3": """
        lambdas in reverse | backs off for mixing | weights not normalised | tunes on the training data
        unseen context loses weight | EM posterior not normalised per event
    """,
    "2.4": """
        </s> not scored | zeros skipped | zeros floored | N counts <s> | divides by sentences | sign lost
        cross-entropy for perplexity | not divided by N | product underflows | first token never predicted
        padding in the average
    """,
    "2.5": """
        always argmax | p**T for p**(1/T) | temperature ignored | divides probabilities by T | top-k keeps k+1
        drops the token that crosses p | 1-p for p | not renormalised | ascending sort | T = 0
        same number for every token | CDF search runs off the end | history not advanced
        no stop at </s>, or emits <s> | temperature after top-p
    """,
    "2.6": """
        linear: db not summed | linear: db averaged | linear: W for its transpose | linear: dW transposed
        linear: db is one number | linear: cache of x | linear: gradients added up or overwritten | ignores upstream
        sigmoid: slope at the input | sigmoid: forward of 2x | sigmoid: overflow
        tanh: slope at the input | tanh: overflow
        softmax: zeros | softmax: diagonal only | softmax: copies upstream | softmax: mean for sum
        softmax: sums over the batch | softmax: divides for subtracting | softmax: one dot product
        softmax: no max-subtraction | softmax: axis 0
        cross-entropy: forgets /N | cross-entropy: sign flipped | cross-entropy: mutates its input
        cross-entropy: log underflows or eps | cross-entropy: softmax twice | cross-entropy: log2
    """,
    "2.7": """
        = for += | recursion without an order | pre-order with a visited set | forward order | no seed
        every node seeded | leaves zeroed, or nothing cleared | broadcasting not summed back | late binding
        recursion limit | gradient into constants | equal values merge
    """,
    "2.8": """
        forgets dh_next | overwrites the step's gradient | last loss only | forward in time
        dh_next not through tanh' | W_hh not transposed | h_t for h_(t-1) | dW_hh = | dW_xh =
        truncates silently or off by one | dh0 zeros | clips inside | predicts its input | h0 shared between calls
        state reset, or carried where it must not | gradient carried too | (N,T,D) for (T,N,D) | repeated tokens lost
        slope of a relu | pre-activation as the state | a norm for each parameter | always rescales
        rebinds the arrays | squared norm | sum of norms | 0/0 on zeros | None gradient | squares overflow | nan and inf
        changes at norm == max
    """,
}

#: Entries of that list that no item of ours can get wrong, with the reason.
NOT_OURS = {
    "2.1: denominator is the unigram count": "with n - 1 times <s> in front it is the same number",
    "2.3: tunes on the test data": "tune_grid is given one text and knows of no other",
    "2.7: reflected operators swapped": "__radd__, __rsub__ and __rtruediv__ are given",
    "2.7: pow": "neither the tape nor the dual numbers have powers",
    "2.7: ties of max and relu": "no operation has a kink",
    "2.7: interior gradients never cleared": "recorded values are new in each forward pass",
    "2.7: a cycle": "a tape is a list, its values come after their inputs",
    "2.8: clips after the update": "no item takes a step of training",
}


@pytest.fixture(scope="module")
def assignment() -> Assignment:
    """The real assignment."""
    return load_assignment(ROOT / "assignment.toml")


@pytest.fixture(scope="module")
def mistakes(assignment: Assignment) -> list[Mistake]:
    """All of them."""
    return load_mistakes(ROOT / "tests" / "mistakes", assignment)


def entries() -> list[str]:
    """ "2.1: V includes <s>", ..."""
    found = []
    for chapter, text in KNOWN.items():
        lines = [line.strip() for line in text.strip().splitlines()]
        found += [f"{chapter}: {entry.strip()}" for line in lines for entry in line.split(" | ")]
    return found


def test_every_known_mistake_is_there(mistakes: list[Mistake]) -> None:
    """Each entry of the list is the source of a mistake, and no source names an entry that the list lacks."""
    named = {entry.source.removeprefix("mistakes-and-references ") for entry in mistakes}
    assert [entry for entry in entries() if entry not in named] == []
    assert not set(entries()) & set(NOT_OURS)
    strange = {source for source in named if re.match(r"2\.[1-8]: ", source)} - set(entries())
    assert strange == set()


def test_every_item_with_code_has_enough_of_both(assignment: Assignment, mistakes: list[Mistake]) -> None:
    """Three mistakes and two alternatives at least, and 200 mistakes in all."""
    slugs = [item.slug for item in assignment.items if item.file.endswith(".py")]
    wrong = [slug for entry in mistakes for slug in entry.items]
    right = [entry.item for entry in load_alternatives(ROOT / "tests" / "alternatives", assignment)]
    assert len(mistakes) >= 200
    assert [slug for slug in slugs if wrong.count(slug) < 3] == []
    assert [slug for slug in slugs if right.count(slug) < 2] == []


def test_each_language_has_a_hint_of_its_own(mistakes: list[Mistake]) -> None:
    """Chinese hints are Chinese, English ones are not, and equal hints in one language are equal in the other."""
    other: dict[str, str] = {}
    for entry in mistakes:
        assert entry.hint != entry.hint_zh, entry.id
        assert re.search(r"[\u4e00-\u9fff]", entry.hint_zh), entry.id
        assert not re.search(r"[\u3000-\u9fff]", entry.hint), entry.id
        for one, two in ((entry.hint, entry.hint_zh), (entry.hint_zh, entry.hint)):
            assert other.setdefault(one, two) == two, f"{entry.id}: {one} is also the hint that says {other[one]}"


def test_a_hint_is_about_its_own_item(mistakes: list[Mistake]) -> None:
    """No hint does for items that have nothing in common: it speaks of what the student is writing."""
    said: dict[str, Mistake] = {}
    for entry in mistakes:
        first = said.setdefault(entry.hint, entry)
        assert set(first.items) & set(entry.items), f"{first.id} and {entry.id} have the same hint: {entry.hint}"


def squeezed(text: str) -> str:
    """Without spaces: code in a hint may have others."""
    return re.sub(r"\s", "", text)


def right_sides(source: str) -> set[str]:
    """What a piece of code computes: the right sides of its assignments and what it returns, but not bare names."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:  # lines out of the middle of something
        return set()
    values = [node.value for node in ast.walk(tree) if isinstance(node, (ast.Assign, ast.AugAssign, ast.Return))]
    return {
        squeezed(ast.unparse(value)) for value in values if value and not isinstance(value, (ast.Name, ast.Constant))
    }


def solved_functions(assignment: Assignment) -> dict[str, str]:
    """ "ngram.AddK.prob" -> its source, docstring and all."""
    found = {}
    for path in sorted((ROOT / "solutions" / assignment.package).glob("*.py")):
        text = path.read_text(encoding="utf-8")
        waiting: list[tuple[str, ast.AST]] = [(path.stem, ast.parse(text))]
        while waiting:
            name, node = waiting.pop()
            if isinstance(node, ast.FunctionDef):
                found[name] = ast.get_source_segment(text, node) or ""
            waiting += [
                (f"{name}.{child.name}", child)
                for child in ast.iter_child_nodes(node)
                if isinstance(child, (ast.FunctionDef, ast.ClassDef))
            ]
    return found


def test_no_hint_holds_the_right_code(assignment: Assignment, mistakes: list[Mistake]) -> None:
    """Neither code in quotes nor anything that the lines which were replaced, or their whole function, compute."""
    functions = solved_functions(assignment)
    for entry in mistakes:
        for hint in (entry.hint, entry.hint_zh):
            assert "`" not in hint, entry.id
            for change in entry.changes:
                code = right_sides(change.old) | right_sides(functions.get(change.function, ""))
                given = [value for value in code if value in squeezed(hint)]
                assert given == [], f"{entry.id}: the hint holds {given}"

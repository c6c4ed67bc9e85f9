"""The doubles of lm/testing.py do what the graded tests take for granted."""

from __future__ import annotations

from types import GeneratorType

import pytest
from lm import testing
from lm.types import Context, cut
from lm.vocab import BOS, EOS, UNK

TABLE: dict[Context, dict[str, float]] = {
    ("<s>", "the"): {"cow": 0.25, "bat": 0.75},
    ("the", "bat"): {EOS: 1.0},
}


# ------------------------------------------------------------------------------------------------- models


def test_table_model_looks_up_its_table() -> None:
    """What the table holds, and 0.0 for unknown words, unknown contexts and contexts that are too short."""
    model = testing.TableModel(TABLE)
    assert model.prob("bat", (BOS, "the")) == 0.75
    assert model.prob("owl", (BOS, "the")) == 0.0
    assert model.prob("bat", ("near", "the")) == 0.0
    assert model.prob("bat", ("the",)) == 0.0


def test_table_model_cuts_a_longer_context() -> None:
    """Only the last order - 1 words count; a list serves as well as a tuple."""
    model = testing.TableModel(TABLE)
    assert model.prob("bat", (BOS, BOS, "the")) == 0.75
    assert model.prob("bat", [BOS, BOS, "the"]) == 0.75
    unigram = testing.TableModel({(): {"a": 0.5, EOS: 0.5}})
    assert unigram.prob("a", ("any", "thing")) == 0.5


def test_table_model_reads_its_order_from_the_table() -> None:
    """One more than the longest context; a given order wins, for a table that is empty too."""
    assert testing.TableModel(TABLE).order == 3
    assert testing.TableModel({(): {"a": 1.0}}).order == 1
    assert testing.TableModel({}).order == 1
    assert testing.TableModel({}, order=4).order == 4


def test_table_model_knows_what_it_has_seen() -> None:
    """A context is seen when the table has a row for it, cut as for prob."""
    model = testing.TableModel(TABLE)
    assert model.seen(("the", "bat"))
    assert model.seen(("near", "the", "bat"))
    assert not model.seen(("the", "owl"))


def test_table_model_lists_words_in_the_order_of_ids() -> None:
    """</s>, then <unk> if the table has it, then the words, sorted, <s> never; a given vocabulary wins."""
    assert testing.TableModel(TABLE).vocabulary == (EOS, "bat", "cow")
    assert testing.TableModel({(): {"b": 0.5, UNK: 0.25, "a": 0.25}}).vocabulary == (EOS, UNK, "a", "b")
    assert testing.TableModel({(): {BOS: 0.5, "a": 0.5}}).vocabulary == (EOS, "a")
    assert testing.TableModel({(): {"a": 1.0}}, vocabulary=["b", "a"]).vocabulary == ("b", "a")


def test_uniform_model() -> None:
    """1/V for a word of the vocabulary in any context, 0 for another."""
    model = testing.UniformModel(["a", "b", EOS, "c"], order=3)
    assert (model.order, model.vocabulary) == (3, ("a", "b", EOS, "c"))
    assert model.prob("a", ("x", "y")) == model.prob(EOS, ()) == 0.25
    assert model.prob(BOS, ()) == 0.0
    assert model.seen(("anything",))


def test_recording_keeps_what_was_asked() -> None:
    """Answers are the model's; queries are kept in order, with contexts cut to what the model looks at."""
    model = testing.Recording(testing.TableModel(TABLE))
    assert model.prob("bat", (BOS, BOS, "the")) == 0.75
    assert model.prob(EOS, ["the", "bat"]) == 1.0
    assert model.prob("cow", ("the",)) == 0.0
    assert model.queries == [("bat", (BOS, "the")), (EOS, ("the", "bat")), ("cow", ("the",))]


def test_recording_stands_for_its_model() -> None:
    """It has the model's order, vocabulary and seen contexts."""
    model = testing.Recording(testing.TableModel(TABLE))
    assert (model.order, model.vocabulary) == (3, (EOS, "bat", "cow"))
    assert model.seen(("the", "bat"))
    assert not model.seen(("the", "owl"))


def test_score_table_answers_and_refuses() -> None:
    """The score of a prefix and a word; KeyError for what no test has foreseen."""
    score = testing.ScoreTable({("the", "bat"): {"makes": -1.0, "make": -3.0}})
    assert score(("the", "bat"), "makes") == -1.0
    assert score(["the", "bat"], "make") == -3.0
    with pytest.raises(KeyError):
        score(("the", "bat"), "sees")
    with pytest.raises(KeyError):
        score(("the", "cow"), "makes")


# ---------------------------------------------------------------------------------------------- iterators


def test_raises_after_k_items() -> None:
    """k items, 0 to k - 1 or the given ones, then RuntimeError, again and again: never the quiet end of a loop."""
    counting = testing.RaisesAfter(2)
    assert [next(counting), next(counting)] == [0, 1]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="more than 2 items"):
            next(counting)
    given = testing.RaisesAfter(2, [0.5, 0.25, 0.125])
    assert [next(given), next(given)] == [0.5, 0.25]
    with pytest.raises(RuntimeError, match="more than 2 items"):
        list(given)


def test_as_generator_gives_its_items_once() -> None:
    """It is a real generator: the second loop finds nothing."""
    items = testing.as_generator([1, 2, 3])
    assert isinstance(items, GeneratorType)
    assert list(items) == [1, 2, 3]
    assert list(items) == []


def test_collect_makes_a_list() -> None:
    """Of a generator, a tuple or a view."""
    assert testing.collect(testing.as_generator("ab")) == ["a", "b"]
    assert testing.collect((1, 2)) == [1, 2]
    assert testing.collect({"a": 1}.items()) == [("a", 1)]


def test_advance_tells_the_end_from_a_value() -> None:
    """(False, value) for each item, a None among them, then (True, None); errors of the generator pass through."""
    items = testing.as_generator(["a", None])
    assert [testing.advance(items) for _ in range(4)] == [(False, "a"), (False, None), (True, None), (True, None)]
    with pytest.raises(RuntimeError):
        testing.advance(testing.RaisesAfter(0))


@pytest.mark.parametrize(
    ("context", "order", "expected"),
    [
        (("a", "b", "c"), 3, ("b", "c")),
        (("a", "b", "c"), 1, ()),
        (("a", "b", "c"), 5, ("a", "b", "c")),
        ((), 3, ()),
        (["a", "b"], 2, ("b",)),
    ],
    ids=["longer", "unigram", "shorter", "empty", "list"],
)
def test_cut(context: tuple[str, ...], order: int, expected: tuple[str, ...]) -> None:
    """The last order - 1 words as a tuple; a unigram looks at none of them."""
    assert cut(context, order) == expected

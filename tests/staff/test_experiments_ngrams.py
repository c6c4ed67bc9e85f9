"""Experiment 1, n-grams, on the solved package: the lectures' figures, and what happens where something is missing."""

from __future__ import annotations

import csv
import math
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from experiments import ngrams, ngrams_data, ngrams_tools
from experiments.run import INSIDE, Run
from lm import corpus, truth
from lm.testing import Recording, TableModel

from autograder.build import package_members
from autograder.feedback.assignment import load_assignment

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The whole experiment, quick, on the published corpus."""
    made = Run(tmp_path_factory.mktemp("ngrams"), quick=True)
    made.experiment("1", ngrams)
    return made


@pytest.fixture
def small(run: Run, tmp_path: Path) -> Run:
    """A run on 300 sentences: its figures mean nothing, its steps take no time."""
    made = Run(tmp_path, quick=True)
    made.shared = {key: value[:20] for key, value in run.shared.items() if key.startswith("1 pairs")}
    data = ngrams_tools.data(run)
    made.shared["1 corpus"] = corpus.Splits(data.train[:300], data.val[:50], data.test[:50])
    return made


def values(run: Run) -> dict[str, float]:
    """What was measured, by key."""
    return {figure.key: figure.value for figure in run.figures}


def rows(run: Run, name: str) -> list[list[str]]:
    """A table without its head."""
    with (run.out / f"1-{name}.csv").open(encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def test_every_figure_of_the_published_corpus_lies_in_its_band(run: Run) -> None:
    """More than 50 figures of 4.1 to 4.5, all of them inside; nothing waits; all keys differ."""
    assert [figure.key for figure in run.figures if not figure.holds] == []
    assert len(values(run)) == len(run.figures) > 50
    assert run.waiting == []
    assert {figure.key[:3] for figure in run.figures} == {"4.1", "4.2", "4.3", "4.4", "4.5"}
    assert run.untranslated == []
    assert run.finish() == INSIDE


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("4.1 vocabulary", 56),
        ("4.1 true perplexity, by formula", 2.4897),
        ("4.1 test predictions", 23_401),
        ("4.1 cows eat", 439),
        ("4.1 cows eat, cows as an attractor", 120),
        ("4.2 unseen 3-grams in test", 4),
        ("4.2 unsmoothed trigram: infinite", 1),
        ("4.2 non-zero 6-gram entries", 30_984),
        ("4.3 agreement, n = 2..6, k = 0 opposite, lowest", 1),
        ("4.4 n = 4, grammatical samples", 1),
        ("4.5 sentences for which the chain rule fails", 0),
    ],
    ids=[
        "vocabulary",
        "true-perplexity",
        "predictions",
        "cows-eat",
        "cows-as-attractor",
        "unseen-trigrams",
        "infinite-trigram",
        "6-gram-entries",
        "agreement-without-attractors",
        "4-gram-samples",
        "chain-rule",
    ],
)
def test_the_exact_figures(run: Run, key: str, value: float) -> None:
    """On the published corpus these are equalities."""
    assert values(run)[key] == value


def test_the_tables_are_kept(run: Run) -> None:
    """Each as CSV, in full precision; of the picture's curves as well."""
    assert [row[0] for row in rows(run, "cows-eat")][:3] == ["corn", "grass", "hay"]
    unsmoothed, added, mixed = zip(*(map(float, row[1:]) for row in rows(run, "perplexity")), strict=True)
    assert unsmoothed[2:] == (math.inf,) * 4
    assert added[5] == pytest.approx(5.779, abs=1e-3)
    assert mixed[5] == pytest.approx(2.870, abs=1e-3)
    assert len(rows(run, "agreement")) == 3 * 5
    assert len(rows(run, "samples")) == 7


def test_the_true_perplexity_is_that_of_the_language() -> None:
    """By formula, and on a text by the probabilities of its sentences."""
    assert ngrams_data.true_perplexity() == pytest.approx(2.4897, abs=5e-5)
    sentence = tuple("the bats eat flies at night .".split())
    assert ngrams_data.true([sentence, sentence]) == pytest.approx(truth.probability(sentence) ** (-1 / 8), rel=1e-12)


def test_the_share_of_windows() -> None:
    """Of k windows "N prep the N" in a sentence, the first begins with the subject."""
    sentences: list[Sequence[str]] = [
        "the bat eats fish at night .".split(),
        "the bat near the cow eats fish at night .".split(),
        "the bat near the cow near the hen beside the owl eats fish at night .".split(),
    ]
    assert ngrams_data.windows(sentences) == 2 / 4


def test_a_remembering_model_asks_once() -> None:
    """It answers as the model does, whatever the length of the context, and asks it about each context once."""
    model = Recording(TableModel({("the",): {"bat": 0.75, "cow": 0.25}}))
    remembering = ngrams_tools.Remembering(model)
    asked = [remembering.prob(word, context) for word in ("bat", "cow", "<s>") for context in (("the",), ("a", "the"))]
    assert asked == [0.75, 0.75, 0.25, 0.25, 0, 0]
    assert len(model.queries) == len(model.vocabulary)


def test_the_judge_of_samples() -> None:
    """Shares of all samples; agreement also among the grammatical ones alone."""
    right, wrong = tuple("the bat eats fish at night .".split()), tuple("the bat eat fish at night .".split())
    found = ngrams_tools.judge([right, right, wrong, ("the", "the")], {right})
    assert found == (3 / 4, 2 / 3, 2 / 4, 2 / 4, 3 / 4)
    assert math.isnan(ngrams_tools.judge([()], set())[1])


def test_another_seed_is_another_corpus(small: Run) -> None:
    """The seed of the run is that of the corpus and of the samples."""
    other = Run(small.out, seed=1)
    rng = random.Random(1)
    assert ngrams_tools.data(other).train[:9] == [corpus.sample(rng) for _ in range(9)]
    assert small.rng("samples 1").random() != other.rng("samples 1").random()


@pytest.mark.parametrize(
    ("function", "waits"),
    [
        ("lm.ngram.AddK.prob", ["add_one"]),
        ("lm.ngram.tune_grid", ["interpolated", "agreement"]),
        ("lm.ngram.generate", ["samples"]),
        ("lm.metrics.agreement_accuracy", ["agreement"]),
    ],
    ids=["add_k", "tune", "generate", "agreement"],
)
def test_a_missing_function_costs_its_steps_only(
    small: Run, monkeypatch: pytest.MonkeyPatch, function: str, waits: list[str]
) -> None:
    """The steps that need it say which item they wait for, all others run."""

    def missing(*_: object) -> float:
        raise NotImplementedError("some_item: function")

    monkeypatch.setattr(function, missing)
    monkeypatch.setattr(ngrams, "DRAWN_QUICKLY", 20)
    small.experiment("1", ngrams)
    assert small.waiting == [f"1 {step}: some_item" for step in waits]
    assert any(key.startswith("4.5") for key in values(small))


def test_on_stubs_all_but_the_corpus_waits(tmp_path: Path) -> None:
    """With nothing solved the command still runs: exit code 3, and a line for each step that waits."""
    members = package_members(ROOT, load_assignment(ROOT / "assignment.toml"))
    for name, member in members.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(member.content)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "solutions")])}
    command = [sys.executable, "-m", "experiments", "1", "--quick", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "")
    waits = [line.strip() for line in done.stdout.splitlines() if line.startswith("  waits: ")]
    assert "waits: 1 chain_rule: count_ngrams" in waits
    assert len(waits) == len(ngrams.STEPS) - 2  # the corpus, and the picture of what there is
    assert "true perplexity on test" in done.stdout

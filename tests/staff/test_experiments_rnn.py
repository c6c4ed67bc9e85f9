"""Experiment 5, the RNN against n-grams, on the solved package and the model that was trained with it."""

from __future__ import annotations

import csv
import math
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from experiments import peeking_tools, rnn, rnn_tools, training_sets_tools
from experiments.run import Run
from lm import corpus, truth
from lm.batching import pad
from lm.ngram import MLE, Interpolated, count
from lm.rnn import masked_cross_entropy
from lm.train import Epoch, mean_loss
from lm.weights import init_params, load_weights

from autograder.build import package_members
from autograder.feedback.assignment import load_assignment

ROOT = Path(__file__).parents[2]
TRAINED = ROOT / "solutions" / "lm" / "rnn_lm.npz"
SENTENCE = "the cows near the dog see the dogs in the field .".split()


def prepared(out: Path) -> Run:
    """A full run with the trained model of the repository, as if it had just been trained."""
    made = Run(out)
    epochs = [Epoch(1, 1.2, 2.85, (1.0, 0.97, 0.95, 0.93, 0.91, 0.89, 0.84)), Epoch(2, 1.0, 2.6, (1.0,) * 7)]
    made.shared["rnn"] = rnn_tools.Trained(load_weights(TRAINED), epochs)
    return made


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """All steps that train nothing."""
    made = prepared(tmp_path_factory.mktemp("rnn"))
    made.number = "5"
    models = [MLE(count(rnn_tools.corpus(made).train, n)) for n in range(1, 7)]
    made.shared["six-gram"] = Interpolated(models, {2: 0.99, 3: 0.99, 4: 0.98, 5: 0.45, 6: 0.3})  # as tune_grid finds
    for step in (rnn.training, rnn.perplexities, rnn.grammatical_roles, rnn.agreement, rnn.temperatures):
        step(made)
    return made


def rows(run: Run, name: str) -> list[list[str]]:
    """A table without its head."""
    with (run.out / f"5-{name}.csv").open(encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def test_every_figure_of_a_trained_model_lies_in_its_band(run: Run) -> None:
    """Perplexities, roles, agreement, temperatures in full; all keys differ."""
    assert [figure.key for figure in run.figures if not figure.holds] == []
    keys = [figure.key for figure in run.figures]
    assert len(set(keys)) == len(keys) >= 27
    assert run.untranslated == []
    exact = {figure.key: (figure.value, figure.low, figure.high) for figure in run.figures}
    assert exact["4.6 parameters of the RNN"] == (11_640, 11_640, 11_640)


def test_the_tables_say_what_the_package_says(run: Run) -> None:
    """Perplexities are those of ``mean_loss`` and of the truth; the losses by role sum to that of the text."""
    data, params = rnn_tools.corpus(run), run.shared["rnn"].params
    found = {name: float(perplexity) for name, perplexity, _ in rows(run, "perplexities")}
    predictions = sum(len(text) + 1 for text in data.test)
    assert found["RNN"] == pytest.approx(math.exp(mean_loss(params, data.test, rnn_tools.VOCAB)))
    assert found["truth"] == pytest.approx(math.exp(-sum(map(truth.log_probability, data.test)) / predictions))
    counts: dict[str, int] = {}
    for text in data.test:
        for role in rnn_tools.roles(text):
            counts[role or "all others"] = counts.get(role or "all others", 0) + 1
    total = sum(counts[role] * float(loss) for role, _, loss, *_ in rows(run, "roles"))
    assert total / predictions == pytest.approx(math.log(found["RNN"]))


def test_a_sentence_has_roles() -> None:
    """Certain words have none; an object of two words has its role twice; what is no sentence is refused."""
    assert rnn_tools.roles(SENTENCE) == [
        *["", "subject", "preposition", "", "attractor", "verb", "object", "object"],
        *["time/place"] * 3,
        *["", ""],
    ]
    with pytest.raises(ValueError, match="not a sentence"):
        rnn_tools.roles(["the", "cow", "."])


def test_the_quality_of_samples() -> None:
    """Shares of all, but the right verb among the grammatical only."""
    good, wrong, broken = tuple(SENTENCE), (*SENTENCE[:5], "sees", *SENTENCE[6:]), ("cow",)
    found = rnn_tools.quality([good, good, wrong, broken], frozenset([good]))
    assert found == (0.75, 2 / 3, 0.5, 0.75)
    assert rnn_tools.quality([broken], frozenset()).agree == 0


def test_samples_follow_from_the_seed(tmp_path: Path) -> None:
    """The same twice, whatever was drawn before; others with another seed."""
    params = load_weights(TRAINED)

    def texts(seed: int) -> list[tuple[str, ...]]:
        made = Run(tmp_path, seed=seed, number="5")
        return rnn_tools.write(*rnn_tools.stepper(params), made.rng("tau"), 5)

    assert texts(0) == texts(0) != texts(1)


@pytest.fixture
def pair() -> peeking_tools.Pair:
    """Two small untrained RNNs."""
    rng = np.random.default_rng(0)
    return init_params(rng, hidden=16), init_params(rng, hidden=16)


def test_the_bidirectional_net_sees_the_next_word(pair: peeking_tools.Pair) -> None:
    """Another word at t + 1 changes the logits at t; for the net that only reads forwards it does not."""
    batch = pad([SENTENCE], rnn_tools.VOCAB)
    other = batch._replace(inputs=batch.inputs.copy())
    other.inputs[0, 5] += 1
    blind = (pair[0], replace(pair[1], W_hy=np.zeros_like(pair[1].W_hy)))
    for net, sees in ((pair, True), (blind, False)):
        before, after = (peeking_tools.both_ways(b, net)[0][0, 4] for b in (batch, other))
        assert bool(np.any(before != after)) is sees


def test_without_future_the_losses_are_those_of_a_writer(pair: peeking_tools.Pair) -> None:
    """Word by word with the step function, and all at once: the same."""
    step, state = peeking_tools.no_future(pair)
    words = rnn_tools.VOCAB.encode(["<s>", *SENTENCE, "</s>"])
    losses = []
    for word, following in pairwise(words):
        logits, state = step(word, state)
        losses.append(-rnn_tools.log_softmax(logits)[following])
    assert peeking_tools.losses_without_future(pair, [SENTENCE]) == pytest.approx(np.mean(losses))


def test_a_net_that_peeks_soon_knows_the_answer() -> None:
    """After 100 batches its loss is far below what the truth can do; without the future it is above it."""
    data, rng = corpus.splits(), np.random.default_rng(0)
    pair = init_params(rng), init_params(rng)
    losses = peeking_tools.train_both(pair, data.train[:3_200], rng)
    assert len(losses) == 100
    batch = pad(data.test[:100], rnn_tools.VOCAB)
    loss, _ = masked_cross_entropy(peeking_tools.both_ways(batch, pair)[0], batch.targets, batch.mask)
    assert loss < 0.5 < truth_loss(data.test[:100])
    assert peeking_tools.losses_without_future(pair, data.test[:100]) > truth_loss(data.test[:100])


def truth_loss(texts: list[tuple[str, ...]]) -> float:
    """Nats a word of the truth."""
    return float(-np.concatenate([truth.token_log_probabilities(text) for text in texts]).mean())


def test_without_attractors_the_last_noun_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exercise 7 (a), on 3,000 sentences: right at k = 0, wrong at every other k."""
    monkeypatch.setattr(training_sets_tools, "QUICK_SENTENCES", 3_000)
    shares = training_sets_tools.extrapolation(Run(tmp_path, quick=True), (1.0,))
    assert shares[0] > 0.95
    assert max(shares[1:]) < 0.2


def test_an_empty_package_waits_item_by_item(tmp_path: Path) -> None:
    """Nothing is written yet: no step breaks, each says what it waits for, exit code 3."""
    for name, member in package_members(ROOT, load_assignment(ROOT / "assignment.toml"), keep=()).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(member.content)
    (tmp_path / "experiments").symlink_to(ROOT / "solutions" / "experiments")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "experiments", "5", "--quick", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    waiting = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("  waits: ")]
    assert [step.rstrip(":") for _, step, _ in waiting] == [step.__name__ for step in rnn.STEPS]
    assert {item for _, _, item in waiting} == {"rnn_forward"}
    assert done.stdout.count("-- waits for item 4.2, ") == len(waiting)

"""Experiment 6, the gradient through time, on the solved package and the model that was trained with it."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiments import exposure_tools, rnn_tools, through_time, through_time_tools
from experiments.run import Run
from lm import corpus, truth
from lm.rnn import rnn_forward
from lm.weights import init_params, load_weights

from autograder.build import package_members
from autograder.feedback.assignment import load_assignment

ROOT = Path(__file__).parents[2]
TRAINED = ROOT / "solutions" / "lm" / "rnn_lm.npz"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """All steps that need no PyTorch, in full, with the trained model of the repository."""
    made = Run(tmp_path_factory.mktemp("through_time"), number="6")
    made.shared["rnn"] = rnn_tools.Trained(load_weights(TRAINED), [])
    for step in (
        through_time.vanishing,
        through_time.larger_weights,
        through_time.lasting,
        exposure_tools.exposure_bias,
    ):
        step(made)
    return made


def rows(run: Run, name: str) -> list[list[str]]:
    """A table without its head."""
    with (run.out / f"6-{name}.csv").open(encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def test_every_figure_of_a_trained_model_lies_in_its_band(run: Run) -> None:
    """All of 4.8, and exposure bias; all keys differ."""
    assert [figure.key for figure in run.figures if not figure.holds] == []
    keys = [figure.key for figure in run.figures]
    assert len(set(keys)) == len(keys) >= 17
    assert run.untranslated == []


def test_the_prefixes_reach_back_to_the_subject() -> None:
    """21 words each; 18 steps before the last one is the subject's noun."""
    inputs, verbs = through_time_tools.before_the_verb(0)
    assert inputs.shape == (200, 21)
    for row, (prefix, right, _), verb in zip(inputs, corpus.agreement_set(6, "opposite", n=200), verbs, strict=True):
        assert rnn_tools.VOCAB.decode(row) == ("<s>", *prefix)
        assert rnn_tools.VOCAB.words[verb] == right
        assert rnn_tools.VOCAB.words[row[20 - through_time_tools.SUBJECT]] == prefix[1]


def test_near_zero_tanh_makes_no_difference() -> None:
    """With tiny weights into the states, the net with tanh and the one without leave the same."""
    params = init_params(np.random.default_rng(0))
    small = replace(params, W_xh=params.W_xh * 1e-6, b_h=params.b_h * 1e-6)
    inputs, verbs = through_time_tools.before_the_verb(0)
    with_tanh = through_time_tools.left(small, inputs, verbs)
    assert through_time_tools.left_without_tanh(small, inputs, verbs) == pytest.approx(with_tanh, rel=1e-6)
    assert through_time_tools.mean_slope(small, inputs) == pytest.approx(1)


def test_an_orthogonal_matrix_without_tanh_leaves_all() -> None:
    """And twice an orthogonal matrix 2^18."""
    params = init_params(np.random.default_rng(0))
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=params.W_hh.shape))
    inputs, verbs = through_time_tools.before_the_verb(0)
    for factor in (1, 2):
        net = replace(params, W_hh=factor * turn)
        assert through_time_tools.left_without_tanh(net, inputs, verbs) == pytest.approx(factor**18)


def test_the_divergence_is_that_of_the_distributions() -> None:
    """Word by word from the definition, for one sentence."""
    params, text = load_weights(TRAINED), tuple("the cows near the dog see the dogs in the field .".split())
    ids = np.array([rnn_tools.VOCAB.encode(["<s>", *text])])
    p_model = np.exp(rnn_tools.log_softmax(rnn_forward(ids, params)[0]))[0]
    expected = [
        sum(p * np.log(p / q[rnn_tools.VOCAB.ids[word]]) for word, p in row.items())
        for row, q in zip(truth.next_words(text), p_model, strict=True)
    ]
    assert exposure_tools.divergence(params, [text]) == pytest.approx(np.mean(expected))


def test_after_itself_a_sentence_is_teacher_forced() -> None:
    """Read what is told: the loss of the text. Read less: only as far as both go."""
    params, texts = load_weights(TRAINED), corpus.splits().test[:20]
    losses = np.concatenate(rnn_tools.rnn_losses(params, texts))
    assert exposure_tools.scored_after(params, texts, texts) == pytest.approx(losses.mean())
    first = np.array([row[:2] for row in rnn_tools.rnn_losses(params, texts)])
    assert exposure_tools.scored_after(params, [text[:1] for text in texts], texts) == pytest.approx(first.mean())


PROGRAM = """
import json, sys
import numpy as np, torch
from experiments.lstm_tools import lstm_decay, new_lstm
from experiments.through_time_tools import before_the_verb

torch.set_num_threads(1)
state = torch.get_rng_state()
model = new_lstm(0)
kept = bool((torch.get_rng_state() == state).all())
inputs, verbs = before_the_verb(0)
found = lstm_decay(model, inputs[:50], verbs[:50])
with torch.no_grad():  # gates that are open, or shut, whatever is read
    for parameter in (model.W_xh[0], model.W_hh[0]):
        parameter.zero_()
    model.b[0][:64] = -50
    model.b[0][64:128] = 0
half = lstm_decay(model, inputs[:50], verbs[:50])["c"][:4]
print(json.dumps({"kept": kept, "c": float(found["c"][18]), "h": float(found["h"][18]), "half": half.tolist()}))
"""


def test_the_cell_of_an_lstm_keeps_what_its_forget_gate_lets_through() -> None:
    """A forget gate of 1/2 and nothing else halves the gradient at each step; untrained, the cell beats the state."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "solutions"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["kept"]
    assert 1e-4 < found["h"] < found["c"] < 0.5
    assert found["half"] == pytest.approx([1, 1 / 2, 1 / 4, 1 / 8], rel=1e-4)


def test_what_needs_no_training_runs_before_training_can(tmp_path: Path) -> None:
    """With forward pass and ``gradient_norms`` alone the untrained net is measured; the rest waits."""
    keep = {"rnn_forward", "gradient_through_time"}
    for name, member in package_members(ROOT, load_assignment(ROOT / "assignment.toml"), keep=keep).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(member.content)
    (tmp_path / "experiments").symlink_to(ROOT / "solutions" / "experiments")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "experiments", "6", "--quick", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert "12 of 12 figures lie in their bands" in done.stdout
    waiting = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("  waits: ")]
    assert waiting == [
        ["6", "lasting:", "masked_loss"],
        ["6", "lstm:", "lstm_cell"],
        ["6", "exposure_bias:", "masked_loss"],
    ]

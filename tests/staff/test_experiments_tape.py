"""Experiment 3, the tape: its exact figures, its bands on fixed seeds, and what a half-finished package can do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from experiments import tape, tape_tools
from experiments.run import Run

from tests.staff.unfinished import experiment

EXACT = {
    "4.9 small net: nodes on the tape": 5,
    "4.9 small net: nodes left after backward": 0,
    "4.9 sentence: nodes on the tape": 136,
    "4.9 sentence: nodes left after backward": 0,
    "4.9 overwritten: error of W_hh": 1,
    "4.9 added: rows of E with a gradient": 12,
    "4.9 overwritten: rows of E with a gradient": 1,
}


@pytest.fixture(scope="module", params=[0, 1], ids=["seed 0", "seed 1"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """All steps, quick."""
    run = Run(tmp_path_factory.mktemp("tape"), quick=True, seed=request.param)
    run.experiment("3", tape)
    return run


def test_every_figure_lies_in_its_band(run: Run) -> None:
    """Nothing waits and nothing lies outside, whatever the seed."""
    assert not run.waiting
    assert run.untranslated == []
    assert [found.key for found in run.figures if not found.holds] == []


def test_the_exact_figures_are_exact(run: Run) -> None:
    """Nodes and rows are counted, and their band is a single number."""
    found = {figure.key: figure for figure in run.figures}
    assert {key: found[key].value for key in EXACT} == EXACT
    assert all(found[key].low == found[key].high == value for key, value in EXACT.items())


def test_gradients_equal_those_of_pytorch(run: Run) -> None:
    """All six, to 1e-12, and the loss."""
    compared = [figure for figure in run.figures if "against PyTorch" in figure.key]
    assert len(compared) == 2
    assert all(0 <= figure.value <= 1e-12 for figure in compared)


def test_overwriting_leaves_a_loss_that_does_not_fall(run: Run) -> None:
    """Added gradients learn the sentence, overwritten ones do not."""
    last = (run.out / "3-overwritten-training.csv").read_text(encoding="utf-8").splitlines()[-1].split(",")
    assert float(last[1]) < 0.1
    assert float(last[2]) > 3


def test_the_tables_follow_from_the_seed(run: Run, tmp_path: Path) -> None:
    """The same seed gives the same files."""
    again = Run(tmp_path, quick=True, seed=run.seed)
    again.number = "3"
    tape.unrolled(again)
    assert (tmp_path / "3-shared-matrix.csv").read_bytes() == (run.out / "3-shared-matrix.csv").read_bytes()


def test_only_the_first_words_row_keeps_a_gradient() -> None:
    """Overwritten, the gradient of E is that of ``<s>``, and each of the six errors is large."""
    arrays = tape_tools.small_params(np.random.default_rng(5))
    (_, right), (_, wrong) = tape_tools.gradients(arrays), tape_tools.gradients(arrays, wrong=True)
    assert np.flatnonzero(np.abs(wrong["E"]).any(axis=1)).tolist() == tape_tools.sentence()[0][:1]
    assert all(tape_tools.relative_error(wrong[name], right[name]) >= 0.3 for name in tape_tools.NAMES)


def test_a_half_finished_package_runs_what_it_can(tmp_path: Path) -> None:
    """Without ``sentence_loss`` the spiral is learned all the same; the others say what they wait for."""
    done = {"unbroadcast", "tape_ops", "tape_record", "tape_backward"}
    ended = experiment(tmp_path, "3", done, ["written_out", "three_arms", "unrolled", "overwritten"])
    assert ended.returncode == 3, ended.stderr
    waiting = [line.strip() for line in ended.stdout.splitlines() if line.startswith("  waits: ")]
    assert waiting == [
        "waits: 3 written_out: procedural_forward",
        "waits: 3 unrolled: tape_rnn",
        "waits: 3 overwritten: tape_rnn",
    ]
    assert "[ok] spiral: accuracy after epoch 100" in ended.stdout

"""Experiment 4, PyTorch: exact figures, the rules that it shows, and what a half-finished package can do."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from experiments import torch_basics
from experiments.run import Run

from tests.staff.unfinished import experiment

EXACT = {
    "4.9 branches: different graphs in two calls": 2,
    "4.9 hooks run by model(x)": 1,
    "4.9 hooks run by model.forward(x)": 0,
    "4.9 parameters found in a plain tensor": 0,
    "4.9 parameters found in a Python list": 0,
    "4.9 tensors found of five that have gradients": 3,
    "4.9 gradient of 3w after call 1": 3,
    "4.9 gradient of 3w after call 2": 6,
    "4.9 gradient of 3w after call 3": 9,
    "4.9 a second backward without a second forward pass fails": 1,
    "4.9 memory in GiB: 7B, training with Adam": 104.31,
    "4.9 memory in GiB: GPT-3, float32": 651.93,
    "4.9 memory in GiB: GPT-3, float16": 325.96,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """All steps, quick."""
    run = Run(tmp_path_factory.mktemp("torch"), quick=True)
    run.experiment("4", torch_basics)
    return run


def rows(run: Run, name: str) -> list[list[str]]:
    """A table that was kept, without its head."""
    with (run.out / f"4-{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def test_every_figure_lies_in_its_band(run: Run) -> None:
    """Nothing waits and nothing lies outside."""
    assert not run.waiting
    assert run.untranslated == []
    assert [found.key for found in run.figures if not found.holds] == []


def test_the_exact_figures_are_exact(run: Run) -> None:
    """What is counted or calculated has a single number for a band."""
    found = {figure.key: figure for figure in run.figures}
    assert {key: found[key].value for key in EXACT} == EXACT
    assert all(found[key].low == found[key].high for key in EXACT)


def test_each_branch_has_the_lectures_graph(run: Run) -> None:
    """The chains of operations that the lecture prints."""
    assert [row[1] for row in rows(run, "branches")] == [
        "SumBackward0 <- MulBackward0 <- AccumulateGrad",
        "MulBackward0 <- SumBackward0 <- SinBackward0 <- AccumulateGrad",
    ]


def test_what_is_not_registered_has_a_gradient_and_nothing_else(run: Run) -> None:
    """A plain tensor and a layer in a list are not found, saved, moved or converted."""
    seen = {row[0]: row[1:] for row in rows(run, "registered")}
    assert seen["torch.ones(.., requires_grad=True)"] == seen["[nn.Linear(..)]"] == ["-", "-", "yes", "-", "-"]
    assert seen["nn.ModuleList([nn.Linear(..)])"] == ["yes"] * 5
    assert seen['register_buffer("buffer", ..)'] == ["-", "yes", "-", "-", "yes"]


def test_both_mistakes_spoil_the_training(run: Run) -> None:
    """A layer in a list and no ``zero_grad`` raise nothing, and the spiral is not learned."""
    right, in_a_list, no_zero = ([float(cell) for cell in row[1:]] for row in rows(run, "spiral"))
    assert right[3] < 0.02
    assert right[4] >= 0.995
    assert in_a_list[3] > 0.45
    assert 0.55 <= in_a_list[4] <= 0.75
    assert no_zero[3] > 0.3


def test_the_students_rnn_has_its_parameters(run: Run) -> None:
    """11,640 numbers, and a hook on the state's layer runs once a word."""
    found = {row[0]: row[1:3] for row in rows(run, "inside-your-rnn")}
    assert found["all"][0] == "11640"
    assert found["W_hh"] == ["4096", "15"]


def test_an_empty_package_runs_what_needs_none_of_it(tmp_path: Path) -> None:
    """Three steps wait for items by name, the others need nothing but PyTorch."""
    ended = experiment(tmp_path, "4", (), ["same_net", "branches", "hooks", "inside_your_rnn", "memory"])
    assert ended.returncode == 3, ended.stderr
    waiting = [line.strip() for line in ended.stdout.splitlines() if line.startswith("  waits: ")]
    assert waiting == [
        "waits: 4 same_net: procedural_forward",
        "waits: 4 inside_your_rnn: vanilla_rnn",
        "waits: 4 memory: paper_parameters",
    ]
    assert "3 of 3 figures lie in their bands" in ended.stdout

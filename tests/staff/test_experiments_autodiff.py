"""Experiment 2, automatic differentiation, on the solved package: operation counts, the planted bug, step sizes."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from experiments import autodiff, autodiff_tools
from experiments.run import INSIDE, Run
from lm.modules import Sigmoid
from lm.testing import ForgetfulSigmoid


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The whole experiment."""
    made = Run(tmp_path_factory.mktemp("autodiff"), quick=True)
    made.experiment("2", autodiff)
    return made


def values(run: Run) -> dict[str, float]:
    """What was measured, by key."""
    return {figure.key: figure.value for figure in run.figures}


def table(run: Run, name: str) -> dict[str, list[float]]:
    """A table by its first column."""
    with (run.out / f"2-{name}.csv").open(encoding="utf-8") as file:
        return {first: [float(value) for value in rest] for first, *rest in list(csv.reader(file))[1:]}


def test_every_figure_lies_in_its_band(run: Run) -> None:
    """All of them, and nothing waits; all keys differ."""
    assert [figure.key for figure in run.figures if not figure.holds] == []
    assert len(values(run)) == len(run.figures) >= 28
    assert run.waiting == []
    assert run.untranslated == []
    assert run.finish() == INSIDE


@pytest.mark.parametrize(
    ("n", "forwards", "there", "back", "ratio"),
    [(10, 300, 30, 50, 3.75), (100, 30_000, 300, 500, 37.5), (1000, 3_000_000, 3_000, 5_000, 375)],
    ids=["n10", "n100", "n1000"],
)
def test_the_operation_counts(run: Run, n: int, forwards: int, there: int, back: int, ratio: float) -> None:
    """Forward mode takes n passes of 3n operations, reverse mode 3n there and 5n back."""
    assert table(run, "operations")[str(n)] == [forwards, there, back, there + back, ratio]
    found = values(run)
    assert found[f"4.9 operations of the forward mode, n = {n}"] == forwards
    assert found[f"4.9 operations of the reverse mode, n = {n}"] == there + back
    assert found[f"4.9 forward / reverse, n = {n}"] == ratio


def test_dual_numbers_take_a_pass_for_each_input(run: Run) -> None:
    """As many calls of the function as inputs."""
    assert table(run, "dual-numbers")["100"][0] == 100
    assert values(run)["B 5.4 passes of dual numbers, n = 10"] == 10


def test_the_planted_bug_is_found(run: Run) -> None:
    """The whole net sees a wrong g_alpha and a right g_beta; one module alone fails."""
    found = table(run, "planted-bug")
    assert max(right for right, _ in found.values()) < 1e-7
    assert {name for name, (_, wrong) in found.items() if wrong > 1e-7} == {"whole net: g_alpha", "module: Sigmoid"}
    assert values(run)["B 5.6 planted bug, modules that fail"] == 1


@pytest.mark.parametrize("seed", range(5), ids=[f"seed{seed}" for seed in range(5)])
def test_the_net_of_every_seed_shows_it(tmp_path: Path, seed: int) -> None:
    """No seed draws a net in which the bug would hide, or in which differences are worth little."""
    run = Run(tmp_path, quick=True, seed=seed, number="2")
    for step in (autodiff.written_out, autodiff.in_modules, autodiff.planted_bug):
        step(run)
    assert [figure.key for figure in run.figures if not figure.holds] == []


def test_the_step_sizes_of_exercise_5(run: Run) -> None:
    """What the lecture says: best 4e-8 and 1e-11 in float64, 1e-5 in float32; below, float32 sees no change."""
    found = table(run, "step-size")
    assert found["1e-7"][0] == pytest.approx(4e-8, rel=0.1)
    assert found["1e-5"][1] == pytest.approx(1e-11, rel=0.2)
    assert found["1e-3"][3] == pytest.approx(1.4e-5, rel=0.1)
    assert found["1e-9"][2:] == pytest.approx([0.5403, 0.5403], abs=1e-4)


def test_differences_of_a_large_step() -> None:
    """With a step of 0.1 the errors are those of Taylor's formula, in either type."""
    errors = autodiff_tools.differences([1])
    assert list(errors) == [(kind, dtype) for dtype in ("float64", "float32") for kind in ("one-sided", "central")]
    for (kind, _), (error,) in errors.items():
        expected = {"one-sided": 0.05 * math.sin(1) + 0.01 / 6 * math.cos(1), "central": 0.01 / 6 * math.cos(1)}[kind]
        assert error == pytest.approx(expected, rel=1e-2)


def test_the_gradients_of_the_modules(run: Run) -> None:
    """They are those of the net with that sigmoid: without the factor 1 - z, g_alpha alone changes, row by row."""
    x, y, alpha, beta = autodiff_tools.small_net(run)
    (right, same), layers = autodiff_tools.modular_gradients(Sigmoid(), x, y, alpha, beta)
    (wrong, unchanged), _ = autodiff_tools.modular_gradients(ForgetfulSigmoid(), x, y, alpha, beta)
    np.testing.assert_allclose(unchanged, same, rtol=1e-12)
    np.testing.assert_allclose(right, wrong * (1 - layers[1].b)[:, None], rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "waits"),
    [
        ("lm.gradcheck.check_module", ["planted_bug"]),
        ("lm.procedural.backward", ["written_out", "in_modules"]),
        ("lm.forward_mode.gradient", ["dual_numbers"]),
    ],
    ids=["check_module", "backward", "gradient"],
)
def test_a_missing_function_costs_its_steps_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, waits: list[str]
) -> None:
    """The steps that need it say which item they wait for, all others run."""

    def missing(*_: object) -> float:
        raise NotImplementedError("some_item: function")

    monkeypatch.setattr(function, missing)
    monkeypatch.setattr(autodiff, "SIZES", (10, 20))
    run = Run(tmp_path, quick=True)
    run.experiment("2", autodiff)
    assert run.waiting == [f"2 {step}: some_item" for step in waits]
    assert "B ex. 5 best central, float64" in values(run)

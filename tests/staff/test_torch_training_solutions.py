"""The solved training and evaluation in PyTorch against the arrays of part 4, and the models that their tests use.

Torch runs in a process of its own: this file, as a program, measures everything once and prints it as JSON.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
# Part 4's names under those of the module.
NAMES = {
    "E.weight": "E",
    "W_xh.weight": "W_xh",
    "W_xh.bias": "b_h",
    "W_hh.weight": "W_hh",
    "W_hy.weight": "W_hy",
    "W_hy.bias": "b_y",
}


# What is measured, over there.


def every_double() -> dict[str, Any]:
    """One of each model of torch_testing, over five words."""
    from lm import torch_testing as doubles

    rng = np.random.default_rng(1)
    square, row = rng.normal(size=(5, 5)), rng.normal(size=5)
    return {
        "table": doubles.Table(square, row),
        "echo": doubles.Echo(square, [0.5, 0.8]),
        "echo with a tuple": doubles.Echo(square, [0.5, 0.8], as_tuple=True),
        "clock": doubles.Clock(row, square),
    }


def gradients_of_doubles() -> dict[str, bool]:
    """Whether autograd and central differences agree, through two calls with the state in between."""
    import torch
    from torch.func import functional_call

    inputs = torch.tensor([[0, 3, 3, 1], [2, 2, 4, 0]])
    found = {}
    for name, model in every_double().items():
        names, parameters = zip(*model.named_parameters(), strict=True)

        def logits(*values: Any, model: Any = model, names: Any = names) -> Any:
            given = dict(zip(names, values, strict=True))
            first, state = functional_call(model, given, (inputs[:, :2],))
            return torch.cat([first, functional_call(model, given, (inputs[:, 2:], state))[0]], dim=1)

        found[name] = torch.autograd.gradcheck(logits, parameters)
    return found


def states_of_doubles() -> dict[str, float]:
    """How far the logits of six words are from those of two calls with three each; and of Echo with a tuple."""
    import torch

    inputs = torch.tensor([[0, 3, 3, 1, 1, 2], [2, 2, 4, 0, 3, 3]])
    found, whole = {}, {}
    for name, model in every_double().items():
        whole[name] = model(inputs)[0]
        first, state = model(inputs[:, :3])
        parts = torch.cat([first, model(inputs[:, 3:], state)[0]], dim=1)
        found[name] = (parts - whole[name]).abs().max().item()
    found["tuple or not"] = (whole["echo"] - whole["echo with a tuple"]).abs().max().item()
    return found


def dragged() -> dict[str, Any]:
    """What a training loop meets that does not detach."""
    import torch
    from lm import torch_testing as doubles

    def run(model: Any, keep: bool, cut: bool = False, lr: float = 0.1) -> list[list[float]] | str:
        """The gradient of the first parameter in each of three chunks, or the error."""
        optimiser, state = torch.optim.SGD(model.parameters(), lr=lr), None
        parameter, found = next(model.parameters()), []
        for _ in range(3):
            optimiser.zero_grad()
            logits, state = model(torch.zeros(1, 2, dtype=torch.int64), state)
            state = state.detach() if cut else state
            loss = torch.nn.functional.cross_entropy(logits[0], torch.ones(2, dtype=torch.int64))
            try:
                loss.backward(retain_graph=keep)
            except RuntimeError as error:
                return str(error)
            optimiser.step()
            found.append(parameter.grad.flatten().tolist())
        return found

    def clock() -> Any:
        return doubles.Clock(np.zeros(2), np.zeros((2, 2)))

    return {
        "echo": run(doubles.Echo(np.eye(2), [0.5, 0.5]), keep=False),
        "echo, graph kept": run(doubles.Echo(np.eye(2), [0.5, 0.5]), keep=True),
        "clock": run(clock(), keep=False, lr=0.0),
        "clock, graph kept": run(clock(), keep=True, lr=0.0),
        "clock, cut": run(clock(), keep=False, cut=True, lr=0.0),
    }


def notes() -> dict[str, Any]:
    """What the doubles write down."""
    import torch
    from lm import torch_testing as doubles

    model, ids = doubles.Echo(np.eye(2), [0.5]), torch.tensor([[0, 1]])
    state = model(ids)[1]
    model.eval()
    with torch.no_grad():
        model(ids, state)
    table = doubles.Table(np.eye(2), np.zeros(2), dropout=1.0)
    learning, (loss, attached) = table(ids)[0].tolist(), doubles.returned(lambda: [1.0, table.bias.sum()])
    optimiser = doubles.NotingSGD(table, 0.5)
    table(ids)[0].sum().backward()
    table.bias.grad = torch.tensor([2.0, 4.0], dtype=torch.float64)
    optimiser.step()
    table.bias.grad.zero_()
    table.eval()
    return {
        "modes": [call["training"] for call in model.calls],
        "recorded": [call["recorded"] for call in model.calls],
        "states": [call["state"] if call["state"] is None else call["state"].tolist() for call in model.calls],
        "dropout": [learning, doubles.Table(np.eye(2), np.zeros(2), dropout=1.0).eval()(ids)[0].tolist()],
        "attached": [attached, doubles.returned(lambda: loss[0])[1], doubles.returned(lambda: loss[1])[1]],
        "gradients": [{name: np.asarray(grad).tolist() for name, grad in step.items()} for step in optimiser.gradients],
        "bias": table.bias.tolist(),
    }


def copied(params: Any) -> Any:
    """VanillaRNNLM in float64 with the weights of part 4."""
    from lm.torch_lm import VanillaRNNLM
    from lm.torch_tools import load

    V, d = params.E.shape
    model = VanillaRNNLM(V, d, len(params.b_h)).double()
    load(model, {name: getattr(params, field) for name, field in NAMES.items()})
    return model


def chunks_of_part_4(max_norm: float) -> dict[str, float]:
    """How far train_chunks is from part 4's tbptt, its clipping and steps by hand, over a text of 3 rows."""
    import torch
    from lm import batching, optim, rnn, torch_lm, torch_tools
    from lm.weights import init_params

    rng = np.random.default_rng(2)
    params, text = init_params(rng, 7, 4, 5), rng.integers(0, 7, size=40)
    model, batch = copied(params), batching.batchify(text, 3)
    inputs, targets, _ = torch_tools.tensors(batch)
    losses = torch_lm.train_chunks(model, torch.optim.SGD(model.parameters(), lr=0.5), inputs, targets, 4, max_norm)
    right, long = [], 0
    for loss, gradients in rnn.tbptt(*batch, params, 4):
        arrays = {name: getattr(gradients, name) for name in NAMES.values()}
        long += optim.clip_by_global_norm(arrays.values(), max_norm) > max_norm
        for name, array in arrays.items():
            getattr(params, name)[...] -= 0.5 * array
        right.append(loss)
    off = [np.abs(p.detach().numpy() - getattr(params, NAMES[name])).max() for name, p in model.named_parameters()]
    return {
        "chunks": len(losses),
        "clipped": long,
        "losses": float(np.abs(np.subtract(losses, right)).max()),
        "parameters": float(max(off)),
    }


def one_chunk_is_one_step() -> float:
    """How far the parameters are apart after train_chunks with one chunk, and after train_step."""
    import torch
    from lm import torch_lm
    from lm.weights import init_params

    rng = np.random.default_rng(3)
    params, ids = init_params(rng, 7, 4, 5), torch.from_numpy(rng.integers(0, 7, size=(3, 7)))
    models = [copied(params), copied(params)]
    first, second = (torch.optim.SGD(model.parameters(), lr=0.5) for model in models)
    torch_lm.train_chunks(models[0], first, ids[:, :-1], ids[:, 1:], 9, 0.1)
    torch_lm.train_step(models[1], second, ids[:, :-1], ids[:, 1:], torch.ones(3, 6, dtype=torch.bool), 0.1)
    pairs = zip(models[0].parameters(), models[1].parameters(), strict=True)
    return max((a - b).abs().max().item() for a, b in pairs)


def evaluation_of_the_farm() -> dict[str, float]:
    """evaluate on the farm, in batches and by the arrays of part 4, before and after a few steps of train_step."""
    import torch
    from lm import batching, corpus, rnn, torch_lm, torch_tools
    from lm.weights import init_params

    vocab, rng = corpus.vocabulary(), np.random.default_rng(4)
    data, params = corpus.splits(), init_params(np.random.default_rng(5), hidden=24)
    held_out, model = data.val[:100], copied(params)
    one = batching.pad(held_out, vocab)
    by_arrays, _ = rnn.masked_cross_entropy(rnn.rnn_forward(one.inputs, params)[0], one.targets, one.mask)

    def measured() -> float:
        return torch_lm.evaluate(model, map(torch_tools.tensors, batching.batches(held_out, vocab, 32, rng)))

    before, optimiser = measured(), torch.optim.Adam(model.parameters(), lr=0.01)
    losses = [
        torch_lm.train_step(model, optimiser, *torch_tools.tensors(batch), 5.0)
        for _ in range(2)
        for batch in batching.batches(data.train[:1000], vocab, 50, rng)
    ]
    return {"by arrays": by_arrays, "before": before, "last loss": losses[-1], "after": measured()}


def three_six_nine() -> list[float]:
    """The gradient of 3w after each of three backward passes."""
    import torch

    w, found = torch.tensor(2.0, requires_grad=True), []
    for _ in range(3):
        (3 * w).backward()
        found.append(float(grad) if (grad := w.grad) is not None else math.nan)
    return found


MEASURES: dict[str, Callable[[], Any]] = {
    "gradients": gradients_of_doubles,
    "states": states_of_doubles,
    "dragged": dragged,
    "notes": notes,
    "chunks": lambda: chunks_of_part_4(1e9),
    "clipped chunks": lambda: chunks_of_part_4(0.5),
    "one chunk": one_chunk_is_one_step,
    "farm": evaluation_of_the_farm,
    "adds up": three_six_nine,
}


# And what it must be, over here.


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    """All measures, by name."""
    path = os.pathsep.join([str(ROOT / "solutions"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def test_gradients_of_the_doubles_are_right(measured: dict[str, Any]) -> None:
    """Autograd goes back through their states as differences say."""
    assert measured["gradients"] == dict.fromkeys(("table", "echo", "echo with a tuple", "clock"), True)


def test_states_of_the_doubles_go_on(measured: dict[str, Any]) -> None:
    """A text in two calls has the logits of the text in one; Echo has the same with one tensor and with a tuple."""
    assert max(measured["states"].values()) < 1e-14


def test_graph_that_is_dragged_along_is_found_either_way(measured: dict[str, Any]) -> None:
    """Echo stops with an error, whatever is kept; Clock does not, and has the gradients of the writeup."""
    found = measured["dragged"]
    assert found["echo"].startswith("Trying to backward through the graph a second time")
    assert "modified by an inplace operation" in found["echo, graph kept"]
    for name in ("clock", "clock, graph kept"):
        assert np.allclose(found[name], [[factor / 2, -factor / 2] for factor in (1.5, 3.5, 5.5)])
    assert np.allclose(found["clock, cut"], [[0.75, -0.75]] * 3)


def test_doubles_note_what_happens(measured: dict[str, Any]) -> None:
    """State, mode and recording of each call; the gradients of each step, and the step is that of gradient descent."""
    found = measured["notes"]
    assert found["modes"] == [True, False]
    assert found["recorded"] == [True, False]
    assert found["states"] == [None, [[[0.5, 1.0]]]]
    assert found["dropout"] == [[[[0, 0], [0, 0]]], [[[1, 0], [0, 1]]]]
    assert found["attached"] == [True, False, True]
    assert found["gradients"] == [{"table": [[0, 0], [0, 0]], "bias": [2, 4]}]
    assert found["bias"] == [-1, -2]


def test_chunks_are_those_of_part_4(measured: dict[str, Any]) -> None:
    """Losses and parameters agree with tbptt on arrays to 1e-12; clipped, to the millionth of PyTorch's rule."""
    plain, clipped = measured["chunks"], measured["clipped chunks"]
    assert plain["chunks"] == clipped["chunks"] == math.ceil(13 / 4)
    assert plain["clipped"] == 0 < clipped["clipped"]
    assert max(plain["losses"], plain["parameters"]) < 1e-12
    assert max(clipped["losses"], clipped["parameters"]) < 1e-5


def test_one_chunk_is_one_step(measured: dict[str, Any]) -> None:
    """With k above T, train_chunks does what train_step does."""
    assert measured["one chunk"] < 1e-14


def test_evaluation_equals_the_arrays_and_training_helps(measured: dict[str, Any]) -> None:
    """In batches of any order the result is that of one large batch of arrays; 40 steps bring it down by a nat."""
    farm = measured["farm"]
    assert farm["before"] == pytest.approx(farm["by arrays"], rel=1e-12)
    assert farm["after"] < farm["before"] - 1
    assert abs(farm["after"] - farm["last loss"]) < 0.5


def test_gradients_add_up(measured: dict[str, Any]) -> None:
    """Lecture 001, 5.8, and the writeup: 3, 6, 9."""
    assert measured["adds up"] == [3, 6, 9]


def test_pieces_that_are_dealt_out_do_not_go_on() -> None:
    """The script of lecture 000 hands a state on to a place 63 pieces of 35 words too far; batchify does not."""
    from lm.batching import batchify

    text = np.arange(35 * 64 * 3 + 1)
    pieces = text[:-1].reshape(-1, 35)
    assert pieces[64, 0] - (pieces[0, -1] + 1) == 63 * 35 == 2205
    inputs, targets, _ = batchify(text, 64)
    for chunk in range(35, inputs.shape[1], 35):
        assert (inputs[:, chunk] == targets[:, chunk - 1]).all()


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    print(json.dumps({name: measure() for name, measure in MEASURES.items()}))

"""Torch on the student's side only: ``student.torch``, ``student.tensor``, tensors in answers, the torch reference.

One pool for all: its torch zygote takes a second or two to start. Needs root and torch, as in CI.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from autograder import pool as pool_module
from autograder.feedback.errors import GraderError, StudentError, WrongType
from autograder.feedback.handles import Handle, Student
from autograder.pool import Pool
from tests.staff.links import ITEM, PROBE, TORCH_ITEM, is_alive, open_pool, same

MODEL = """
    import torch


    class Net(torch.nn.Module):
        def __init__(self, rows):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.as_tensor(rows, dtype=torch.float64))

        def forward(self, x):
            return self.weight @ x


    def step(net, x):
        optimiser = torch.optim.SGD(net.parameters(), lr=0.5)
        net(x).sum().backward()
        optimiser.step()
        return net.weight.detach()


    def grads(net):
        return {name: p.grad.numpy() for name, p in net.named_parameters()}


    def tensors(name):
        t = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
        return {
            "plain": t,
            "requires grad": t.clone().requires_grad_(),
            "of a graph": (t.clone().requires_grad_() * 2),
            "transposed": t.T,
            "expanded": t[:1].expand(4, 3),
            "every second": t[:, ::2],
            "zero axes": torch.tensor(2.5),
            "empty": torch.empty(0, 3),
            "float32": t.float(),
            "float16": t.half(),
            "integers": torch.tensor([1, 2]),
            "bytes": torch.tensor([1, 2], dtype=torch.uint8),
            "booleans": torch.tensor([True, False]),
            "complex": torch.tensor([1 + 2j]),
            "conjugate view": torch.tensor([1 + 2j]).conj(),
            "negative view": torch.tensor([1 + 2j]).conj().imag,
            "parameter": torch.nn.Parameter(t.clone()),
            "own subclass": t.as_subclass(type("Mine", (torch.Tensor,), {})),
            "inference": torch.inference_mode()(lambda: t * 1)(),
        }[name]


    def refused(name):
        return {
            "sparse": lambda: torch.eye(2).to_sparse(),
            "csr": lambda: torch.eye(2).to_sparse_csr(),
            "meta": lambda: torch.empty(2, device="meta"),
            "bfloat16": lambda: torch.ones(2, dtype=torch.bfloat16),
            "float8": lambda: torch.ones(2).to(torch.float8_e4m3fn),
            "quantized": lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
        }[name]()



        return f"{type(value).__name__} {getattr(value, 'dtype', '')}"


    def draws():
        return [float(torch.rand(())), torch.randn(2)]
"""


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[Pool, Path]]:
    """A pool with both zygotes, and the folder in which everything lies."""
    reference = {"model": MODEL, "probe": PROBE}
    with open_pool({"model": MODEL, "probe": PROBE}, reference, torch_memory=2048) as (pool, folder):
        yield pool, folder


@pytest.fixture
def far(site: tuple[Pool, Path]) -> Iterator[Student]:
    """The student's side of an item with torch."""
    with site[0].open(TORCH_ITEM) as student:
        yield student


@pytest.fixture(scope="module")
def reference(site: tuple[Pool, Path]) -> Student:
    """The reference, in its trusted worker."""
    return site[0].reference_student("reference_mini")


GRID = np.arange(6.0).reshape(2, 3)


# Into the student's side.


def test_torch_of_the_student_is_a_handle(far: Student) -> None:
    """``student.torch`` is his torch: functions, classes and numbers of it are asked there."""
    assert type(far.torch) is Handle
    assert repr(far.torch.nn.Linear) == "<the student's torch.nn.Linear>"
    assert same(far.torch.ones(3), np.ones(3, "f4"))
    assert far.torch.nn.functional.relu(far.tensor([-1.0, 2.0])).tolist() == [0, 2]


@pytest.mark.parametrize(
    "value",
    [GRID, GRID.astype("f4"), np.array([1, 2]), np.array(True), 1.5, [1, 2], [[1.0], [2.0]]],
    ids=["float64", "float32", "integers", "zero-axes", "number", "list", "nested"],
)
def test_tensor_is_made_on_the_students_side(far: Student, value: Any) -> None:
    """``student.tensor(x)`` is a handle of a tensor with these numbers, of torch's dtype for them."""
    tensor = far.tensor(value)
    assert type(tensor) is Handle
    assert tensor._type == "Tensor"
    expected = np.asarray(value)
    if not isinstance(value, np.ndarray):
        expected = expected.astype("f4" if expected.dtype.kind == "f" else "i8")  # torch's own defaults
    assert same(far.get(tensor), expected)


def test_tensor_is_a_copy_and_one_object(far: Student) -> None:
    """What the student does to a tensor does not reach the test's array; passed twice it is one object."""
    array = GRID.copy()
    tensor = far.tensor(array)
    far.probe.run("tensor.mul_(2)", tensor=tensor)
    assert far.get(tensor).tolist() == (2 * GRID).tolist()
    assert array.tolist() == GRID.tolist()
    assert far.probe.run("answer = a is b", a=tensor, b=tensor) is True


def test_arithmetic_with_tensors(far: Student) -> None:
    """A handle of a tensor computes, and the result arrives as an array."""
    tensor: Any = far.tensor(GRID)
    got = tensor @ far.tensor(GRID.T) + 1
    assert same(got, GRID @ GRID.T + 1)
    assert same(-tensor, -GRID)


# Out of it.

ARRAYS: dict[str, Any] = {
    "plain": GRID,
    "requires grad": GRID,
    "of a graph": 2 * GRID,
    "transposed": np.ascontiguousarray(GRID.T),
    "expanded": np.repeat(GRID[:1], 4, 0),
    "every second": np.ascontiguousarray(GRID[:, ::2]),
    "zero axes": np.array(2.5, "f4"),
    "empty": np.empty((0, 3), "f4"),
    "float32": GRID.astype("f4"),
    "float16": GRID.astype("f2"),
    "integers": np.array([1, 2]),
    "bytes": np.array([1, 2], "u1"),
    "booleans": np.array([True, False]),
    "complex": np.array([1 + 2j], "c8"),
    "conjugate view": np.array([1 - 2j], "c8"),
    "negative view": np.array([-2], "f4"),
    "parameter": GRID,
    "own subclass": GRID,
    "inference": GRID,
}


@pytest.mark.parametrize(("name", "expected"), ARRAYS.items(), ids=ARRAYS)
def test_tensor_in_an_answer_arrives_as_an_array(far: Student, name: str, expected: np.ndarray) -> None:
    """Detached, dense, in C order, of the same dtype, whatever view of whatever it is."""
    assert same(far.model.tensors(name), expected)


def test_tensors_in_containers_arrive_as_arrays(far: Student) -> None:
    """Within lists, tuples and dicts as well; and they are copies that cannot be written to."""
    answer = far.probe.run("import torch; t = torch.ones(2); answer = [t, (t,), {'a': t}]")
    for got in (answer[0], answer[1][0], answer[2]["a"]):
        assert same(got, np.ones(2, "f4"))
        assert not got.flags.writeable


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sparse", "returned a torch.sparse_coo tensor on cpu, expected a dense one on the CPU"),
        ("csr", "returned a torch.sparse_csr tensor on cpu, expected a dense one on the CPU"),
        ("meta", "returned a torch.strided tensor on meta, expected a dense one on the CPU"),
        ("bfloat16", "returned a tensor of dtype torch.bfloat16"),
        ("float8", "returned a tensor of dtype torch.float8_e4m3fn"),
        ("quantized", "returned a tensor of dtype torch.qint8"),
    ],
)
def test_tensor_without_an_array_is_refused(far: Student, name: str, message: str) -> None:
    """A tensor that is no plain array of numbers fails the test with one line."""
    with pytest.raises(WrongType) as caught:
        far.model.refused(name)
    assert str(caught.value) == f"model.refused: {message}"


def test_models_train_behind_handles(far: Student) -> None:
    """Parameters, gradients by the given helper, and optimisers: what the part needs."""
    net = far.model.Net(GRID)
    assert same(net.weight, GRID)
    x = far.tensor(np.array([1.0, 2.0, 3.0]))
    assert net(x).tolist() == [8, 26]
    assert far.model.step(net, x).tolist() == (GRID - 0.5 * np.array([1.0, 2.0, 3.0])).tolist()
    gradients = far.model.grads(net)
    assert list(gradients) == ["weight"]
    assert gradients["weight"].tolist() == [[1, 2, 3], [1, 2, 3]]
    with pytest.raises(WrongType):
        bool(net == 1)


def test_errors_of_torch_are_the_students(far: Student) -> None:
    """A shape that does not fit is a RuntimeError of the student's, with his frame."""
    net = far.model.Net(GRID)
    with pytest.raises(RuntimeError, match="size mismatch") as caught:
        net(far.tensor([1.0]))
    assert isinstance(caught.value, StudentError)
    assert caught.value.frames[-1][0] == "mini/model.py"


# The worker.


def test_torch_worker_is_confined_and_has_room(far: Student) -> None:
    """Its user is its own, it has one thread, and under the memory cap it can compute and differentiate."""
    uid, threads = far.probe.run("import os, torch; answer = [os.getuid(), torch.get_num_threads()]")
    assert uid > 0
    assert threads == 1
    source = """
        import torch
        x = torch.randn(4, 3, 8, 8, requires_grad=True)
        layer = torch.nn.Conv2d(3, 5, 3)
        layer(x).pow(2).sum().backward()
        torch.linalg.svd(torch.randn(50, 50))
        answer = list(x.grad.shape)
    """
    assert far.probe.run(source) == [4, 3, 8, 8]


def test_memory_of_a_torch_worker_ends_somewhere(far: Student) -> None:
    """Too large a tensor is an exception of the student's, and the worker lives."""
    with pytest.raises(RuntimeError, match="allocate memory"):
        far.probe.run("import torch; torch.ones(1 << 30)")
    assert far.probe.run("answer = 1") == 1


def test_torch_draws_the_same_numbers_in_every_worker(site: tuple[Pool, Path]) -> None:
    """Workers are seeded after the fork: by torch's seed 0, whatever the zygote did."""
    seen = []
    for _ in range(2):
        with site[0].open(TORCH_ITEM) as student:
            number, pair = student.model.draws()
            seen.append((number, pair.tolist(), student.torch.initial_seed()))
    assert seen[0] == seen[1]
    assert seen[0][2] == 0


def test_torch_is_imported_once_for_all_workers(far: Student) -> None:
    """A worker finds torch and what the first optimiser needs in memory: it does not pay for the import."""
    source = "import sys; answer = [name in sys.modules for name in ('torch', 'torch._dynamo', 'torch.optim')]"
    assert far.probe.run(source) == [True] * 3


def test_numpy_worker_has_no_torch(site: tuple[Pool, Path]) -> None:
    """The worker of an item without torch comes from a process that never imported it."""
    with site[0].open(ITEM) as student:
        assert student.probe.run("import sys; answer = 'torch' in sys.modules") is False


# The reference.


def test_reference_answers_by_the_same_handles(reference: Student, far: Student) -> None:
    """The reference's torch module is asked as the student's is, and gives the same numbers."""
    answers = []
    for side in (reference, far):
        net = side.model.Net(GRID)
        answers.append(side.model.step(net, side.tensor(np.array([1.0, 2.0, 3.0]))).tolist())
    assert answers[0] == answers[1]


def test_reference_lives_in_a_process_of_its_own(reference: Student, far: Student, site: tuple[Pool, Path]) -> None:
    """Trusted, so not confined; under another name than the student's; from a folder that no student can read."""
    source = "import os; answer = [os.getpid(), os.getuid(), __name__]"
    pid, uid, _ = reference.probe.run(source)
    assert pid not in (os.getpid(), far.probe.run(source)[0])
    assert uid == os.getuid()
    loaded = reference.probe.run("import sys; answer = {name.partition('.')[0] for name in sys.modules}")
    assert "reference_mini" in loaded
    assert "mini" not in loaded
    assert (site[1] / "reference").stat().st_mode & 0o77 == 0
    with pytest.raises(PermissionError):
        far.probe.run("import os; os.listdir(place)", place=str(site[1] / "reference"))


def test_handles_of_the_two_sides_do_not_mix(reference: Student, far: Student) -> None:
    """A handle of the reference's means nothing to the student's side, nor the other way round."""
    with pytest.raises(GraderError, match="another student"):
        far.put(reference.model.Net(GRID))


def test_fault_of_the_reference_is_ours(reference: Student) -> None:
    """What goes wrong in the reference is a GraderError, and does not stick to the student."""
    with pytest.raises(GraderError, match="the reference: KeyError"):
        reference.model.tensors("no such")


def test_trusted_process_does_not_import_torch(reference: Student, far: Student) -> None:
    """Neither side's tensors, errors nor models bring torch into this process."""
    before = "torch" in sys.modules  # by another test, perhaps
    for side in (reference, far):
        assert same(side.get(side.tensor(GRID)), GRID)
        with pytest.raises((GraderError, StudentError)):
            side.torch.ones("no shape")
    assert ("torch" in sys.modules) is before


def test_reference_ends_with_the_pool(reference: Student, site: tuple[Pool, Path]) -> None:
    """Closing the pool ends both zygotes and the trusted worker."""
    pid = reference.probe.run("import os; answer = os.getpid()")
    zygotes = [zygote.pids()[0] for zygote in site[0]._zygotes.values()]
    assert all(map(is_alive, [pid, *zygotes]))
    site[0].close()  # the last test of this file
    assert not any(map(is_alive, [pid, *zygotes]))


def test_missing_torch_is_the_graders_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where setup.sh could not have PyTorch, an item that needs it says that the grader is incomplete, and why."""
    reason = tmp_path / "torch-missing"
    reason.write_text("No CPU build of PyTorch here: out of reach.\n", encoding="utf-8")
    monkeypatch.setattr(pool_module, "TORCH_MISSING", reason)
    with pytest.raises(GraderError, match="the grader is incomplete: No CPU build of PyTorch here: out of reach"):
        pool_module.Pool._zygote(SimpleNamespace(_zygotes={}), torch=True)  # type: ignore[arg-type]

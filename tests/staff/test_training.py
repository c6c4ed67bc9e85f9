"""Training the RNN language model: batches, Adam, files of weights, and the figures of the model that was trained."""

from __future__ import annotations

import importlib.util
import io
import math
import os
import random
import subprocess
import sys
import tracemalloc
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lm import adam, batching, corpus, train, truth, weights
from lm.rnn import gradient_norms, rnn_forward, spectral_radius
from lm.types import RNNParams
from lm.vocab import BOS, EOS, PAD

ROOT = Path(__file__).resolve().parents[2]
TRAINED = ROOT / "solutions" / "lm" / "rnn_lm.npz"
VOCAB = corpus.vocabulary()
TEXTS = [("the", "bat"), ("the", "cows", "eat", "corn"), (), ("the",)]


def size(params: RNNParams) -> int:
    """How many numbers a model has."""
    return sum(getattr(params, field.name).size for field in fields(params))


@pytest.fixture(scope="module")
def data() -> corpus.Splits:
    """The published corpus."""
    return corpus.splits()


@pytest.fixture(scope="module")
def trained() -> RNNParams:
    """The model in the repository, from ``python -m lm.train``."""
    return weights.load_weights(TRAINED)


# --- batches --------------------------------------------------------------------------------------------------------


def test_a_batch_is_padded_on_the_right() -> None:
    """Row by row: <s> and the words are read, the words and </s> predicted, and what follows counts for nothing."""
    batch = batching.pad(TEXTS, VOCAB)
    assert batch.inputs.shape == batch.targets.shape == batch.mask.shape == (4, 5)
    for row, text in enumerate(TEXTS):
        n = len(text) + 1
        assert VOCAB.decode(batch.inputs[row]) == (BOS, *text, *[PAD] * (5 - n))
        assert VOCAB.decode(batch.targets[row]) == (*text, EOS, *[PAD] * (5 - n))
        assert batch.mask[row].tolist() == [True] * n + [False] * (5 - n)


def test_an_epoch_has_each_sentence_once_in_an_order_of_its_own() -> None:
    """The last batch is smaller; the next epoch has another order, and the same seed the same ones."""
    texts = [("the",) * n for n in range(1, 24)]  # told apart by their lengths
    rng, again = np.random.default_rng(0), np.random.default_rng(0)
    epochs = [[batch.mask.sum(axis=1) - 1 for batch in batching.batches(texts, VOCAB, 5, rng)] for _ in range(2)]
    for lengths in epochs:
        assert [len(part) for part in lengths] == [5, 5, 5, 5, 3]
        assert sorted(np.concatenate(lengths)) == list(range(1, 24))
    assert not np.array_equal(np.concatenate(epochs[0]), np.concatenate(epochs[1]))
    same = [batch.mask.sum(axis=1) - 1 for batch in batching.batches(texts, VOCAB, 5, again)]
    assert np.array_equal(np.concatenate(same), np.concatenate(epochs[0]))


@pytest.mark.parametrize(("n", "rows"), [(61, 4), (64, 4), (62, 1), (5, 4), (1000, 7)], ids=str)
def test_a_stream_goes_on_where_it_stopped(n: int, rows: int) -> None:
    """Whatever the length of a chunk: its first input follows the last one of the chunk before, in every row."""
    ids = np.arange(n)
    batch = batching.batchify(ids, rows)
    length = (n - 1) // rows
    assert batch.inputs.shape == (rows, length)
    assert batch.mask.all()
    assert (np.diff(batch.inputs, axis=1) == 1).all()  # contiguous over all chunks
    assert np.array_equal(batch.targets, batch.inputs + 1)
    assert np.array_equal(batch.inputs.ravel(), ids[: rows * length])  # nothing is left out but the rest
    assert n - 1 - rows * length < rows


# --- Adam -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"betas": (0.5, 0.9), "eps": 0.1}], ids=["defaults", "others"])
def test_adam_is_that_of_pytorch(options: dict[str, Any]) -> None:
    """Over 40 steps, in place, with gradients of very different sizes, zeros among them."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in ((3, 4), (5,), (1, 1))]
    theirs = [torch.nn.Parameter(torch.tensor(array)) for array in arrays]
    ours, other = adam.Adam(arrays, 3e-3, **options), torch.optim.Adam(theirs, 3e-3, **options)
    for step in range(40):
        gradients = [rng.normal(size=array.shape) * 10.0 ** rng.integers(-8, 3) * (step % 7 > 0) for array in arrays]
        ours.step(gradients)
        for parameter, gradient in zip(theirs, gradients, strict=True):
            parameter.grad = torch.tensor(gradient)
        other.step()
        for array, parameter in zip(arrays, theirs, strict=True):
            np.testing.assert_allclose(array, parameter.detach().numpy(), rtol=1e-12, atol=1e-15)


# --- weights --------------------------------------------------------------------------------------------------------


def test_fresh_weights_are_those_of_pytorch_in_kind() -> None:
    """11,640 numbers; E normal, all others even and within one over the root of what their layer reads."""
    params = weights.init_params(np.random.default_rng(0))
    assert size(params) == 11_640
    assert (abs(params.E.mean()), params.E.std()) == pytest.approx((0, 1), abs=0.05)
    for name, reads in (("W_xh", 32), ("b_h", 32), ("W_hh", 64), ("W_hy", 64), ("b_y", 64)):
        array, bound = getattr(params, name) * math.sqrt(reads), 1.0
        assert 0.9 < abs(array).max() <= bound
        assert array.std() == pytest.approx(1 / math.sqrt(3), rel=0.15)
    assert size(weights.init_params(np.random.default_rng(0), 10, 3, 7)) == 10 * 3 + 7 * 3 + 7 + 7 * 7 + 10 * 7 + 10


def test_weights_come_back_as_they_were_saved(tmp_path: Path) -> None:
    """To single precision, as float64; whoever asks for the leaderboard changes nothing else."""
    params = weights.init_params(np.random.default_rng(1), hidden=9)
    weights.save_weights(params, tmp_path / "w.npz")
    before = weights.load_weights(tmp_path / "w.npz")
    weights.join_leaderboard(tmp_path / "w.npz")
    after = weights.load_weights(tmp_path / "w.npz")
    for name in weights.NAMES:
        assert getattr(before, name).dtype == float
        np.testing.assert_array_equal(getattr(before, name), getattr(params, name).astype(np.float32))
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))


def test_weights_are_found_in_the_package_or_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one in the package counts; where there is none, the item is not started."""
    (tmp_path / "lm").mkdir()
    monkeypatch.setattr(weights, "__file__", str(tmp_path / "lm" / "weights.py"))
    with pytest.raises(NotImplementedError, match=r"^trained_model: there is no rnn_lm\.npz yet$"):
        weights.load_trained()
    for place, hidden in ((tmp_path, 3), (tmp_path / "lm", 4)):
        weights.save_weights(weights.init_params(np.random.default_rng(0), hidden=hidden), place / "rnn_lm.npz")
        assert weights.load_trained().b_h.shape == (hidden,)
        assert not weights.on_leaderboard()
    weights.join_leaderboard(tmp_path / "lm" / "rnn_lm.npz")
    assert weights.on_leaderboard()


def makers() -> dict[str, Callable[[Path, Mapping[str, bytes]], Path]]:
    """The attacks with files of weights that reach the reader."""
    spec = importlib.util.spec_from_file_location("attacks_make", ROOT / "tests" / "attacks" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    stopped_before = {"weights_that_are_a_folder", "weights_that_are_a_link"}
    of_the_forward_pass = {"weights_that_overflow"}
    skipped = stopped_before | of_the_forward_pass
    return {name: f for name, f in vars(make).items() if name.startswith("weights_") and name not in skipped}


@pytest.mark.parametrize("name", list(makers()), ids=str)
def test_no_file_takes_much_memory_or_more_than_a_line(name: str, tmp_path: Path) -> None:
    """Whatever it holds, it is a ValueError of one line, and reading it takes less than 8 MB."""
    solved = {"rnn_lm.npz": TRAINED.read_bytes(), "rnn.py": (TRAINED.parent / "rnn.py").read_bytes()}
    path = makers()[name](tmp_path, solved) / "rnn_lm.npz"
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"^rnn_lm\.npz[ :]") as refused:
            weights.load_weights(path)
        assert tracemalloc.get_traced_memory()[1] < 8e6
    finally:
        tracemalloc.stop()
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 160


def test_a_damaged_byte_is_never_more_than_a_value_error(tmp_path: Path) -> None:
    """500 files with a few bytes changed: read, or refused with ValueError; never another error."""
    params = weights.init_params(np.random.default_rng(0), 5, 2, 3)
    file = io.BytesIO()
    np.savez(file, **{name: getattr(params, name) for name in weights.NAMES})
    rng = random.Random(0)
    refused = 0
    for _ in range(500):
        content = bytearray(file.getvalue())
        for _ in range(rng.choice((1, 3, 20))):
            content[rng.randrange(len(content))] = rng.randrange(256)
        (tmp_path / "w.npz").write_bytes(content)
        try:
            weights.load_weights(tmp_path / "w.npz", 5)
        except ValueError:
            refused += 1
    assert refused > 400


def test_a_file_of_either_version_and_byte_order_is_read(tmp_path: Path) -> None:
    """Version 2 of .npy, and numbers with the high byte first."""
    params = weights.init_params(np.random.default_rng(0), hidden=5)
    with zipfile.ZipFile(tmp_path / "w.npz", "w") as archive:
        for name in weights.NAMES:
            entry = io.BytesIO()
            np.lib.format.write_array(entry, getattr(params, name).astype(">f8"), version=(2, 0))
            archive.writestr(f"{name}.npy", entry.getvalue())
    loaded = weights.load_weights(tmp_path / "w.npz")
    assert all(np.array_equal(getattr(loaded, name), getattr(params, name)) for name in weights.NAMES)


# --- the truth about the next word ----------------------------------------------------------------------------------


def test_the_next_word_is_distributed_as_the_language_says() -> None:
    """Rows sum to 1; the probability of what follows is that of the sentence; and their mean entropy is known."""
    stream, entropy, words = random.Random(0), 0.0, 0
    for _ in range(4000):
        sentence = corpus.sample(stream)
        rows = truth.next_words(sentence)
        assert [sum(row.values()) for row in rows] == pytest.approx([1.0] * (len(sentence) + 1))
        chosen = math.prod(row[word] for row, word in zip(rows, (*sentence, EOS), strict=True))
        assert chosen == pytest.approx(truth.probability(sentence), rel=1e-12)
        entropy -= sum(p * math.log(p) for row in rows for p in row.values())
        words += len(rows)
    assert entropy / 4000 == pytest.approx(10.5652, abs=0.15)
    assert math.exp(entropy / words) == pytest.approx(2.4897, abs=0.01)


def test_the_next_word_of_a_beginning_is_what_follows_it_in_a_large_sample(data: corpus.Splits) -> None:
    """After "the cows eat", which 433 training sentences hold at their start or later, say: at the start only."""
    beginning = ("the", "cows")
    follow = Counter(text[2] for text in data.train if text[:2] == beginning)
    row = truth.next_words(("the", "cows", "eat", "corn", "in", "the", "field", "."))[2]
    total = sum(follow.values())
    assert follow.keys() <= row.keys()
    assert all(follow[word] / total == pytest.approx(p, abs=0.05) for word, p in row.items())
    with pytest.raises(ValueError, match="not a sentence"):
        truth.next_words(("the", "hens", "make", "nests", "at", "night", "."))


# --- training -------------------------------------------------------------------------------------------------------


def test_an_epoch_of_training(tmp_path: Path) -> None:
    """Within the bands of an epoch: perplexity 2.77 to 2.94, and agreement across one noun of the other number.

    In a process with one thread: on products as small as these, several get into each other's way.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "lm.train", "--epochs", "1", "--out", str(tmp_path / "w.npz")]
    run = subprocess.run(command, cwd=ROOT / "solutions", env=environment, capture_output=True, text=True, check=True)
    first, _, epoch, *_, last = run.stdout.splitlines()
    number, loss, perplexity, gap, *agreement = map(float, epoch.split())
    assert first == "11,640 parameters"
    assert number == 1
    assert 1.1 < loss < 1.35
    assert 2.77 < perplexity < 2.94
    assert 0.08 < gap < 0.18
    assert len(agreement) == 7
    assert agreement[0] > 0.99
    assert agreement[1] > 0.75
    assert last == f"the weights of the best epoch are in {tmp_path / 'w.npz'}: hand them in"
    assert size(weights.load_weights(tmp_path / "w.npz")) == 11_640


def test_the_command_writes_a_file_to_hand_in(
    tmp_path: Path, data: corpus.Splits, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line an epoch; the same seed gives the same file."""
    short = corpus.Splits(data.train[:200], data.val[:50], data.test[:50])
    monkeypatch.setattr(train, "splits", lambda: short)
    for name in ("a.npz", "b.npz"):
        assert train.main(["--epochs", "2", "--hidden", "8", "--out", str(tmp_path / name)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2,624 parameters"
    assert [line.split()[0] for line in lines[2:4]] == ["1", "2"]
    assert str(tmp_path / "a.npz") in "".join(lines)
    assert weights.load_weights(tmp_path / "a.npz").W_hh.shape == (8, 8)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_one_can_train_without_the_item_agreement(
    tmp_path: Path, data: corpus.Splits, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it is not written yet there are dashes in its place, a line that says why, and a file to hand in."""

    def not_started(*arguments: Any) -> float:
        raise NotImplementedError("agreement: agreement_accuracy")

    monkeypatch.setattr(train, "splits", lambda: corpus.Splits(data.train[:64], data.val[:50], data.test[:50]))
    monkeypatch.setattr(train, "agreement_accuracy", not_started)
    assert train.main(["--epochs", "1", "--hidden", "8", "--out", str(tmp_path / "w.npz")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[-7:] == ["-"] * 7
    assert "item agreement of part 1" in lines[3]
    assert (tmp_path / "w.npz").exists()


# --- the model that was trained: figures of the lecture, and bands around them --------------------------------------


def test_the_trained_model_is_near_the_truth(data: corpus.Splits, trained: RNNParams) -> None:
    """11,640 parameters; perplexity and gap to the truth on the test sentences."""
    assert size(trained) == 11_640
    loss = train.mean_loss(trained, data.test, VOCAB)
    words = sum(len(text) + 1 for text in data.test)
    assert 2.49 < math.exp(loss) < 2.60
    assert 0.013 < loss + sum(map(truth.log_probability, data.test)) / words < 0.028


@pytest.mark.parametrize("k", range(7), ids=str)
def test_the_trained_model_makes_verbs_agree(k: int, trained: RNNParams) -> None:
    """Whatever the nouns in between say, also behind more of them than any training sentence has."""
    assert train.accuracy(trained, corpus.agreement_set(k, "opposite"), VOCAB) >= (0.985 if k <= 4 else 0.95)
    assert train.accuracy(trained, corpus.agreement_set(k, "same"), VOCAB) >= 0.98


def before_the_verb() -> tuple[np.ndarray, np.ndarray]:
    """200 prefixes of 21 words that end before the verb, six nouns after its subject, and the right verb."""
    pairs = corpus.agreement_set(6, "opposite", n=200)
    inputs = np.array([VOCAB.encode((BOS, *prefix)) for prefix, _, _ in pairs])
    return inputs, np.array(VOCAB.encode([right for _, right, _ in pairs]))


def left_of_the_gradient(params: RNNParams) -> float:
    """Of the gradient by the last state: its part that is left 18 steps before, at the subject."""
    means = gradient_norms(*before_the_verb(), params).mean(axis=0)
    assert means.shape == (21,)
    return float(means[18] / means[0])


def left_without_tanh(params: RNNParams) -> float:
    """The same for the net without tanh."""
    inputs, target = before_the_verb()
    h = np.zeros((len(inputs), len(params.b_h)))
    for t in range(inputs.shape[1]):
        h = params.E[inputs[:, t]] @ params.W_xh.T + params.b_h + h @ params.W_hh.T
    logits = h @ params.W_hy.T + params.b_y
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    g = (np.eye(len(VOCAB))[target] - odds / odds.sum(axis=1, keepdims=True)) @ params.W_hy
    back = g @ np.linalg.matrix_power(params.W_hh, 18)
    return float(np.linalg.norm(back, axis=1).mean() / np.linalg.norm(g, axis=1).mean())


def slope(params: RNNParams) -> float:
    """The mean of 1 - h^2 over all units, steps and sentences."""
    _, cache = rnn_forward(before_the_verb()[0], params)
    return float((1 - cache.h[:, 1:] ** 2).mean())


@pytest.mark.parametrize("seed", [0, 1], ids=str)
def test_before_training_the_gradient_vanishes(seed: int) -> None:
    """By half at each step; W_hh four times as large would let it explode, if tanh did not hold it back."""
    params = weights.init_params(np.random.default_rng(seed))
    rho = spectral_radius(params.W_hh)
    left = left_of_the_gradient(params)
    assert 0.55 < rho < 0.70
    assert 1e-7 < left < 6e-6
    assert 0.41 < left ** (1 / 18) < 0.51
    assert 0.70 < slope(params) < 0.82
    twice, four = (replace(params, W_hh=factor * params.W_hh) for factor in (2, 4))
    assert left_of_the_gradient(twice) < 1 < left_without_tanh(twice)  # although rho > 1
    assert spectral_radius(four.W_hh) == pytest.approx(4 * rho)
    linear, tanh = left_without_tanh(four), left_of_the_gradient(four)
    assert 5e5 < linear < 5e7
    assert 1 / 30 < linear / (4 * rho) ** 18 < 30
    assert 4 < tanh < 80
    assert linear / tanh > 1e4
    assert 0.35 < slope(four) < 0.46


def test_training_teaches_the_gradient_to_last(trained: RNNParams) -> None:
    """A part of it reaches the subject, 18 steps back; that the units are nearly all saturated does not help."""
    left = left_of_the_gradient(trained)
    assert 5e-5 < left < 0.2
    assert 0.58 < left ** (1 / 18) < 0.92
    assert left / left_of_the_gradient(weights.init_params(np.random.default_rng(0))) > 50


def test_the_public_test_names_the_right_ids() -> None:
    """Those of <s> and "the", in a vocabulary that begins with the special words."""
    assert (VOCAB.ids[BOS], VOCAB.ids["the"]) == (1, 54)
    assert VOCAB.words[:3] == (PAD, BOS, EOS)

"""The parallel sentences, and what the solved encoder and decoder learn from them in a few seconds.

Whatever needs torch runs in a process of its own, with one thread.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from lm import corpus, parallel
from lm.farm import ANIMALS
from lm.vocab import BOS, EOS, PAD

ROOT = Path(__file__).resolve().parents[2]
SOURCE, TARGET = parallel.vocabularies()


def run(*command: str) -> str:
    """What a Python process with one thread prints."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT / "solutions", env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


# --- translate


@pytest.mark.parametrize(
    ("sentence", "translation"),
    [
        (
            "the cows near the dog behind the hens eat corn in the field .",
            "polu ine pikun eru runo apu kovan maku naman .",
        ),
        ("the fox hears the hens every night .", "nohte sem zoro pikun audo ."),
        ("the owls near the owl chase the bats at night .", "nohte hulo apu hulon lepan kuron ."),
    ],
    ids=["of-the-docstring", "short", "night"],
)
def test_translations_by_hand(sentence: str, translation: str) -> None:
    """Time or place, phrases from the last to the first, subject, object, verb with the endings of the subject."""
    assert parallel.translate(sentence.split()) == tuple(translation.split())


def test_the_docstring_shows_its_example() -> None:
    """The sentence and its translation stand there word for word."""
    lines = [" ".join(line.split()) for line in str(parallel.__doc__).splitlines()]
    place = next(i for i, line in enumerate(lines) if line.startswith("the cows"))
    assert " ".join(parallel.translate(lines[place].split())) == lines[place + 1]


def test_a_translation_keeps_everything() -> None:
    """Sentences that differ have translations that differ, but for the number of the verb, which both repeat."""
    rng = random.Random(0)
    sentences = {corpus.sample(rng, (0.2,) * 5) for _ in range(3000)}
    translations = {parallel.translate(sentence) for sentence in sentences}
    assert len(translations) == len(sentences)
    for sentence in sentences:
        translation = parallel.translate(sentence)
        subject = next(animal for animal, habits in ANIMALS.items() if sentence[1] in (animal, habits.plural))
        ending = ("o" if subject in parallel.NIGHT else "a") + ("n" if sentence[1] != subject else "")
        assert translation[-2] in {stem + ending for stem in parallel.STEMS.values()}
        TARGET.encode(translation)  # knows every word


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the cow eats corn .",
        "cow eats corn at night .",
        "the cow near a dog eats corn at night .",
        "the cow near the dog eats at night .",
        "the cow near the eats corn at night .",
        "the cow eats corn hay at night .",
        "the corn eats hay at night .",
        "the cow eats corn at night",
    ],
)
def test_what_is_no_sentence_is_refused(text: str) -> None:
    """One line says so."""
    with pytest.raises(ValueError, match="not a sentence of the farm language"):
        parallel.translate(text.split())


# --- pairs and batches


def test_no_unseen_sentence_was_seen() -> None:
    """Of any seed; about a tenth of the short sentences is kept for tests; the same seed draws the same pairs."""
    data = parallel.pairs(0, sizes=(4000, 300, 300))
    seen = {sentence for sentence, _ in parallel.pairs(7, sizes=(4000, 0, 0)).train + data.train}
    assert [len(part) for part in data] == [4000, 300, 300]
    assert seen.isdisjoint(sentence for sentence, _ in data.val + data.test)
    assert data == parallel.pairs(0, sizes=(4000, 300, 300))
    rng = random.Random(0)
    short = {corpus.sample(rng, (1,)) for _ in range(20_000)}
    assert 0.07 < sum(map(parallel.held_out, short)) / len(short) < 0.13


def test_a_batch_has_both_sides() -> None:
    """Each side padded to its own longest sentence; the source has nothing added, the target <s> and </s>."""
    texts = ["the cow near the hen eats hay in the barn .", "the bats see the owls at night ."]
    pairs = [(tuple(text.split()), parallel.translate(text.split())) for text in texts]
    batch = parallel.pad_pairs(pairs, SOURCE, TARGET)
    assert batch.source.shape == batch.source_mask.shape == (2, 11)
    assert batch.inputs.shape == batch.targets.shape == batch.mask.shape == (2, 9)
    for row, (sentence, translation) in enumerate(pairs):
        n, m = len(sentence), len(translation)
        assert SOURCE.decode(batch.source[row]) == (*sentence, *[PAD] * (11 - n))
        assert batch.source_mask[row].tolist() == [True] * n + [False] * (11 - n)
        assert TARGET.decode(batch.inputs[row]) == (BOS, *translation, *[PAD] * (8 - m))
        assert TARGET.decode(batch.targets[row]) == (*translation, EOS, *[PAD] * (8 - m))
        assert batch.mask[row].tolist() == [True] * (m + 1) + [False] * (8 - m)


def test_an_epoch_has_each_pair_once() -> None:
    """In an order of its own."""
    pairs = parallel.pairs(sizes=(23, 0, 0)).train
    rng = np.random.default_rng(0)
    epochs = [
        [SOURCE.decode(ids[kept]) for batch in parallel.pair_batches(pairs, SOURCE, TARGET, 5, rng)
         for ids, kept in zip(batch.source, batch.source_mask, strict=True)]
        for _ in range(2)
    ]  # fmt: skip
    assert all(sorted(epoch) == sorted(sentence for sentence, _ in pairs) for epoch in epochs)
    assert epochs[0] != epochs[1]


# --- training

QUICK = """
import json
import numpy as np, torch
from lm import torch_translate as tt
from lm.parallel import pairs, vocabularies
from lm.seq2seq import Seq2Seq

torch.set_num_threads(1)
torch.manual_seed(0)
tt.LEARNING_RATE, tt.BATCH = 1e-2, 32
data, vocabs = pairs(k_weights=(0.7, 0.3), sizes=(2500, 50, 0)), vocabularies()
model = Seq2Seq(*map(len, vocabs), 32, 64)
losses = [epoch.loss for epoch in tt.train(model, data, vocabs, np.random.default_rng(0), 6)]
unseen = {k: tt.unseen_pairs(k, 30) for k in (0, 1, 4)}
greedy = {k: tt.greedy_translations(model, part, vocabs) for k, part in unseen.items()}
beams = {k: tt.beam_translations(model, unseen[0], vocabs, k) for k in (1, 5)}
shares = [tt.accuracy(unseen[k], greedy[k]) for k in unseen]
print(json.dumps([losses, shares, beams[1] == greedy[0], tt.accuracy(unseen[0], beams[5])]))
"""


def test_a_few_seconds_of_training() -> None:
    """Short sentences come out right, those far longer than any that it has read do not; a beam of 1 is greedy."""
    losses, (short, longer, beyond), same, beam = json.loads(run("-c", QUICK))
    assert all(later < earlier for earlier, later in pairwise(losses))
    assert short > 0.85
    assert beam > 0.85
    assert short > longer > 0.2
    assert beyond < 0.1
    assert same is True


def test_the_command_prints_a_table() -> None:
    """A line an epoch, and a line for each number of phrases."""
    options = ("--epochs", "1", "--pairs", "64", "--hidden", "4", "--layers", "1", "--test", "2")
    lines = run("-m", "lm.torch_translate", *options).splitlines()
    assert lines[0] == "5,376 parameters; 8 numbers go from encoder to decoder"
    table = [line.split() for line in lines if line[:3].strip().isdigit() and len(line.split()) == 4]
    assert [int(row[0]) for row in table] == list(range(7))
    assert all(row[2] == row[3] == "0.000" for row in table)
    assert "The first mistake:" in lines

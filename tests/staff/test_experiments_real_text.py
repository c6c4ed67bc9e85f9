"""Experiment 7: the readers of real text, where a text comes from, and what the steps find on the excerpt."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from experiments import real_text, real_text_neural, real_text_tools, texts
from experiments.array_ngrams import Counts, Text
from experiments.run import INSIDE, WAITING, Run
from experiments.texts import Source, TextError
from lm import ngram, smoothing
from lm.vocab import Vocab

from tests.staff.unfinished import experiment

WIKI = " \n = Robert Boulter = \n \n He was a guest @-@ star in 2000 . \n \n = = Career = = \n A <unk> role . \n"
PTB = " aer banknote <unk> \n pierre <unk> N years old <eos>\n"
PLAIN = "First Citizen:\nSpeak, don't stop! I'm\nhere.\n\nAll\n\nResolved. 我们走！好。\n"


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is on this machine: no test may depend on it."""
    for name in ("nltk", "nltk.corpus", "datasets"):
        monkeypatch.setitem(sys.modules, name, None)


def module(name: str, **attributes: object) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(attributes)
    return made


@pytest.mark.parametrize(
    ("text", "kind", "sentences"),
    [
        (
            WIKI,
            "WikiText",
            ["= Robert Boulter =", "He was a guest @-@ star in 2000 .", "= = Career = =", "A <unk> role ."],
        ),
        (PTB, "PTB", ["aer banknote <unk>", "pierre <unk> N years old"]),
        (
            PLAIN,
            "plain",
            ["first citizen : speak , don't stop !", "i'm here .", "all", "resolved .", "我 们 走 ！", "好 。"],
        ),
    ],
    ids=["wikitext", "ptb", "plain"],
)
def test_a_text_is_read_as_what_it_is(tmp_path: Path, text: str, kind: str, sentences: list[str]) -> None:
    """The kind is seen from what is in the file; marks of other people are no words; a BOM and CRLF do no harm."""
    path = tmp_path / "text"
    for written in (text, "\ufeff" + text, text.replace("\n", "\r\n")):
        path.write_bytes(written.encode())
        assert texts.read(path) == (kind, [tuple(sentence.split()) for sentence in sentences])


def test_equal_signs_alone_are_no_headings() -> None:
    """A formula in a plain text leaves it plain."""
    assert texts.kind_of("so we set\nx = 2 y = 4\nand go on @home\n") == "plain"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "no such file"),
        (b"", "no words in it"),
        (b" \n\n \t", "no words in it"),
        ("caf\u00e9".encode("latin-1"), r"not UTF-8 text \(byte 3\)"),
        (b"PK\0\0words", "bytes that are zero"),
        (b"one sentence.", "one sentence only"),
    ],
    ids=["missing", "empty", "blank", "latin-1", "binary", "one-sentence"],
)
def test_a_file_that_cannot_be_used_is_one_line(tmp_path: Path, content: bytes | None, says: str) -> None:
    """The line names the file and what is wrong; so it does for a folder."""
    path = tmp_path / "text.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TextError, match=says) as error:
        texts.load([path])
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises(TextError, match="a folder"):
        texts.load([tmp_path])
    with pytest.raises(TextError, match="one or two files"):
        texts.load([path] * 3)


def test_two_files_are_train_and_held_out(tmp_path: Path) -> None:
    """The second is read as the first is; of one file the last tenth is held out."""
    train, held_out = tmp_path / "train", tmp_path / "held out"
    train.write_text("a <unk> b\n" * 20)
    held_out.write_text("No stop. Here.\n")
    both = texts.load([train, held_out])
    assert (both.kind, len(both.train), both.held_out) == ("PTB", 20, [("No", "stop.", "Here.")])
    one = texts.load([train])
    assert (len(one.train), len(one.held_out)) == (18, 2)


def test_without_packages_it_is_the_excerpt() -> None:
    """And it says why nothing better was used."""
    found = texts.load()
    assert found.name == texts.BUNDLED
    assert found.passed_over == ("NLTK is not installed", "datasets is not installed")
    assert found.train[0][:6] == ("first", "citizen", ":", "before", "we", "proceed")
    assert 20_000 <= texts.EXCERPT.stat().st_size <= 50_000


def test_reuters_is_used_when_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """In lowercase, as in the lecture; where the package has no data, the next source has its turn."""

    def missing() -> None:
        raise LookupError("Resource reuters not found")

    reuters = SimpleNamespace(sents=lambda: [["The", "Price"]] * 20)
    monkeypatch.setitem(sys.modules, "nltk", module("nltk"))
    monkeypatch.setitem(sys.modules, "nltk.corpus", module("nltk.corpus", reuters=reuters))
    found = texts.load()
    assert "Reuters" in found.name
    assert (len(found.train), found.held_out) == (18, [("the", "price")] * 2)
    reuters.sents = missing
    assert "punkt_tab" in texts.load().passed_over[0]


def test_wikitext_is_used_when_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the name that it has today, offline; whatever goes wrong in there, the excerpt remains."""
    asked = []

    def load_dataset(*name: str, download_config: object) -> dict[str, dict[str, list[str]]]:
        asked.append((name, download_config, texts.os.environ["HF_HUB_OFFLINE"]))
        return {part: {"text": ["", " = Title = \n", f" In {part} . \n"]} for part in ("train", "validation")}

    datasets = module(
        "datasets", load_dataset=load_dataset, config=SimpleNamespace(), DownloadConfig=lambda **options: options
    )
    monkeypatch.setitem(sys.modules, "datasets", datasets)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    found = texts.load()
    assert (found.kind, found.train[1], found.held_out[1]) == (
        "WikiText",
        ("In", "train", "."),
        ("In", "validation", "."),
    )
    assert asked == [(("Salesforce/wikitext", "wikitext-2-raw-v1"), {"local_files_only": True, "max_retries": 0}, "1")]
    assert "HF_HUB_OFFLINE" not in texts.os.environ
    datasets.load_dataset = lambda *name, **options: 1 / 0  # type: ignore[attr-defined]
    assert "has no data here" in texts.load().passed_over[1]


def test_a_text_is_cut_to_size() -> None:
    """So many words, so many types; words that occur once are <unk> everywhere; nothing is tested that is counted."""
    train: texts.Sentences = [("a", "b"), ("a", "b"), ("a", "rare")] * 10
    source = Source("x", "PTB", [*train, ("a", "new")], [("new", "a", "b")] * 9)
    text = texts.prepare(source, 24, 1)
    assert (len(text.train), len(text.tune), len(text.test)) == (11, 1, 1)
    assert (text.words, set(text.train)) == (("a",), {("a", "<unk>")})
    with pytest.raises(TextError, match="too short"):
        texts.prepare(Source("x", "PTB", [("a", "b")], [("a",)]), 100, 100)


def test_weights_of_arrays_are_those_of_the_solution() -> None:
    """A grid of hundredths finds what ``tune_em`` finds for the models, to a hundredth."""
    text = texts.prepare(texts.load(), 3_000, 500)
    ids = Vocab(text.words, unk=True).ids
    train, tune = (Text.of(part, ids) for part in (text.train, text.tune))
    got = real_text_tools.weights_of([Counts.of(train, n).find(tune.keys(n)) for n in (1, 2, 3)])
    expected = smoothing.tune_em([ngram.MLE(ngram.count(text.train, n)) for n in (1, 2, 3)], text.tune)
    assert got == pytest.approx(expected, abs=0.011)


def test_longest_copied_piece() -> None:
    """Whole words, in order, within one sentence."""
    train = real_text_tools.joined([("the", "cow", "eats"), ("corn", "the", "cows")])
    pieces = {"the cow": 2, "he cow": 1, "cow eats corn": 2, "eats the cow eats": 3, "bat": 0, "": 0}
    assert {words: real_text_tools.longest_copied(words.split(), train) for words in pieces} == pieces


def test_ranks() -> None:
    """1 is the best place; equal ones share theirs."""
    model = SimpleNamespace(prob=lambda word, context: {"a": 0.5, "b": 0.2, "c": 0.2, "d": 0.1}[word])
    got = real_text_tools.ranks(model, [(word, ()) for word in "abcd"], "abcd")  # type: ignore[arg-type]
    assert got.tolist() == [1, 2.5, 2.5, 4]


def run_steps(run: Run, steps: list) -> None:
    run.experiment("7", SimpleNamespace(__doc__="Title | 标题", STEPS=steps))  # type: ignore[arg-type]


def test_counts_on_the_excerpt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All steps without PyTorch, quick: every figure lies in its band, and Kneser-Ney has the lowest perplexity."""
    run = Run(tmp_path, quick=True)
    run_steps(run, [step for step in real_text.STEPS if step not in real_text_neural.NEURAL])
    assert run.finish() == INSIDE
    assert len(run.figures) == 4
    assert run.untranslated == []
    found = run.shared["text perplexities"]
    assert found["3-gram, Kneser-Ney, D = 0.75"] == pytest.approx(52.42, abs=0.01)
    assert found["3-gram, interpolated by EM"] == pytest.approx(55.00, abs=0.01)
    assert "the bundled excerpt" in capsys.readouterr().out


def test_a_wrong_path_loses_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said once; no step runs on another text, none stops the command, and the exit code says that one waits."""
    run = Run(tmp_path, quick=True, text=[tmp_path / "no text"])
    run_steps(run, real_text.STEPS)
    assert run.finish() == WAITING
    assert capsys.readouterr().out.count("no such file") == 2  # where it happens, and at the end
    assert [figure.key for figure in run.figures] == ["7 the lecture's WikiText-2 LSTM: parameters"]


def test_a_half_finished_package_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Kneser-Ney its step waits, and the ranking goes on with the models that there are."""

    def unwritten(*arguments: object) -> None:
        raise NotImplementedError("kneser_ney: continuation_counts")

    smoothing = importlib.import_module("lm.smoothing")  # other tests import the package anew
    monkeypatch.setattr(smoothing, "continuation_counts", unwritten)
    run = Run(tmp_path, quick=True)
    run_steps(run, [real_text.mixing, real_text.kneser_ney, real_text.ranking])
    assert run.waiting == ["7 kneser_ney: kneser_ney"]
    assert list(run.shared["text trigrams"]) == ["interpolated by EM"]


def test_an_empty_package_waits_for_each_item_by_name(tmp_path: Path) -> None:
    """The text is read and the arrays count it; all else waits, and nothing stops the command."""
    ended = experiment(tmp_path, "7", ())
    assert ended.returncode == WAITING, ended.stderr
    waiting = dict(line[9:].split(": ") for line in ended.stdout.splitlines() if line.startswith("  waits: "))
    assert waiting == {
        "7 trigrams": "count_ngrams",
        "7 adding": "count_ngrams",
        "7 mixing": "count_ngrams",
        "7 kneser_ney": "count_ngrams",
        "7 ranking": "count_ngrams",
        "7 arrays": "count_ngrams",
        "7 fixed_window": "fixed_window",
        "7 rnn": "train_chunks",
        "7 lstm": "train_chunks",
    }


def test_neural_models_on_a_small_text(tmp_path: Path) -> None:
    """Each trains, is tested and writes; it has as many parameters as the formula says."""
    path = tmp_path / "text"
    path.write_text("the cow eats corn <unk>\nthe bat eats flies\n" * 60)
    run = Run(tmp_path, quick=True, text=[path])
    run_steps(run, [real_text.trigrams, real_text.kneser_ney, *real_text_neural.NEURAL])
    assert run.finish() == INSIDE
    assert len(run.figures) == 4
    assert [text for text in run.untranslated if str(path) not in text] == []
    found = run.shared["text perplexities"]
    assert all(1 < found[name] < 2 for name in ("fixed window", "RNN", "LSTM"))


def test_what_is_tested_are_the_predictions_of_an_ngram_model() -> None:
    """Every word and every ``</s>``, each once, whatever the length of a chunk; never ``<s>``."""
    from experiments import text_nets

    vocab, sentences = Vocab(["a", "b"], unk=True), [("a", "b"), (), ("b",)] * 5
    ids = text_nets.stream(sentences, vocab)
    for length in (1, 4, 100):
        targets = [y[mask] for _, y, mask in text_nets.chunks(ids, 1, length, vocab.ids["<s>"])]
        expected = [word for sentence in sentences for word in (*sentence, "</s>")]
        assert vocab.decode(np.concatenate(targets).tolist()) == tuple(expected)


def test_the_lectures_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its size at V = 20,004, exactly; and that it runs: trains, tests and writes. Without a text it says so."""
    from experiments import wikitext

    assert wikitext.parameters(20_004) == 4_000_800 + 2 * 321_600 + 4_020_804
    for name in ("train", "held out"):
        (tmp_path / name).write_text("the meaning of <unk> is clear\n" * 60)
    assert wikitext.main(["--text", str(tmp_path / "train"), str(tmp_path / "held out"), "--epochs", "1"]) == 0
    assert "epoch 1: loss" in capsys.readouterr().out
    assert wikitext.main([]) == 2
    assert "datasets is not installed" in capsys.readouterr().out


def test_a_test_reads_on_where_it_stopped() -> None:
    """The perplexity is the same whatever the length of a chunk: the state is carried, also a window's."""
    import torch
    from experiments import text_nets
    from lm.lstm import LSTMLM
    from lm.torch_lm import FixedWindowLM

    torch.manual_seed(0)
    vocab = Vocab(["a", "b"], unk=True)
    ids = text_nets.stream([("a", "b", "a", "a"), ("b",)] * 5, vocab)
    for model in (LSTMLM(len(vocab), 3, 8), FixedWindowLM(len(vocab), 3, 8)):
        at_once = text_nets.perplexity(model, ids, vocab, length=len(ids))
        assert text_nets.perplexity(model, ids, vocab, length=3) == pytest.approx(at_once, rel=1e-5)

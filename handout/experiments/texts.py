"""Real text for experiment 7: where it comes from, and how it is read. Given.

Files that you name come first. Without one it is NLTK's Reuters corpus or, through ``datasets``, WikiText-2, if package
and data are on this machine already: nothing is ever fetched. Without those it is ``excerpt.txt``, the beginning of
Shakespeare's Coriolanus (act 1 to the middle of act 2; public domain), as it stands in Andrej Karpathy's
"tinyshakespeare".

Three kinds of files are told apart by what is in them:

- WikiText style: a paragraph a line, headings as `` = Robert Boulter = ``, ``@-@`` and ``@,@`` within words;
- PTB style: a sentence a line, words between spaces, rare ones written ``<unk>``;
- plain: anything else. Paragraphs end at empty lines, sentences at full stops; words are split off and made lowercase,
  a Chinese character is a word.

In all three a "sentence" is what a model reads from ``<s>`` to ``</s>``; of WikiText that is a paragraph.
"""

from __future__ import annotations

import importlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Sentences = list[tuple[str, ...]]

EXCERPT = Path(__file__).with_name("excerpt.txt")
BUNDLED = "the bundled excerpt of Shakespeare's Coriolanus, held out: the last tenth of it"
UNK = "<unk>"
MARKS = {"<s>", "</s>", "<pad>", "<bos>", "<eos>"}  # ours to set: in a text they would be taken for borders

_HEADING = re.compile(r"^ ?(= )+[^=].*[^=]( =)+ *$", re.MULTILINE)
_JOINED = re.compile(r"(^| )@[-,.]@( |$)", re.MULTILINE)
_HAN = "\u3400-\u9fff"  # each character counts as a word
_WORD = re.compile(rf"[{_HAN}]|[^\W_{_HAN}]+(?:['\u2019][^\W_{_HAN}]+)*|[^\w\s]")  # a word (don't is one), or a mark
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_STOP = re.compile(r"(?<=[.!?])(?=\s)|(?<=[\u3002\uff01\uff1f])")


class TextError(ValueError):
    """A file that cannot be used, said in one line."""


@dataclass(frozen=True)
class Source:
    """A text to train on and one to test on.

    Attributes:
        name: where they are from, for people.
        kind: "plain", "PTB" or "WikiText".
        train, held_out: sentences, tuples of words.
        passed_over: why better sources were not used, a line each.
    """

    name: str
    kind: str
    train: Sentences
    held_out: Sentences
    passed_over: tuple[str, ...] = ()


def kind_of(text: str) -> str:
    """Which of "WikiText", "PTB" and "plain" it is."""
    if _HEADING.search(text) or _JOINED.search(text):
        return "WikiText"
    return "PTB" if re.search(r"(^|\s)<unk>(\s|$)", text) else "plain"


def parse(text: str, kind: str | None = None) -> Sentences:
    """The sentences of a text. ``kind`` is what ``kind_of`` says, unless one knows better. No sentence is empty."""
    if (kind or kind_of(text)) == "plain":
        return list(_plain(text))
    lines = (tuple(word for word in line.split() if word not in MARKS) for line in text.split("\n"))
    return [line for line in lines if line]


def _plain(text: str) -> Iterable[tuple[str, ...]]:
    for paragraph in _PARAGRAPH.split(text):
        for sentence in _STOP.split(paragraph):
            words = tuple(_WORD.findall(sentence.lower()))
            if words:
                yield words


def read(path: Path, kind: str | None = None) -> tuple[str, Sentences]:
    """Kind and sentences of one file; ``kind`` as in ``parse``.

    Raises:
        TextError: there is no such file, it cannot be read, is no UTF-8, or has no words.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TextError(f"{path}: not UTF-8 text (byte {error.start}); convert it first") from None
    except FileNotFoundError:
        raise TextError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise TextError(f"{path}: a folder, not a file") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte in it
        raise TextError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if "\0" in text:
        raise TextError(f"{path}: not text, it has bytes that are zero")
    kind = kind or kind_of(text)
    sentences = parse(text, kind)
    if not sentences:
        raise TextError(f"{path}: no words in it")
    return kind, sentences


def from_paths(paths: Sequence[Path]) -> Source:
    """One file, the last tenth of which is held out; or one to train on and one that is held out. TextError as above"""
    if not 1 <= len(paths) <= 2:
        raise TextError(f"one or two files: to train on, and held out; not {len(paths)}")
    kind, sentences = read(paths[0])
    if len(paths) == 2:  # both in the same way, or their words would not be the same
        return Source(f"{paths[0]}, held out: {paths[1]}", kind, sentences, read(paths[1], kind)[1])
    train, held_out = split(sentences)
    if not train:
        raise TextError(f"{paths[0]}: one sentence only, so none is left to train on")
    return Source(f"{paths[0]}, held out: the last tenth of it", kind, train, held_out)


def split(sentences: Sentences, share: int = 10) -> tuple[Sentences, Sentences]:
    """All but the last tenth, and the last tenth: at least one sentence."""
    end = len(sentences) - max(len(sentences) // share, 1)
    return sentences[:end], sentences[end:]


def from_nltk() -> Source:
    """NLTK's Reuters news, as in lecture A 2.5, made lowercase; TextError where package or data are missing."""
    try:
        reuters: Any = importlib.import_module("nltk.corpus").reuters
    except ImportError:
        raise TextError("NLTK is not installed") from None
    try:
        sentences = [tuple(word.lower() for word in sentence) for sentence in reuters.sents()]
    except LookupError:  # since NLTK 3.9 it is punkt_tab, no longer punkt, that cuts into sentences
        raise TextError(
            "NLTK has no Reuters data here: nltk.download('reuters') and nltk.download('punkt_tab') fetch it"
        ) from None
    return Source("NLTK's Reuters corpus, held out: the last tenth of it", "plain", *split(sentences))


WIKITEXT = ("Salesforce/wikitext", "wikitext-2-raw-v1")  # the lecture's "wikitext" without an owner is refused today


def from_datasets() -> Source:
    """WikiText-2 through ``datasets``; TextError where package or data are missing. Nothing is fetched."""
    before = {name: os.environ.get(name) for name in ("HF_DATASETS_OFFLINE", "HF_HUB_OFFLINE")}
    os.environ.update(dict.fromkeys(before, "1"))  # both are read when the package is first imported
    try:
        datasets: Any = importlib.import_module("datasets")
        datasets.config.HF_DATASETS_OFFLINE = True  # it may have been imported before
        parts: Any = datasets.load_dataset(
            *WIKITEXT, download_config=datasets.DownloadConfig(local_files_only=True, max_retries=0)
        )
        train, held_out = (parse("\n".join(parts[part]["text"]), "WikiText") for part in ("train", "validation"))
    except ImportError:
        raise TextError("datasets is not installed") from None
    except Exception:  # what it says of data that it does not have changes from release to release
        raise TextError(f"datasets has no data here: datasets.load_dataset{WIKITEXT} fetches it") from None
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return Source(f"{' '.join(WIKITEXT)} through datasets, held out: its validation part", "WikiText", train, held_out)


def from_excerpt() -> Source:
    """The excerpt that comes with the experiments."""
    kind, sentences = read(EXCERPT)
    return Source(BUNDLED, kind, *split(sentences))


INSTALLED: tuple[Callable[[], Source], ...] = (from_nltk, from_datasets)


def load(paths: Sequence[Path] = ()) -> Source:
    """The best source that there is. TextError only for files that were named: nothing else takes their place."""
    if paths:
        return from_paths(paths)
    passed_over = []
    for source in INSTALLED:
        try:
            found = source()
        except TextError as error:
            passed_over.append(str(error))
        else:
            return Source(found.name, found.kind, found.train, found.held_out, tuple(passed_over))
    found = from_excerpt()
    return Source(found.name, found.kind, found.train, found.held_out, tuple(passed_over))


@dataclass(frozen=True)
class Text:
    """A text in words that all models know: the rest is ``<unk>``.

    Attributes:
        source: where it is from.
        train, tune, test: to count, to find weights, to measure. ``tune`` is the end of what there was to train on.
        words: the words that stay: at least twice in ``train``, and of those the most frequent.
    """

    source: Source
    train: Sentences
    tune: Sentences
    test: Sentences
    words: tuple[str, ...]


def prepare(source: Source, most_words: int, most_types: int) -> Text:
    """Cut a source to size: at most so many words to train on (an eighth of it to tune and to test on), and types.

    ValueError as ``TextError`` where too little is left to train on.
    """
    train, tune = split(_first(source.train, most_words))
    tune, test = _first(tune, most_words // 8), _first(source.held_out, most_words // 8)
    times = Counter(word for sentence in train for word in sentence)
    kept = [word for word, count in sorted(times.items(), key=lambda pair: (-pair[1], pair[0])) if count > 1]
    words = tuple(word for word in kept if word != UNK)[:most_types]
    if len(train) < 2 or not words:
        raise TextError(f"{source.name}: too short to train on")
    known = frozenset(words)

    def replaced(part: Sentences) -> Sentences:
        return [tuple(word if word in known else UNK for word in sentence) for sentence in part]

    return Text(source, replaced(train), replaced(tune), replaced(test), words)


def _first(sentences: Sentences, most_words: int) -> Sentences:
    """The first sentences, at least one, with at most so many words."""
    total, end = 0, 0
    for end, sentence in enumerate(sentences, 1):
        total += len(sentence)
        if total > most_words:
            return sentences[: max(end - 1, 1)]
    return sentences[:end]

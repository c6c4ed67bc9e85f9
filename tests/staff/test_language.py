"""feedback/language.py: which language is chosen, and how a finished line is read."""

from __future__ import annotations

import locale
import sys
import time
from pathlib import Path

import pytest

from autograder.feedback.assignment import Item
from autograder.feedback.errors import InputError
from autograder.feedback.language import ENGLISH, VARIABLE, WORDS, Language, chosen, words_in

CHINESE = Language("zh")


def test_english_is_said_as_it_is() -> None:
    """Every line, whatever patterns there are."""
    assert ENGLISH("the result is wrong\n  got 1    expected 2") == "the result is wrong\n  got 1    expected 2"
    assert Language("en", {"the sum": "和"})("the sum") == "the sum"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", ""),
        ("   ", "   "),
        ("passed", "通过"),
        ("  passed ", "  通过 "),
        ("rnn_lm.npz", "rnn_lm.npz"),
        ("first line\nthe result is wrong", "first line\n结果不对"),
        ("ngram.count: the result is wrong", "ngram.count：结果不对"),
        ("    3 checks were not run", "    3 项检查没有运行"),
        ("what nobody has a pattern for", "what nobody has a pattern for"),
    ],
    ids=["empty", "blanks", "whole", "margins", "name", "lines", "nested", "number", "unknown"],
)
def test_a_line_is_read_as_patterns_in_patterns(line: str, said: str) -> None:
    """Blanks at both ends stay; what no pattern fits stays."""
    assert CHINESE(line) == said


def test_what_says_most_by_itself_comes_first() -> None:
    """A hole takes nearly everything, so the pattern with the most text decides."""
    assert CHINESE("h should be infinite with the other sign") == "h 应为符号相反的无穷大"
    assert CHINESE("h should be float64, not float32: compute in double precision").endswith("：请用双精度计算")


def test_what_code_raised_stays_as_it_is() -> None:
    """An error's text is the student's or Python's, even when it reads like ours; what we wrote into it is ours."""
    assert CHINESE("ValueError: the result is wrong") == "ValueError：the result is wrong"
    assert CHINESE("MyError: h should be a number, not a list") == "MyError：h should be a number, not a list"
    assert CHINESE("ImportError: torch is not allowed in this part") == "ImportError：这一部分不允许使用 torch"


def test_a_sentence_is_found_before_the_names_in_it() -> None:
    """Words of tests fit inside of our sentences, and never swallow one."""
    say = Language("zh", {"the gradient by {x}": "对{x}的梯度", "{x} afterwards": "之后的{x}"})
    assert say("the gradient by E is wrong") == "对 E 的梯度不对"
    assert say("the gradient by h: 1 of 2 entries is wrong") == "对 h 的梯度：2 个元素中有 1 个不对"
    assert say("h afterwards should be infinite") == "之后的 h 应为无穷大"


def test_words_of_tests_come_before_ours() -> None:
    """A course may say it in its own way."""
    assert Language("zh", {"the result": "得数"})("the result is wrong") == "得数不对"


@pytest.mark.parametrize(
    ("pattern", "translation", "line", "said"),
    [
        ("{n} of {m}", "{m} 里的 {n}", "2 of 3", "3 里的 2"),
        ("{} by {}", "{}除以{}", "6 by 2", "6 除以 2"),
        ("{name} to {name2}", "{name2} 由 {name}", "x to y", "y 由 x"),
        ("the set {x}", "集合 { } 的{x}", "the set b", "集合 { } 的 b"),
    ],
    ids=["another-order", "without-names", "a-kind-twice", "other-braces"],
)
def test_holes(pattern: str, translation: str, line: str, said: str) -> None:
    """Found by name, or one after the other; a number at the end of a name tells two of a kind apart."""
    assert Language("zh", {pattern: translation})(line) == said


@pytest.mark.parametrize("line", ["x of 3", "2 of b", "2 of 3 or so"], ids=["no-number", "nor-there", "more"])
def test_a_hole_takes_what_fits_only(line: str) -> None:
    """``{n}`` is a whole number and nothing else."""
    assert Language("zh", {"{n} of {m}": "{m} 里的 {n}"})(line) == line


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("the h", "那个 h 很大"),
        ("the 数", "那个数很大"),
        ("the 3 %", "那个 3 % 很大"),
        ("the (3,)", "那个 (3,) 很大"),
        ("the 'a'", "那个 'a' 很大"),
        ("the -inf", "那个 -inf 很大"),
        ("the <s>", "那个 <s> 很大"),
    ],
    ids=["letter", "chinese", "per-cent", "shape", "quoted", "sign", "mark"],
)
def test_blanks_between_scripts_are_put_in(line: str, said: str) -> None:
    """A pattern cannot know what its holes will hold."""
    assert Language("zh", {"the {raw}": "那个{raw}很大"})(line) == said


def test_titles_and_hints_are_written_in_both_languages() -> None:
    """A hint that is there in English only is better than none."""
    item = Item("sum", "Sums", "求和", 1.0, "a.py")
    assert (ENGLISH.title(item), CHINESE.title(item)) == ("Sums", "求和")
    assert (ENGLISH.hint("Why?", "为什么？"), CHINESE.hint("Why?", "为什么？")) == ("Why?", "为什么？")
    assert CHINESE.hint("Why?", "") == "Why?"


HOSTILE = {
    "colons": "a: " * 80,
    "sentences": "x should be y, not " * 12,
    "places": "x at [0] (1 of 3 entries)" * 9,
    "errors": "Error: " * 30,
    "brackets": "[x] " * 60,
    "refusals": "a was not used: " * 14,
    "columns": "got a    expected b    " * 9,
    "returns": "f: returned a, expected b" * 9,
    "long": "is wrong" * 60,
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE)
def test_no_line_takes_long(line: str) -> None:
    """A student's text stands in our lines: its patterns end soon, whatever it looks like."""
    began = time.process_time()
    CHINESE(line)
    assert time.process_time() - began < 0.5


# Which language.


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine that says nothing of its language."""
    for name in (VARIABLE, "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    return monkeypatch


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", VARIABLE: "en"}, "en"),
        ({VARIABLE: "zh"}, "zh"),
    ],
    ids=["nothing", "chinese", "german", "all-first", "messages-first", "variable-first", "variable"],
)
def test_the_language_of_a_machine(machine: pytest.MonkeyPatch, variables: dict[str, str], name: str) -> None:
    """What AUTOGRADER_LANG says, else the locale; English where neither is Chinese."""
    for key, value in variables.items():
        machine.setenv(key, value)
    assert chosen() == name


def test_who_asks_is_heard_first(machine: pytest.MonkeyPatch) -> None:
    """By an option; then the variable; the course's own is for machines that say nothing."""
    machine.setenv(VARIABLE, "zh")
    assert chosen("en") == "en"
    machine.delenv(VARIABLE)
    assert chosen(None, "zh") == "zh"
    machine.setattr(sys, "platform", "win32")
    machine.setattr(locale, "getlocale", lambda: ("Chinese (Simplified)_China", "936"))
    assert chosen() == "zh"


@pytest.mark.parametrize("by_variable", [False, True], ids=["option", "variable"])
def test_another_language_is_refused(machine: pytest.MonkeyPatch, by_variable: bool) -> None:
    """In one line that names those there are."""
    if by_variable:
        machine.setenv(VARIABLE, "fr")
    with pytest.raises(InputError, match="no language 'fr'; there are en, zh"):
        chosen(None if by_variable else "fr")


# The words of tests.


def written(folder: Path, content: bytes) -> Path:
    """A folder of tests with this file of words."""
    folder.mkdir()
    (folder / WORDS).write_bytes(content)
    return folder


def test_words_of_several_folders(tmp_path: Path) -> None:
    """All tables of all files; a folder without a file has none."""
    one = written(tmp_path / "one", '[titles]\n"A sum." = "和。"\n[whats]\n"the sum" = "和"\n'.encode())
    two = written(tmp_path / "two", '[whats]\n"the mean" = "平均"\n'.encode())
    assert words_in([one, two, tmp_path]) == {"A sum.": "和。", "the sum": "和", "the mean": "平均"}


@pytest.mark.parametrize(
    "content",
    [
        b'[whats]\n"the sum" = ',
        b"\xff\xfe",
        b'title = "a"\n',
        b'[whats]\n"the sum" = 3\n',
        b'[whats]\n"the sum of {n}" = "{m}"\n',
        b'[whats]\n"the sum of {n}" = "{n} {n}"\n',
    ],
    ids=["no-toml", "no-text", "no-table", "number", "another-hole", "a-hole-twice"],
)
def test_broken_words_cost_nothing_but_themselves(tmp_path: Path, content: bytes) -> None:
    """Feedback is then English in places, and there is feedback."""
    good = written(tmp_path / "good", '[whats]\n"the mean" = "平均"\n'.encode())
    bad = written(tmp_path / "bad", content)
    assert words_in([bad, good]) == {"the mean": "平均"}
    assert Language("zh", words_in([bad, good]))("the sum of 3 is wrong") == "the sum of 3 不对"

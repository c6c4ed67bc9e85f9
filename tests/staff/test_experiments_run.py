"""What all experiments share: a step that cannot go on says why, Ctrl-C keeps what there is, two languages."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from experiments import __main__ as command
from experiments import pictures, waiting, words
from experiments.run import INSIDE, OUTSIDE, WAITING, Run

from tests.staff.unfinished import ROOT, experiment, package, run_on


def run_steps(run: Run, *steps: object) -> None:
    """Steps as an experiment."""
    run.experiment("1", SimpleNamespace(__doc__="Title | 标题", STEPS=steps))  # type: ignore[arg-type]


def counted(run: Run) -> None:
    """Three arms."""
    run.figure("4.1 vocabulary", 56, 56, 56, "56")


def raising(error: BaseException) -> object:
    """A step that ends like this."""

    def step(run: Run) -> None:
        raise error

    return step


def in_your_code(run: Run) -> None:
    """The package raises."""
    from lm.vocab import Vocab

    Vocab(["a"]).encode(["b"])


def on_your_result(run: Run) -> None:
    """The package returned None."""
    result: list[float] = None  # type: ignore[assignment]
    max(result)


@pytest.mark.parametrize(
    ("step", "short", "english", "chinese"),
    [
        (
            raising(NotImplementedError("mle: MLE.prob")),
            "mle",
            "waits for item 1.2, Maximum likelihood: MLE.prob is not written yet (python check.py --item 1.2)",
            "等待题目 1.2, 最大似然估计：MLE.prob 还没有写（python check.py --item 1.2）",
        ),
        (raising(ModuleNotFoundError("no", name="torch")), "torch", "needs torch, which is not installed", "没有安装"),
        (raising(ModuleNotFoundError("no", name="lm.x")), "lm.x", "needs lm.x, which is not there", "而这里没有"),
        (in_your_code, "KeyError", "your code raised KeyError: 'b' in lm/vocab.py:", "你的代码在 lm/vocab.py:"),
        (on_your_result, "TypeError", "cannot go on with what your functions returned: TypeError", "返回的结果用不了"),
        (raising(SystemExit(3)), "SystemExit", "SystemExit: 3", "SystemExit: 3"),
        (raising(NotImplementedError("later\nperhaps")), "NotImplementedError", "later perhaps", "later perhaps"),
        (raising(ValueError("long " * 100)), "ValueError", "long long ...", "long long ..."),
        (
            raising(SyntaxError("invalid syntax", ("/x/lm/ngram.py", 7, 1, ""))),
            "SyntaxError",
            "your code raised SyntaxError: invalid syntax (ngram.py, line 7) in lm/ngram.py:7",
            "在 lm/ngram.py:7",
        ),
    ],
    ids=["stub", "no-torch", "no-file", "raises", "returns-nothing", "exits", "own-words", "long", "syntax"],
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_step_that_cannot_go_on_says_so_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], step: object, short: str, english: str, chinese: str, lang: str
) -> None:
    """And the next one goes on."""
    run = Run(tmp_path, lang=lang)
    run_steps(run, step, counted)
    assert [line.rpartition(": ")[2] for line in run.waiting] == [short]
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  -- ")]
    assert len(lines) == 1
    assert (chinese if lang == "zh" else english) in lines[0]
    assert len(lines[0]) < 330
    assert len(run.figures) == 1
    assert run.finish() == WAITING


def test_what_lies_outside_its_band_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """NaN lies outside, too; the numbers of the figures are for ``figures.csv``."""
    run = Run(tmp_path)
    run.figure("4.1 vocabulary", float("nan"), 56, 56)
    assert run.finish() == OUTSIDE
    assert "  OUTSIDE: vocabulary\n" in capsys.readouterr().out
    assert "4.1 vocabulary,nan,56,56,False," in (tmp_path / "figures.csv").read_text(encoding="utf-8")


def test_ctrl_c_keeps_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback; figures so far are written and the exit code is that of an interruption."""
    module = SimpleNamespace(__doc__="Title | 标题", STEPS=[counted, raising(KeyboardInterrupt()), counted])
    monkeypatch.setitem(sys.modules, f"experiments.{command.NAMES['1']}", module)  # type: ignore[arg-type]
    assert command.main(["1", "--out", str(tmp_path), "--lang", "en"]) == 130
    assert "interrupted; what was measured so far:\n\n1 of 1 figures" in capsys.readouterr().out
    assert (tmp_path / "figures.csv").read_text(encoding="utf-8").count("\n") == 2


def test_a_function_that_is_wrong_costs_its_steps_only(tmp_path: Path) -> None:
    """A package of a student's: a file that is broken, one that raises, and one that returns nothing."""
    package(tmp_path, None)
    for name, text in {
        "gradcheck.py": "def numerical_gradient(:\n",
        "procedural.py": "def forward(*values):\n    return None\n\n\nbackward = forward\n",
        "forward_mode.py": "raise ValueError('nothing yet')\n",
    }.items():
        (tmp_path / "lm" / name).write_text(text, encoding="utf-8")
    done = run_on(tmp_path, "2", ["written_out", "in_modules", "planted_bug", "step_size", "dual_numbers"])
    assert (done.returncode, done.stderr) == (WAITING, "")
    waits = [line.removeprefix("  waits: 2 ") for line in done.stdout.splitlines() if line.startswith("  waits: ")]
    assert waits == [
        "written_out: SyntaxError",
        "in_modules: TypeError",
        "planted_bug: SyntaxError",
        "dual_numbers: ValueError",
    ]
    assert "in lm/gradcheck.py:1" in done.stdout
    assert "your code raised ValueError: nothing yet in lm/forward_mode.py:1" in done.stdout
    assert "[ok] slope of the central error" in done.stdout


def test_a_blank_package_waits_in_chinese(tmp_path: Path) -> None:
    """The language of ``check.py``'s switch; numbers and titles are those of assignment.toml."""
    ended = experiment(tmp_path, "2", (), ["written_out", "planted_bug"], lang="zh")
    assert ended.returncode == WAITING, ended.stderr
    assert "等待题目 2.1, " in ended.stdout
    assert "waits" not in ended.stdout


def test_help_lists_the_experiments_without_running_them(capsys: pytest.CaptureFixture[str]) -> None:
    """A line each, with both titles."""
    with pytest.raises(SystemExit):
        command.main(["--help"])
    lines = capsys.readouterr().out.partition("experiments:\n")[2].splitlines()
    assert [line.split()[0] for line in lines] == list(command.NAMES)
    assert all(" | " in line for line in lines)


def test_without_a_chinese_font_pictures_are_in_english(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says so; no boxes."""
    monkeypatch.setattr(pictures, "CHINESE_FONTS", ("no such font",))
    pictures.chinese_font.cache_clear()
    run = Run(tmp_path, lang="zh", number="1")
    with run.picture("empty") as drawn:
        said = run.say("English", "中文")
    pictures.chinese_font.cache_clear()
    if drawn is not None:  # there is matplotlib
        assert said == "English"
        assert "没有找到中文字体" in capsys.readouterr().out
    assert run.say("English", "中文") == "中文"


def test_items_are_those_of_the_assignment() -> None:
    """By slug: number and both titles."""
    assert waiting.items()["mle"] == ("1.2", "Maximum likelihood", "最大似然估计")
    assert (ROOT / waiting.ASSIGNMENT).is_file()


def test_a_run_without_figures_is_fine(tmp_path: Path) -> None:
    """Nothing is written."""
    assert Run(tmp_path / "none").finish() == INSIDE
    assert not (tmp_path / "none").exists()


def test_every_text_is_said_in_both_languages() -> None:
    """What is said with ``say`` and ``look``, and the titles: the second text is Chinese, with the same numbers."""
    folder = ROOT / "solutions" / "experiments"
    checked = 0
    for path in sorted(folder.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(isinstance(node, (ast.AnnAssign, ast.Assign)) and "STEPS" in ast.unparse(node) for node in tree.body):
            assert re.fullmatch(r".+ \| .*[\u4e00-\u9fff].*", str(ast.get_docstring(tree)).partition("\n")[0]), path
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr in ("say", "look"):
                english, chinese = (ast.unparse(text) for text in node.args)
                place = f"{path.name}:{node.lineno}"
                if isinstance(node.args[1], (ast.Constant, ast.JoinedStr)):
                    assert re.search(r"[\u4e00-\u9fff]", chinese), place
                assert not re.search(r"[\u4e00-\u9fff]", english), place
                checked += 1
    assert checked > 90


def test_the_tables_of_words_have_both_sides() -> None:
    """As many holes on either side, and Chinese on the right one but for names."""
    for english, chinese in words.tables().items():
        assert english.count("{}") == chinese.count("{}"), english
        assert re.search(r"[\u4e00-\u9fff，：]", chinese) or len(english) < 15, english


def test_words_are_found_by_pattern() -> None:
    """What stands in a hole is translated, too; what is quoted is not; names are the same in both."""
    assert words.chinese("unseen 3-grams in test") == "测试集中没见过的 3-gram"
    assert words.chinese("whole net: g_alpha") == "整网：g_alpha"
    assert words.chinese("sentences with one attractor, median ratio, lowest").endswith("，最低")
    assert [words.untranslated(text) for text in ("GPT-3, float32", "5e6", "no such words", "stupid backoff")] == [
        False,
        False,
        True,
        False,
    ]
    run = Run(Path())
    assert run.shown(words.Quoted("the cow eats")) == "the cow eats"
    assert run.untranslated == []
    assert run.shown("no such words") == "no such words"
    assert run.untranslated == ["no such words"]
    assert words.padded("数", 4) == "  数"
    assert words.padded(words.Quoted("数"), 4) == "数  "

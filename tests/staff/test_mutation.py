"""Mutants and tolerances on the small assignment: what survives, what is tight, and which reasons count."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.cli import main
from autograder.feedback.errors import InputError
from autograder.proof.mutation import EQUIVALENT, EQUIVALENTS, KILLED, NOT_EQUIVALENT, SURVIVED, try_mutants
from autograder.proof.tolerances import REASONS, measure
from tests.staff.runs import POCKET, copy_home

EMPTY = "# none\n"
EQUIVALENT_ENTRY = """
[[equivalent]]
function = "{function}"
before = "{before}"
after = "{after}"
reason = "said so"
"""
LOOSE = '''
from autograder.feedback import item


@item("span")
def test_span_loosely(student, check):
    """The span, more or less."""
    check.close(student.alpha.span([1.0, 3.5, 2.0]), 2.4, "the span, more or less", rtol=0.05)
'''
LOOSE_TEST = "hidden/test_loose.py::test_span_loosely"
SPAN_MISTAKE = """
id = "span-is-near"
base = "solutions"
function = "alpha.span"
old = "return ordered[-1] - ordered[0]"
new = "return (ordered[-1] - ordered[0]) * {factor}"
items = ["span"]
hint = "Near is not there."
hint_zh = "接近不等于正确。"
source = "observed"
"""


def home_with(folder: Path, equivalents: str = EMPTY, **changes: str) -> Path:
    """The small assignment with a list of equivalent mutants."""
    return copy_home(folder, changes={EQUIVALENTS: equivalents, **changes})


def test_every_mutant_has_a_fate(tmp_path: Path) -> None:
    """Those that no test notices survive; the others say by which test they were killed."""
    fates = try_mutants(home_with(tmp_path / "home"), jobs=1)
    by_id = {fate.mutant.id: fate for fate in fates}
    assert len(by_id) == len(fates) > 10
    assert {fate.state for fate in fates} <= {KILLED, SURVIVED}
    assert by_id["alpha.double/1-plus-one"].state == KILLED
    assert "test_double" in by_id["alpha.double/1-plus-one"].by
    assert [fate.by for fate in fates if fate.state == SURVIVED] == [""] * sum(f.state == SURVIVED for f in fates)


def test_a_test_that_checks_nothing_lets_mutants_survive(tmp_path: Path) -> None:
    """What was killed by it survives."""
    hidden = (POCKET / "tests/hidden/test_alpha.py").read_text(encoding="utf-8")
    public = (POCKET / "tests/public/test_alpha.py").read_text(encoding="utf-8")
    changes = {
        f"tests/{folder}/test_alpha.py": "\n".join(
            line.replace("check.close", "(lambda *_: None)") if "double" in line else line for line in text.splitlines()
        )
        for folder, text in (("hidden", hidden), ("public", public))
    }
    home = home_with(tmp_path / "home", **changes)
    states = {fate.mutant.id: fate.state for fate in try_mutants(home, jobs=1, only=lambda m: m.item == "double")}
    assert states["alpha.double/1-plus-one"] == SURVIVED


def test_the_list_excuses_what_survives_and_nothing_else(tmp_path: Path) -> None:
    """What is listed and killed is off, and so is an entry about no mutant."""
    double = {"function": "alpha.double", "before": "return 2 * x", "after": "return 3 * x"}
    home = home_with(tmp_path / "killed", EQUIVALENT_ENTRY.format(**double))
    states = {fate.mutant.id: fate for fate in try_mutants(home, jobs=1, only=lambda m: m.item == "double")}
    assert states["alpha.double/1-plus-one"].state == NOT_EQUIVALENT
    assert not states["alpha.double/1-plus-one"].ok
    untested = {"tests/hidden/test_alpha.py": "", "tests/public/test_alpha.py": ""}
    home = home_with(tmp_path / "excused", EQUIVALENT_ENTRY.format(**double), **untested)
    states = {fate.mutant.id: fate for fate in try_mutants(home, jobs=1, only=lambda m: m.item == "double")}
    assert (states["alpha.double/1-plus-one"].state, states["alpha.double/1-plus-one"].reason) == (
        EQUIVALENT,
        "said so",
    )
    assert {fate.state for fate in states.values()} == {EQUIVALENT, SURVIVED}
    stale = {"function": "alpha.double", "before": "return 2 * x", "after": "return 5 * x"}
    with pytest.raises(InputError, match="no mutant is like this"):
        try_mutants(home_with(tmp_path / "stale", EQUIVALENT_ENTRY.format(**stale)), jobs=1)


def test_the_command_shows_what_survives(tmp_path: Path) -> None:
    """As a difference; exit 1. A beginning of ids that nothing has is told."""
    home = home_with(tmp_path / "home", **{"tests/hidden/test_alpha.py": "", "tests/public/test_alpha.py": ""})
    done = CliRunner().invoke(main, ["--home", str(home), "audit", "--operators", "--only", "double"])
    assert done.exit_code == 1
    assert "alpha.double/1-plus-one: survived\n  - return 2 * x\n  + return 3 * x\n" in done.output
    done = CliRunner().invoke(main, ["--home", str(home), "audit", "--operators", "--only", "treble"])
    assert (done.exit_code, done.stderr.count("no mutant is called treble")) == (2, 1)


# --- tolerances


def test_a_tolerance_with_room_on_both_sides_is_well(tmp_path: Path) -> None:
    """Right solutions are far below, the mistake far above."""
    margins = {(margin.test, margin.what): margin for margin in measure(home_with(tmp_path / "home"), jobs=1)}
    margin = margins["hidden/test_alpha.py::test_double_of_random_numbers", "twice the array"]
    assert margin.ok
    assert margin.right < 0.1
    assert margin.wrong is not None
    assert margin.wrong > 1e6
    assert margin.wrong_by == "double-adds-two"
    assert all(margin.ok for margin in margins.values())


def test_a_tolerance_is_tight_on_either_side(tmp_path: Path) -> None:
    """Near a right solution, or near a mistake; unless a reason is listed for the check or for the mistake."""
    near_right = {"tests/hidden/test_loose.py": LOOSE}
    tight = [margin for margin in measure(home_with(tmp_path / "right", **near_right), jobs=1) if not margin.ok]
    assert [(margin.test, margin.right_by) for margin in tight] == [(LOOSE_TEST, "the reference")]
    reason = f'[[reason]]\ntest = "{LOOSE_TEST}"\nreason = "said so"\n'
    home = home_with(tmp_path / "excused", **near_right, **{REASONS: reason})
    assert [margin.reason for margin in measure(home, jobs=1) if margin.tight] == ["said so"]

    near_wrong = {"tests/mistakes/span/span-is-near.toml": SPAN_MISTAKE.format(factor="(1 + 3e-10)")}
    tight = [margin for margin in measure(home_with(tmp_path / "wrong", **near_wrong), jobs=1) if not margin.ok]
    assert {margin.wrong_by for margin in tight} == {"span-is-near"}
    reason = '[[reason]]\nmistake = "span-is-near"\nreason = "said so"\n'
    home = home_with(tmp_path / "near", **near_wrong, **{REASONS: reason})
    margins = measure(home, jobs=1)
    assert all(margin.ok for margin in margins)
    assert any(margin.near for margin in margins)


def test_a_reason_about_nothing_is_refused(tmp_path: Path) -> None:
    """Also one that is malformed."""
    for text, said in (
        ('[[reason]]\nmistake = "double-adds-two"\nreason = "r"\n', "nothing like this is tight"),
        ('[[reason]]\ntest = "t"\n', "needs reason"),
        ('[[reason]]\ntest = "t"\nreason = "r"\nwhy = "w"\n', "unknown key"),
        ("reason = 1\n", "list of"),
    ):
        home = home_with(tmp_path / str(len(text)), **{REASONS: text})
        with pytest.raises(InputError, match=said):
            measure(home, jobs=1)


def test_a_reason_about_nothing_is_taken_under_another_secret(tmp_path: Path) -> None:
    """On its inputs something else is tight; the reasons are written for those of the development secret."""
    reason = '[[reason]]\nmistake = "double-adds-two"\nreason = "r"\n'
    home = home_with(tmp_path / "home", **{REASONS: reason})
    margins = measure(home, b"of a term, at least so long", jobs=1)
    assert all(margin.ok for margin in margins)

"""The audit: green on a small assignment, red for each thing that can be wrong with a grader."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.cli import main
from autograder.feedback.errors import GraderError, InputError
from autograder.proof.audit import BROKEN, KEPT, LOST, UNTRIED, Verdict, another_secret, as_json, audit
from tests.staff.runs import POCKET, ROOT, copy_home

ITEMS = ["double", "mean", "span", "tally", "commonest"]


heard: list[tuple[Verdict, int, int]] = []  # what the listener of the green audit was told


@pytest.fixture(scope="module")
def green() -> dict[tuple[str, str], Verdict]:
    """The small assignment's verdicts, by kind and id."""
    verdicts = audit(POCKET, told=lambda *told: heard.append(told))
    return {(verdict.kind, verdict.id): verdict for verdict in verdicts}


def test_a_good_grader_is_green(green: dict[tuple[str, str], Verdict]) -> None:
    """Reference, stubs, each item alone, alternatives and mistakes are all as they must be."""
    assert [problem for verdict in green.values() for problem in verdict.problems] == []
    assert list(green) == [
        ("reference", "solutions"),
        ("stubs", "handout"),
        *(("one-item-only", slug) for slug in ITEMS),
        ("alternatives", "double-by-addition"),
        ("alternatives", "tally-with-a-counter"),
        ("mistakes", "double-adds-two"),
        ("mistakes", "mean-of-nothing-is-zero"),
        ("mistakes", "tally-notes-presence-only"),
    ]


def test_the_matrix_says_what_each_trial_did_to_each_item(green: dict[tuple[str, str], Verdict]) -> None:
    """Mistakes are graded on the tests that can notice them; what is not touched is not tried."""
    assert set(green["reference", "solutions"].items.values()) == {KEPT}
    assert set(green["stubs", "handout"].items.values()) == {LOST}
    assert green["mistakes", "double-adds-two"].items == {**dict.fromkeys(ITEMS, UNTRIED), "double": LOST}
    assert green["mistakes", "tally-notes-presence-only"].items == {
        **dict.fromkeys(ITEMS, UNTRIED),
        "tally": LOST,
        "commonest": LOST,
    }
    assert green["one-item-only", "commonest"].items == {**dict.fromkeys(ITEMS, UNTRIED), "commonest": KEPT}


def test_progress_is_told_for_each_trial(green: dict[tuple[str, str], Verdict]) -> None:
    """The listener hears of every verdict, in order, and how many there are."""
    assert heard == [(verdict, index, len(green)) for index, verdict in enumerate(green.values(), start=1)]


MISTAKE = """
id = "{id}"
base = "solutions"
function = "{function}"
old = "{old}"
new = "{new}"
items = ["{items}"]
hint = "h"
hint_zh = "提示"
source = "observed"
"""
ALTERNATIVE = """
id = "{id}"
base = "solutions"
function = "{function}"
old = "{old}"
new = "{new}"
"""
EASY = '''
from autograder.feedback import item


@item("span")
def test_span_is_there(student):
    """There is a function."""
    assert repr(student.alpha.span)
'''
WRONG_TEST = '''
from autograder.feedback import item


@item("span")
def test_span_of_one(student, check):
    """The span of one number."""
    check.equal(student.alpha.span([7]), 7, "the span")
'''
BROKEN_TEST = '''
import pytest
from autograder.feedback import item


@pytest.fixture
def numbers():
    return undefined_name


@item("span")
def test_span_of_a_fixture(student, check, numbers):
    """The span of some numbers."""
    check.equal(student.alpha.span(numbers), 7, "the span")
'''
RED = {
    "mistake-that-no-test-catches": (
        {
            "tests/mistakes/span/span-is-an-integer.toml": MISTAKE.format(
                id="span-is-an-integer",
                function="alpha.span",
                old="return ordered[-1] - ordered[0]",
                new="return abs(ordered[-1] - ordered[0])",
                items="span",
            )
        },
        "span-is-an-integer",
        "span: not caught",
    ),
    "row-that-shows-a-solution": (
        {
            "tests/mistakes/span/span-tells-all.toml": MISTAKE.format(
                id="span-tells-all",
                function="alpha.span",
                old="return ordered[-1] - ordered[0]",
                new="raise ValueError('return ordered[-1] - ordered[0]')",
                items="span",
            )
        },
        "span-tells-all",
        "The span: shows alpha.py:",
    ),
    "mistake-that-hits-another-item": (
        {
            "tests/mistakes/tally/tally-is-empty.toml": MISTAKE.format(
                id="tally-is-empty", function="beta.tally", old="", new="return {}", items="tally"
            )
        },
        "tally-is-empty",
        "commonest: loses points in hidden/test_beta.py::test_commonest_of_a_random_text, test_beta.py::",
    ),
    "mistake-in-what-no-test-runs": (
        {
            "solutions/pocket/beta.py": (POCKET / "solutions/pocket/beta.py").read_text(encoding="utf-8")
            + '\n\ndef rarest(words):\n    """The rarest word."""\n    return min(words)\n',
            "tests/mistakes/tally/rarest-is-the-last.toml": MISTAKE.format(
                id="rarest-is-the-last",
                function="beta.rarest",
                old="return min(words)",
                new="return max(words)",
                items="tally",
            ),
        },
        "rarest-is-the-last",
        "no test executes beta.rarest",
    ),
    "alternative-that-is-refused": (
        {
            "tests/alternatives/span/span-as-text.toml": ALTERNATIVE.format(
                id="span-as-text",
                function="alpha.span",
                old="return ordered[-1] - ordered[0]",
                new="return str(ordered[-1] - ordered[0])",
            )
        },
        "span-as-text",
        "span: loses points in hidden/test_alpha.py::test_span_of_random_numbers, test_alpha.py::test_span_of_a_few",
    ),
    "stub-that-earns-points": (
        {"tests/hidden/test_easy.py": EASY},
        "handout",
        "span: a stub earns",
    ),
    "item-that-secretly-needs-another": (
        {
            "assignment.toml": (POCKET / "assignment.toml")
            .read_text(encoding="utf-8")
            .replace('needs = ["tally"]\n', "")
        },
        "commonest",
        "commonest: loses points in hidden/test_beta.py::test_commonest_of_a_random_text",
    ),
    "reference-that-fails": ({"tests/hidden/test_one.py": WRONG_TEST}, "solutions", "span: loses points in hidden/"),
    "test-that-is-broken": ({"tests/hidden/test_fixture.py": BROKEN_TEST}, "solutions", "span: the grader failed"),
    "item-without-tests": (
        {"tests/hidden/test_beta.py": "", "tests/public/test_beta.py": ""},
        "solutions",
        "tally: was not tried",
    ),
}


@pytest.mark.parametrize(("changes", "trial", "problem"), RED.values(), ids=RED)
def test_a_bad_grader_is_red(changes: dict[str, str], trial: str, problem: str, tmp_path: Path) -> None:
    """The trial that shows it is off, and says what is wrong with which item."""
    home = copy_home(tmp_path / "home", changes=changes)
    (verdict,) = audit(home, only=[trial], full=not problem.startswith("no test"), jobs=1)
    assert not verdict.ok
    assert any(found.startswith(problem) for found in verdict.problems), verdict.problems


def test_full_tries_a_mistake_on_every_test() -> None:
    """With ``full`` what the mistake does not touch is tried too, and kept."""
    (verdict,) = audit(POCKET, only=["double-adds-two"], jobs=1, full=True)
    assert verdict.ok
    assert verdict.items == {**dict.fromkeys(ITEMS, KEPT), "double": LOST}


def test_reference_that_fails_inline_stops_the_audit_of_mistakes(tmp_path: Path) -> None:
    """Which test runs what is recorded on the reference: where that fails, there is nothing to go by."""
    home = copy_home(tmp_path / "home", changes={"tests/hidden/test_one.py": WRONG_TEST})
    with pytest.raises(GraderError, match="the reference does not pass its own tests"):
        audit(home, only=["mistakes"], jobs=1)


def test_only_what_exists_can_be_chosen() -> None:
    """A misspelt kind or id is an error, not an empty and green audit."""
    with pytest.raises(InputError, match="nothing to audit is called 'mitsakes'; kinds are reference, stubs"):
        audit(POCKET, only=["reference", "mitsakes"], full=True)


def test_command_prints_the_matrix_and_writes_json(tmp_path: Path) -> None:
    """Exit 1 when something is off: named on stderr, marked in the matrix and in the JSON."""
    changes, trial, problem = RED["mistake-that-no-test-catches"]
    home = copy_home(tmp_path / "home", changes=changes)
    target = tmp_path / "audit.json"
    arguments = ["--home", str(home), "audit", "--full", "--only", trial, "--only", "stubs", "--json", str(target)]
    result = CliRunner().invoke(main, arguments, prog_name="autograder")
    assert result.exit_code == 1
    assert re.search(r"^kind +trial +1 +2 *$", result.stdout, re.MULTILINE)
    assert re.search(r"^stubs +handout +xxx +xx +ok *$", result.stdout, re.MULTILINE)
    assert re.search(rf"^mistakes +{trial} +\.\.\. +\.\. +OFF$", result.stdout, re.MULTILINE)
    assert result.stdout.splitlines()[-1] == "1 stubs, 1 mistakes: 1 off"
    assert f"mistakes {trial}: {problem}" in result.stderr.splitlines()
    assert "auditing: 2 of 2" in result.stderr.splitlines()
    stubs, mistake = json.loads(target.read_text(encoding="utf-8"))
    assert (stubs["kind"], stubs["ok"], stubs["problems"]) == ("stubs", True, [])
    assert (mistake["id"], mistake["ok"], mistake["problems"]) == (trial, False, [problem])
    assert set(mistake["items"].values()) == {KEPT}


def test_command_is_exit_0_when_all_is_well() -> None:
    """The last line says so."""
    arguments = ["--home", str(POCKET), "audit", "--only", "stubs", "--full"]
    result = CliRunner().invoke(main, arguments, prog_name="autograder")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "1 stubs: all as they must be"


def test_verdicts_are_plain_data(green: dict[tuple[str, str], Verdict]) -> None:
    """What --json writes can be read back, one record a trial."""
    records = as_json(green.values())
    assert json.loads(json.dumps(records)) == records
    assert [record["id"] for record in records] == [id_ for _, id_ in green]
    assert BROKEN not in str(records)


# --- on the real tests: what is taken out of them is missed

# mistake -> its item, and the hidden test that alone catches it
ALONE = {
    "ngrams-lower-cases": ("count_ngrams", "test_ngram", "test_words_are_counted_as_they_are_written"),
    "mle-asking-adds-contexts": ("mle", "test_ngram", "test_a_thousand_questions_change_nothing_in_mle"),
    "logprob-appends-to-the-sentence": (
        "sentence_logprob",
        "test_ngram",
        "test_logprob_takes_a_tuple_and_changes_nothing",
    ),
    "agreement-ties-count": ("agreement", "test_metrics", "test_equal_scores_are_not_right"),
    "net-backward-changes-y-hat": ("procedural_backward", "test_procedural", "test_backward_changes_nothing"),
    "softmax-works-in-the-given-array": ("softmax", "test_modules", "test_softmax_leaves_its_arguments_alone"),
    "embedding-starts-anew": ("embedding", "test_modules", "test_embedding_adds_to_the_gradient_that_is_there"),
    "step-backward-adds-up-from-call-to-call": (
        "rnn_step_backward",
        "test_rnn",
        "test_a_step_backwards_changes_nothing",
    ),
    "bptt-stops-after-fifty-steps": ("bptt", "test_rnn", "test_bptt_over_sixty_steps"),
    "clip-counts-shared-arrays-twice": ("clipping", "test_optim", "test_clipping_of_a_shared_array"),
}


def test_a_hidden_test_that_checks_nothing_turns_the_audit_red(tmp_path: Path) -> None:
    """Ten hidden tests without their checks: the mistakes that they alone catch are not caught.

    That the same entries are green with all checks is what CI's audit shows.
    """
    changes = {}
    for file in {file for _, file, _ in ALONE.values()}:
        name = f"tests/hidden/{file}.py"
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        for function in tree.body:
            if isinstance(function, ast.FunctionDef) and function.name in {test for _, _, test in ALONE.values()}:
                remove_checks(function)
        changes[name] = ast.unparse(tree)
    home = copy_home(tmp_path / "home", ROOT, changes=changes)
    verdicts = audit(home, only=ALONE)
    assert {verdict.id: verdict.problems for verdict in verdicts} == {
        mistake: (f"{item}: not caught",) for mistake, (item, _, _) in ALONE.items()
    }


def remove_checks(function: ast.FunctionDef) -> None:
    """Put ``pass`` in the place of every statement ``check...(...)``."""
    for node in ast.walk(function):
        block = getattr(node, "body", None)
        if isinstance(block, list):
            for place, statement in enumerate(block):
                if isinstance(statement, ast.Expr) and ast.unparse(statement).startswith("check"):
                    block[place] = ast.Pass()


# --- several secrets, and the two ways of running


def test_another_secret_tries_right_and_wrong_solutions_again() -> None:
    """The reference, the alternatives and the mistakes, on other hidden inputs; the rest only once."""
    verdicts = audit(POCKET, secrets=2, jobs=1)
    assert all(verdict.ok for verdict in verdicts)
    second = [(verdict.kind, verdict.id) for verdict in verdicts if verdict.secret == 2]
    assert second == [
        (verdict.kind, verdict.id)
        for verdict in verdicts
        if verdict.secret == 1 and verdict.kind in ("reference", "alternatives", "mistakes")
    ]
    assert another_secret(b"one", 2) not in {b"one", another_secret(b"one", 3), another_secret(b"two", 2)}


LUCKY = '''
from autograder.feedback import item


@item("span")
def test_span_with_luck(student, rng, check):
    """The span of three numbers."""
    check.close(student.alpha.span([0.0, rng.uniform(), 1.0]), 1.0, "the span")
'''


def test_what_is_caught_by_luck_is_off_with_another_secret(tmp_path: Path) -> None:
    """A mistake that only some inputs show: some secrets catch it, and the others say that they do not."""
    mistake = MISTAKE.format(
        id="span-is-lucky",
        function="alpha.span",
        old="return ordered[-1] - ordered[0]",
        new="return ordered[-1] - ordered[0] if ordered[1] > 0.5 else 0.5",
        items="span",
    )
    changes = {"tests/mistakes/span/span-is-lucky.toml": mistake, "tests/hidden/test_luck.py": LUCKY}
    verdicts = audit(copy_home(tmp_path / "home", changes=changes), only=["span-is-lucky"], secrets=6, jobs=1)
    off = [verdict.secret for verdict in verdicts if verdict.problems == ("span: not caught",)]
    assert 0 < len(off) < len(verdicts) == 6


def test_an_item_stands_for_all_its_trials() -> None:
    """By its slug: alone, its alternatives and its mistakes."""
    kinds = [(verdict.kind, verdict.id) for verdict in audit(POCKET, only=["double"], jobs=1)]
    assert kinds == [
        ("one-item-only", "double"),
        ("alternatives", "double-by-addition"),
        ("mistakes", "double-adds-two"),
    ]


def test_a_mistake_that_only_a_public_test_catches_is_not_caught(tmp_path: Path) -> None:
    """Whoever reads the public tests could mend it for them alone."""
    public = (POCKET / "tests/public/test_alpha.py").read_text(encoding="utf-8")
    hidden = (POCKET / "tests/hidden/test_alpha.py").read_text(encoding="utf-8")
    assert "check.close(student.alpha.double(x)" in hidden
    changes = {
        "tests/hidden/test_alpha.py": hidden.replace("check.close(student.alpha.double(x)", "check.close(2 * x"),
        "tests/public/test_alpha.py": public,
    }
    (verdict,) = audit(copy_home(tmp_path / "home", changes=changes), only=["double-adds-two"], jobs=1)
    assert verdict.problems == ("no hidden test executes alpha.double",)


def test_what_differs_between_a_rehearsal_and_isolation_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit compares the two for some of every item."""
    monkeypatch.setattr("autograder.proof.audit.differences", lambda mine, theirs: ["a test differs"])
    verdicts = {verdict.id: verdict.problems for verdict in audit(POCKET, only=["double"], jobs=1)}
    assert verdicts == {
        "double": (),
        "double-by-addition": ("a test differs",),
        "double-adds-two": ("a test differs",),
    }

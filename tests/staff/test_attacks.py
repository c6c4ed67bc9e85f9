"""Attacks: what a file may say, what is graded, and that each way to get through is noticed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.feedback.assignment import Assignment, load_assignment
from autograder.feedback.errors import InputError
from autograder.grade import Graded
from autograder.proof import attacks
from autograder.proof.attacks import OWN, Attack, Secrets, chosen_tests, load_attacks, strays
from autograder.proof.audit import KEPT, LOST, UNTRIED, Verdict, audit
from tests.staff.runs import POCKET, ROOT, copy_home

ATTACK = """
id = "{id}"
does = "a thing"
layer = "P"
source = "observed"
function = "{function}"
old = ""
new = '''
{new}
'''
"""
HEAD = 'id = "a"\ndoes = "a thing"\nlayer = "U S"\nsource = "observed"\n'
CHANGE = 'function = "alpha.span"\nold = ""\nnew = "return 0"\n'
MAKE = """
def zipped(folder, solved):
    path = folder / "x.zip"
    path.write_bytes(b"no archive")
    return path


def handed_in(folder, solved):
    assert sorted(solved) == ["alpha.py", "beta.py"]
    (folder / "alpha.py").write_bytes(solved["alpha.py"])
    return folder
"""


@pytest.fixture
def pocket() -> Assignment:
    """The small assignment."""
    return load_assignment(POCKET / "assignment.toml")


def loaded(tmp_path: Path, text: str, assignment: Assignment, name: str = "group/a.toml") -> list[Attack]:
    """The attacks of a folder with this one file."""
    path = tmp_path / "attacks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return load_attacks(tmp_path / "attacks", assignment)


# --- reading ----------------------------------------------------------------------------------------------------


def test_an_attack_is_read_whole(tmp_path: Path, pocket: Assignment) -> None:
    """Every key has its field."""
    text = (
        HEAD + CHANGE + 'loses = ["span"]\nscore = 0\nstate = "timeout"\nsays = ["late"]\ntop = ["left out"]\n'
        'full = true\nmake = "zipped"\n[[files]]\nname = "conftest.py"\ncontent = ""\n'
    )
    (attack,) = loaded(tmp_path, text, pocket)
    assert (attack.id, attack.file, attack.group) == ("a", "attacks/group/a.toml", "group")
    assert attack.layers == ("U", "S")
    assert [change.function for change in attack.changes] == ["alpha.span"]
    assert (attack.files, attack.make) == ((("conftest.py", ""),), "zipped")
    assert (attack.loses, attack.score, attack.state) == (("span",), 0.0, "timeout")
    assert (attack.says, attack.top, attack.refused, attack.full) == (("late",), ("left out",), "", True)


BAD = {
    "unknown-key": (HEAD + CHANGE + 'loses = []\nlose = ["span"]\n', "unknown key 'lose'; did you mean 'loses'?"),
    "other-name": (HEAD.replace('"a"', '"b"') + CHANGE + "loses = []\n", "id 'b' is not the file's name"),
    "two-lines": (HEAD.replace("a thing", "a\\nthing") + CHANGE + "loses = []\n", "does is one line"),
    "no-such-layer": (HEAD.replace("U S", "U X") + CHANGE + "loses = []\n", "layer 'U X' is not of U R S"),
    "nothing-done": (HEAD + "loses = []\n", "needs a change, files or make"),
    "no-outcome": (HEAD + CHANGE, "needs either loses or refused"),
    "two-outcomes": (HEAD + CHANGE + 'loses = []\nrefused = "no"\n', "needs either loses or refused"),
    "no-such-item": (HEAD + CHANGE + 'loses = ["spam"]\n', "'spam' is no item"),
    "no-such-state": (HEAD + CHANGE + 'loses = ["span"]\nstate = "late"\n', "state 'late' is not of failed"),
    "score-of-nothing": (HEAD + CHANGE + "loses = []\nscore = 0.0\n", "score is the number of points left"),
    "full-is-text": (HEAD + CHANGE + 'loses = []\nfull = "yes"\n', "full is true or false"),
    "says-is-text": (HEAD + CHANGE + 'loses = []\nsays = "late"\n', "says is a list of texts"),
    "file-that-leaves": (
        HEAD + 'loses = []\n[[files]]\nname = "../x"\ncontent = ""\n',
        "'../x' leaves the submission; use make",
    ),
    "no-toml": ("id =", "a.toml: Invalid value"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_a_malformed_attack_is_refused(text: str, message: str, tmp_path: Path, pocket: Assignment) -> None:
    """One line names the file and says what is wrong with it."""
    with pytest.raises(InputError) as refusal:
        loaded(tmp_path, text, pocket)
    assert str(refusal.value).startswith("attacks/group/a.toml: ")
    assert message in str(refusal.value)


def test_an_attack_lies_in_a_group(tmp_path: Path, pocket: Assignment) -> None:
    """A file elsewhere would be forgotten."""
    with pytest.raises(InputError, match=r"attacks are <group>/<id>\.toml"):
        loaded(tmp_path, HEAD + CHANGE + "loses = []\n", pocket, "a.toml")


def test_an_id_stands_for_one_attack(tmp_path: Path, pocket: Assignment) -> None:
    """The same id in two groups is refused."""
    text = HEAD + CHANGE + "loses = []\n"
    loaded(tmp_path, text, pocket)
    with pytest.raises(InputError, match=r"attacks/group/a\.toml has the same id"):
        loaded(tmp_path, text, pocket, "other/a.toml")


def test_no_folder_no_attacks(tmp_path: Path, pocket: Assignment) -> None:
    """An assignment need not have any."""
    assert load_attacks(tmp_path / "attacks", pocket) == []


def test_the_attacks_of_this_assignment_are_well_formed() -> None:
    """At least ninety in seven groups, each layer among them; a few that may do harm are graded in full."""
    assignment = load_assignment(ROOT / "assignment.toml")
    found = load_attacks(ROOT / "tests" / "attacks", assignment)
    assert len(found) >= 90
    groups = {"files", "process", "resources", "values", "task", "reports", "torch"}
    assert {attack.group for attack in found} == groups
    assert {layer for attack in found for layer in attack.layers} == set(attacks.LAYERS)
    assert {attack.group for attack in found if attack.full} >= {"files", "process", "resources"}


# --- what is graded ---------------------------------------------------------------------------------------------

REACHED = {
    "test_a.py::test_1": frozenset({"alpha.span"}),
    "hidden/test_a.py::test_2": frozenset({"alpha.mean"}),
    "hidden/test_a.py::test_3": frozenset({"alpha.mean"}),
    "test_a.py::test_4": frozenset({"alpha.span", "alpha.mean"}),
}
ITEMS = dict(zip(REACHED, ("span", "mean", "mean", "mean"), strict=True))


def test_an_attack_is_graded_on_what_it_changes_and_on_one_test_of_every_other_item(
    tmp_path: Path, pocket: Assignment
) -> None:
    """The tests that execute the changed function; an item that none of them is about has one test more."""
    (attack,) = loaded(tmp_path, HEAD + CHANGE.replace("span", "mean") + "loses = []\n", pocket)
    others = ("hidden/test_a.py::test_2", "hidden/test_a.py::test_3", "test_a.py::test_4")
    assert chosen_tests(attack, REACHED, ITEMS) == (*others[:2], "test_a.py::test_1", others[2])
    files = replace(attack, changes=(), files=(("x", ""),))
    assert chosen_tests(files, REACHED, ITEMS) == ("test_a.py::test_1", "test_a.py::test_4")


def test_an_exact_score_needs_all_tests_of_its_items(tmp_path: Path, pocket: Assignment) -> None:
    """What is left of an item can only be said of the whole of it."""
    (attack,) = loaded(tmp_path, HEAD + CHANGE + 'loses = ["mean"]\nscore = 0.0\n', pocket)
    assert chosen_tests(attack, REACHED, ITEMS) == tuple(sorted(REACHED))


def test_what_loses_nothing_is_graded_on_a_few_tests_of_its_own(tmp_path: Path, pocket: Assignment) -> None:
    """Public and hidden ones; what loses points is graded on all that may show it. In full: two of every item."""
    reached = {
        f"{folder}test_a.py::test_{n}": frozenset({"alpha.span"}) for folder in ("", "hidden/") for n in range(9)
    }
    items = dict.fromkeys(reached, "span") | {f"test_b.py::test_{n}": "mean" for n in range(5)}
    (attack,) = loaded(tmp_path, HEAD + CHANGE + "loses = []\n", pocket)
    own = [test for test in chosen_tests(attack, reached, items) if items[test] == "span"]
    assert len(own) == OWN
    assert sum(test.startswith("hidden/") for test in own) == OWN // 2
    caught = chosen_tests(replace(attack, loses=("span",)), reached, items)
    assert set(reached) <= set(caught)
    full = chosen_tests(replace(attack, full=True), reached, items)
    assert [test for test in full if items[test] == "mean"] == ["test_b.py::test_0", "test_b.py::test_4"]


def test_every_test_says_its_item() -> None:
    """What is read from the sources is what the plugin reads."""
    assert attacks.items_of_tests(POCKET)["hidden/test_beta.py::test_commonest_of_a_random_text"] == "commonest"
    assert set(attacks.items_of_tests(ROOT).values()) == set(load_assignment(ROOT / "assignment.toml").by_slug)


# --- verdicts ---------------------------------------------------------------------------------------------------


def attack_text(new: str, expected: str, function: str = "alpha.span") -> str:
    """A file of one changed function."""
    return ATTACK.format(id="a", function=function, new=new) + expected


WRONG = "return -1"
OFF = {
    "got-through": (attack_text("raise RuntimeError('LEAK')", "loses = []"), "span: loses points in "),
    "not-caught": (attack_text("return max(values) - min(values)", 'loses = ["span"]'), "span: not caught"),
    "another-state": (
        attack_text(WRONG, 'loses = ["span"]\nstate = "timeout"'),
        "span: failed, expected timeout",
    ),
    "another-score": (attack_text(WRONG, 'loses = ["span"]\nscore = 0.5'), "0 points left, expected 0.5"),
    "another-message": (attack_text(WRONG, 'loses = ["span"]\nsays = ["ended"]'), "does not say 'ended'"),
    "nothing-above": (
        attack_text(WRONG, 'loses = ["span"]\ntop = ["left out"]'),
        "does not say above the rows 'left out'",
    ),
    "not-refused": (attack_text(WRONG, 'refused = "not a zip"'), "it was graded; it should be refused"),
    "refused": (HEAD + 'make = "zipped"\nloses = []', "refused: "),
    "refused-for-another-reason": (HEAD + 'make = "zipped"\nrefused = "too large"', "refused with "),
    "shows-a-path": (
        attack_text("import os; raise RuntimeError(os.getcwd())", 'loses = ["span"]'),
        "The span: shows the path ",
    ),
    "shows-a-solution": (
        attack_text("raise RuntimeError('so:  counts[word]  = counts.get(word, 0) + 1')", 'loses = ["span"]'),
        "The span: shows beta.py:",
    ),
    "shows-the-secret": (
        attack_text("raise RuntimeError('the development secret: ' + 'not for a term')", 'loses = ["span"]'),
        "The span: shows the secret",
    ),
}


TABLES = """
[[files]]
name = "conftest.py"
content = "raise SystemExit"
[[files]]
name = "beta.py"
content = "import nothing"
"""
LOST_BETA = 'loses = ["tally", "commonest"]\n'
STOPPED = {
    "stopped": attack_text("raise SystemExit(0)", 'loses = ["span"]\nscore = 0.0\nsays = ["SystemExit"]'),
    "made": HEAD + 'make = "handed_in"\n' + LOST_BETA + 'says = ["beta.py was not handed in"]\n',
    "files": HEAD + LOST_BETA + 'state = "cannot import"\ntop = ["conftest.py was not used"]\n' + TABLES,
    "made-of-nothing": HEAD + 'make = "zipped"\nrefused = "not a zip archive"\n',
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    """Of all attacks above on the small assignment, by id."""
    texts = {**STOPPED, **{name: text for name, (text, _) in OFF.items()}}
    changes = {
        f"tests/attacks/group/{name}.toml": text.replace('id = "a"', f'id = "{name}"') for name, text in texts.items()
    }
    home = copy_home(tmp_path_factory.mktemp("attacked") / "home", changes={**changes, "tests/attacks/make.py": MAKE})
    return {verdict.id: verdict for verdict in audit(home, only=["attacks"])}


@pytest.mark.parametrize("name", STOPPED)
def test_an_attack_that_is_stopped_is_as_it_must_be(name: str, verdicts: dict[str, Verdict]) -> None:
    """Whether a function was changed, files were handed in beside it or a function made the submission."""
    assert verdicts[name].problems == ()


def test_the_matrix_says_what_was_lost(verdicts: dict[str, Verdict]) -> None:
    """Every other item is tried and kept."""
    assert verdicts["stopped"].items == {**dict.fromkeys(("double", "mean", "tally", "commonest"), KEPT), "span": LOST}


@pytest.mark.parametrize("name", OFF)
def test_what_is_not_as_it_must_be_is_off(name: str, verdicts: dict[str, Verdict]) -> None:
    """The verdict says what."""
    problem = OFF[name][1]
    assert any(found.startswith(problem) for found in verdicts[name].problems), verdicts[name].problems


def test_full_grades_everything(tmp_path: Path) -> None:
    """What was tried of every item is all of it: more tests than without."""
    home = copy_home(tmp_path / "home", changes={"tests/attacks/group/a.toml": attack_text(WRONG, 'loses = ["span"]')})
    (verdict,) = audit(home, only=["a"], jobs=1, full=True)
    assert verdict.ok
    assert UNTRIED not in verdict.items.values()


def test_without_root_attacks_are_not_graded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for by name they are refused: nothing would be proved, and they would run as ourselves."""
    monkeypatch.setattr("autograder.proof.audit.can_change_uid", lambda: False)
    with pytest.raises(InputError, match="attacks need root"):
        audit(POCKET, only=["attacks"], jobs=1)


# --- what an attack leaves --------------------------------------------------------------------------------------


def row(output: str, above: str = "") -> Graded:
    """Results of one row."""
    test = {"name": "Span", "score": 0.0, "max_score": 1.0, "output": output}
    return Graded({"output": above, "tests": [{**test, "extra_data": {"item": "span"}}]}, "", False)


SHOWN = {
    "escape": "\x1b[2Jall gone",
    "control": "a\x00b",
    "direction": "\u202eyzarc",
    "hidden-test": "it says check.equal(student.beta.tally(words),   dict(Counter(words)))",
    "temporary-folder": "/tmp/autograder-x",
    "secret": "5ec2e7" * 8,
}


@pytest.mark.parametrize("text", SHOWN.values(), ids=SHOWN)
@pytest.mark.parametrize("above", [False, True], ids=["row", "top"])
def test_what_no_student_may_see_is_found(text: str, above: bool, tmp_path: Path) -> None:
    """In a row as well as above all rows; and a harmless text is nothing."""
    hidden = "def test_x():\n    check.equal(student.beta.tally(words), dict(Counter(words)))\n"
    home = copy_home(tmp_path / "home", changes={"tests/hidden/test_x.py": hidden})
    secrets = Secrets(home, bytes.fromhex("5ec2e7" * 8))
    attack = Attack("a", "a.toml", "group", ("V",))
    assert attacks.problems(attack, row("1 of 2 checks pass", "Received 2 files."), secrets) == []
    found = attacks.problems(attack, row("", text) if above else row(text), secrets)
    assert len(found) == 1, found


def test_forged_results_are_off(pocket: Assignment) -> None:
    """A score of its own, and no rows."""
    forged = Graded({"score": 100, "tests": []}, "", False)
    assert "results: there is a top-level score: it overrides the rows" in attacks.invalid(forged, pocket)


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A process with a worker's user that no zygote looks after. Only root can make one; these tests run as root."""
    uid = attacks.lowest_uid() + 77
    program = [sys.executable, "-c", "import time; time.sleep(60)"]
    process = subprocess.Popen(program, user=uid, group=uid, extra_groups=[], cwd="/")
    yield process.pid
    process.kill()
    process.wait()


def test_what_outlives_its_run_is_found(sleeper: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of a worker's user without a zygote above it; a dead one that nobody waited for is none."""
    monkeypatch.setattr(attacks, "GONE_SECONDS", 0.0)
    assert sleeper in strays()
    assert sleeper not in strays(known=[sleeper])
    os.kill(sleeper, 9)
    until = time.monotonic() + 30
    while sleeper in strays():
        assert time.monotonic() < until

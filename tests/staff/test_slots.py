"""Slots: hints as assignment.toml wants them, and the better of two gradings for each item."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from autograder.build import autograder_members, build, handout_members
from autograder.classroom.exports import as_csv, marks
from autograder.classroom.records import FAILED, Grades, Person, write_grades
from autograder.classroom.slots import Both, Result, Slot, combine, facts_of, read_slot
from autograder.classroom.tables import read_csv
from autograder.cli.slots import slots
from autograder.feedback.assignment import load_assignment
from autograder.feedback.diagnosis import FILE, Hint, Hints
from autograder.feedback.errors import InputError
from autograder.proof.diagnosed import diagnose
from tests.staff import toy
from tests.staff.graded_class import synthetic
from tests.staff.runs import copy_home, read_inline, run_and_read, write_submission
from tests.staff.test_changes import ITEMS, OUTLINE, entry, grades, handed

# --- hints


@pytest.fixture(scope="module")
def hinting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small assignment with hints for both folders of tests, for the secret of development."""
    from autograder.proof.hints import HIDDEN, PUBLIC, make, record

    home = copy_home(tmp_path_factory.mktemp("slots") / "home")
    for folder, made in make(record(home, jobs=1), {PUBLIC: "", HIDDEN: ""}).items():
        assert len(made) > 0
        (home / folder / FILE).write_text(made.as_text(), encoding="utf-8")
    return home


def with_hints(home: Path, folder: Path, value: str) -> Path:
    """A copy of a home whose assignment.toml says this of hints; nothing for an empty text."""
    copy = copy_home(folder, home)
    path = copy / "assignment.toml"
    line = f'package = "pocket"\nhints = "{value}"' if value else 'package = "pocket"'
    path.write_text(path.read_text(encoding="utf-8").replace('package = "pocket"', line), encoding="utf-8")
    return copy


def doubling_wrongly(home: Path, folder: Path) -> Path:
    """A submission with a known mistake that public and hidden tests see."""
    source = (home / "solutions/pocket/alpha.py").read_text(encoding="utf-8")
    write_submission(folder, home, {"alpha.py": source.replace("return 2 * x", "return 2 + x")})
    (folder / "pocket/given.py").write_bytes((home / "solutions/pocket/given.py").read_bytes())  # a handout has it
    return folder


RUNS = pytest.mark.parametrize("run", [run_and_read, read_inline], ids=["isolated", "inline"])


@RUNS
@pytest.mark.parametrize(("value", "told"), [("off", 0), ("public", 1), ("all", 1), ("", 1)])
def test_hints_are_told_as_assignment_toml_says(
    run: Callable[..., object], value: str, told: int, hinting: Path, tmp_path: Path
) -> None:
    """Nothing changes but the hint: scores and states stay, and ids of mistakes go with it."""
    home = with_hints(hinting, tmp_path / "home", value)
    found = run(doubling_wrongly(home, tmp_path / "s"), home)
    row = next(row for row in found.document["tests"] if row["extra_data"]["item"] == "double")  # type: ignore[attr-defined]
    assert row["output"].count("hint:") == told
    assert bool(row["extra_data"]["mistakes"]) == bool(told)
    assert row["extra_data"]["state"] == "failed"
    assert found.text.count("hint:") == told  # type: ignore[attr-defined]


@pytest.mark.parametrize(("value", "told"), [("public", 0), ("all", 1)])
def test_a_hidden_test_tells_no_public_hint(value: str, told: int, hinting: Path, tmp_path: Path) -> None:
    """Where the hidden tests alone know the mistake; inline their inputs are other ones, of which no hint is known."""
    home = with_hints(hinting, tmp_path / "home", value)
    (home / "tests/public" / FILE).unlink()
    found = run_and_read(doubling_wrongly(home, tmp_path / "s"), home)
    assert found.text.count("hint:") == told


@pytest.mark.parametrize(
    ("value", "public", "hidden"), [("off", False, False), ("public", True, False), ("all", True, True)]
)
def test_what_travels_holds_the_hints_that_may_be_told(tmp_path: Path, value: str, public: bool, hidden: bool) -> None:
    """Handout and zip: what is not there cannot be read."""
    root = toy.write(tmp_path / "home")
    path = root / "assignment.toml"
    text = path.read_text(encoding="utf-8").replace("[assignment]", f'[assignment]\nhints = "{value}"', 1)
    path.write_text(text, encoding="utf-8")
    hints = Hints.make({b"key": Hint(("id",), "Why?", "为什么？")}).as_text()
    for folder in ("public", "hidden"):
        (root / "tests" / folder / FILE).write_text(hints, encoding="utf-8")
    assignment = load_assignment(path)
    handout, archive = handout_members(root, assignment), autograder_members(root, assignment)
    assert {name for name in handout if name.endswith(FILE)} == ({"tests/hints.json"} if public else set())
    expected = {f"tests/{folder}/{FILE}" for folder, told in (("public", public), ("hidden", hidden)) if told}
    assert {name for name in archive if name.endswith(FILE)} == expected
    assert f'hints = "{value}"' in handout["assignment.toml"].content.decode()


def test_what_is_told_can_be_proved_of_all_hints_only(hinting: Path, tmp_path: Path) -> None:
    """An audit that says "nobody is told a wrong hint" while nobody is told any would prove nothing."""
    with pytest.raises(InputError, match='hints = "public"; what is told is seen with "all" only'):
        diagnose(with_hints(hinting, tmp_path / "home", "public"), jobs=1)


def test_a_term_has_no_hints_that_nobody_is_told(tmp_path: Path) -> None:
    """Those that are made for a secret are left out as well, of the zips and of the folder."""
    root = toy.write(tmp_path / "home")
    toy.edit(root, "assignment.toml", "[assignment]", '[assignment]\nhints = "off"')
    text = Hints.make({b"key": Hint(("id",), "Why?", "为什么？")}).as_text()
    hints = {f"tests/{folder}/{FILE}": text for folder in ("public", "hidden")}
    built = build(root, tmp_path / "dist", b"a secret of sixteen bytes and more", hints)
    for path in (built.handout_zip.path, built.autograder_zip.path):
        with zipfile.ZipFile(path) as archive:
            assert [name for name in archive.namelist() if name.endswith(FILE)] == []
    assert not list(built.handout.rglob(FILE))


# --- the better of two

FACTS = {item.slug: item for item in ITEMS}  # p and q of 4 points each


def slot(*people: tuple[str, dict[str, float]], name: str = "a") -> Slot:
    """A slot of students called by their address."""
    found = tuple((Person(email.partition("@")[0], "", email), scores) for email, scores in people)
    return Slot(name, ("p", "q"), found)


def one(a: dict[str, float], b: dict[str, float], bonus: float = 5) -> Result:
    """What a student gets."""
    (result,) = combine(slot(("s@x", a)), slot(("s@x", b)), FACTS, bonus).results
    return result


def test_the_better_counts_for_each_item() -> None:
    """Also where slot B as a whole is worse."""
    result = one({"p": 4, "q": 1}, {"p": 0, "q": 3})
    assert (result.scores, result.from_b, result.a, result.b) == ({"p": 4, "q": 3}, ("q",), 5, 3)
    assert result.total == 4 + 3 + 5


def test_what_is_right_in_a_stays() -> None:
    """Whatever slot B says of it, such as more than there is."""
    assert one({"p": 4, "q": 4}, {"p": 9, "q": 4}).scores == {"p": 4, "q": 4}
    assert one({"p": 3.99, "q": 4}, {"p": 4, "q": 4}).from_b == ("p",)


@pytest.mark.parametrize(("scores", "bonus"), [({"p": 4, "q": 0}, 0), ({"p": 4, "q": 0.01}, 5), ({"p": 0, "q": 0}, 0)])
def test_the_bonus_is_for_more_than_half_in_a(scores: dict[str, float], bonus: float) -> None:
    """Slot B does not earn it."""
    assert one(scores, {"p": 4, "q": 4}).bonus == bonus
    assert one(scores, {"p": 4, "q": 4}, bonus=0).bonus == 0


def test_who_is_in_one_slot_only_is_named() -> None:
    """A alone keeps its bonus; B alone counts and has none; nothing in both is an empty row."""
    nothing: dict[str, float] = {}
    both = combine(
        slot(("a@x", {"p": 4, "q": 4}), ("n@x", nothing)), slot(("b@x", {"p": 4, "q": 4}), ("n@x", nothing)), FACTS, 5
    )
    assert [result.total for result in both.results] == [13, None, 8]
    assert (both.only_a, both.only_b) == (("a (a@x)",), ("b (b@x)",))


def test_people_are_found_by_address_or_id_and_never_by_name() -> None:
    """What disagrees is refused or reported."""

    def pair(a: Person, b: Person) -> Both:
        first, second = (Slot(name, ("p", "q"), ((who, {"p": 1.0}),)) for name, who in (("A", a), ("B", b)))
        return combine(first, second, FACTS, 0)

    assert len(pair(Person("A", "1", "a@x"), Person("A", "1", "A@X")).results) == 1
    other = pair(Person("A", "1", "a@x"), Person("B", "1", "b@x"))
    assert len(other.results) == 1
    assert other.notes == ("another name in slot B: A (a@x) and B (b@x)",)
    namesakes = pair(Person("A", "1", "a@x"), Person("A", "2", "b@x"))
    assert len(namesakes.results) == 2
    assert namesakes.notes == ("perhaps one student: A (a@x) in slot A and A (b@x) in slot B",)


def test_it_must_be_clear_who_is_who() -> None:
    """An address of one and the id of another; two students who are one; one who stands twice."""
    first = Slot("A", ("p",), ((Person("A", "1", "a@x"), {"p": 1.0}),))
    split = Slot("B", ("p",), ((Person("A", "", "a@x"), {}), (Person("B", "1", ""), {})))
    with pytest.raises(InputError, match="the email address is one student's of slot B, the id another's"):
        combine(first, split, FACTS, 0)
    with pytest.raises(InputError, match="are one student in slot B"):
        combine(split, first, FACTS, 0)
    with pytest.raises(InputError, match="share email a@x"):
        combine(slot(("a@x", {}), ("a@x", {})), first, FACTS, 0)


def test_items_of_one_slot_only() -> None:
    """Of A they stay as they were, of B they do not count; a column that is no item is refused."""
    first = Slot("A", ("p", "q"), ((Person("A", "1"), {"p": 1.0, "q": 2.0}),))
    second = Slot("B", ("p", "r"), ((Person("A", "1"), {"p": 3.0, "r": 9.0}),))
    both = combine(first, second, FACTS, 0)
    assert both.results[0].scores == {"p": 3, "q": 2}
    assert both.notes == ("in slot B only, not counted: r", "in slot A only, as they were: q")
    with pytest.raises(InputError, match="r: no items of this assignment"):
        facts_of(second, ITEMS)


@pytest.mark.parametrize("seed", range(3))
def test_nobody_loses_by_slot_b(seed: int) -> None:
    """Over two gradings of a class, item by item, computed another way."""
    a, b = synthetic(80, seed), synthetic(80, seed + 100)

    def as_slot(now: Grades) -> Slot:
        kept = tuple(
            one for one in now.handed if not one.content or now.entries.get(one.content, _FAILED).status != FAILED
        )
        found = marks(Grades(now.outline, kept, now.entries), accept_drops=True)
        return Slot("s", tuple(item.slug for item in now.outline.items), tuple((m.person, m.scores) for m in found))

    first, second = as_slot(a), as_slot(b)
    facts = {item.slug: item for item in a.outline.items}
    mine, other = ({who.email: scores for who, scores in one.people} for one in (first, second))
    both = combine(first, second, facts, 2.5)
    assert len(both.results) == len({*mine, *other}) > 60
    assert sum(bool(result.from_b) for result in both.results) > 20
    half = a.outline.points / 2
    for result in both.results:
        had, again = mine.get(result.person.email, {}), other.get(result.person.email, {})
        expected = sum(max(had.get(slug, 0), again.get(slug, 0)) for slug in facts)
        bonus = 2.5 if sum(had.values()) > half else 0
        assert result.total == (pytest.approx(expected + bonus) if had or again else None)


_FAILED = entry("", 0, 0, status=FAILED)
TOML_HEAD = """
[assignment]
title = "T"
title_zh = "T"
version = "1"
package = "t"
[slots]
bonus = 5
[files]
"a.py" = 1
[[parts]]
slug = "one"
number = "3"
title = "t"
title_zh = "t"
"""


def test_folders_and_files_give_the_same(tmp_path: Path) -> None:
    """The bonus is the folder's, or assignment.toml's; the file of slots is a table that can be read."""
    row = '[[parts.items]]\nslug = "{}"\ntitle = "t"\ntitle_zh = "t"\npoints = 4\nfile = "a.py"\n'
    text = TOML_HEAD + "".join(row.format(slug) for slug in "pq")
    (tmp_path / "assignment.toml").write_text(text, encoding="utf-8")
    outline = msgspec.structs.replace(OUTLINE, slot_bonus=5.0)
    everybody = [handed(1, "a"), handed(2, "b"), handed(3)]
    for name, entries in (("A", [entry("a", 4, 1), entry("b", 0, 0)]), ("B", [entry("a", 0, 4), entry("b", 1, 0)])):
        now = grades(everybody, entries, outline)
        write_grades(tmp_path / name, now)
        (tmp_path / f"{name}.csv").write_bytes(as_csv(outline, marks(now)))
    tables = []
    for a, b in (("A", "B"), ("A.csv", "B.csv"), ("A", "B.csv")):
        out = tmp_path / "slots.csv"
        done = CliRunner().invoke(slots, [str(tmp_path / a), str(tmp_path / b), "--out", str(out)], obj=tmp_path)
        assert done.exit_code == 0, done.exception
        assert "3 students; slot B makes 2 better; 1 have the bonus of slot A" in done.stdout
        tables.append(read_csv(out))
    assert tables[0] == tables[1] == tables[2]
    assert [(row["p"], row["q"], row["bonus"], row["total"], row["from_b"]) for row in tables[0]] == [
        ("4", "4", "5", "13", "q"),
        ("1", "0", "0", "1", "p"),
        ("", "", "", "", ""),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name,p,total\nA,x,1\n", "p: 'x' is no number of points"),
        ("name,p,total\nA,nan,1\n", "p: 'nan' is no number of points"),
        ("name,p,total\nA,-1,1\n", "p: '-1' is no number of points"),
        ("name,p,total\nA,,1\n", "A has a total and no items"),
        ("name,p,p,total\nA,1,1,1\n", "two columns are called p"),
        ("who,p\nA,1\n", "no columns name and total"),
        ("name,total\n", "no student"),
        ("", "empty"),
    ],
)
def test_what_is_no_slot_is_refused(text: str, says: str, tmp_path: Path) -> None:
    """One line each."""
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        read_slot(tmp_path / "a.csv")


def test_no_verdict_is_no_slot(tmp_path: Path) -> None:
    """Nobody is given 0 for a failure of the grader; nor is a folder of something else read."""
    write_grades(tmp_path / "g", grades([handed(1, "f")], [entry("f", 0, 0, status=FAILED)]))
    with pytest.raises(InputError, match=r"1 without a verdict: Student 1 \(s1@x.edu\)"):
        read_slot(tmp_path / "g")
    with pytest.raises(InputError, match="no folder of grades"):
        read_slot(tmp_path)

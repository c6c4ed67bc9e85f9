"""The simulated class: the same bytes each time, files that differ between students, a truth that grading confirms."""

from __future__ import annotations

import shutil
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from autograder.build import package_members
from autograder.classroom.choices import Chooser
from autograder.classroom.export_writer import METADATA
from autograder.classroom.handwriting import Hand
from autograder.classroom.pieces import Pieces
from autograder.classroom.records import read_lines
from autograder.classroom.simulator import Truth, simulate_class, truth_beside
from autograder.classroom.students import BLANK, SOLVED, TRIED, difficulties, levels, students
from autograder.cli.simulating_class import simulate_a_class
from autograder.feedback.assignment import load_assignment
from autograder.feedback.errors import InputError
from autograder.proof.catalogue import apply
from tests.staff.runs import POCKET, copy_home, run_and_read

COUNT = 60
RANK = {BLANK: 0, TRIED: 1, "alternative": 2, SOLVED: 2}
TRICKY = '''
total = 7


def tally(words, scale=2):
    """Counts."""
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + scale
    largest = max(counts.values(), default=0)
    text = f"{largest}"
    outside = sum(total for total in [1, 2]) + total

    def inner(depth):
        nonlocal largest
        largest += depth
        return [entry for entry in counts if counts[entry] > 2]

    chosen = inner(depth=scale)
    return (
        sorted(chosen),
        largest, text, outside,
    )
'''


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Truth]]:
    """A class of the small assignment, with the folders of all submissions."""
    out = tmp_path_factory.mktemp("class") / "export"
    return out, simulate_class(POCKET, COUNT, out, seed=9, submissions=4, hostile=0.1, every=True)


def contents(folder: Path) -> dict[str, bytes]:
    """All files by path."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def metadata(export: Path) -> dict[str, Any]:
    """What stands in the export's metadata."""
    return yaml.load((export / METADATA).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


def test_the_same_seed_gives_the_same_bytes(made: tuple[Path, list[Truth]], tmp_path: Path) -> None:
    """Export and truth; another seed gives others."""
    out, _ = made
    simulate_class(POCKET, COUNT, tmp_path / "export", seed=9, submissions=4, hostile=0.1, every=True)
    assert contents(tmp_path / "export") == contents(out)
    assert truth_beside(tmp_path / "export").read_bytes() == truth_beside(out).read_bytes()
    simulate_class(POCKET, COUNT, tmp_path / "other", seed=4, submissions=4, hostile=0.1, every=True)
    assert contents(tmp_path / "other") != contents(out)


def test_the_metadata_are_as_the_platform_writes_them(made: tuple[Path, list[Truth]]) -> None:
    """A folder each; symbols as keys; people, times, scores and results; history is that of the same people."""
    out, truths = made
    told = metadata(out)
    assert list(told) == [truth.submission for truth in truths]
    assert {path.name for path in out.iterdir()} == {METADATA, *told}
    people: set[str] = set()
    for truth in truths:
        entry = told[truth.submission]
        assert set(entry) == {f":{k}" for k in "submitters created_at score status results history".split()}
        assert tuple(person[":email"] for person in entry[":submitters"]) == truth.people
        assert entry[":created_at"].isoformat() < "2026-11-02"
        rows = entry[":results"]["tests"]
        assert [row["extra_data"]["item"] for row in rows] == ["double", "mean", "span", "tally", "commonest"]
        assert entry[":score"] == sum(row["score"] for row in rows)
        earlier = [other for other in truths if other.student == truth.student]
        earlier = earlier[: earlier.index(truth)]
        assert [past[":id"] for past in entry[":history"]] == [int(t.submission[11:]) for t in earlier]
        people.update(truth.people)
    assert people == {f"student{number}@example.edu" for number in range(1, COUNT + 1)}


def test_only_the_last_submission_unless_all_are_asked_for(made: tuple[Path, list[Truth]], tmp_path: Path) -> None:
    """Then its folder is the same, and the earlier ones stand in the history alone."""
    out, truths = made
    last = simulate_class(POCKET, COUNT, tmp_path / "export", seed=9, submissions=4, hostile=0.1)
    assert last == [truth for truth in truths if truth.active]
    assert len(last) < len(truths)
    for truth in last:
        assert contents(tmp_path / "export" / truth.submission) == contents(out / truth.submission)


def test_a_class_has_all_kinds(made: tuple[Path, list[Truth]]) -> None:
    """Every state, some hostile ones, one without a file, groups, several submissions."""
    _, truths = made
    states = {state.partition(":")[0] for truth in truths for state in truth.items.values()}
    assert states == set(RANK)
    assert any(truth.hostile for truth in truths)
    assert any(truth.nothing for truth in truths)
    assert {len(truth.people) for truth in truths} == {1, 2}
    assert any(not truth.active for truth in truths)


def test_no_two_students_have_the_same_file_unless_it_is_blank(made: tuple[Path, list[Truth]]) -> None:
    """By bytes; a blank file is the handout's."""
    out, truths = made
    stubs = {m.content for p, m in package_members(POCKET, load_assignment(POCKET / "assignment.toml")).items()}
    owners: dict[bytes, set[int]] = defaultdict(set)
    for truth in truths:
        for path, content in contents(out / truth.submission).items():
            if path.endswith(("alpha.py", "beta.py")):
                owners[content].add(truth.student)
    shared = {content for content, who in owners.items() if len(who) > 1}
    assert shared
    assert shared <= stubs


def test_later_submissions_only_gain(made: tuple[Path, list[Truth]]) -> None:
    """No item falls back."""
    _, truths = made
    gained = 0
    for before, after in pairwise(truths):
        if before.student == after.student:
            for slug, state in before.items.items():
                ranks = [RANK[s.partition(":")[0]] for s in (state, after.items[slug])]
                assert ranks[0] <= ranks[1], (after.submission, slug)
                gained += ranks[0] < ranks[1]
    assert gained


def test_grading_confirms_the_truth(made: tuple[Path, list[Truth]]) -> None:
    """What must get all points gets them, what must lose some does; eight students, of every layout."""
    out, truths = made
    tried = [truth for truth in truths if truth.active and truth.items][:8]
    assert any("mistake" in str(truth.items) for truth in tried)
    for truth in tried:
        scores = run_and_read(out / truth.submission, POCKET).scores
        points = {item.slug: item.points for item in load_assignment(POCKET / "assignment.toml").items}
        assert {slug: scores[slug] for slug in truth.full} == {slug: points[slug] for slug in truth.full}
        assert all(scores[slug] < points[slug] for slug in truth.lost), truth


def test_combined_pieces_are_what_applying_one_after_the_other_gives() -> None:
    """A mistake and an alternative in two files, and one item blank."""
    pieces = Pieces(POCKET, load_assignment(POCKET / "assignment.toml"))
    both = [pieces.entry("mean-of-nothing-is-zero"), pieces.entry("tally-with-a-counter")]
    assert None not in both
    expected = pieces.package
    for ident in ("mean-of-nothing-is-zero", "tally-with-a-counter"):
        expected = apply(pieces.entries[ident], expected)
    files = pieces.files([piece for piece in both if piece], ())
    assert files == {name: expected[f"pocket/{name}"] for name in ("alpha.py", "beta.py")}
    assert both[0] is not None
    assert not pieces.blank("mean").fits([both[0]])
    assert pieces.blank("span").fits([both[0]])
    stubs = pieces.files([pieces.blank(s) for s in ("double", "mean", "span")], ("double", "mean", "span"))
    assert stubs["alpha.py"] == pieces.stubs["alpha.py"]


def test_levels_follow_the_model_of_ability() -> None:
    """The stated probability, within three standard errors over three thousand students."""
    assignment = load_assignment(POCKET / "assignment.toml")
    hard = dict.fromkeys(difficulties(assignment, 0), 0.5)
    everybody = list(students(3000, assignment, 0, 1, 0.0))
    solved = [levels(student, hard, 0)["mean"] == SOLVED for student in everybody]
    # the mean of 1 / (1 + exp(-1.5 (theta - 0.5))) over theta ~ N(0, 1), by a sum
    steps = [-6 + 12 * k / 4000 for k in range(4001)]
    e = 2.718281828459045
    weights = [e ** (-t * t / 2) for t in steps]
    expected = sum(w / (1 + e ** (-1.5 * (t - 0.5))) for w, t in zip(weights, steps, strict=True)) / sum(weights)
    share = sum(solved) / len(solved)
    assert abs(share - expected) < 3 * (expected * (1 - expected) / len(solved)) ** 0.5


@pytest.mark.parametrize("number", range(12), ids=lambda number: f"hand-{number}")
def test_another_hand_means_the_same(number: int) -> None:
    """Names that are also global, in nested functions, f-strings and comprehensions come out right."""
    written = Hand(f"seed {number}", "somebody").write("tricky.py", TRICKY.encode()).decode()
    assert written != TRICKY
    results = []
    for source in (TRICKY, written):
        names: dict[str, Any] = {}
        exec(source, names)  # our own text
        results.append(names["tally"](["a", "b", "a"]))
    assert results[0] == results[1]


def test_some_hand_renames_and_names_its_result() -> None:
    """Otherwise the test above says nothing."""
    hands = [Hand(f"seed {n}", "somebody").write("tricky.py", TRICKY.encode()).decode() for n in range(12)]
    assert any("counts = {}" not in hand for hand in hands)
    assert any("return (" not in hand for hand in hands)


def test_without_a_catalogue_there_is_one_clear_line(tmp_path: Path) -> None:
    """As in an unpacked autograder zip."""
    home = copy_home(tmp_path / "home")
    shutil.rmtree(home / "tests" / "mistakes")
    with pytest.raises(InputError, match=r"has no tests/mistakes: a class is made from the repository's catalogue"):
        simulate_class(home, 3, tmp_path / "export")
    assert not (tmp_path / "export").exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    """Nothing is overwritten."""
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="is not empty"):
        simulate_class(POCKET, 3, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_command_says_what_it_wrote(tmp_path: Path) -> None:
    """And writes it; a class of nobody too."""
    done = CliRunner().invoke(simulate_a_class, ["5", "--out", str(tmp_path / "five")], obj=POCKET)
    assert done.exit_code == 0, done.output
    truths = list(read_lines(truth_beside(tmp_path / "five"), Truth))
    assert f"five: {len(truths)} submissions" in done.stdout
    assert str(truth_beside(tmp_path / "five")) in done.stdout
    assert simulate_class(POCKET, 0, tmp_path / "nobody") == []
    assert metadata(tmp_path / "nobody") is None


def test_choices_fit_together_for_every_student() -> None:
    """No two pieces of one submission touch the same function or lines."""
    assignment = load_assignment(POCKET / "assignment.toml")
    chooser, b = Chooser(Pieces(POCKET, assignment), 0), difficulties(assignment, 0)
    for student in students(50, assignment, 0, 1, 0.0):
        work = chooser.choose(student, levels(student, b, 0), None)
        assert set(work.choices) == set(assignment.by_slug)
        for place, piece in enumerate(work.pieces):
            assert piece.fits(work.pieces[:place])

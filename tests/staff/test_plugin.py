"""The pytest plugin inline: what tests are given, which tests run, in which order, and what is refused."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from autograder.feedback import plugin as feedback
from autograder.feedback import scores

from .graded import PREAMBLE, TOY, Project, project

__all__ = ["project"]
pytest_plugins = ["pytester"]

STUB = """
def total(numbers):
    raise NotImplementedError("total: total")


def scale(x, by):
    raise NotImplementedError("scale: scale")
"""
THREE = '''
    @item("greet")
    def test_greeting(student, check):
        """A greeting names whom it greets."""
        check.equal(student.words.greet("bee"), "hello bee", "the greeting")

    @item("total")
    @pytest.mark.parametrize("n", [1, 2, 3], ids=["one", "two", "three"])
    def test_total(student, check, n):
        """The total of n ones is n."""
        check.equal(student.maths.total([1] * n), n, "the total")

    @item("scale")
    def test_scale(student, check):
        """Twice three is six."""
        check.equal(student.maths.scale(3, 2), 6, "twice three")
'''

SAME = """
seen = []


class Same:
    def backward(self, a, b, g_b):
        seen.append(g_b)
        return g_b
"""

# --- inputs: the same for a test, whatever else runs

DRAWING = """
    def draw(rng, request):
        with open({notes!r}, "a") as file:
            file.write(f"{{request.node.callspec.id if hasattr(request.node, 'callspec') else request.node.name}} ")
            file.write(f"{{rng.integers(1 << 62)}}\\n")

    @item("total")
    @pytest.mark.parametrize("n", [1, 2], ids=["a", "b"])
    def test_first(student, rng, request, n):
        draw(rng, request)

    @item("scale")
    def test_second(student, rng, request):
        draw(rng, request)

    @item("scale")
    @pytest.mark.parametrize("n", [1], ids=["c::d[e]-f"])
    def test_third(student, rng, request, n):
        draw(rng, request)
"""
DRAWS = {"a", "b", "test_second", "c::d[e]-f"}


class Drawing:
    """A project whose tests note the first number that they draw."""

    def __init__(self, told: Project) -> None:
        self.project, self.notes = told, told.root / "notes.txt"
        told.hidden(DRAWING.format(notes=str(self.notes)))

    def draw(self, *arguments: str, **keywords: object) -> dict[str, int]:
        """Run, and give name -> number."""
        self.notes.unlink(missing_ok=True)
        run = self.project.run(*arguments, **keywords)  # type: ignore[arg-type]
        assert run.code == 0, run.text
        return {name: int(number) for name, number in map(str.split, self.notes.read_text().splitlines())}


@pytest.fixture
def drawing(project: Project) -> Drawing:
    return Drawing(project)


def test_every_test_and_case_draws_its_own_inputs(drawing: Drawing) -> None:
    """Four tests, four different numbers, the same in the next run."""
    first = drawing.draw()
    assert set(first) == DRAWS
    assert len(set(first.values())) == len(DRAWS)
    assert drawing.draw() == first


def test_inputs_do_not_depend_on_what_else_runs(drawing: Drawing) -> None:
    """The same with -k, with --item, and from a single node id."""
    whole = drawing.draw()
    assert drawing.draw("-k", "second") == {"test_second": whole["test_second"]}
    assert drawing.draw("--item", "1.1") == {name: whole[name] for name in ("a", "b")}
    assert drawing.draw(paths=["tests/hidden/test_toy.py::test_first[b]"]) == {"b": whole["b"]}


def test_inputs_do_not_depend_on_order_or_neighbours(drawing: Drawing) -> None:
    """The same when tests change places, and when others stand before them."""
    whole = drawing.draw()
    source = drawing.project.root / "tests/hidden/test_toy.py"
    head, *tests = re.split(r"(?m)^(?=@item)", source.read_text())
    new = tests[0].replace("test_first", "test_new").replace('"a", "b"', '"x", "y"')
    source.write_text(head + new + "".join(reversed(tests)))
    assert {name: number for name, number in drawing.draw().items() if name in DRAWS} == whole


def test_inputs_do_not_depend_on_folders(drawing: Drawing) -> None:
    """A node id is never taken apart: the same in another root folder, with the same file name."""
    whole = drawing.draw()
    deeper = drawing.project.root / "deep" / "hidden"
    deeper.parent.mkdir()
    shutil.move(drawing.project.root / "tests/hidden", deeper)
    assert drawing.draw(paths=["deep"]) == whole


def test_the_secret_is_the_seed_of_hidden_inputs(drawing: Drawing) -> None:
    """Another secret, other inputs for every test; --seed changes nothing then."""
    first, second = drawing.draw(secret=b"one"), drawing.draw(secret=b"two")
    assert not set(first.values()) & set(second.values())
    assert drawing.draw("--seed", "7", secret=b"one") == first


def test_without_a_secret_hidden_inputs_follow_the_seed(drawing: Drawing) -> None:
    """As on an author's laptop; 0 is the seed that one does not name."""
    assert drawing.draw("--seed", "0") == drawing.draw()
    assert not set(drawing.draw("--seed", "7").values()) & set(drawing.draw().values())


def test_the_seed_is_the_seed_of_public_inputs(drawing: Drawing) -> None:
    """A secret says nothing to public tests: a student draws on the laptop what the grader draws."""
    public = drawing.project.root / "tests/public"
    shutil.move(drawing.project.root / "tests/hidden", public)
    first = drawing.draw()
    assert drawing.draw(secret=b"one") == first
    assert not set(drawing.draw("--seed", "7").values()) & set(first.values())


def test_public_and_hidden_tests_of_one_name_draw_different_inputs(drawing: Drawing) -> None:
    """Whether a test is hidden is part of its name."""
    hidden = drawing.draw()
    shutil.move(drawing.project.root / "tests/hidden", drawing.project.root / "tests/public")
    assert not set(drawing.draw().values()) & set(hidden.values())


def test_a_check_that_draws_does_not_shift_the_inputs(project: Project) -> None:
    """check has a stream of its own: how often it draws changes nothing for the test."""
    project.student("maths", SAME)
    notes = project.root / "notes.txt"
    drawn = []
    for checks in (0, 3):
        project.public(f"""
            @item("total")
            def test_same(student, rng, check):
                for _ in range({checks}):
                    check.module_gradient(student.maths.Same(), lambda a: a, np.ones(2))
                with open({str(notes)!r}, "w") as file:
                    file.write(str(rng.integers(1 << 62)))
        """)
        assert project.run().code == 0
        drawn.append(notes.read_text())
    assert drawn[0] == drawn[1]


def test_a_check_draws_other_numbers_than_its_test(project: Project) -> None:
    """An upstream gradient that equals the inputs would hide that it was forgotten."""
    project.student("maths", SAME)
    project.public("""
        @item("total")
        def test_same(student, rng, check):
            check.module_gradient(student.maths.Same(), lambda a: a, np.ones(4))
            check.that(not np.array_equal(student.maths.seen[0], rng.normal(size=4)), "they should differ")
    """)
    assert project.run().code == 0


# --- the student's package


def test_the_package_is_fresh_for_every_test(project: Project) -> None:
    """What a test leaves in the student's modules is gone in the next one, and no student outlives its test."""
    project.student("maths", "seen = []\n\n\ndef total(numbers):\n    seen.append(1)\n    return len(seen)\n")
    project.public("""
        @item("total")
        @pytest.mark.parametrize("case", [1, 2, 3], ids=["a", "b", "c"])
        def test_first_call(student, check, case):
            check.equal(student.maths.total([]), 1, "the number of calls")
            check.equal(student.maths.total([]), 2, "the number of calls")
    """)
    run = project.run()
    assert (run.code, run.kept) == (0, [])


def test_the_given_submission_folder_is_used(project: Project) -> None:
    """--submission names the folder that holds the student's package; the reference is another package beside it."""
    project.write("elsewhere/toy/__init__.py", "")
    project.write("elsewhere/toy/maths.py", "def total(numbers):\n    return -1\n")
    project.hidden("""
        @item("total")
        def test_total(student, reference, check):
            check.equal(reference.maths.total([1, 2]), 3, "the reference's total")
            check.equal(student.maths.total([1, 2]), -1, "the student's total")
    """)
    assert project.run("--submission", "elsewhere").states == {"test_total": scores.PASSED}
    assert project.run().states == {"test_total": scores.FAILED}


def test_the_reference_sees_nothing_of_the_student(project: Project) -> None:
    """What a student patches in the package is not patched in the reference."""
    project.student("maths", "import toy.words\ntoy.words.greet = None\n\n\ndef total(numbers):\n    return 1\n")
    project.hidden("""
        @item("total")
        def test_total(student, reference, check):
            check.equal(student.maths.total([1]), 1, "the total")
            check.equal(reference.words.greet("bee"), "hello bee", "the greeting")
    """)
    assert project.run().states == {"test_total": scores.PASSED}


# --- which tests run, and in which order


def test_tests_run_in_the_order_of_the_items(project: Project) -> None:
    """By item number, public before hidden, and within those as they stand in the file."""
    project.hidden(THREE)
    project.public(THREE, "test_zebra.py")
    project.public(
        """
        def test_of_something_else():
            pass
        """,
        "test_aardvark.py",
    )
    run = project.run()
    total = ["test_total[one]", "test_total[two]", "test_total[three]"]
    expected = [*total, *total, "test_scale", "test_scale", "test_greeting", "test_greeting", "test_of_something_else"]
    assert run.ran == expected


@pytest.mark.parametrize(
    ("names", "ran"),
    [
        (["scale"], ["test_scale"]),
        (["1.2"], ["test_scale"]),
        (["1.3", "scale"], ["test_scale", "test_greeting"]),
        (["scale", "1.2"], ["test_scale"]),
    ],
    ids=["slug", "number", "two", "twice"],
)
def test_one_item_by_slug_or_number(project: Project, names: list[str], ran: list[str]) -> None:
    """--item takes either, more than once, and leaves out everything else, plain tests too."""
    project.public(THREE + "\n    def test_plain():\n        assert False\n")
    run = project.run(*(part for name in names for part in ("--item", name)))
    assert (run.code, run.ran) == (0, ran)


def test_one_item_does_not_wait_for_one_that_was_not_run(project: Project) -> None:
    """--item says nothing about what the item needs."""
    project.public(THREE)
    project.student("maths", STUB.replace('raise NotImplementedError("scale: scale")', "return x"))
    assert project.run("--item", "scale").rows["scale"].label == scores.FAILED
    assert project.run().rows["scale"].label == "waiting for 1.1"


def test_an_unknown_item_is_one_clear_line(project: Project) -> None:
    """It lists what there is; nothing runs."""
    project.public(THREE)
    run = project.run("--item", "totl")
    assert run.code == pytest.ExitCode.USAGE_ERROR
    assert run.complaints.split("\n")[0] == "ERROR: no item 'totl'; there are total, scale, greet, extra"
    assert run.ran == []


def test_an_item_without_tests_runs_nothing(project: Project) -> None:
    """pytest's own exit code for no tests, and no score card."""
    project.public(THREE)
    run = project.run("--item", "extra")
    assert run.code == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "Part one" not in run.text


def test_tests_of_an_item_that_is_off_do_not_run(project: Project) -> None:
    """Its tests may stay where they are; its number goes to the next one."""
    project.write("assignment.toml", TOY.replace("needs = [", "off = true, needs = ["))
    project.public(THREE)
    run = project.run()
    assert [row.item.slug for row in run.rows.values()] == ["total", "greet", "extra"]
    assert "test_scale" not in run.ran
    assert run.rows["greet"].item.number == "1.2"


def test_a_laptop_without_torch_skips_what_needs_it(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says from which part on it is needed; the other parts run, and all else stands."""
    heavy = (
        TOY
        + """
[[parts]]
slug = "two"
number = "2"
title = "Part two"
title_zh = "Part two"
torch = true
items = [{slug = "deep", title = "Depth", title_zh = "D", points = 1, file = "words.py"}]
"""
    )
    project.write("assignment.toml", heavy)
    project.public(
        THREE
        + """
    @item("deep")
    def test_deep(student, check):
        check.equal(student.words.extra(), 1, "one")
"""
    )
    monkeypatch.setattr(feedback, "find_spec", lambda name: None)
    run = project.run()
    assert run.states["test_deep"] == scores.SKIPPED
    assert run.rows["deep"].state == scores.SKIPPED
    assert {state for name, state in run.states.items() if name != "test_deep"} == {scores.PASSED}
    assert "2  Part two  skipped: torch is not installed (needed from part 2 on)" in run.text
    assert "1 skipped" in run.text
    assert run.code == pytest.ExitCode.OK
    monkeypatch.setattr(feedback, "find_spec", lambda name: name)
    assert project.run().states["test_deep"] == scores.PASSED


def test_a_skip_before_the_test_is_a_fault_of_ours(project: Project) -> None:
    """Only a laptop's lack of PyTorch skips a graded test: a fixture that does would hide what is not tested."""
    project.public(
        THREE
        + """
    import pytest

    @pytest.fixture
    def moody():
        pytest.skip("not today")

    @item("total")
    def test_moody(student, moody):
        pass
"""
    )
    assert project.run().states["test_moody"] == scores.GRADER_ERROR


def test_plain_tests_are_left_alone(project: Project) -> None:
    """A test without @item and student passes, fails and is skipped as pytest has it, without a score card."""
    project.public("""
        def test_passes():
            pass

        def test_fails():
            assert [1, 2] == [1, 3]

        @pytest.mark.skip
        def test_is_skipped():
            pass

        @pytest.mark.parametrize("n", [1, 2])
        def test_without_ids(n):
            pass
    """)
    run = project.run()
    assert run.code == pytest.ExitCode.TESTS_FAILED
    assert ">       assert [1, 2] == [1, 3]\nE       assert [1, 2] == [1, 3]\n" in run.text
    assert "1 failed, 3 passed, 1 skipped" in run.text
    assert "Part one" not in run.text
    assert run.outcomes == {}


def test_a_plain_test_may_not_use_the_fixtures_of_graded_tests(project: Project) -> None:
    """rng and check are seeded by an item's test; anything else gets one line that says so."""
    project.public("""
        def test_plain(rng):
            pass
    """)
    run = project.run()
    assert run.code == pytest.ExitCode.TESTS_FAILED
    assert "test_plain uses a fixture of graded tests and has no @item" in run.text


# --- what is refused at collection

REFUSED = [
    ("no-item", "def test_x(student): pass", "test_x has no @item"),
    ("unknown-item", '@item("totl")\ndef test_x(student): pass', "a test is about 'totl', which is no item"),
    ("hidden-row", '@item("total")\n@visibility("hidden")\ndef test_x(student): pass', "hides every student's total"),
    ("number", '@item("total")\n@number("1.1")\ndef test_x(student): pass', "drop @number"),
    ("weight", '@item("total")\n@weight("2")\ndef test_x(student): pass', "a weight is a positive number"),
    (
        "no-ids",
        '@item("total")\n@pytest.mark.parametrize("n", [1])\ndef test_x(student, n): pass',
        "test_toy.py: test_x: parametrize needs ids=[...], one for each case",
    ),
    (
        "ids-of-a-function",
        '@item("total")\n@pytest.mark.parametrize("n", [1], ids=str)\ndef test_x(student, n): pass',
        "parametrize needs ids=[...]",
    ),
    (
        "id-missing",
        '@item("total")\n@pytest.mark.parametrize("n", [1, 2], ids=["a", None])\ndef test_x(student, n): pass',
        "parametrize needs ids=[...]",
    ),
    (
        "ids-of-one-of-two",
        '@item("total")\n@pytest.mark.parametrize("n", [1], ids=["a"])\n@pytest.mark.parametrize("m", [1])\n'
        "def test_x(student, n, m): pass",
        "parametrize needs ids=[...]",
    ),
    (
        "param-without-id",
        '@item("total")\n@pytest.mark.parametrize("n", [pytest.param(1, id="a"), 2])\ndef test_x(student, n): pass',
        "parametrize needs ids=[...]",
    ),
    (
        "parametrized-fixture",
        '@pytest.fixture(params=[1, 2])\ndef n(request): pass\n\n@item("total")\ndef test_x(student, n): pass',
        "test_x: parametrize the test itself, not a fixture of it",
    ),
    (
        "partial-and-parametrized",
        '@item("total")\n@partial_credit(2)\n@pytest.mark.parametrize("n", [1], ids=["a"])\n'
        "def test_x(student, set_score, n): pass",
        "@partial_credit and parametrize do not go together",
    ),
    ("reference", '@item("total")\ndef test_x(student, reference): pass', "test_x: public tests have no reference"),
    (
        "reference-by-a-fixture",
        '@pytest.fixture\ndef solved(reference): pass\n\n@item("total")\ndef test_x(student, solved): pass',
        "test_x: public tests have no reference",
    ),
    (
        "broad-raises",
        '@item("total")\ndef test_x(student):\n    with pytest.raises(Exception): pass',
        "test_toy.py:11: raises(Exception) accepts any mistake; name the exception",
    ),
    ("skip", '@item("total")\n@pytest.mark.skip\ndef test_x(student): pass', "neither skipped nor expected to fail"),
    (
        "skipif",
        '@item("total")\n@pytest.mark.skipif(False, reason="x")\ndef test_x(student): pass',
        "neither skipped nor expected to fail",
    ),
    ("xfail", '@item("total")\n@pytest.mark.xfail\ndef test_x(student): pass', "neither skipped nor expected to fail"),
    (
        "skip-a-case",
        '@item("total")\n@pytest.mark.parametrize("n", [pytest.param(1, id="a", marks=pytest.mark.skip)])\n'
        "def test_x(student, n): pass",
        "neither skipped nor expected to fail",
    ),
    (
        "set-score-alone",
        '@item("total")\ndef test_x(student, set_score): pass',
        "test_x: nothing gives it set_score; its decorator is missing",
    ),
    (
        "set-leaderboard-value-alone",
        '@item("total")\n@partial_credit(1)\ndef test_x(student, set_score, set_leaderboard_value): pass',
        "test_x: nothing gives it set_leaderboard_value; its decorator is missing",
    ),
    (
        "partial-credit-not-taken",
        '@item("total")\n@partial_credit(1)\ndef test_x(student): pass',
        "test_x: its decorator gives it set_score, which it does not take",
    ),
    (
        "leaderboard-not-taken",
        '@item("total")\n@leaderboard("x")\ndef test_x(student): pass',
        "test_x: its decorator gives it set_leaderboard_value, which it does not take",
    ),
    ("subtests", '@item("total")\ndef test_x(student, subtests): pass', "subtests are no tests of their own"),
    (
        "testcase",
        'import unittest\n\nclass TestX(unittest.TestCase):\n    @item("total")\n    def test_x(self): pass',
        "a graded test is a function, not a method of a TestCase",
    ),
    (
        "same-name",
        'class TestA:\n    @item("total")\n    def test_x(self, student): pass\n\n'
        'class TestB:\n    @item("total")\n    def test_x(self, student): pass',
        "two graded tests are called test_x in test_toy.py",
    ),
    (
        "inherited",
        'class TestA:\n    @item("total")\n    def test_x(self, student): pass\n\nclass TestB(TestA): pass',
        "two graded tests are called test_x in test_toy.py",
    ),
]


@pytest.mark.parametrize(("source", "text"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused_at_collection(project: Project, source: str, text: str) -> None:
    """A test that cannot be graded stops the run before anything is graded, with one line for its author."""
    project.write("tests/public/test_toy.py", f"{PREAMBLE}{source}\n")
    run = project.run()
    assert run.code == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in run.complaints.splitlines() if line]
    assert line.startswith("ERROR: ")
    assert text in line
    assert run.ran == []


def test_two_items_on_a_test_are_refused(project: Project) -> None:
    """Said while the file is imported: pytest names the file and the line."""
    project.public("""
        @item("total")
        @item("scale")
        def test_x(student):
            pass
    """)
    run = project.run()
    assert run.code == pytest.ExitCode.INTERRUPTED
    assert "test_x has two @item marks" in run.text
    assert run.ran == []


def test_ids_may_stand_beside_the_values(project: Project) -> None:
    """pytest.param(..., id=...) names a case as well as ids=[...] does."""
    project.public("""
        @item("total")
        @pytest.mark.parametrize("n", [pytest.param(1, id="small"), pytest.param(9, id="large")])
        def test_x(student, check, n):
            check.equal(student.maths.total([n]), n, "the total")
    """)
    assert project.run().states == {"test_x[small]": scores.PASSED, "test_x[large]": scores.PASSED}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--submission", "nowhere"], "nowhere: no package 'toy' here"),
        (["--submission", "tests"], "tests: no package 'toy' here"),
        (["-o", "assignment=nothing.toml"], "nothing.toml: No such file or directory"),
        (["-o", "assignment=pytest.ini"], "pytest.ini: "),
        (["--seed", "x"], "argument --seed: invalid int value: 'x'"),
    ],
    ids=["no-submission", "not-a-submission", "no-assignment", "not-an-assignment", "seed"],
)
def test_bad_options_are_one_clear_line(project: Project, arguments: list[str], text: str) -> None:
    """Whatever the caller got wrong is said in one line, without a traceback."""
    project.public(THREE)
    run = project.run(*arguments)
    assert run.code == pytest.ExitCode.USAGE_ERROR
    assert text in run.complaints
    assert "Traceback" not in run.complaints + run.text


# --- what a student sees


def test_not_started_is_yellow_and_no_traceback(project: Project) -> None:
    """A stub is no failure to read: a yellow dash, one line, and a way on; the exit code is still 1."""
    project.student("maths", STUB)
    project.public(THREE)
    run = project.run("--color=yes")
    assert run.code == pytest.ExitCode.TESTS_FAILED
    assert "\x1b[33m-\x1b[0m" in run.text
    for word in ("Traceback", "NotImplementedError", "FAILURES", "test_toy.py:"):
        assert word not in run.text
    assert run.states["test_total[one]"] == scores.NOT_STARTED
    assert run.outcomes["test_total[one]"].message == "total: total"
    assert "4 not started" in run.text


@pytest.mark.parametrize("verbose", ["-v", "-vv"], ids=["v", "vv"])
def test_not_started_has_no_traceback_in_any_verbosity(project: Project, verbose: str) -> None:
    """There is nothing to trace."""
    project.student("maths", STUB)
    project.public(THREE)
    run = project.run(verbose, "--item", "total")
    assert "NOT STARTED" in run.text
    assert "NotImplementedError" not in run.text


FAILING = '''
    @item("total")
    def test_value(student, check):
        """The total of one and two is three."""
        check.equal(student.maths.total([1, 2]), 3, "the total")

    @item("scale")
    def test_raises(student, check):
        """Twice three is six."""
        check.equal(student.maths.scale(3, 2), 6, "twice three")
'''
BROKEN = """
def total(numbers):
    return 4


def scale(x, by):
    return inner(x) * by


def inner(x):
    raise KeyError("nothing here")
"""


def test_a_failure_is_its_message_and_no_traceback(project: Project) -> None:
    """What must hold, what does not, and where in the student's files: not a line of the test or of ours."""
    project.student("maths", BROKEN)
    project.public(FAILING)
    run = project.run()
    assert run.code == pytest.ExitCode.TESTS_FAILED
    assert "The total of one and two is three.\nmaths.total: the total: wrong value (got 4, expected 3)\n" in run.text
    frames = "KeyError: 'nothing here'\n  toy/maths.py:7 in scale\n  toy/maths.py:11 in inner\n"
    assert f"Twice three is six.\n{frames}" in run.text
    for word in ("Traceback", "check.equal(", "handles.py", "server.py", "plugin.py"):
        assert word not in run.text


def test_verbose_shows_the_message_before_the_traceback(project: Project) -> None:
    """The first line still says what is wrong; the trace comes last."""
    project.student("maths", BROKEN)
    project.public(FAILING)
    run = project.run("-v", "--item", "total")
    before, _, after = run.text.partition("wrong value (got 4, expected 3)")
    assert "check.equal(" not in before
    assert "check.equal(" in after


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("def total(numbers):\n    return sum(numbers)\n\n\ndef scale(x, by):\n    return x * by\n", 0),
        ("def total(numbers):\n    return 0\n", 1),
        (STUB, 1),
        ("def total(numbers:\n", 1),
    ],
    ids=["all-pass", "some-fail", "not-started", "cannot-import"],
)
def test_exit_codes(project: Project, source: str, code: int) -> None:
    """0 when all pass, 1 when something does not."""
    project.student("maths", source)
    project.public(THREE)
    assert project.run().code == code


def test_a_card_stands_at_the_end(project: Project) -> None:
    """One line an item, and what to do next with the seed of this run."""
    project.student("maths", STUB)
    project.public(THREE)
    run = project.run("--seed", "7")
    assert "1  Part one  [####----------------]" in run.text
    assert "  1.1   Totals                                 0 of 3 checks   not started" in run.text
    assert "next: 1.1 Totals, in toy/maths.py\n      python -m pytest --item total --seed 7\n" in run.text


def test_listeners_hear_of_every_test_once(project: Project) -> None:
    """That is how results.json keeps up."""
    project.public(THREE)
    heard: list[str] = []

    class Listener:
        @pytest.hookimpl(trylast=True)
        def pytest_configure(self, config: pytest.Config) -> None:
            from autograder.feedback import plugin

            session = config.stash[plugin.SESSION]
            session.listeners.append(lambda case, outcome: heard.append(f"{case.name} {outcome.state}"))

    project.pytester.inline_run("tests", plugins=[Listener(), "autograder.feedback.plugin"])
    names = ["test_total[one]", "test_total[two]", "test_total[three]", "test_scale", "test_greeting"]
    assert heard == [f"{name} passed" for name in names]


def test_the_plugin_imports_no_torch(project: Project) -> None:
    """Numpy parts work on a machine without it."""
    project.public(THREE)
    done = project.pytester.runpython_c(
        "import sys, pytest\n"
        "code = pytest.main(['-q', '-p', 'autograder.feedback.plugin', 'tests'])\n"
        "assert code == 0 and 'torch' not in sys.modules, code\n"
    )
    assert done.ret == 0


def test_this_repository_loads_the_plugin(pytestconfig: pytest.Config) -> None:
    """The conftest.py at the root gives every test of this repository the same fixtures."""
    assert pytestconfig.pluginmanager.hasplugin("autograder.feedback.plugin")
    assert (Path(str(pytestconfig.rootpath)) / "conftest.py").is_file()

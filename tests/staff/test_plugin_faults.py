"""Whose fault it is: the student's, ours, or nobody's; and that nothing of the student's decides it."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import SimpleNamespace

import pytest

from autograder.feedback import scores, verdict
from autograder.feedback.assignment import Item
from autograder.feedback.errors import Ended, Late, StudentError
from autograder.feedback.handles import Student
from autograder.feedback.values import Flat

from .graded import Project, assignment, case, item, project

__all__ = ["project"]
pytest_plugins = ["pytester"]

STUDENT = """
class Secret(Exception):
    def __str__(self):
        raise RuntimeError("no")


class Thing:
    shape = (2,)


def raises_value_error(*args):
    raise ValueError("shapes (3,4) and (5,4) not aligned")


def raises_own_error(*args):
    raise Secret()


def fails_an_assertion():
    assert 1 == 2, "mine"


def recurses():
    return recurses()


def leaves():
    raise SystemExit(3)


def stops():
    raise StopIteration


def ends():
    raise GeneratorExit


def not_done():
    raise NotImplementedError("total: not_done")


def half_done():
    class Unfinished(NotImplementedError):
        pass

    raise Unfinished("later")


def none(*args):
    return None


def one(*args):
    return 1


def text(*args):
    return "text"


def thing(*args):
    return Thing()
"""

# Each test of this file stands alone; its name says whose fault it is.
TESTS = """
    from autograder.feedback.errors import CheckFailed, WrongType

    def helper(value):
        return value + 1

    @item("total")
    def test_students_exception(student):
        student.maths.raises_value_error()

    @item("total")
    def test_students_own_exception_that_cannot_be_shown(student):
        student.maths.raises_own_error()

    @item("total")
    def test_students_assertion(student):
        student.maths.fails_an_assertion()

    @item("total")
    def test_students_recursion(student):
        student.maths.recurses()

    @item("total")
    def test_students_exit(student):
        student.maths.leaves()

    @item("total")
    def test_students_stop(student):
        for n in range(3):
            next(iter([student.maths.stops()]))

    @item("total")
    def test_students_stop_in_a_loop(student, check):
        # a StopIteration would end this generator early, and the loop would check nothing
        def answers():
            yield student.maths.stops()
        for answer in answers():
            check.equal(answer, 1)

    @item("total")
    def test_students_end(student):
        student.maths.ends()

    @item("total")
    def test_students_missing_function(student):
        student.maths.nothing()

    @item("total")
    def test_students_missing_module(student):
        student.nothing.total()

    @item("total")
    def test_students_stub(student):
        student.maths.not_done()

    @item("total")
    def test_students_own_kind_of_stub(student):
        student.maths.half_done()

    @item("total")
    def test_students_wrong_value(student, check):
        check.equal(student.maths.one(), 2, "it")

    @item("total")
    def test_students_value_in_an_assertion(student):
        assert student.maths.one() == 2

    @item("total")
    def test_students_value_in_a_bare_assertion(student):
        value = student.maths.one()
        if value != 2:
            raise AssertionError

    @item("total")
    def test_students_value_trips_the_test(student):
        student.maths.none() + 1

    @item("total")
    def test_students_value_trips_a_helper(student):
        helper(student.maths.none())

    @item("total")
    def test_students_value_trips_numpy(student):
        np.linalg.inv(student.maths.text())

    @item("total")
    def test_students_value_is_unpacked(student):
        a, b = student.maths.one(), 2
        c, d = student.maths.text()

    @item("total")
    def test_students_function_does_not_raise(student):
        with pytest.raises(ValueError):
            student.maths.one()

    @item("total")
    def test_students_function_raises_neither(student):
        with pytest.raises((ValueError, KeyError)):
            student.maths.one()

    @item("total")
    def test_students_function_raises_another(student):
        with pytest.raises(KeyError):
            student.maths.raises_value_error()

    @item("total")
    def test_students_message_is_another(student):
        with pytest.raises(ValueError, match="empty"):
            student.maths.raises_value_error()

    @item("total")
    def test_students_object(student, check):
        check.close(student.maths.thing(), 1.0, "it")

    @item("total")
    def test_ours_expected_value(student, check):
        check.close(student.maths.one(), np.nan, "it")

    @item("total")
    def test_ours_misuse_of_a_check(student, check):
        check.close(student.maths.one(), 1.0, "it", rtol="small")

    @item("total")
    def test_ours_that_takes_truth_values(student, check):
        check.that(student.maths.one(), "it")

    @item("total")
    def test_ours_unsendable(student):
        student.maths.one(lambda: 1)

    @item("total")
    def test_ours_unsendable_though_swallowed(student):
        with pytest.raises(ValueError):
            student.maths.one(lambda: 1)

    @item("total")
    def test_ours_in_place(student):
        thing = student.maths.thing()
        thing += 1

    @item("total")
    def test_ours_forward(student, check):
        check.gradient(np.zeros(2), lambda x: 1 // 0, np.zeros(2))

    @item("total")
    async def test_ours_not_in_the_tests_own_lines(student):
        pass

    @item("total")
    def test_ours_skip(student):
        pytest.skip("not today")

    @item("total")
    def test_ours_xfail(student):
        pytest.xfail("not today")
"""
FAILED, OURS = scores.FAILED, scores.GRADER_ERROR
UNUSABLE = "the test cannot work with what your code gave"
# name -> state, what a student reads in a public test, what in a hidden one (None: the same)
TABLE: dict[str, tuple[str, str, str | None]] = {
    "students_exception": (
        FAILED,
        "ValueError: shapes (3,4) and (5,4) not aligned\n  toy/maths.py:12 in raises_value_error",
        None,
    ),
    "students_own_exception_that_cannot_be_shown": (
        FAILED,
        "Secret: (its message cannot be shown)\n  toy/maths.py:16 in raises_own_error",
        None,
    ),
    "students_assertion": (FAILED, "AssertionError: mine\n  toy/maths.py:20 in fails_an_assertion", None),
    "students_recursion": (FAILED, "RecursionError: maximum recursion depth exceeded", None),
    "students_exit": (FAILED, "SystemExit: 3\n  toy/maths.py:28 in leaves", None),
    "students_stop": (FAILED, "StopIteration: \n  toy/maths.py:32 in stops", None),
    "students_stop_in_a_loop": (FAILED, "StopIteration: \n  toy/maths.py:32 in stops", None),
    "students_end": (FAILED, "GeneratorExit: \n  toy/maths.py:36 in ends", None),
    "students_missing_function": (FAILED, "maths.py has no nothing: was it renamed or deleted?", None),
    "students_missing_module": (
        scores.CANNOT_IMPORT,
        "nothing.py cannot be imported: ModuleNotFoundError: No module named 'toy.nothing'",
        None,
    ),
    "students_stub": (scores.NOT_STARTED, "total: not_done", None),
    "students_own_kind_of_stub": (FAILED, "Unfinished: later\n  toy/maths.py:47 in half_done", None),
    "students_wrong_value": (
        FAILED,
        "maths.one: it: wrong value (got 1, expected 2)",
        "maths.one: it: wrong value",
    ),
    "students_value_in_an_assertion": (FAILED, "assert 1 == 2", "maths.one: this does not hold"),
    "students_value_in_a_bare_assertion": (FAILED, "maths.one: this does not hold", None),
    "students_value_trips_the_test": (
        FAILED,
        f"maths.none: {UNUSABLE} (TypeError: unsupported operand type(s) for +: 'NoneType' and 'int')",
        f"maths.none: {UNUSABLE} (TypeError)",
    ),
    "students_value_trips_a_helper": (
        FAILED,
        f"maths.none: {UNUSABLE} (TypeError: unsupported operand type(s) for +: 'NoneType' and 'int')",
        f"maths.none: {UNUSABLE} (TypeError)",
    ),
    "students_value_trips_numpy": (
        FAILED,
        f"maths.text: {UNUSABLE} (LinAlgError: ",
        f"maths.text: {UNUSABLE} (LinAlgError)",
    ),
    "students_value_is_unpacked": (
        FAILED,
        f"maths.text: {UNUSABLE} (ValueError: too many values to unpack (expected 2",
        f"maths.text: {UNUSABLE} (ValueError)",
    ),
    "students_function_does_not_raise": (FAILED, "maths.one: should raise ValueError", None),
    "students_function_raises_neither": (FAILED, "maths.one: should raise any of (ValueError, KeyError)", None),
    "students_function_raises_another": (
        FAILED,
        "ValueError: shapes (3,4) and (5,4) not aligned\n  toy/maths.py:12 in raises_value_error",
        None,
    ),
    "students_message_is_another": (
        FAILED,
        "Regex pattern did not match.",
        "maths.raises_value_error: this does not hold",
    ),
    "students_object": (FAILED, "maths.thing: it should be a number, not a Thing", None),
    "ours_expected_value": (OURS, "", None),
    "ours_misuse_of_a_check": (OURS, "", None),
    "ours_that_takes_truth_values": (OURS, "", None),
    "ours_unsendable": (OURS, "", None),
    "ours_unsendable_though_swallowed": (OURS, "", None),
    "ours_in_place": (OURS, "", None),
    "ours_forward": (OURS, "", None),
    "ours_not_in_the_tests_own_lines": (OURS, "", None),
    "ours_skip": (OURS, "", None),
    "ours_xfail": (OURS, "", None),
}


@pytest.mark.parametrize("hidden", [False, True], ids=["public", "hidden"])
def test_whose_fault(project: Project, hidden: bool) -> None:
    """State, points and words of each kind of failure, on public and on hidden inputs."""
    project.student("maths", STUDENT)
    (project.hidden if hidden else project.public)(TESTS)
    run = project.run()
    assert set(run.states) == {f"test_{name}" for name in TABLE}
    wrong = {}
    for name, (state, public, secret) in TABLE.items():
        outcome = run.outcomes[f"test_{name}"]
        text = public if secret is None or not hidden else secret
        told = outcome.message.startswith(text) if text else outcome.message == ""
        if (outcome.state, outcome.fraction, told, bool(outcome.detail) or state != OURS) != (state, 0.0, True, True):
            wrong[name] = outcome
    assert wrong == {}
    assert "grader error (not your code): NotSendable: a test cannot send a function" in run.text
    assert "Traceback" not in run.text


def test_hidden_failures_hold_no_value(project: Project) -> None:
    """Beyond the student's own exceptions, no hidden failure says what came or what was expected."""
    project.student("maths", STUDENT)
    project.hidden(TESTS)
    run = project.run()
    for name in (
        "wrong_value",
        "value_in_an_assertion",
        "value_trips_the_test",
        "value_is_unpacked",
        "message_is_another",
    ):
        outcome = run.outcomes[f"test_students_{name}"]
        assert "\n" not in outcome.message
        assert outcome.message.startswith("maths.")
        assert not set(outcome.message) & set("0123456789")
        assert len(outcome.detail) > 10  # staff see it


# --- faults that are not in a test's own lines


def test_a_fault_of_the_reference_is_ours(project: Project) -> None:
    """An error in the solved package, in its import, or for want of it, costs nobody."""
    project.write("solved/toy/words.py", "1 / 0\n")
    project.hidden("""
        @item("total")
        def test_raises(student, reference):
            reference.maths.total(3)

        @item("total")
        def test_cannot_be_imported(student, reference):
            reference.words.greet("bee")

        @item("total")
        def test_is_not_there(student, reference):
            reference.nothing.total()

        @item("total")
        def test_lacks_a_function(student, reference):
            reference.maths.nothing()
    """)
    run = project.run()
    states = dict(run.states)
    assert states.pop("test_lacks_a_function") == FAILED  # an AttributeError in the test's own line: audit sees it
    assert set(states.values()) == {OURS}
    assert run.outcomes["test_raises"].detail == "TypeError: 'int' object is not iterable"


def test_hidden_tests_without_a_reference_say_what_is_missing(project: Project) -> None:
    """They need --reference."""
    project.hidden("""
        @item("total")
        def test_total(student, reference):
            pass
    """)
    run = project.run(reference=None)
    assert run.only.state == OURS
    assert "hidden tests need --reference DIR" in run.only.detail
    assert "no package 'toy' here" in project.run(reference="tests").only.detail


@pytest.mark.parametrize("scope", ["function", "class", "module", "session"], ids=str)
def test_a_broken_fixture_is_ours_and_costs_its_tests_only(project: Project, scope: str) -> None:
    """gradescope-utils writes no results at all when a class cannot be set up."""
    project.public(f"""
        @pytest.fixture(scope={scope!r})
        def broken():
            raise ValueError("no such file")

        class TestTotal:
            @item("total")
            def test_needs_it(self, student, broken):
                pass

            @item("total")
            def test_needs_it_too(self, student, broken):
                pass

            @item("total")
            def test_does_not(self, student, check):
                check.equal(student.maths.total([1]), 1)
    """)
    run = project.run()
    assert run.states == {"test_needs_it": OURS, "test_needs_it_too": OURS, "test_does_not": scores.PASSED}
    assert run.outcomes["test_needs_it"].detail == "setup: ValueError: no such file"
    assert run.rows["total"].score == 1.33


@pytest.mark.parametrize(
    "setup",
    ["def setup_module(): 1 / 0", "def setup_function(): 1 / 0", "def setup_module(module): raise SystemExit"],
    ids=["module", "function", "exit"],
)
def test_broken_setup_functions_are_ours(project: Project, setup: str) -> None:
    """xunit-style set-up counts as fixture set-up."""
    project.public(f'{setup}\n\n@item("total")\ndef test_x(student):\n    pass\n')
    assert project.run().only.state == OURS


@pytest.mark.parametrize(
    ("body", "fraction"),
    [("check.equal(1, 1)", 1.0), ("check.equal(1, 2)", 0.0)],
    ids=["passed", "failed"],
)
def test_a_broken_teardown_keeps_what_passed(project: Project, body: str, fraction: float) -> None:
    """One row, its points once, and a fault of ours that costs nothing."""
    project.public(f"""
        @pytest.fixture
        def fragile():
            yield
            raise OSError("disk full")

        @item("total")
        def test_x(student, check, fragile):
            {body}
    """)
    run = project.run()
    assert (run.only.state, run.only.fraction) == (OURS, fraction)
    assert run.only.detail == "teardown: OSError: disk full"
    assert run.rows["total"].score == 4 * fraction
    assert len(run.document["tests"]) == 4  # type: ignore[index]


def test_partial_credit_survives_a_broken_teardown(project: Project) -> None:
    """What was earned is kept, whole or in part."""
    project.public("""
        @pytest.fixture
        def fragile():
            yield
            raise OSError("disk full")

        @item("total")
        @partial_credit(4)
        def test_x(student, fragile, set_score):
            set_score(1)
    """)
    assert project.run().rows["total"].score == 1.0


def test_a_test_file_that_cannot_be_imported_is_said(project: Project) -> None:
    """Collection stops; every item keeps its row."""
    project.public("import nothing_of_that_name\n", "test_broken.py")
    project.public('@item("total")\ndef test_x(student):\n    pass\n')
    run = project.run()
    assert run.code == pytest.ExitCode.INTERRUPTED
    assert "No module named 'nothing_of_that_name'" in run.text
    assert set(run.rows) == {"total", "scale", "greet", "extra"}
    kept = project.run("--continue-on-collection-errors")
    assert kept.states == {"test_x": scores.PASSED}


# --- sticky errors


SWALLOWED = """
    from autograder.feedback.errors import Ended, Late, WrongType

    @item("total")
    def test_by_raises(student):
        with pytest.raises((WrongType, Ended, Late)):
            bool(student.maths.thing())

    @item("total")
    def test_by_except(student):
        try:
            len(student.maths.thing())
        except StudentError:
            pass

    @item("total")
    def test_by_everything(student):
        try:
            float(student.maths.thing())
        except BaseException:
            return

    @item("total")
    def test_by_a_comparison_in_a_list(student, check):
        try:
            [student.maths.thing()] == [1]
        except StudentError:
            pass
        check.equal(1, 1)

    @item("total")
    def test_before_another_failure(student, check):
        try:
            bool(student.maths.thing())
        except StudentError:
            pass
        check.equal(1, 2, "something else")

    @item("total")
    def test_not_at_all(student, check):
        thing = student.maths.thing()
        check.equal(1, 1)
"""


def test_an_object_where_a_value_is_expected_fails_the_test_even_when_swallowed(project: Project) -> None:
    """WrongType is sticky: pytest.raises, except, and a pass at the end do not help."""
    project.student("maths", STUDENT)
    project.public(SWALLOWED)
    run = project.run()
    passed = {name for name, state in run.states.items() if state == scores.PASSED}
    assert passed == {"test_not_at_all"}
    for name in set(run.states) - passed:
        assert (run.states[name], run.outcomes[name].fraction) == (FAILED, 0.0)
        assert run.outcomes[name].message.startswith("maths.thing: returned a Thing, expected ")


def test_a_stub_passes_no_test_that_wants_a_runtime_error(project: Project) -> None:
    """NotImplementedError is a RuntimeError: swallowed by the test, it still says "not started"."""
    project.student("maths", 'def total(values):\n    raise NotImplementedError("total: total")\n')
    project.public("""
        @item("total")
        def test_of_nothing(student):
            with pytest.raises(RuntimeError):
                student.maths.total([])
    """)
    assert project.run().states == {"test_of_nothing": scores.NOT_STARTED}


class BrokenLink:
    """A link whose far side is gone, or too slow."""

    def __init__(self, error: type[StudentError]) -> None:
        self.error = error

    def ask(self, request: str, arguments: Flat) -> tuple[str, Flat]:
        raise self.error("your code did not finish in 5 seconds")


def broken(error: type[StudentError]) -> Callable[[Item], AbstractContextManager[Student]]:
    """Opens a Student over such a link."""

    @contextmanager
    def open_student(item: Item) -> Iterator[Student]:
        yield Student(BrokenLink(error))

    return open_student


@pytest.mark.parametrize(
    ("error", "state"), [(Late, scores.LATE), (Ended, scores.CANNOT_IMPORT)], ids=["late", "ended"]
)
def test_a_process_that_is_gone_or_late_is_the_students(
    project: Project, error: type[StudentError], state: str
) -> None:
    """Both are sticky, and are an ordinary outcome of one test."""
    project.public("""
        @item("total")
        def test_plain(student):
            student.maths.total([1])

        @item("total")
        def test_swallowed(student):
            try:
                student.maths.total([1])
            except BaseException:
                pass

        @item("total")
        def test_not_an_exception_of_python(student):
            with pytest.raises((TimeoutError, OSError, EOFError)):
                student.maths.total([1])
    """)
    run = project.run(open_student=broken(error))
    assert set(run.states.values()) == {state}
    told = "maths.py cannot be imported: your code did not finish in 5 seconds"
    assert run.outcomes["test_swallowed"].message.startswith(told)


def test_a_student_that_cannot_be_opened_is_our_fault(project: Project) -> None:
    """No worker is no failure of the student's."""

    @contextmanager
    def open_student(item: Item) -> Iterator[Student]:
        raise OSError("no worker")
        yield

    project.public('@item("total")\ndef test_x(student):\n    pass\n')
    run = project.run(open_student=open_student)
    assert (run.only.state, run.only.detail) == (OURS, "setup: OSError: no worker")


# --- files that cannot be imported


BAD_FILES = [
    (
        "syntax",
        "def greet(name):\n    return (name\n",
        "SyntaxError: '(' was never closed (read by Python {python})\n  toy/words.py:2 in <module>",
    ),
    (
        "indent",
        "def greet(name):\nreturn name\n",
        "IndentationError: expected an indented block after function definition on line 1\n  toy/words.py:2 in <",
    ),
    ("exception", "x = 1\nx / 0\n", "ZeroDivisionError: division by zero\n  toy/words.py:2 in <module>"),
    ("exit", "import sys\nsys.exit('bye')\n", "SystemExit: bye\n  toy/words.py:2 in <module>"),
    (
        "no-such-module",
        "import pandas_of_my_own\n",
        "ModuleNotFoundError: No module named 'pandas_of_my_own'\n  toy/words.py:1",
    ),
    ("nul", "x = 1\0\n", "Error: source code string cannot contain null bytes"),
    ("stub", "raise NotImplementedError('greet')\n", "NotImplementedError: greet\n  toy/words.py:1 in <module>"),
    (
        "magic",
        "x = 1\n%matplotlib inline\n",
        "invalid syntax (a command that only notebooks have) (read by Python {python})\n  toy/words.py:2 in <module>",
    ),
]


@pytest.mark.parametrize(("source", "text"), [row[1:] for row in BAD_FILES], ids=[row[0] for row in BAD_FILES])
def test_a_file_that_cannot_be_imported_costs_its_own_items_only(project: Project, source: str, text: str) -> None:
    """The message names the file and the line; the items of other files are graded as usual."""
    project.student("words", source)
    project.public("""
        @item("total")
        def test_total(student, check):
            check.equal(student.maths.total([1]), 1)

        @item("greet")
        def test_greet(student, check):
            check.equal(student.words.greet("bee"), "hello bee")

        @item("extra")
        def test_extra(student, check):
            check.equal(student.words.extra(), 1)
    """)
    run = project.run()
    assert run.states == {
        "test_total": scores.PASSED,
        "test_greet": scores.CANNOT_IMPORT,
        "test_extra": scores.CANNOT_IMPORT,
    }
    told = run.outcomes["test_greet"].message
    assert told.startswith("words.py cannot be imported: ")
    assert text.replace("{python}", platform.python_version()) in told
    assert "Traceback" not in run.text


def test_an_error_at_import_is_not_the_exception_that_a_test_wants(project: Project) -> None:
    """raise ValueError at the top of a file passes no test that a function raises ValueError."""
    project.student("words", "raise ValueError('at import')\n")
    project.public("""
        @item("greet")
        def test_greet(student):
            with pytest.raises(ValueError):
                student.words.greet(3)
    """)
    run = project.run()
    assert run.only.state == scores.CANNOT_IMPORT
    assert "words.py cannot be imported: ValueError: at import" in run.only.message


# --- liars


LIAR = '''
import numpy as np


class Meta(type):
    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return 0

    def __instancecheck__(cls, other):
        return True


class Liar(metaclass=Meta):
    """Equal to everything, smaller than everything, a number, an array, true, empty and full."""

    shape, ndim, size, dtype = (2,), 1, 2, np.dtype(float)

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return self

    def __bool__(self):
        return True

    def __len__(self):
        return 2

    def __iter__(self):
        return iter([1.0, 1.0])

    def __getitem__(self, index):
        return self

    def __contains__(self, value):
        return True

    def __float__(self):
        return 1.0

    def __int__(self):
        return 1

    __index__ = __int__

    def __complex__(self):
        return 1j

    def __array__(self, *args, **kwargs):
        return np.ones(2)

    def __array_ufunc__(self, *args, **kwargs):
        return True

    def __array_function__(self, *args, **kwargs):
        return True

    def __hash__(self):
        return hash(1.0)

    def __repr__(self):
        return "1.0"

    __str__ = __repr__

    def __reduce__(self):
        return (float, (1.0,))

    @property
    def __class__(self):
        return float


def _same(self, *others):
    return self


def _true(self, other):
    return True


for _name in "add radd sub rsub mul rmul truediv rtruediv matmul pow neg abs round".split():
    setattr(Liar, f"__{_name}__", _same)
for _name in "eq ne lt le gt ge".split():
    setattr(Liar, f"__{_name}__", _true)


class Number(float):
    __eq__ = __le__ = __lt__ = __ge__ = __gt__ = _true
    __hash__ = float.__hash__
    __sub__ = __rsub__ = _same


class Words(list):
    __eq__ = _true
    __hash__ = None


class Text(str):
    __eq__ = _true
    __hash__ = str.__hash__


class Array(np.ndarray):
    def __eq__(self, other):
        return True

    def __array_ufunc__(self, *args, **kwargs):
        return True

    __hash__ = None


def total(numbers):
    return Liar()


def number():
    return Number(3)


def words():
    return Words([1])


def text():
    return Text("a")


def array():
    return np.full(2, 3.0).view(Array)


def nested():
    return [Liar(), {"a": Liar()}]
'''
# what receives the lie; every one of these must fail
RECEIVERS = [
    "assert {x} == 1.0",
    "assert 1.0 == {x}",
    "assert not {x} != 1.0",
    "assert {x}",
    "assert {x} is True",
    "assert bool({x}) is True",
    "assert abs({x} - 1.0) <= 1e-9",
    "assert {x} <= 1.0",
    "assert 0 <= {x} < 2",
    "assert max({x}, 0.0) == 1.0",
    "assert {x} in (1.0, 2.0)",
    "assert 1.0 in {x}",
    "assert len({x}) == 2",
    "assert list({x}) == [1.0, 1.0]",
    "assert float({x}) == 1.0",
    "assert int({x}) == 1",
    "assert [5, 6][{x}] == 6",
    "assert math.isclose({x}, 1.0)",
    "assert round({x}) == 1",
    "assert str({x}) == '1.0'",
    "assert f'{{{x}:.1f}}' == '1.0'",
    "assert isinstance({x}, float)",
    "assert np.allclose({x}, 1.0)",
    "assert np.array_equal({x}, np.ones(2))",
    "assert (np.asarray({x}) == np.ones(2)).all()",
    "assert np.isfinite({x})",
    "assert np.abs({x}) <= 1",
    "assert {x} == pytest.approx(1.0)",
    "assert {x} - {x} == 0",
    "assert not np.ones(2) - {x}",
    "assert {x} == {x}",
    "assert {x}[0] == 1.0",
    "assert {x}.anything == 1.0",
    "assert {x}() == 1.0",
    "assert [{x}] == [1.0]",
    "assert ({x}, 1) == (1.0, 1)",
    "assert {{'a': {x}}} == {{'a': 1.0}}",
    "np.testing.assert_allclose({x}, 1.0)",
    "check.close({x}, 1.0)",
    "check.close({x}, np.ones(2))",
    "check.equal({x}, 1.0)",
    "check.equal({x}, {{}})",
    "check.that({x}, 'it')",
    "check.that({x} == 1.0, 'it')",
    "check.number({x})",
    "check.array({x}, shape=(2,))",
    "check.unpack({x}, 2)",
    "check.gradient({x}, lambda a: a, np.ones(2))",
    "check.close({x} - 1.0, 0.0)",
    "check.close(check.fields({x}, ['shape', 'loss'])['loss'], 1.0)",
    "check.close(student.get({x}), 1.0)",
    "check.module_gradient({x}, lambda a: a, np.ones(2))",
    "check.equal(student.maths.nested(), [1.0, {{'a': 1.0}}])",
    "check.close(student.maths.number(), 1.0)",
    "check.equal(student.maths.number(), 3)",
    "check.equal(student.maths.words(), [1])",
    "check.equal(student.maths.words(), [2])",
    "check.equal(student.maths.text(), 'b')",
    "check.close(student.maths.array(), np.ones(2))",
]


def test_an_object_that_lies_about_everything_fails_every_test_that_receives_it(project: Project) -> None:
    """==, -, <=, bool, len, float, __array__, shape, isinstance: whatever a test does with it, the test fails."""
    lines = ["import math"]
    for index, receiver in enumerate(RECEIVERS):
        body = receiver.format(x="student.maths.total([1])")
        lines += ["", '@item("total")', f"def test_{index}(student, check):", f"    {body}"]
    project.student("maths", LIAR)
    project.public("\n".join(lines))
    run = project.run()
    believed = [RECEIVERS[int(name.removeprefix("test_"))] for name, state in run.states.items() if state != FAILED]
    assert believed == []
    assert len(run.states) == len(RECEIVERS)
    assert run.rows["total"].score == 0.0


def test_stub_of_another_item_is_named() -> None:
    """Code that calls a function of another item that is not written yet is told which, and is not "not started"."""
    told = assignment(item("total"), item("greet"))
    session = SimpleNamespace(assignment=told)
    own = verdict._stub(session, case("total", "test_a"), "total: total")  # type: ignore[arg-type]
    assert (own.state, own.message) == (scores.NOT_STARTED, "total: total")
    other = verdict._stub(session, case("total", "test_a"), "greet: hello")  # type: ignore[arg-type]
    assert other.state == FAILED
    assert other.message == "your code calls hello (item 1.2), which is not written yet"

"""autograder/strip.py and regions.py: what goes, what stays, and what is refused."""

from __future__ import annotations

import textwrap

import pytest

from autograder.regions import StripError, find_regions
from autograder.strip import stamp, stamp_of, strip, without_tests


def code(text: str) -> str:
    """The text without its indentation and without its first line end."""
    return textwrap.dedent(text).removeprefix("\n")


STRIPPED = {
    "function": (
        """
        def f(x):
            '''Doc.'''
            # BEGIN SOLUTION a
            y = x + 1

            return y
            # END SOLUTION
        """,
        """
        def f(x):
            '''Doc.'''
            raise NotImplementedError("a: f")
        """,
    ),
    "method_with_given_code_around": (
        """
        class C:
            @property
            async def f(self):
                # given before
                x = 1  # given
                # BEGIN SOLUTION a
                x += 1
                # END SOLUTION
                return x  # given after
        """,
        """
        class C:
            @property
            async def f(self):
                # given before
                x = 1  # given
                raise NotImplementedError("a: C.f")
                return x  # given after
        """,
    ),
    "nested_function": (
        """
        def outer():
            def inner():
                # BEGIN SOLUTION a
                return 1
                # END SOLUTION
            return inner
        """,
        """
        def outer():
            def inner():
                raise NotImplementedError("a: outer.inner")
            return inner
        """,
    ),
    "one_branch": (
        """
        def f(x):
            if x:
                # BEGIN SOLUTION a
                for y in x:
                    pass
                # END SOLUTION
            else:
                return 2
        """,
        """
        def f(x):
            if x:
                raise NotImplementedError("a: f")
            else:
                return 2
        """,
    ),
    "two_regions_of_two_items": (
        """
        def f(x):
            # BEGIN SOLUTION a
            y = 1
            # END SOLUTION
            if y:
                # BEGIN SOLUTION b
                return 2
                # END SOLUTION
        """,
        """
        def f(x):
            raise NotImplementedError("a: f")
            if y:
                raise NotImplementedError("b: f")
        """,
    ),
    "helper_at_module_level": (
        """
        X = 1


        # BEGIN SOLUTION a
        # how it helps
        @cache
        def helper():
            return 1


        TABLE = 2
        # END SOLUTION


        def f():
            # BEGIN SOLUTION a
            return helper()
            # END SOLUTION
        """,
        """
        X = 1


        def f():
            raise NotImplementedError("a: f")
        """,
    ),
    "helper_at_class_level_and_at_the_end": (
        """
        class C:
            def f(self):
                # BEGIN SOLUTION a
                return self.helper()
                # END SOLUTION

            # BEGIN SOLUTION a
            def helper(self):
                return 1
            # END SOLUTION


        # BEGIN SOLUTION a
        LAST = 1
        # END SOLUTION
        """,
        """
        class C:
            def f(self):
                raise NotImplementedError("a: C.f")
        """,
    ),
    "lines_of_a_string_that_look_like_code": (
        '''
        def f():
            # BEGIN SOLUTION a
            return """
        def g():
            # a comment, or is it?
        """
            # END SOLUTION
        ''',
        """
        def f():
            raise NotImplementedError("a: f")
        """,
    ),
    "comments_in_the_region": (
        """
        def f():
            # BEGIN SOLUTION a
            # first think
        # at no indentation
            return 1
            # then rest
            # END SOLUTION
        """,
        """
        def f():
            raise NotImplementedError("a: f")
        """,
    ),
}


@pytest.mark.parametrize("case", STRIPPED, ids=str)
def test_a_region_becomes_one_raise_or_goes(case):
    """In a function one raise line is left, at the region's indentation; elsewhere nothing is."""
    source, stub = map(code, STRIPPED[case])
    assert strip(source, "m.py") == stub


REFUSED = {
    "begin_without_end": (1, "BEGIN without an END", "# BEGIN SOLUTION a\nx = 1\n"),
    "end_without_begin": (2, "END without a BEGIN", "x = 1\n# END SOLUTION\n"),
    "nested": (
        3,
        "begins at line 2",
        "def f():\n    # BEGIN SOLUTION a\n    # BEGIN SOLUTION b\n    x = 1\n    # END SOLUTION\n    # END SOLUTION\n",
    ),
    "unknown_slug": (2, "'z' is no item", "def f():\n    # BEGIN SOLUTION z\n    x = 1\n    # END SOLUTION\n"),
    "no_slug": (2, "write '# BEGIN SOLUTION slug'", "def f():\n    # BEGIN SOLUTION\n    x = 1\n    # END SOLUTION\n"),
    "end_with_slug": (4, "'# END SOLUTION a'", "def f():\n    # BEGIN SOLUTION a\n    x = 1\n    # END SOLUTION a\n"),
    "lower_case": (2, "'# begin solution a'", "def f():\n    # begin solution a\n    x = 1\n    # END SOLUTION\n"),
    "no_space": (2, "'#BEGIN SOLUTION a'", "def f():\n    #BEGIN SOLUTION a\n    x = 1\n    # END SOLUTION\n"),
    "plural": (2, "SOLUTIONS a'", "def f():\n    # BEGIN SOLUTIONS a\n    x = 1\n    # END SOLUTION\n"),
    "after_code": (2, "a line of its own", "def f():\n    y = 0  # BEGIN SOLUTION a\n    x = 1\n    # END SOLUTION\n"),
    "no_statement": (2, "no whole statement", "def f():\n    # BEGIN SOLUTION a\n    # END SOLUTION\n    x = 1\n"),
    "inside_an_expression": (2, "no whole statement", "x = [\n    # BEGIN SOLUTION a\n    1,\n    # END SOLUTION\n]\n"),
    "docstring": (2, "docstring", "def f():\n    # BEGIN SOLUTION a\n    'Doc.'\n    return 1\n    # END SOLUTION\n"),
    "begins_in_a_branch": (
        3,
        "cuts across blocks",
        "def f(x):\n    if x:\n        # BEGIN SOLUTION a\n        x = 1\n    x = 2\n    # END SOLUTION\n",
    ),
    "from_one_branch_to_the_next": (
        3,
        "cuts across blocks",
        "if X:\n    if x:\n        # BEGIN SOLUTION a\n        x = 1\n    else:\n        y\n        # END SOLUTION\n",
    ),
    "ends_in_a_branch": (
        5,
        "a statement that began in the region",
        "def f(x):\n    # BEGIN SOLUTION a\n    if x:\n        x = 1\n    # END SOLUTION\n    else:\n        x = 2\n",
    ),
    "indentation_of_begin": (2, "indentation", "def f():\n  # BEGIN SOLUTION a\n    return 1\n    # END SOLUTION\n"),
    "indentation_of_end": (2, "indentation", "def f():\n    # BEGIN SOLUTION a\n    return 1\n# END SOLUTION\n"),
    "whole_class_body": (
        2,
        "nothing would be left of C",
        "class C:\n    # BEGIN SOLUTION a\n    x = 1\n    # END SOLUTION\n",
    ),
    "marker_in_a_string": (1, "would still say", "X = '# BEGIN SOLUTION a'\n"),
    "syntax_error": (2, "not valid Python", "x = 1\ny = (\n"),
    "carriage_return": (2, "LF", "x = 1\ny = 2\r\n"),
}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_wrong_markers_are_refused_with_file_and_line(case):
    """Every mistake in the markers is one kind of error, and names its place."""
    line, problem, source = REFUSED[case]
    with pytest.raises(StripError) as refused:
        strip(source, "lm/m.py", items=["a", "b"])
    assert str(refused.value).startswith(f"lm/m.py:{line}: ")
    assert problem in str(refused.value)
    assert (refused.value.file, refused.value.line) == ("lm/m.py", line)


ODD = (
    "# -*- no newline is added -*-\n"
    "'''Module.'''\n"
    "X = 'caf\N{LATIN SMALL LETTER E WITH ACUTE}\N{LINE SEPARATOR}'   \n"
    "\x0c\n"
    "def f(x):   # trailing spaces   \n"
    "\t'''Tabs\n"
    "\n"
    "\tstay.'''\n"
    "\t# before\t\n"
    "\t# BEGIN SOLUTION a\n"
    "\treturn x\n"
    "\t# END SOLUTION\n"
    "\n"
    "\n"
    "\n"
    "# the end, without a line end"
)


def test_everything_outside_stays_byte_for_byte():
    """Comments, blank lines, odd white space and characters, and the missing last line end, are as they were."""
    solution = "\t# BEGIN SOLUTION a\n\treturn x\n\t# END SOLUTION\n"
    assert strip(ODD, "m.py") == ODD.replace(solution, '\traise NotImplementedError("a: f")\n')
    assert strip(ODD, "m.py", keep=None) == ODD.replace(solution, "\treturn x\n")


def test_kept_regions_lose_their_markers_only():
    """Of two items one can be kept."""
    source, _ = map(code, STRIPPED["two_regions_of_two_items"])
    assert strip(source, "m.py", keep={"b"}) == code(
        """
        def f(x):
            raise NotImplementedError("a: f")
            if y:
                return 2
        """
    )


TWO_ITEMS = code(
    """
    '''Module.'''


    def a1(x):
        '''Doc of a1.'''
        # BEGIN SOLUTION a
        return x
        # END SOLUTION


    # on B
    @given
    class B:
        '''Doc of B.'''

        field = 1

        def __init__(self):
            self.x = 1

        def given(self):
            return self.x

        def prob(self):
            '''Doc of prob.'''
            # BEGIN SOLUTION b
            return helper()
            # END SOLUTION
        # about the end of B


    class Both:
        # on b2
        def b2(self):
            # BEGIN SOLUTION b
            return 1
            # END SOLUTION

        def a2(self):
            # BEGIN SOLUTION a
            return 2
            # END SOLUTION

        def b3(self):
            # BEGIN SOLUTION b
            return 3
            # END SOLUTION


    # BEGIN SOLUTION b
    def helper():
        return 1
    # END SOLUTION
    """
)


def test_a_switched_off_item_takes_its_functions_and_classes_along():
    """Docstring, decorators and comments go too; what belongs to other items stays, with its blank lines."""
    assert strip(TWO_ITEMS, "m.py", dropped=["b"]) == code(
        """
        '''Module.'''


        def a1(x):
            '''Doc of a1.'''
            raise NotImplementedError("a: a1")


        class Both:
            def a2(self):
                raise NotImplementedError("a: Both.a2")
        """
    )


def test_switched_off_wins_over_keep():
    """The solution of an item that is off is never kept."""
    assert strip(TWO_ITEMS, "m.py", keep={"b"}, dropped=["b"]) == strip(TWO_ITEMS, "m.py", dropped=["b"])
    assert "helper" not in strip(TWO_ITEMS, "m.py", keep=None, dropped=["b"])


def test_a_class_that_others_use_stays_without_the_function():
    """Only the function goes when another place names the class."""
    used = TWO_ITEMS + "\n\nNAMES = [B]\n"
    stub = strip(used, "m.py", dropped=["b"])
    assert "class B:" in stub
    assert "def given" in stub
    assert "prob" not in stub


def test_a_function_of_an_item_that_is_on_and_one_that_is_off_is_refused():
    """It can neither stay nor go."""
    source, _ = map(code, STRIPPED["two_regions_of_two_items"])
    with pytest.raises(StripError, match=r"m\.py:6: f mixes 'b', which is off, with 'a', which is on"):
        strip(source, "m.py", dropped=["b"])


def test_a_block_that_would_be_empty_is_refused():
    """A switched-off function must not be all that an ``if`` holds."""
    source = "if X:\n    def f():\n        # BEGIN SOLUTION a\n        return 1\n        # END SOLUTION\n"
    with pytest.raises(StripError, match=r"m\.py:1: the stub would not be valid Python"):
        strip(source, "m.py", dropped=["a"])


def test_regions_know_their_place():
    """Slug, lines and the name of the function around."""
    _, regions = find_regions(TWO_ITEMS, "m.py")
    assert [(r.slug, r.name, r.function is None) for r in regions] == [
        ("a", "a1", False),
        ("b", "B.prob", False),
        ("b", "Both.b2", False),
        ("a", "Both.a2", False),
        ("b", "Both.b3", False),
        ("b", "", True),
    ]
    assert (regions[0].first, regions[0].last) == (6, 8)


TESTS = code(
    """
    from autograder.feedback import item

    WORDS = 1


    @item("a")
    def test_one(student):
        '''One.'''


    # about two
    @item("b")
    @weight(2)
    def test_two(student):
        '''Two.'''
        assert student


    def helper():
        return 1
    """
)


def test_tests_of_a_switched_off_item_go():
    """Helpers and the tests of other items stay."""
    assert without_tests(TESTS, "t.py", ["b"]) == TESTS.replace(
        "# about two\n@item(\"b\")\n@weight(2)\ndef test_two(student):\n    '''Two.'''\n    assert student\n\n\n", ""
    )


def test_a_test_file_without_tests_goes():
    """Nothing is left of a file whose every test is about items that are off."""
    assert without_tests(TESTS, "t.py", ["a", "b"]) == ""
    assert without_tests(TESTS, "t.py", []) == TESTS


def test_the_stamp_can_be_read_back():
    """Also when a student has put a few lines above it; else there is none."""
    assert stamp_of(stamp("x = 1\n", "2026.11")) == "2026.11"
    assert stamp_of("# mine\n\n" + stamp("x = 1\n", "2027.2b")) == "2027.2b"
    assert stamp_of("x = 1\n") is None
    assert stamp("x = 1\n", "1").split("\n", 1)[1] == "x = 1\n"

"""An object that lies about everything, returned by every function of the package, earns nothing anywhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder.build import package_members
from autograder.feedback import scores
from autograder.feedback.assignment import load_assignment
from tests.staff.runs import ROOT, read_inline, run_and_read, write_submission

LIAR = '''

class Liar:
    """Equal to everything, true, within every bound, of every shape, and every number that is wanted."""

    shape = size = ndim = order = property(lambda self: self)
    __class__ = property(lambda self: float)
    __array_priority__ = 1e9

    def lie(self, *arguments, **keywords):
        return True

    def itself(self, *arguments, **keywords):
        return self

    def array(self, *arguments, **keywords):
        import numpy
        return numpy.zeros(())

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __contains__ = __instancecheck__ = lie
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = itself
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __neg__ = __abs__ = __mod__ = __rmod__ = itself
    __getitem__ = __call__ = __enter__ = __round__ = __array_ufunc__ = __array_function__ = itself
    __array__ = array

    def __getattr__(self, name):
        return self

    def __setitem__(self, key, value):
        pass

    def __hash__(self):
        return 1

    def __len__(self):
        return 1

    def __iter__(self):
        return iter([self])

    def __float__(self):
        return 0.0

    def __int__(self):
        return 0

    __index__ = __int__

    def __repr__(self):
        return "0.0"

    __str__ = __repr__

    def __reduce__(self):
        return (float, ())
'''


@pytest.fixture(scope="module")
def liars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The handout, with every stub returning a liar instead."""
    assignment = load_assignment(ROOT / "assignment.toml")
    stubs = package_members(ROOT, assignment, ())
    lying = {}
    for name in assignment.files:
        if not name.endswith(".py"):
            lying[name] = "a Liar"
            continue
        source = stubs[f"{assignment.package}/{name}"].content.decode()
        source, count = re.subn(r"raise NotImplementedError\(.*\)", "return Liar()", source)
        assert count > 0
        lying[name] = source + LIAR
    return write_submission(tmp_path_factory.mktemp("liars") / "submission", ROOT, lying)


@pytest.fixture(scope="module")
def whole(liars: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a package that can be imported as it is: with the given files."""
    assignment = load_assignment(ROOT / "assignment.toml")
    folder = tmp_path_factory.mktemp("whole")
    for path, member in package_members(ROOT, assignment, ()).items():
        target = folder / path
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(member.content)
    for name in assignment.files:
        (folder / assignment.package / name).write_bytes((liars / assignment.package / name).read_bytes())
    return folder


def test_liars_earn_nothing(whole: Path) -> None:
    """Every graded test fails, no item gets a point, and the grader itself does not stumble."""
    run = read_inline(whole)
    assert {name for name, state in run.tests.items() if state != scores.FAILED} == set()
    assert run.total == 0
    python = {item.slug for item in load_assignment(ROOT / "assignment.toml").items if item.file.endswith(".py")}
    unseen = {slug for slug in python if "Liar" not in run.rows[slug].output}
    assert unseen == {"tape_backward"}  # whose function returns nothing: nobody looks at what it returns


def test_nor_does_one_in_a_worker(liars: Path) -> None:
    """The same over the wire, on an item of each file."""
    one_a_file = {item.file: item.slug for item in load_assignment(ROOT / "assignment.toml").items}
    run = run_and_read(liars, items=list(one_a_file.values()))
    tried = {name: state for name, state in run.tests.items() if state != scores.NOT_RUN}
    assert len(tried) > 2 * len(one_a_file)
    assert {name for name, state in tried.items() if state != scores.FAILED} == set()
    assert run.total == 0
    assert not run.failed

"""feedback/facts.py: what lies beside the tests of a handout; untouched files are known without running them."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.feedback.facts import FILE, Facts, digest, facts_in

STUBS = b"""def double(x):
    raise NotImplementedError("double: double")


class Mean:
    def of(self, values):
        raise NotImplementedError("mean: Mean.of")
"""


BROKEN = {
    "empty": "",
    "a-list": "[]",
    "nothing-in-it": "{}",
    "no-table": '{"shares": 3, "stubs": {}}',
    "no-number": '{"shares": {"a": "x"}, "stubs": {}}',
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with one file, as it was handed out."""
    (tmp_path / "pocket").mkdir()
    (tmp_path / "pocket/alpha.py").write_bytes(STUBS)
    return tmp_path / "pocket"


def test_an_untouched_file_tells_its_stubs(package: Path) -> None:
    """The first of each item; line ends and a byte order mark of an editor change nothing."""
    facts = Facts({}, {"alpha.py": digest(STUBS)})
    assert facts.stub_of(package, "alpha.py", "double") == "double: double"
    assert facts.stub_of(package, "alpha.py", "mean") == "mean: Mean.of"
    (package / "alpha.py").write_bytes(b"\xef\xbb\xbf" + STUBS.replace(b"\n", b"\r\n"))
    assert facts.stub_of(package, "alpha.py", "mean") == "mean: Mean.of"


def test_nothing_is_known_of_a_file_that_was_touched(package: Path) -> None:
    """Not even of the items whose stubs are still there; nor of one that is gone, or was never known."""
    facts = Facts({}, {"alpha.py": digest(STUBS), "beta.py": digest(STUBS)})
    (package / "alpha.py").write_bytes(STUBS + b"\n\nhelper = 1\n")
    assert facts.stub_of(package, "alpha.py", "mean") is None
    assert facts.stub_of(package, "beta.py", "double") is None
    assert Facts().stub_of(package, "alpha.py", "double") is None


def test_facts_come_back_as_they_were_written(tmp_path: Path) -> None:
    """Shares with four decimals."""
    facts = Facts({"double": 0.25, "mean": 1 / 3}, {"alpha.py": digest(STUBS)})
    (tmp_path / FILE).write_text(facts.as_text(), encoding="utf-8")
    assert facts_in(tmp_path) == Facts({"double": 0.25, "mean": 0.3333}, facts.stubs)


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_tells_nothing(tmp_path: Path, text: str) -> None:
    """As a missing one."""
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    assert facts_in(tmp_path) == facts_in(tmp_path / "nowhere") == Facts()

"""autograder/archive.py: the same bytes everywhere, and files and folders that are whole or as they were."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from autograder.archive import Member, read_tree, write_file, write_tree, write_zip, zip_bytes
from autograder.feedback.errors import InputError

NOTHING = re.compile(r"(?!)")  # matches no name
MEMBERS = {
    "run_autograder": Member(b"#!/bin/sh\necho\n", 0o755),
    "b/c.py": Member(b"x = 1\n"),
    "a.txt": Member(b"text\n" * 100),
    "secret": Member(b"\0\xff", 0o600),
}


def names(folder: Path) -> list[str]:
    """Everything in a folder, hidden things too."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def no_space(*_: object) -> None:
    """Stands in for a call that fails on a full disk."""
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_zip_depends_on_its_members_alone(tmp_path, monkeypatch):
    """Order, umask, time zone, clock and SOURCE_DATE_EPOCH leave no trace."""
    before = os.umask(0o000)
    try:
        first = write_zip(tmp_path / "1.zip", MEMBERS)
        os.umask(0o077)
        for name, value in (("TZ", "Pacific/Apia"), ("SOURCE_DATE_EPOCH", "1700000000")):
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(time, "time", lambda: 2e9)
        second = write_zip(tmp_path / "2.zip", dict(reversed(MEMBERS.items())))
    finally:
        os.umask(before)
    assert first == second == (tmp_path / "1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes()
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o644}


def test_entries_are_stored_sorted_dated_and_from_unix(tmp_path):
    """So that no zlib, no clock and no system shows."""
    write_zip(tmp_path / "x.zip", MEMBERS)
    with zipfile.ZipFile(tmp_path / "x.zip") as opened:
        entries = opened.infolist()
        assert opened.testzip() is None
        assert {entry.filename: opened.read(entry) for entry in entries} == {n: m.content for n, m in MEMBERS.items()}
    assert [entry.filename for entry in entries] == ["a.txt", "b/c.py", "run_autograder", "secret"]
    assert {entry.compress_type for entry in entries} == {zipfile.ZIP_STORED}
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {entry.create_system for entry in entries} == {3}
    assert [entry.external_attr >> 16 for entry in entries] == [
        stat.S_IFREG | mode for mode in (0o644, 0o644, 0o755, 0o600)
    ]


def test_a_zip_made_on_windows_has_modes_too(monkeypatch):
    """Python would say that it comes from a system without them."""
    expected = zip_bytes(MEMBERS)
    monkeypatch.setattr(sys, "platform", "win32")
    assert zip_bytes(MEMBERS) == expected


def test_the_bytes_are_these():
    """A change of Python or of this module that changes every zip is seen."""
    local = "504b0304 1400 0000 0000 0000 2100 f9efbe71 01000000 01000000 0100 0000 61 62"
    central = "504b0102 1403 1400 0000 0000 0000 2100 f9efbe71 01000000 01000000 0100"
    central += "0000 0000 0000 0000 0000a481 00000000 61"
    end = "504b0506 0000 0000 0100 0100 2f000000 20000000 0000"
    assert zip_bytes({"a": Member(b"b")}) == bytes.fromhex(local + central + end)


def test_unzip_gives_files_their_modes(tmp_path):
    """The platform's own tool sees the exec bit; Python's zipfile would not set it."""
    write_zip(tmp_path / "x.zip", MEMBERS)
    tool = shutil.which("unzip") or shutil.which("bsdtar")
    if tool is not None:  # the attributes themselves are looked at above
        options = ["-q", "x.zip", "-d"] if tool.endswith("unzip") else ["-xf", "x.zip", "-C"]
        (tmp_path / "out").mkdir()
        subprocess.run([tool, *options, "out"], cwd=tmp_path, check=True)
        modes = {name: stat.S_IMODE((tmp_path / "out" / name).stat().st_mode) for name in MEMBERS}
        assert modes == {name: member.mode for name, member in MEMBERS.items()}


BAD_NAMES = {
    "absolute": "/etc/passwd",
    "parent": "../x",
    "parent_inside": "a/../../x",
    "dot": "a/./x",
    "empty": "",
    "empty_part": "a//x",
    "folder": "a/",
    "backslash": "a\\x",
    "drive": "C:x",
    "nul": "a\0b",
    "line_end": "a\n",
    "space": "a b",
    "not_ascii": "\N{CJK UNIFIED IDEOGRAPH-4E2D}.md",
    "dot_at_the_end": "a.",
    "windows_device": "lib/aux.py",
}


@pytest.mark.parametrize("case", BAD_NAMES, ids=str)
def test_names_that_are_not_the_same_everywhere_are_refused(case, tmp_path):
    """By zip and folder alike, before anything is written."""
    members = {"good": Member(b""), BAD_NAMES[case]: Member(b"")}
    for write in (write_zip, write_tree):
        with pytest.raises(InputError, match="cannot be the name of a file"):
            write(tmp_path / "x", members)
    assert names(tmp_path) == []


CLASHES = {
    "case": (["lm/a.py", "lm/A.py"], "differ in case only"),
    "file_and_folder": (["lm", "lm/a.py"], "lm is a file as well"),
    "folder_in_other_case": (["LM", "lm/a.py"], "lm is a file as well"),
}


@pytest.mark.parametrize("case", CLASHES, ids=str)
def test_names_that_clash_are_refused(case):
    """Two names that one file system or another takes for one."""
    clash, problem = CLASHES[case]
    with pytest.raises(InputError, match=problem):
        zip_bytes(dict.fromkeys(clash, Member(b"")))


def test_other_modes_are_refused():
    """Nothing is setuid or writable for all by mistake."""
    with pytest.raises(InputError, match="a: mode 0o4755"):
        zip_bytes({"a": Member(b"", 0o4755)})


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"], ids=str)
def test_a_file_that_cannot_be_written_is_as_it_was(call, tmp_path, monkeypatch):
    """One clear line, the old bytes, and nothing left beside them."""
    write_file(tmp_path / "x.zip", b"old")
    monkeypatch.setattr(os, call, no_space)
    with pytest.raises(InputError, match=r"x\.zip: No space left on device"):
        write_zip(tmp_path / "x.zip", MEMBERS)
    assert names(tmp_path) == ["x.zip"]
    assert (tmp_path / "x.zip").read_bytes() == b"old"


def test_a_file_in_the_way_of_a_folder_is_one_line(tmp_path):
    """Not a traceback."""
    (tmp_path / "dist").write_bytes(b"")
    with pytest.raises(InputError, match="dist"):
        write_file(tmp_path / "dist" / "x.zip", b"new")


def test_a_tree_holds_its_members_and_nothing_else(tmp_path):
    """Stale files and folders go; modes are explicit, whatever the umask."""
    folder = tmp_path / "handout"
    (folder / "old" / "deep").mkdir(parents=True)
    (folder / "old" / "deep" / "x").write_bytes(b"stale")
    (folder / "a.txt").write_bytes(b"stale")
    before = os.umask(0o077)
    try:
        write_tree(folder, MEMBERS)
    finally:
        os.umask(before)
    assert names(tmp_path) == ["handout", *(f"handout/{name}" for name in sorted([*MEMBERS, "b"]))]
    assert read_tree(folder, NOTHING) == {name: member.content for name, member in MEMBERS.items()}
    modes = {name: stat.S_IMODE((folder / name).stat().st_mode) for name in [*MEMBERS, "b", "."]}
    assert modes == {**{name: member.mode for name, member in MEMBERS.items()}, "b": 0o755, ".": 0o755}


@pytest.mark.parametrize("failing", ["a write", "the first rename", "the second rename"], ids=lambda text: text[-12:])
def test_a_tree_that_cannot_be_written_is_as_it_was(failing, tmp_path, monkeypatch):
    """Never half: the old files, and nothing left beside them."""
    folder = tmp_path / "handout"
    write_tree(folder, {"old": Member(b"old")})
    real = os.rename
    renames = []

    def rename(source: object, target: object) -> None:
        renames.append(target)
        if len(renames) == {"the first rename": 1, "the second rename": 2}[failing]:
            no_space()
        real(source, target)  # type: ignore[arg-type]

    if failing == "a write":
        monkeypatch.setattr(Path, "write_bytes", no_space)
    else:
        monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(InputError, match="handout: No space left on device"):
        write_tree(folder, MEMBERS)
    assert names(tmp_path) == ["handout", "handout/old"]


def test_a_run_that_was_killed_between_its_renames_is_put_right(tmp_path, monkeypatch):
    """The old tree stands beside its place: the next run puts it back before anything else."""
    folder = tmp_path / "handout"
    write_tree(folder, {"old": Member(b"old")})
    folder.rename(tmp_path / ".handout.old")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", no_space)
        with pytest.raises(InputError):
            write_tree(folder, MEMBERS)
    assert names(tmp_path) == ["handout", "handout/old"]
    write_tree(folder, {"new": Member(b"new")})
    assert names(tmp_path) == ["handout", "handout/new"]


def test_old_files_of_a_killed_run_do_not_replace_newer_ones(tmp_path):
    """Killed after its second rename: the new tree stays, the old one goes."""
    folder = tmp_path / "handout"
    write_tree(folder, {"new": Member(b"new")})
    write_tree(tmp_path / ".handout.old", {"old": Member(b"old")})
    with pytest.raises(InputError):
        write_tree(folder, {"a": Member(b""), "a/b": Member(b"")})
    assert names(folder) == ["new"]
    write_tree(folder, {"newest": Member(b"newest")})
    assert names(tmp_path) == ["handout", "handout/newest"]


@pytest.mark.parametrize("kind", ["file", "link"], ids=str)
def test_a_tree_replaces_nothing_but_a_folder(kind, tmp_path):
    """A file or a link in its place is somebody's: it stays."""
    (tmp_path / "elsewhere").mkdir()
    if kind == "file":
        (tmp_path / "handout").write_bytes(b"mine")
    else:
        (tmp_path / "handout").symlink_to(tmp_path / "elsewhere")
    before = names(tmp_path)
    with pytest.raises(InputError, match="in the way"):
        write_tree(tmp_path / "handout", MEMBERS)
    assert names(tmp_path) == before


def test_reading_passes_over_what_it_is_told_and_refuses_links(tmp_path):
    """A link could lead anywhere."""
    write_tree(tmp_path / "x", {"a/__pycache__/b.pyc": Member(b""), "a/c": Member(b"c"), "__pycache__d": Member(b"d")})
    assert read_tree(tmp_path / "x", re.compile("__pycache__")) == {"a/c": b"c", "__pycache__d": b"d"}
    (tmp_path / "x" / "a" / "link").symlink_to("/etc/hostname")
    with pytest.raises(InputError, match="link is no regular file"):
        read_tree(tmp_path / "x", NOTHING)

"""Taking a submission: what is found, what is refused and in which words, and that nothing else is touched."""

from __future__ import annotations

import os
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from autograder import submission, upload
from autograder.feedback.assignment import Assignment, load_assignment
from autograder.feedback.errors import InputError
from autograder.submission import Taken, take

GOOD = b"def count():\n    return 1\n"
GIVEN = ("__init__.py", "types.py", "corpus.py")
TOML = """
[assignment]
title = "T"
title_zh = "T"
version = "1"
package = "lm"

[files]
"ngram.py" = 2
"metrics.py" = 2
"weights.npz" = 4

[[parts]]
slug = "part"
number = "1"
title = "P"
title_zh = "P"

[[parts.items]]
slug = "mle"
title = "I"
title_zh = "I"
points = 1
file = "ngram.py"
"""

Files = Mapping[str, "bytes | str"]  # a text is the target of a link


@pytest.fixture
def assignment(tmp_path: Path) -> Assignment:
    path = tmp_path / "assignment.toml"
    path.write_text(TOML, encoding="utf-8")
    return load_assignment(path)


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "into"
    folder.mkdir()
    return folder


@pytest.fixture
def taking(tmp_path: Path, assignment: Assignment, into: Path) -> Callable[[Files], Taken]:
    """Takes a folder with the given files."""

    def run(files: Files) -> Taken:
        return take(make_folder(tmp_path / "handed-in", files), assignment, into, GIVEN)

    return run


def make_folder(folder: Path, files: Files) -> Path:
    folder.mkdir()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content)
    return folder


def make_zip(path: Path, files: Files, method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo("placeholder")
            info.filename = name  # as it is: ZipInfo itself would change a backslash or a NUL
            info.compress_type = method
            if isinstance(content, str):
                info.external_attr = (stat.S_IFLNK | 0o777) << 16
                content = content.encode()
            archive.writestr(info, content)
    return path


def sparse(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        file.truncate(size)
    return path


def pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def written(into: Path) -> dict[str, bytes]:
    return {path.relative_to(into).as_posix(): path.read_bytes() for path in into.rglob("*") if path.is_file()}


# --- what is found ----------------------------------------------------------------------------------------------

ALL_TAKEN = ("ngram.py", "metrics.py", "weights.npz")
LAYOUTS = {
    "flat": {"ngram.py": GOOD, "metrics.py": GOOD, "weights.npz": b"\0"},
    "in the package": {"lm/ngram.py": GOOD, "lm/metrics.py": GOOD, "lm/weights.npz": b"\0", "README.md": b""},
    "package alone": {"lm/ngram.py": GOOD, "lm/metrics.py": GOOD, "lm/weights.npz": b"\0"},
    "some here, some there": {"ngram.py": GOOD, "lm/metrics.py": GOOD, "weights.npz": b"\0"},
    "one folder around": {"hw1/ngram.py": GOOD, "hw1/metrics.py": GOOD, "hw1/weights.npz": b"\0"},
    "two folders around, and a Mac's leavings": {
        "hw/.DS_Store": b"\0",
        "hw/hw1/ngram.py": GOOD,
        "hw/hw1/lm/metrics.py": GOOD,
        "hw/hw1/weights.npz": b"\0",
        "__MACOSX/hw/._hw1": b"\0",
        "__MACOSX/hw/hw1/._ngram.py": b"\0",
        ".DS_Store": b"\0",
        "hw/Thumbs.db": b"\0",
        "hw/__pycache__/x.pyc": b"\0",
        ".git/config": b"",
        ".vscode/settings.json": b"",
    },
}


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize("files", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_every_usual_layout_is_understood(
    tmp_path: Path, assignment: Assignment, into: Path, files: Files, kind: str
) -> None:
    """Flat or in the package, with or without folders around it, as a folder or as a zip: all files are taken."""
    path = make_folder(tmp_path / "s", files) if kind == "folder" else make_zip(tmp_path / "s.zip", files)
    taken = take(path, assignment, into, GIVEN)
    assert (taken.files, taken.missing, taken.rejected) == (ALL_TAKEN, (), {})
    assert written(into) == {"lm/ngram.py": GOOD, "lm/metrics.py": GOOD, "lm/weights.npz": b"\0"}


def test_unwrapping_is_said(taking: Callable[[Files], Taken]) -> None:
    """A student reads in which folder we looked."""
    assert taking({"hw/hw1/ngram.py": GOOD, ".DS_Store": b""}).notes == (
        "the files were looked for in hw/hw1/, the only folder inside",
    )


def test_of_two_copies_the_one_in_the_package_counts(taking: Callable[[Files], Taken], into: Path) -> None:
    """The rule is fixed, and a note says it."""
    taken = taking({"ngram.py": b"here = 1\n", "lm/ngram.py": b"inside = 1\n"})
    assert written(into) == {"lm/ngram.py": b"inside = 1\n"}
    assert taken.notes == ("ngram.py was handed in twice: lm/ngram.py counts, the one beside lm/ does not",)


def test_only_submission_files_are_written(taking: Callable[[Files], Taken], into: Path) -> None:
    """Whatever else lies there stays there, with modes that a worker can read."""
    before = os.umask(0o077)
    try:
        taking({"ngram.py": GOOD, "lm/types.py": GOOD, "conftest.py": GOOD, "lm/__init__.py": GOOD, "x/y/z.py": GOOD})
    finally:
        os.umask(before)
    assert written(into) == {"lm/ngram.py": GOOD}
    assert stat.S_IMODE((into / "lm").stat().st_mode) == 0o755
    assert stat.S_IMODE((into / "lm/ngram.py").stat().st_mode) == 0o644


def test_hundreds_of_other_files_do_not_matter(tmp_path: Path, assignment: Assignment, into: Path) -> None:
    """Stray files and a gigabyte beside the right one are not read and take few words."""
    folder = make_folder(tmp_path / "s", {"ngram.py": GOOD, "data/0": b"", **{f"{i}.so": b"" for i in range(500)}})
    sparse(folder / "model.ckpt", 1_000_000_000)
    taken = take(folder, assignment, into)
    assert taken.files == ("ngram.py",)
    assert len(taken.notes) == 1


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        pytest.param(b"\xef\xbb\xbfx = 1\n", b"x = 1\n", id="byte order mark removed"),
        pytest.param(b"x = 1\r\ny = 2\r\n", b"x = 1\r\ny = 2\r\n", id="windows line ends kept"),
        pytest.param("x = 'é 好'\n".encode(), "x = 'é 好'\n".encode(), id="utf-8"),
        pytest.param(b"def broken(:\n", b"def broken(:\n", id="a syntax error is for its tests to say"),
        pytest.param(b"%matplotlib inline\n", b"%matplotlib inline\n", id="a notebook's magic is a syntax error too"),
        pytest.param(b"x" * 2000, b"x" * 2000, id="exactly the cap"),
    ],
)
def test_text_is_taken(taking: Callable[[Files], Taken], into: Path, content: bytes, kept: bytes) -> None:
    """What Python itself reads, or what only its own tests should judge, is taken."""
    assert taking({"ngram.py": content}).rejected == {}
    assert written(into)["lm/ngram.py"] == kept


# --- named rejects ----------------------------------------------------------------------------------------------

NOTEBOOK = b'{\n "cells": [\n  {"cell_type": "code", "source": ["x = 1"]}\n ],\n "nbformat": 4\n}\n'
REJECTS = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\n\t\n", "is empty"),
    "byte order mark alone": (b"\xef\xbb\xbf", "is empty"),
    "too large": (b"x" * 2001, "is 2.001 kB; at most 2 kB are taken"),
    "far too large": (b"x" * 200_000, "is 200 kB; at most 2 kB are taken"),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "is a PDF document, not a Python file"),
    "notebook": (NOTEBOOK, "is a Jupyter notebook; export it as a Python file (.py)"),
    "zip": (b"PK\x03\x04\x14\x00", "is a zip archive or an office document, not a Python file"),
    "gzip": (b"\x1f\x8b\x08\x00", "is a gzip archive, not a Python file"),
    "rich text": (b"{\\rtf1\\ansi x = 1}", "is a rich text document; save it as plain text"),
    "web page": (b"\n<!DOCTYPE html>\n<html>", "is a web page; download the file itself (the raw file)"),
    "utf-16 little": ("x = 1\n".encode("utf-16"), "is UTF-16 text; save it as UTF-8"),
    "utf-16 big": (b"\xfe\xff" + "x = 1\n".encode("utf-16-be"), "is UTF-16 text; save it as UTF-8"),
    "nul byte": (b"x = 1\ny = '\0'\n", "is not text: it has a NUL byte in line 2"),
    "latin-1": ("# first\n# café\n".encode("latin-1"), "is not UTF-8 text (line 2); save it as UTF-8"),
    "gbk": ("# 统计\n".encode("gbk"), "is not UTF-8 text (line 1); save it as UTF-8"),
    "link": ("../secret.py", "is a link; hand in the file itself"),
    "link to nothing": ("nowhere", "is a link; hand in the file itself"),
}


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize(("content", "message"), REJECTS.values(), ids=REJECTS.keys())
def test_an_unusable_file_is_refused_in_one_line(
    tmp_path: Path, assignment: Assignment, into: Path, kind: str, content: bytes | str, message: str
) -> None:
    """The file is refused in words that say what to do; the other file is taken, and nothing of the first."""
    (tmp_path / "secret.py").write_bytes(b"secret = 1\n")
    files = {"ngram.py": content, "metrics.py": GOOD}
    path = make_folder(tmp_path / "s", files) if kind == "folder" else make_zip(tmp_path / "s.zip", files)
    taken = take(path, assignment, into, GIVEN)
    assert taken.rejected == {"ngram.py": message}
    assert (taken.files, taken.missing) == (("metrics.py",), ("weights.npz",))
    assert written(into) == {"lm/metrics.py": GOOD}


def test_binary_files_are_not_judged_as_text(taking: Callable[[Files], Taken]) -> None:
    """A file that is not .py has a cap and nothing else."""
    assert taking({"weights.npz": b"PK\x03\x04\0\xff"}).files == ("weights.npz",)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(lambda path: path.mkdir(), "is a folder, not a file", id="folder"),
        pytest.param(pipe, "is not a regular file", id="pipe"),
        pytest.param(lambda path: sparse(path, 10**12), "is 1000.0 GB; at most 2 kB are taken", id="terabyte"),
    ],
)
def test_an_odd_entry_is_refused(
    tmp_path: Path, assignment: Assignment, into: Path, make: Callable[[Path], object], message: str
) -> None:
    """A folder, a pipe without a writer and a sparse terabyte are refused without being read."""
    folder = make_folder(tmp_path / "s", {"metrics.py": GOOD})
    make(folder / "ngram.py")
    assert take(folder, assignment, into).rejected == {"ngram.py": message}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(lambda path: path.symlink_to("../secret.py"), "cannot be read", id="link"),
        pytest.param(pipe, "is not a regular file", id="pipe"),
    ],
)
def test_what_is_swapped_in_after_the_listing_is_refused(
    tmp_path: Path, make: Callable[[Path], object], message: str
) -> None:
    """Opening itself refuses links and pipes: the listing is not what keeps them out."""
    (tmp_path / "secret.py").write_bytes(b"secret = 1\n")
    make(make_folder(tmp_path / "s", {}) / "ngram.py")
    with upload.open_upload(tmp_path / "s") as opened, pytest.raises(upload.UnusableError, match=message):
        opened.read((), "ngram.py", 2000)


def test_a_size_that_lies_is_found_while_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that grows after its size was asked for: one byte over the cap is read, and no more."""
    make_folder(tmp_path / "s", {"ngram.py": b"x" * 9000})
    nothing = os.stat_result((stat.S_IFREG, *[0] * 9))
    monkeypatch.setattr(os, "fstat", lambda descriptor: nothing)
    with upload.open_upload(tmp_path / "s") as opened, pytest.raises(upload.UnusableError, match=r"is 2\.001 kB"):
        opened.read((), "ngram.py", 2000)


def test_a_linked_package_folder_is_not_entered(taking: Callable[[Files], Taken], tmp_path: Path) -> None:
    """lm -> the solutions gives nothing."""
    make_folder(tmp_path / "solutions", {"ngram.py": b"secret = 1\n"})
    taken = taking({"lm": "../solutions", "metrics.py": GOOD})
    assert taken.files == ("metrics.py",)
    assert "lm was not used: links are not followed" in taken.notes


def test_a_loop_of_links_ends(taking: Callable[[Files], Taken]) -> None:
    """A folder that contains itself by a link is looked at once."""
    assert taking({"hw/loop": "..", "hw/ngram.py": GOOD}).files == ("ngram.py",)


# --- zips -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["../ngram.py", "/ngram.py", "a/../../ngram.py", "..\\ngram.py", "C:\\ngram.py", "\\\\host\\ngram.py", ""],
    ids=["parent", "absolute", "parent inside", "backslash parent", "drive", "share", "no name"],
)
def test_a_member_that_leads_out_is_left_out(tmp_path: Path, assignment: Assignment, into: Path, name: str) -> None:
    """Its name is refused, the note names it, nothing is written outside."""
    path = make_zip(tmp_path / "s.zip", {name: b"evil = 1\n", "metrics.py": GOOD})
    taken = take(path, assignment, into)
    assert taken.missing == ("ngram.py", "weights.npz")
    assert f"{name!r} was left out: its name leads out of the archive" in taken.notes
    assert written(tmp_path / "into") == {"lm/metrics.py": GOOD}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["assignment.toml", "into", "s.zip"]


def test_a_member_in_very_many_folders_is_left_out(tmp_path: Path, assignment: Assignment, into: Path) -> None:
    """A name of 64 kB can have 32,000 folders, and each would cost memory."""
    path = make_zip(tmp_path / "s.zip", {"a/" * 30_000 + "ngram.py": GOOD, "metrics.py": GOOD})
    taken = take(path, assignment, into)
    assert taken.files == ("metrics.py",)
    assert taken.notes[-1].endswith("was left out: it lies more than 20 folders deep")


def test_backslashes_are_folders(tmp_path: Path, assignment: Assignment, into: Path) -> None:
    """Some Windows tools write them."""
    assert take(make_zip(tmp_path / "s.zip", {"hw\\lm\\ngram.py": GOOD}), assignment, into).files == ("ngram.py",)


def test_of_two_members_of_one_name_the_last_counts(tmp_path: Path, assignment: Assignment, into: Path) -> None:
    """As for everybody who unpacks it, with a note."""
    path = make_zip(tmp_path / "s.zip", {"ngram.py": b"first = 1\n"})
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("ngram.py", b"second = 1\n")
    assert take(path, assignment, into).notes == ("ngram.py is in the archive twice: the last one counts",)
    assert written(into) == {"lm/ngram.py": b"second = 1\n"}


def patched(path: Path, old: bytes, new: bytes, count: int = -1) -> Path:
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, count))
    return path


def encrypted(path: Path) -> Path:
    make_zip(path, {"ngram.py": GOOD})
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    path.write_bytes(content)
    return path


def bomb_that_lies(path: Path) -> Path:
    """A million zeros that claim to be 100 bytes."""
    make_zip(path, {"ngram.py": b"0" * 1_000_000})
    return patched(path, struct.pack("<I", 1_000_000), struct.pack("<I", 100))


DAMAGED = "is damaged in the archive; make the zip again"
ZIP_REJECTS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "encrypted": (encrypted, "is encrypted; make the archive without a password"),
    "bomb": (lambda path: make_zip(path, {"ngram.py": b"0" * 5_000_000}), "is 5.0 MB; at most 2 kB are taken"),
    "bomb that lies": (bomb_that_lies, DAMAGED),
    "wrong checksum": (
        lambda path: patched(
            make_zip(path, {"ngram.py": GOOD}, zipfile.ZIP_STORED), struct.pack("<I", zlib.crc32(GOOD)), b"\1\2\3\4"
        ),
        DAMAGED,
    ),
    "changed content": (
        lambda path: patched(make_zip(path, {"ngram.py": GOOD}, zipfile.ZIP_STORED), b"return 1", b"return 2"),
        DAMAGED,
    ),
    "broken stream": (
        lambda path: patched(make_zip(path, {"ngram.py": GOOD * 40}), b"ngram.py", b"ngram.py\xff\xff\xff\xff", 1),
        DAMAGED,
    ),
    "header elsewhere": (
        lambda path: patched(make_zip(path, {"ngram.py": GOOD}), b"ngram.py", b"ngrbm.py", 1),
        DAMAGED,
    ),
    "lzma": (
        lambda path: make_zip(path, {"ngram.py": GOOD}, zipfile.ZIP_LZMA),
        "is compressed in an unusual way; make an ordinary zip",
    ),
}


@pytest.mark.parametrize(("make", "message"), ZIP_REJECTS.values(), ids=ZIP_REJECTS.keys())
def test_an_unusable_member_is_refused_in_one_line(
    tmp_path: Path, assignment: Assignment, into: Path, make: Callable[[Path], Path], message: str
) -> None:
    """What a zip says about a member is checked while it is read."""
    taken = take(make(tmp_path / "s.zip"), assignment, into)
    assert taken.rejected == {"ngram.py": message}
    assert written(into) == {}


# --- bad input --------------------------------------------------------------------------------------------------


def huge_directory(path: Path) -> Path:
    """Claims a table of contents of 50 MB, which zipfile would read at once."""
    make_zip(path, {"ngram.py": GOOD})
    with path.open("r+b") as file:
        content = file.read()
        end = content.rindex(b"PK\x05\x06")
        file.seek(0)
        file.write(content[:end] + b"\0" * 50_000_000 + content[end:])
        file.seek(end + 50_000_000 + 12)
        file.write(struct.pack("<I", 50_000_000))
    return path


BAD_INPUT: dict[str, tuple[Callable[[Path], Path], str]] = {
    "no such path": (lambda path: path, "No such file or directory"),
    "not a zip": (lambda path: _written(path, b"x = 1\n"), "not a zip archive, or a damaged one"),
    "cut zip": (
        lambda path: _written(path, make_zip(path, {"ngram.py": GOOD}).read_bytes()[:-30]),
        "not a zip archive, or a damaged one",
    ),
    "empty file": (lambda path: _written(path, b""), "not a zip archive, or a damaged one"),
    "200 MB": (lambda path: sparse(path, 200_000_000), "is 200.0 MB; at most 100.0 MB are taken"),
    "empty folder": (lambda path: make_folder(path, {}), "nothing inside"),
    "noise alone": (lambda path: make_folder(path, {".DS_Store": b"", "__MACOSX/._x": b""}), "nothing inside"),
    "empty folder in a folder": (lambda path: make_folder(path, {"a/b/.git/x": b""}), "nothing inside"),
    "empty zip": (lambda path: make_zip(path, {}), "nothing inside"),
    "pipe": (pipe, "neither a folder nor a zip archive"),
    "NUL in the path": (lambda path: path.with_name("a\0b"), "not a path"),
    "too many members": (
        lambda path: make_zip(path, {f"{i}": b"" for i in range(upload.MAX_MEMBERS + 1)}),
        "holds too many files; at most 10,000",
    ),
    "huge table of contents": (huge_directory, "holds too many files; at most 10,000"),
}


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("make", "message"), BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_gives_one_line_and_leaves_nothing(
    tmp_path: Path, assignment: Assignment, into: Path, make: Callable[[Path], Path], message: str
) -> None:
    """The caller reads the path and the reason; the target folder stays empty."""
    with pytest.raises(InputError) as caught:
        take(make(tmp_path / "bad"), assignment, into)
    assert str(caught.value).endswith(f": {message}")
    assert "\n" not in str(caught.value)
    assert list(into.iterdir()) == []


def test_nothing_is_left_when_writing_fails(
    tmp_path: Path, assignment: Assignment, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk at the second file takes the first away again."""
    real = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if path.name == "metrics.py":
            raise OSError(28, "No space left on device")
        return real(path, content)

    folder = make_folder(tmp_path / "s", {"ngram.py": GOOD, "metrics.py": GOOD})
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        take(folder, assignment, into)
    assert list(into.iterdir()) == []


# --- notes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "Ngram.py",
        "NGRAM.PY",
        "ngram (1).py",
        "ngram-2.py",
        "ngram_final.py",
        "ngram - Copy.py",
        "ngram copy.py",
        "Copy of ngram.py",
        "ngram.py.txt",
        "ngram.txt",
        "ngram.ipynb",
        "ngram",
        "ngrams.py",
        "nrgam.py",
    ],
)
def test_a_near_name_is_suggested_and_not_taken(taking: Callable[[Files], Taken], name: str) -> None:
    """The student reads which file was probably meant, and what its name must be."""
    taken = taking({name: GOOD, "metrics.py": GOOD, "weights.npz": b""})
    assert taken.missing == ("ngram.py",)
    assert taken.notes == (f"ngram.py is missing; is it {name!r}? The name must be exactly ngram.py",)


def test_far_names_are_not_suggested(taking: Callable[[Files], Taken]) -> None:
    """A wrong guess would send the student the wrong way; a given file is no candidate."""
    assert taking({"homework.py": GOOD, "tokens.py": GOOD, "types.py": GOOD, "README": b"", "a.txt": b""}).notes == (
        "types.py was not used: the grader has its own",
    )


def test_a_given_file_is_no_candidate(tmp_path: Path, assignment: Assignment, into: Path) -> None:
    """However near its name is."""
    folder = make_folder(tmp_path / "s", {"ngrams.py": GOOD, "metrics.py": GOOD, "weights.npz": b""})
    assert take(folder, assignment, into, ["ngrams.py"]).notes == ("ngrams.py was not used: the grader has its own",)


def test_the_search_for_a_missing_file_is_short(
    taking: Callable[[Files], Taken], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends after a number of entries, not after all of them."""
    monkeypatch.setattr(submission, "_MAX_SEARCH", 3)
    assert taking({"src/ngram.py": GOOD, "a": b"", "b": b"", "metrics.py": GOOD, "weights.npz": b""}).notes == ()


def test_a_file_in_another_folder_is_pointed_at(taking: Callable[[Files], Taken]) -> None:
    """It is not taken, since two folders could hold it; the student reads where it lies."""
    taken = taking({"hw/src/ngram.py": GOOD, "hw/notes.md": b"", "hw/metrics.py": GOOD})
    assert taken.files == ("metrics.py",)
    assert "ngram.py is missing; there is one in src/, where nobody looks for it" in taken.notes


STRAYS = {
    "conftest.py": "the grader has settings of its own",
    "pytest.ini": "the grader has settings of its own",
    "pyproject.toml": "the grader has settings of its own",
    "sitecustomize.py": "the grader's Python does not load it",
    "lm.pth": "compiled files and path files are never read",
    "ngram.cpython-311.pyc": "compiled files and path files are never read",
    "fast.so": "compiled files and path files are never read",
    "more.zip": "an archive inside a submission is not opened; hand in the files themselves",
    "more.tar.gz": "an archive inside a submission is not opened; hand in the files themselves",
    "numpy.py": "and on your machine it hides the library numpy; rename it",
    "torch": "and on your machine it hides the library torch; rename it",
    "random.py": "and on your machine it hides the library random; rename it",
}


@pytest.mark.parametrize(("name", "reason"), STRAYS.items(), ids=STRAYS.keys())
def test_a_stray_file_is_explained(taking: Callable[[Files], Taken], into: Path, name: str, reason: str) -> None:
    """What would have an effect elsewhere has none here, and the student reads so."""
    taken = taking({"ngram.py": GOOD, "metrics.py": GOOD, "weights.npz": b"", name: GOOD})
    assert taken.notes == (f"{name} was not used: {reason}",)
    assert sorted(written(into)) == ["lm/metrics.py", "lm/ngram.py", "lm/weights.npz"]


@pytest.mark.parametrize(
    ("names", "note"),
    [
        pytest.param(
            ["lm/corpus.py", "lm/types.py"], "corpus.py and types.py were not used: the grader has its own", id="two"
        ),
        pytest.param(
            [f"{i}.so" for i in range(30)],
            "0.so, 1.so, 10.so, 11.so, 12.so, 13.so, 14.so and 23 more were not used: "
            "compiled files and path files are never read",
            id="many",
        ),
    ],
)
def test_files_left_out_for_one_reason_share_a_note(
    taking: Callable[[Files], Taken], names: list[str], note: str
) -> None:
    """Who zips the whole package reads one line, not one for each file."""
    files = {"ngram.py": GOOD, "metrics.py": GOOD, "weights.npz": b"", "README.md": b""}
    assert taking({**files, **dict.fromkeys(names, GOOD)}).notes == (note,)


def test_a_nested_archive_alone_is_not_opened(tmp_path: Path, assignment: Assignment, into: Path) -> None:
    """A zip in a zip: everything is missing, and the note says why."""
    inner = make_zip(tmp_path / "inner.zip", {"ngram.py": GOOD}).read_bytes()
    taken = take(make_zip(tmp_path / "s.zip", {"inner.zip": inner}), assignment, into)
    assert taken.missing == ALL_TAKEN
    assert "inner.zip was not used: an archive inside a submission is not opened; hand in the files themselves" in (
        taken.notes
    )


def test_notes_are_cut(taking: Callable[[Files], Taken]) -> None:
    """Ten notes are read, a hundred are not."""
    hiding = sorted(sys.stdlib_module_names)[:22]
    taken = taking({"ngram.py": GOOD, "metrics.py": GOOD, "weights.npz": b"", **{f"{name}.py": b"" for name in hiding}})
    assert len(taken.notes) == submission.MAX_NOTES + 1
    assert taken.notes[-1] == "and 12 more"


def test_names_in_notes_are_printable_and_short(taking: Callable[[Files], Taken]) -> None:
    """A file name can carry colours, line ends, half characters and kilobytes; a note cannot."""
    evil = "\x1b[31m\n" + os.fsdecode(b"\xff") + "\u202e" + "x" * 180 + ".so"
    notes = taking({"ngram.py": GOOD, "metrics.py": GOOD, "weights.npz": b"", evil: b""}).notes
    assert notes[0].startswith("?[31m???xxx")
    assert all(note.isprintable() and len(note) < 200 for note in notes)

"""Submissions that a TOML file cannot describe: links, archives, compiled files, code at a module's head.

Each function makes one in ``folder`` out of the solved submission files, ``{"ngram.py": b"...", ...}``, and returns
what is handed in: a folder or a zip.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import os
import py_compile
import stat
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

_SOLUTION = Path(__file__).resolve().parents[2] / "solutions" / "lm"


def _plain(folder: Path, files: Mapping[str, bytes]) -> Path:
    """A folder with these files, by path inside it."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def _without(solved: Mapping[str, bytes], name: str) -> dict[str, bytes]:
    """All files but this one."""
    return {other: content for other, content in solved.items() if other != name}


def _at_import(folder: Path, solved: Mapping[str, bytes], code: str, module: str = "metrics.py") -> Path:
    """The solved files, with code that runs when a module is imported, after everything that it defines."""
    return _plain(folder, {**solved, module: solved[module] + b"\n\n" + code.encode()})


def _pack(path: Path, members: Mapping[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return path


# --- groups files and process -----------------------------------------------------------------------------------


def ends_at_import(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """The process ends, with an exit code that says all is well."""
    return _at_import(folder, solved, "import os\nos._exit(0)\n")


def exits_at_import(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """SystemExit at import."""
    return _at_import(folder, solved, "raise SystemExit(0)\n")


def interrupts_at_import(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """KeyboardInterrupt at import."""
    return _at_import(folder, solved, "raise KeyboardInterrupt\n")


def link_to_the_solution(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """metrics.py is a link to the solved file where the grader keeps it."""
    _plain(folder, _without(solved, "metrics.py"))
    (folder / "metrics.py").symlink_to(_SOLUTION / "metrics.py")
    return folder


def zipped_link_to_the_solution(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """The same, as a member of a zip."""
    link = zipfile.ZipInfo("metrics.py")
    link.create_system = 3
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    target = str(_SOLUTION / "metrics.py").encode()
    return _pack(folder / "submission.zip", {**_without(solved, "metrics.py"), link: target})


def package_is_a_link(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """ngram.py, and a link to the whole solved package."""
    _plain(folder, _without(solved, "metrics.py"))
    (folder / "lm").symlink_to(_SOLUTION)
    return folder


_OUT = ("../metrics.py", "../../solutions/lm/metrics.py", "lm/../../metrics.py", "..\\metrics.py", "/etc/metrics.py")
_EVIL = b'raise RuntimeError("LEAK")\n'


def zip_slip(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """The solved files, and members that lead out of the archive."""
    return _pack(folder / "submission.zip", {**solved, **dict.fromkeys(_OUT, _EVIL)})


def zip_slip_inside(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """ngram.py, and such a zip inside the zip."""
    inner = zip_slip(folder, solved)
    return _pack(folder / "outer.zip", {**_without(solved, "metrics.py"), "metrics.zip": inner.read_bytes()})


def planted_bytecode(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """The solved files, and bytecode of other code that Python would run without a look at them."""
    files = dict(solved)
    for name in solved:
        source, target = folder / "evil.py", folder / "evil.pyc"
        source.write_bytes(_EVIL)
        py_compile.compile(str(source), str(target), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        for place in ("", "lm/"):
            files[importlib.util.cache_from_source(place + name)] = target.read_bytes()
            files[f"{place}{name}c"] = target.read_bytes()
    source.unlink()
    target.unlink()
    return _plain(folder, files)


def planted_extension(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """The solved files, and extension modules of the same names, which would be found first."""
    stems = [name.removesuffix(".py") for name in solved]
    extensions = {stem + suffix: b"no library" for stem in stems for suffix in importlib.machinery.EXTENSION_SUFFIXES}
    return _plain(folder, {**solved, **extensions})


# --- the other groups: add functions below this line ------------------------------------------------------------


# --- groups resources, values, task and reports -----------------------------------------------------------------


def _as_metrics(folder: Path, solved: Mapping[str, bytes], content: bytes) -> Path:
    """The solved files, with this content in the place of metrics.py."""
    return _plain(folder, {**solved, "metrics.py": content})


def _zip(folder: Path, members: Mapping[str, bytes]) -> Path:
    """A compressed zip with these members, in this order."""
    path = folder / "upload.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def latin_1(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """Saved in Latin-1, with a letter that UTF-8 writes in another way."""
    return _as_metrics(folder, solved, b"# caf\xe9\n" + solved["metrics.py"])


def gb18030(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """Saved as Windows in China does, and it says so: Python could read it."""
    return _as_metrics(folder, solved, "# -*- coding: gb18030 -*-\n# 蝙蝠\n".encode("gb18030") + solved["metrics.py"])


def utf_16(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """Saved as what Windows called Unicode."""
    return _as_metrics(folder, solved, solved["metrics.py"].decode().encode("utf-16"))


def byte_order_mark(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """All files with a byte order mark."""
    return _plain(folder, {name: b"\xef\xbb\xbf" + content for name, content in solved.items()})


def _line_ends(solved: Mapping[str, bytes], end: bytes) -> dict[str, bytes]:
    """The same files, the text files among them with other line ends."""
    return {name: text.replace(b"\n", end) if name.endswith(".py") else text for name, text in solved.items()}


def carriage_returns(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """All files with the line ends of Windows."""
    return _plain(folder, _line_ends(solved, b"\r\n"))


def old_line_ends(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """All files with the line ends of old Macs."""
    return _plain(folder, _line_ends(solved, b"\r"))


def nul_bytes(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A NUL byte in a comment."""
    return _as_metrics(folder, solved, b"# \0\n" + solved["metrics.py"])


def file_missing(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """One of the files only."""
    return _plain(folder, _without(solved, "metrics.py"))


def wrong_case(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A capital letter in a name."""
    return _plain(folder, {**_without(solved, "ngram.py"), "Ngram.py": solved["ngram.py"]})


def browser_copy(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """Downloaded a second time."""
    return _plain(folder, {**_without(solved, "ngram.py"), "ngram (1).py": solved["ngram.py"]})


def text_ending(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """With the ending that a browser or an editor adds."""
    return _plain(folder, {**_without(solved, "ngram.py"), "ngram.py.txt": solved["ngram.py"]})


def notebook_instead(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """The work is in a notebook."""
    return _plain(folder, {**_without(solved, "metrics.py"), "metrics.ipynb": _NOTEBOOK})


def wrapped_folder(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A zip of a folder that holds a folder."""
    return _zip(folder, {f"homework/part 1/{name}": content for name, content in solved.items()})


def zipped_on_a_mac(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A folder as the Finder zips it: with what Python would take for broken source files."""
    members = {f"homework/{name}": content for name, content in solved.items()}
    forks = {f"__MACOSX/homework/._{name}": b"\0\5\26\7\0\2\0\0Mac OS X" for name in solved}
    return _zip(folder, {**members, "homework/.DS_Store": b"\0\0\0\1Bud1", **forks})


def empty_file(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """Nothing but spaces."""
    return _as_metrics(folder, solved, b" \n\n")


def pdf(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A document with another ending."""
    return _as_metrics(folder, solved, b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n")


_NOTEBOOK = (
    b'{"cells": [{"cell_type": "code", "source": ["x = 1"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
)


def notebook(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A notebook with another ending."""
    return _as_metrics(folder, solved, _NOTEBOOK)


def half_a_gigabyte(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """500 MB of zeros, which take no room on this disk."""
    _plain(folder, _without(solved, "metrics.py"))
    with (folder / "metrics.py").open("wb") as file:
        file.truncate(500_000_000)
    return folder


def zip_bomb(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A small zip with a large file."""
    path = _zip(folder, _without(solved, "metrics.py"))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("metrics.py", "w") as member:
        for _ in range(200):
            member.write(bytes(1_000_000))
    return path


def zip_bomb_that_lies(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """The same, with a table of contents that says 100 bytes."""
    path = _zip(folder, {**_without(solved, "metrics.py"), "metrics.py": bytes(20_000_000)})
    path.write_bytes(path.read_bytes().replace((20_000_000).to_bytes(4, "little"), (100).to_bytes(4, "little")))
    return path


def nested_zip(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A zip in a zip."""
    inner = _zip(folder, solved)
    content = inner.read_bytes()
    inner.unlink()
    return _zip(folder, {"homework.zip": content})


def nested_zip_beside(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """The files, and an archive of other ones."""
    inner = _zip(folder, dict.fromkeys(solved, b"raise ValueError\n"))
    content = inner.read_bytes()
    inner.unlink()
    return _zip(folder, {**solved, "old.zip": content})


def not_a_zip(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A text with the ending of a zip."""
    return _plain(folder, {"upload.zip": b"this is no archive\n"}) / "upload.zip"


def half_a_zip(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """An upload that broke off."""
    path = _zip(folder, solved)
    path.write_bytes(path.read_bytes()[:4000])
    return path


def nothing_at_all(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A zip with nothing in it but what systems leave behind."""
    return _zip(folder, {".DS_Store": b"\0\0\0\1Bud1", "__MACOSX/._x": b"\0"})


def two_places(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """The right files in the package, and older ones beside it."""
    right = {f"lm/{name}": content for name, content in solved.items()}
    return _plain(folder, {**right, "metrics.py": b"raise ValueError('the old one')\n"})


def twice_in_the_zip(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """One name twice in an archive: the last one counts."""
    path = _zip(folder, {**solved, "metrics.py": b"raise ValueError('the first one')\n"})
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")
        archive.writestr("metrics.py", solved["metrics.py"])
    return path


def five_thousand_files(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """The whole project: thousands of files, a link that leads in a circle, a checkpoint of 1 GB."""
    _plain(folder, {**solved, **{f"node_modules/{i}.js": b"" for i in range(5000)}})
    with (folder / "checkpoint.pt").open("wb") as file:
        file.truncate(1_000_000_000)
    (folder / "node_modules" / "circle").symlink_to(folder, target_is_directory=True)
    return folder


def whole_repository(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """The handout as a repository: package, tests, settings, history."""
    package = {f"lm/{name}": content for name, content in solved.items()}
    beside = {"README.md": b"# mine\n", ".git/HEAD": b"ref: refs/heads/main\n", "check.py": b"raise SystemExit\n"}
    tests = {"tests/test_ngram.py": b"def test_all(): pass\n", "pyproject.toml": b"[tool.pytest.ini_options]\n"}
    return _plain(folder, {**package, **beside, **tests, "lm/testing.py": b"class TableModel: pass\n"})


def one_block_at_import(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """More memory than there is, at import."""
    return _at_import(folder, solved, "TABLE = bytearray(8 << 30)\n")


def prints_at_import(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """Tests of its own at the end of a file, which print a lot."""
    return _at_import(folder, solved, "print('PRINTED BY A STUDENT\\n' * 1_000_000, flush=True)\n")


def seeds_at_import(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """Seeds the generators, and asks for numpy's warnings as errors."""
    code = "import random\nimport numpy as np\nrandom.seed(7)\nnp.random.seed(7)\nnp.seterr(all='raise')\n"
    return _at_import(folder, solved, code)


def classes_deleted(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A class that the file gives, under another name."""
    return _plain(folder, {**solved, "ngram.py": solved["ngram.py"].replace(b"class AddK:", b"class Laplace:")})


def functions_deleted(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A file with the one function that its author has come to."""
    return _as_metrics(folder, solved, b"import math\n\n\ndef bits(nats):\n    return nats / math.log(2)\n")


# --- files of weights ---------------------------------------------------------------------------------------------


def _with_weights(folder: Path, solved: Mapping[str, bytes], content: bytes) -> Path:
    """The solved files, with this content in the place of rnn_lm.npz."""
    return _plain(folder, {**solved, "rnn_lm.npz": content})


def _arrays(solved: Mapping[str, bytes], **instead: Any) -> bytes:
    """The trained arrays with others in their place, as numpy saves them; it pickles what is no array of numbers."""
    with np.load(io.BytesIO(solved["rnn_lm.npz"])) as archive:
        arrays = {**archive, **instead}
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _entries(solved: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED, **instead: bytes) -> bytes:
    """The same with whole entries in place of others, compressed by some method."""
    with zipfile.ZipFile(io.BytesIO(solved["rnn_lm.npz"])) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in (entries | {f"{name}.npy": content for name, content in instead.items()}).items():
            archive.writestr(name, content)
    return file.getvalue()


def _header(text: str) -> bytes:
    """The head of a .npy file that says this, and no numbers."""
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin-1")


class _Evil:
    """Whoever unpickles it runs a command."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("echo LEAK; touch /tmp/LEAK",)


def weights_pickled(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """W_hh is an array of objects, one of which does something when it is unpickled."""
    return _with_weights(folder, solved, _arrays(solved, W_hh=np.array([[_Evil()]], dtype=object)))


def weights_of_ten_gigabytes(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """10 GB of zeros, which take no room on this disk."""
    _plain(folder, {name: content for name, content in solved.items() if name != "rnn_lm.npz"})
    with (folder / "rnn_lm.npz").open("wb") as file:
        file.truncate(10_000_000_000)
    return folder


def weights_that_are_a_bomb(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """100 MB of zeros in an entry, behind the right header: 100 kB in the file."""
    with zipfile.ZipFile(io.BytesIO(solved["rnn_lm.npz"])) as archive:
        entry = archive.read("W_hh.npy")
    return _with_weights(folder, solved, _entries(solved, W_hh=entry + bytes(100_000_000)))


def weights_that_claim_to_be_huge(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A header of a terabyte, and not one number after it."""
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 125000), }\n"
    return _with_weights(folder, solved, _entries(solved, W_hh=_header(header)))


def weights_with_a_deep_header(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A header of thousands of brackets."""
    return _with_weights(folder, solved, _entries(solved, W_hh=_header("(" * 9_000)))


def weights_compressed_strangely(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """By LZMA, where the file says how much memory it takes to read it."""
    return _with_weights(folder, solved, _entries(solved, zipfile.ZIP_LZMA))


def weights_encrypted(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """The flag of a password in every place where one may stand."""
    content = solved["rnn_lm.npz"]
    for mark, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        parts = content.split(mark)
        content = mark.join([parts[0], *(p[: place - 4] + b"\1" + p[place - 3 :] for p in parts[1:])])
    return _with_weights(folder, solved, content)


def weights_cut_short(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """An upload that broke off."""
    return _with_weights(folder, solved, solved["rnn_lm.npz"][:20_000])


def weights_of_thousands(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """Thousands of empty entries before the right ones."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(6_000):
            archive.writestr(f"{number}.npy", b"")
        with zipfile.ZipFile(io.BytesIO(solved["rnn_lm.npz"])) as right:
            for name in right.namelist():
                archive.writestr(name, right.read(name), zipfile.ZIP_DEFLATED)
    return _with_weights(folder, solved, file.getvalue())


def weights_of_other_shapes(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A recurrence that is not square."""
    return _with_weights(folder, solved, _arrays(solved, W_hh=np.zeros((64, 32), dtype=np.float32)))


def weights_too_large(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A state of 300 numbers."""
    shapes = {"W_xh": (300, 32), "b_h": (300,), "W_hh": (300, 300), "W_hy": (56, 300)}
    return _with_weights(folder, solved, _arrays(solved, **{name: np.zeros(shape) for name, shape in shapes.items()}))


def weights_without_numbers(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A state of none."""
    shapes = {"W_xh": (0, 32), "b_h": (0,), "W_hh": (0, 0), "W_hy": (56, 0)}
    return _with_weights(folder, solved, _arrays(solved, **{name: np.zeros(shape) for name, shape in shapes.items()}))


def weights_not_a_number(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """One entry of 4096."""
    W_hh = np.zeros((64, 64))
    W_hh[7, 7] = np.nan
    return _with_weights(folder, solved, _arrays(solved, W_hh=W_hh))


def weights_infinite(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """With it "the" is certain."""
    b_y = np.zeros(56)
    b_y[54] = np.inf
    return _with_weights(folder, solved, _arrays(solved, b_y=b_y))


def weights_that_overflow(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """Finite, but not what is computed with them."""
    return _with_weights(folder, solved, _arrays(solved, W_hy=np.full((56, 64), 1e308), b_y=np.full(56, 1e308)))


def weights_as_texts(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """Numbers as somebody reads them."""
    return _with_weights(folder, solved, _arrays(solved, W_hh=np.full((64, 64), "0.5")))


def weights_in_fields(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """Records, the names of whose fields do something to a terminal."""
    return _with_weights(folder, solved, _arrays(solved, W_hh=np.zeros((64, 64), dtype=[("\x1b[31mLEAK", "<f8")])))


def weights_of_half_precision(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """float16."""
    return _with_weights(folder, solved, _arrays(solved, W_hh=np.zeros((64, 64), dtype=np.float16)))


def weights_under_other_names(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """As PyTorch calls them."""
    file = io.BytesIO()
    np.savez(file, **{"embedding.weight": np.zeros((56, 32)), "rnn.weight_hh_l0": np.zeros((64, 64))})
    return _with_weights(folder, solved, file.getvalue())


def weights_that_are_a_picture(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """The picture of the training, with another ending."""
    return _with_weights(folder, solved, b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40)


def weights_that_are_code(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """Python, with another ending."""
    return _with_weights(folder, solved, solved["rnn.py"])


def weights_that_are_empty(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """No byte at all."""
    return _with_weights(folder, solved, b"")


def weights_that_are_a_folder(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A folder that is called rnn_lm.npz."""
    rest = {name: content for name, content in solved.items() if name != "rnn_lm.npz"}
    return _plain(folder, {**rest, "rnn_lm.npz/E.npy": b""})


def weights_that_are_a_link(folder: Path, solved: Mapping[str, bytes]) -> Path:
    """A link to the solved file where the grader keeps it."""
    _plain(folder, {name: content for name, content in solved.items() if name != "rnn_lm.npz"})
    (folder / "rnn_lm.npz").symlink_to(_SOLUTION / "rnn_lm.npz")
    return folder

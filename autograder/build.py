"""Everything that is made from one source: the handout, the autograder zip, two sample submissions.

Trusted side; imports ``archive``, ``leaks``, ``pages``, ``regions``, ``secret``, ``strip``, ``switches``, ``variants``,
``weights`` and ``feedback``. Prints nothing, and runs nothing of the assignment: sources are read, cut and packed. What
holds:

- The same sources give the same bytes, in any folder, under any umask, in any time zone (``archive``).
- Everything is read, cut and searched for leaks before the first file is written.
- Left-overs of systems and caches are passed over; those of editors and merges are refused, and so is a file of a kind
  that is not known: a stray copy of a solution must not travel.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .archive import Member, check_members, read_tree, write_tree, write_zip
from .feedback import facts
from .feedback.assignment import Assignment, load_assignment
from .feedback.diagnosis import FILE as HINTS_FILE
from .feedback.errors import InputError
from .feedback.language import WORDS
from .leaks import scan
from .pages import render
from .regions import StripError, find_regions
from .secret import DEVELOPMENT, MIN_LENGTH, NAME
from .strip import stamp, strip, without_tests
from .switches import assignment_text, marked_text, needs_torch, pins, setup_text, words_text
from .variants import choose, load_variants, refuse_elsewhere
from .weights import public_shares

HANDOUT = "handout"
ENGINE = "autograder"
EXPERIMENTS = "experiments"

_PASSED_OVER = re.compile(
    r"__pycache__|\.(pytest|mypy|ruff)_cache|\.hypothesis|\.ipynb_checkpoints|\.venv|\.DS_Store|\._.*|Thumbs\.db|desktop\.ini"
)
_TEXT = frozenset([".css", ".csv", ".html", ".ipynb", ".js", ".json", ".md", ".py", ".svg", ".toml", ".txt"])
_BINARY = frozenset([".npy", ".npz", ".png"])
_NO_SUFFIX = frozenset(("LICENSE", ".gitignore", ".gitattributes"))
_SCRIPTS = frozenset(("setup.sh", "run_autograder"))


@dataclass(frozen=True)
class Artifact:
    """A zip that was written.

    Attributes:
        path: where it is.
        files: how many it holds.
        size: in bytes.
        sha256: of its bytes, in hex.
        same: the file that stood there before had the same bytes.
    """

    path: Path
    files: int
    size: int
    sha256: str
    same: bool


@dataclass(frozen=True)
class Sample:
    """A sample submission, and the score that it must get, out of ``points``."""

    artifact: Artifact
    score: float
    points: float


@dataclass(frozen=True)
class Built:
    """What a build has made.

    Attributes:
        handout: the folder.
        handout_files: how many files it holds.
        handout_same: it held the same bytes before.
        handout_zip: the same, to give to students.
        autograder_zip: to upload to Gradescope.
        solved: a sample with all solutions.
        blank: a sample with the stubs.
        items: how many there are.
        stubs: how many functions students fill in.
        version: of handout and zip, as in assignment.toml.
        seconds: what a run may take on the platform.
        shared: lines of solutions that also stand in given code, one text each.
        notes: what the instructor must know.
    """

    handout: Path
    handout_files: int
    handout_same: bool
    handout_zip: Artifact
    autograder_zip: Artifact
    solved: Sample
    blank: Sample
    items: int
    stubs: int
    version: str
    seconds: float
    shared: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())


def build(root: Path, out: Path, secret: bytes | None = None, hints: Mapping[str, str] | None = None) -> Built:
    """Make everything: the folder ``root/handout``, and in ``out`` four zips.

    Args:
        root: the repository.
        out: folder for handout.zip, autograder.zip, sample-solved.zip and sample-blank.zip.
        secret: what a term's hidden inputs are made from, and its variants picked by; None for development.
        hints: files of hints for that secret, "tests/hidden/hints.json" -> contents, in place of what lies there.

    Raises:
        InputError: a source is missing or wrong, something leaks, or a file cannot be written. In all but the last
            case nothing has been written.
    """
    assignment = load_assignment(root / "assignment.toml")
    autograder = autograder_members(root, assignment, secret)
    key = autograder[NAME].content
    handout = handout_members(root, assignment, key)
    for name, text in (hints or {}).items():
        if not assignment.tells_hints(hidden=name.startswith("tests/hidden/")):
            continue
        autograder[name] = Member(text.encode("utf-8"))
        if name.startswith("tests/public/"):
            handout[name.replace("tests/public/", "tests/", 1)] = autograder[name]
    shared = _scan(root, assignment, handout, key)
    solved = submission_members(root, assignment, None, key)
    blank = submission_members(root, assignment, (), key)
    for members in (handout, autograder):
        check_members(members)
    folder = root / HANDOUT
    same = not _differences(folder, handout)
    write_tree(folder, handout)
    bonus = sum(item.points for item in assignment.items if item.bonus)
    waived = sum(item.points for item in assignment.items if item.waived)
    return Built(
        handout=folder,
        handout_files=len(handout),
        handout_same=same,
        handout_zip=_zip(out / "handout.zip", {f"{HANDOUT}/{name}": member for name, member in handout.items()}),
        autograder_zip=_zip(out / "autograder.zip", autograder),
        solved=Sample(_zip(out / "sample-solved.zip", solved), assignment.points + bonus, assignment.points),
        blank=Sample(_zip(out / "sample-blank.zip", blank), waived, assignment.points),
        items=len(assignment.items),
        stubs=sum(member.content.count(b"raise NotImplementedError(") for member in blank.values()),
        version=assignment.version,
        seconds=assignment.budgets.platform,
        shared=tuple(shared),
        notes=_notes(root, secret),
    )


def drift(root: Path) -> list[str]:
    """How the committed handout differs from what would be built, a line for each path. Writes nothing.

    Raises:
        InputError: as for :func:`build`; a leak too.
    """
    assignment = load_assignment(root / "assignment.toml")
    handout = handout_members(root, assignment)
    _scan(root, assignment, handout, DEVELOPMENT)
    return [f"{HANDOUT}/{name}: {problem}" for name, problem in _differences(root / HANDOUT, handout)]


def package_members(
    root: Path, assignment: Assignment, keep: Collection[str] | None = (), secret: bytes = DEVELOPMENT
) -> dict[str, Member]:
    """The student's package, such as ``lm/ngram.py``.

    A submission file that is not Python has no stub: it is there when an item that is about it is solved.

    Args:
        root: the repository, or the unpacked autograder zip.
        assignment: of that root.
        keep: slugs of the items that are solved in it; None for all of them.
        secret: picks the variants.

    Raises:
        InputError: a file has wrong markers, or none for an item that is about it; a given file has some.
    """
    package = assignment.package
    members = source_members(root, assignment, secret)
    slugs = [*assignment.by_slug, *assignment.dropped]
    for file in assignment.files:
        if f"{package}/{file}" not in members:
            raise InputError(f"solutions/{package}/{file} is missing: assignment.toml says that students hand it in")
        solved = [item.slug for item in assignment.items if item.file == file and (keep is None or item.slug in keep)]
        if not file.endswith(".py") and not solved:
            del members[f"{package}/{file}"]
    for name, member in members.items():
        if not name.endswith(".py"):
            continue
        source = member.content.decode("utf-8")
        path = f"solutions/{name}"
        _, regions = find_regions(source, path)
        file = name.removeprefix(f"{package}/")
        if file not in assignment.files:
            if regions:
                raise StripError(path, regions[0].first, "a given file has no solutions in it")
            continue
        for region in regions:
            item = assignment.by_slug.get(region.slug)
            if item is not None and item.file != file:
                raise StripError(path, region.first, f"item {region.slug!r} is about {item.file}")
        for item in assignment.items:
            if item.file == file and item.slug not in {region.slug for region in regions}:
                raise InputError(f"{path}: no '# BEGIN SOLUTION {item.slug}': its solution would be given away")
        stub = strip(source, path, keep, items=slugs, dropped=assignment.dropped)
        members[name] = Member(stamp(stub, assignment.version).encode("utf-8"))
    return members


def submission_members(
    root: Path, assignment: Assignment, keep: Collection[str] | None = (), secret: bytes = DEVELOPMENT
) -> dict[str, Member]:
    """What a student hands in: the submission files alone, without a folder."""
    package = package_members(root, assignment, keep, secret)
    paths = {file: f"{assignment.package}/{file}" for file in assignment.files}
    return {file: package[path] for file, path in paths.items() if path in package}


def handout_members(root: Path, assignment: Assignment, secret: bytes = DEVELOPMENT) -> dict[str, Member]:
    """Everything that students get, by path in the handout."""
    kit = _folder(root, "solutions/kit")
    pages = _folder(root, "solutions/writeup", "writeup")
    for members in (kit, pages):
        for name, member in members.items():
            if name.endswith(".md"):
                members[name] = Member(render(member.content.decode("utf-8"), name, assignment).encode("utf-8"))
    pages = {name: member for name, member in pages.items() if member.content}
    tests = _tests(root, "tests/public", "tests", assignment)
    package = package_members(root, assignment, (), secret)
    tests[f"tests/{facts.FILE}"] = _facts(root, assignment, tests, package)
    written = {**pages, **tests}
    single = {
        "assignment.toml": _edited(root, "assignment.toml", assignment_text, assignment),
        "constraints.txt": _edited(root, "constraints.txt", pins, assignment),
        "requirements.txt": _file(root, "requirements-student.txt"),
        f"{ENGINE}/__init__.py": _file(root, f"{ENGINE}/__init__.py"),
    }
    feedback = _folder(root, f"{ENGINE}/feedback", f"{ENGINE}/feedback")
    others = _together(kit, written, single, feedback, experiment_members(root, assignment))
    refuse_elsewhere({name: member.content for name, member in others.items()}, load_variants(root))
    return _together(others, package)


def experiment_members(root: Path, assignment: Assignment) -> dict[str, Member]:
    """Programs that students run on their package; none where an assignment has no such folder."""
    if not (root / "solutions" / EXPERIMENTS).is_dir():
        return {}
    members = _folder(root, f"solutions/{EXPERIMENTS}", EXPERIMENTS)
    for name, member in members.items():
        if name.endswith(".py") and member.content:
            text = marked_text(member.content.decode("utf-8"), f"solutions/{name}", assignment)
            members[name] = Member(text.encode("utf-8"))
    return {name: member for name, member in members.items() if member.content}


def autograder_members(root: Path, assignment: Assignment, secret: bytes | None = None) -> dict[str, Member]:
    """Everything that Gradescope gets, by path in the zip. It mirrors the repository.

    Raises:
        InputError: a file is missing, or the secret is too short to be one.
    """
    if secret is not None and len(secret.strip()) < MIN_LENGTH:
        raise InputError(f"a secret needs {MIN_LENGTH} bytes that nobody can guess, this one has {len(secret.strip())}")
    single = {
        "setup.sh": _edited(root, "setup.sh", setup_text, assignment, 0o755),
        "run_autograder": _file(root, "run_autograder", 0o755),
        NAME: Member(DEVELOPMENT if secret is None else secret, 0o600),
    }
    names = ["requirements.txt", *(["requirements-torch.txt"] if needs_torch(assignment) else [])]
    single.update({name: _file(root, name) for name in names})
    single["assignment.toml"] = _edited(root, "assignment.toml", assignment_text, assignment)
    single["constraints.txt"] = _edited(root, "constraints.txt", pins, assignment)
    package = {
        f"solutions/{name}": member for name, member in source_members(root, assignment, single[NAME].content).items()
    }
    tests = [_tests(root, folder, folder, assignment) for folder in ("tests/public", "tests/hidden")]
    return _together(single, package, _folder(root, ENGINE, ENGINE), *tests)


def _scan(root: Path, assignment: Assignment, handout: Mapping[str, Member], secret: bytes) -> list[str]:
    """Look for leaks; see :func:`leaks.scan`."""
    package = assignment.package

    def contents(folder: str) -> dict[str, bytes]:
        return {name: member.content for name, member in _folder(root, folder, folder).items()}

    source = source_members(root, assignment, secret)
    paths = [f"{package}/{file}" for file in assignment.files]
    return scan(
        handout,
        given=[name for name in handout if name.startswith((f"{package}/", f"{ENGINE}/"))],
        public=[name for name in handout if name.startswith("tests/")],
        solutions={f"solutions/{path}": source[path].content for path in paths},
        hidden=contents("tests/hidden"),
        catalogue={
            name: content
            for folder in ("tests/mistakes", "tests/alternatives")
            if (root / folder).is_dir()
            for name, content in contents(folder).items()
            if name.endswith(".toml")
        },
        secret=secret,
    )


def source_members(root: Path, assignment: Assignment, secret: bytes) -> dict[str, Member]:
    """The solved package as it is written, markers and all, with the variants that a secret picks."""
    package = assignment.package
    members = _folder(root, f"solutions/{package}", package)
    for file in assignment.left_out:
        members.pop(f"{package}/{file}", None)
    chosen = choose({name: member.content for name, member in members.items()}, load_variants(root), secret)
    return {name: Member(content) for name, content in chosen.items()}


def _notes(root: Path, secret: bytes | None) -> tuple[str, ...]:
    if secret is None:
        return ("made with the development secret: not for a term",)
    if any(group.pick(secret) != group.pick(DEVELOPMENT) for group in load_variants(root)):
        return (f"{HANDOUT}/ holds the variants of this secret: do not commit it",)
    return ()


def _zip(path: Path, members: Mapping[str, Member]) -> Artifact:
    before = path.read_bytes() if path.is_file() else None
    content = write_zip(path, members)
    return Artifact(path, len(members), len(content), hashlib.sha256(content).hexdigest(), content == before)


def _differences(folder: Path, wanted: Mapping[str, Member]) -> list[tuple[str, str]]:
    """(name, problem) of every file that is not as it should be."""
    there = read_tree(folder, _PASSED_OVER) if folder.is_dir() else {}
    problems = dict.fromkeys(wanted.keys() - there.keys(), "missing")
    problems.update(dict.fromkeys(there.keys() - wanted.keys(), "should not be there"))
    problems.update({n: "differs" for n in wanted.keys() & there.keys() if wanted[n].content != there[n]})
    return sorted(problems.items())


def _tests(root: Path, folder: str, under: str, assignment: Assignment) -> dict[str, Member]:
    """A folder of tests, without those of items that are switched off, and without hints that nobody is told."""
    members = _folder(root, folder, under)
    if not assignment.tells_hints(hidden=folder == "tests/hidden"):
        members.pop(f"{under}/{HINTS_FILE}", None)
    for name, member in members.items():
        if name.endswith(".py"):
            path = f"{folder}/{name.removeprefix(under + '/')}"
            text = without_tests(member.content.decode("utf-8"), path, assignment.dropped)
            members[name] = Member(text.encode("utf-8"))
    left = {name: member for name, member in members.items() if member.content}
    words = f"{under}/{WORDS}"
    if words in left and assignment.dropped:
        tests = {Path(name).name: left[name].content.decode("utf-8") for name in left if name.endswith(".py")}
        left[words] = Member(words_text(left[words].content.decode("utf-8"), tests).encode("utf-8"))
    return left


def _facts(root: Path, assignment: Assignment, public: Mapping[str, Member], package: Mapping[str, Member]) -> Member:
    """What a handout cannot tell by itself."""
    hidden = _tests(root, "tests/hidden", "tests/hidden", assignment)
    sources = [
        [member.content.decode("utf-8") for name, member in members.items() if name.endswith(".py")]
        for members in (public, hidden)
    ]
    stubs = {file: package[f"{assignment.package}/{file}"] for file in assignment.files if file.endswith(".py")}
    digests = {file: facts.digest(member.content) for file, member in stubs.items()}
    return Member(facts.Facts(public_shares(*sources), digests).as_text().encode("utf-8"))


def _edited(
    root: Path, name: str, edit: Callable[[str, Assignment], str], assignment: Assignment, mode: int = 0o644
) -> Member:
    return Member(edit(_file(root, name).content.decode("utf-8"), assignment).encode("utf-8"), mode)


def _file(root: Path, name: str, mode: int = 0o644) -> Member:
    try:
        return Member(_checked(name, (root / name).read_bytes()), mode)
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from None


def _folder(root: Path, folder: str, under: str = "") -> dict[str, Member]:
    """All files of a folder of the repository, by their path below ``under``."""
    if not (root / folder).is_dir():
        raise InputError(f"{folder}: no such folder in {root}")
    members = {}
    for name, content in read_tree(root / folder, _PASSED_OVER).items():
        members[f"{under}/{name}" if under else name] = Member(_checked(f"{folder}/{name}", content))
    return members


def _checked(path: str, content: bytes) -> bytes:
    """The content of a file that may travel: of a known kind, and if it is text, in UTF-8 with LF."""
    name = path.rpartition("/")[2]
    suffix = Path(name).suffix
    if suffix in _BINARY:
        return content
    if suffix not in _TEXT and name not in _NO_SUFFIX and path not in _SCRIPTS:
        raise InputError(f"{path}: a file of this kind is not expected here; remove it, or name its kind in build.py")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}:{line}: no UTF-8") from None
    before, carriage_return, _ = content.partition(b"\r")
    if carriage_return:
        line = before.count(b"\n") + 1
        raise InputError(f"{path}:{line}: line ends must be LF")
    return content


def _together(*groups: Mapping[str, Member]) -> dict[str, Member]:
    members: dict[str, Member] = {}
    for group in groups:
        for name, member in group.items():
            if name in members:
                raise InputError(f"{name} comes from two places")
            members[name] = member
    return members

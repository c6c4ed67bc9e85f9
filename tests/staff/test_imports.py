"""Who may know whom: the rooms of the project and the directions between them, read from the source.

Each rule is a function from the root of a tree to the lines that break it. Each has a planted violation that turns it
red: a rule that cannot fail keeps nothing.
"""

from __future__ import annotations

import ast
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from autograder.feedback.assignment import load_assignment

ROOT = Path(__file__).parents[2]
Rule = Callable[[Path], list[str]]

# What a worker loads: with the zygote it is all that a reviewer of the sandbox has to read.
FAR_SIDE = {
    *("wire", "confine", "seccomp", "landlock", "worker", "zygote", "fresh"),
    *("feedback.values", "feedback.server", "feedback.errors", "feedback.loading"),
}
PURE = {"feedback.errors", "feedback.scores", "feedback.values", "deadlines", "archive", "strip", "regions"}
RUNS_CODE = {"pickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "torch"}
STANDARD = set(sys.stdlib_module_names)


# Reading.


def sources(folder: Path) -> Iterator[Path]:
    """The Python files of a folder."""
    return (path for path in sorted(folder.rglob("*.py")) if "__pycache__" not in path.parts)


def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Everything in a program."""
    return _nodes(path.read_text(encoding="utf-8"))


@cache
def _nodes(text: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(text)))


def module_name(root: Path, path: Path) -> str:
    """``autograder/feedback/values.py`` is ``autograder.feedback.values``."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(root: Path, path: Path) -> Iterator[tuple[str, int]]:
    """Every module that a file imports, anywhere in it, by its full name; with the line.

    Also what it asks ``import_module`` or ``__import__`` for by a plain text.
    """
    own = path.relative_to(root).with_suffix("").parts
    for node in nodes(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = (
                ".".join((*own[: len(own) - node.level], *filter(None, [node.module]))) if node.level else node.module
            )
            assert base is not None
            for alias in node.names:
                deeper = root.joinpath(*base.split("."), alias.name)
                is_module = deeper.with_suffix(".py").is_file() or (deeper / "__init__.py").is_file()
                yield (f"{base}.{alias.name}" if is_module else base), node.lineno
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                yield node.args[0].value, node.lineno


def top(module: str) -> str:
    return module.partition(".")[0]


def broken(root: Path, paths: Iterable[Path], allowed: Callable[[Path, str], bool]) -> list[str]:
    """The imports of these files that are not allowed, as ``file:line imports module``."""
    return [
        f"{path.relative_to(root)}:{line} imports {module}"
        for path in paths
        for module, line in imports(root, path)
        if not allowed(path, module)
    ]


def engine(root: Path) -> list[Path]:
    return list(sources(root / "autograder"))


def short_name(root: Path, path: Path) -> str:
    """A file of the engine, seen from the engine: ``feedback.values``."""
    return module_name(root, path).removeprefix("autograder").removeprefix(".")


# The rules.


def feedback_stands_alone(root: Path) -> list[str]:
    """What travels into the handout imports nothing of the rest of the engine, and needs what a laptop has."""
    libraries = {"numpy", "pytest", "rich", "gradescope_utils", "tomli", "autograder"}

    def allowed(path: Path, module: str) -> bool:
        ours = module == "autograder.feedback" or module.startswith("autograder.feedback.")
        return ours if top(module) == "autograder" else top(module) in STANDARD | libraries | {"torch"}

    return broken(root, sources(root / "autograder" / "feedback"), allowed)


def far_side_knows_nothing_trusted(root: Path) -> list[str]:
    """What a worker loads imports of ours only what a worker loads, and of others numpy, msgspec and no more."""
    files = [path for path in engine(root) if short_name(root, path) in FAR_SIDE]

    def allowed(path: Path, module: str) -> bool:
        if top(module) == "autograder":
            return module.removeprefix("autograder").removeprefix(".") in FAR_SIDE
        torch_on_request = module == "torch" and path.name == "server.py"
        return top(module) in STANDARD | {"numpy", "msgspec"} or torch_on_request

    return broken(root, files, allowed)


def far_side_is_all_there(root: Path) -> list[str]:
    """The files that this page calls a worker's exist: a renamed one would escape the rule above."""
    return [
        name
        for name in sorted(FAR_SIDE)
        if not root.joinpath("autograder", *name.split(".")).with_suffix(".py").is_file()
    ]


def nobody_imports_the_command_line(root: Path) -> list[str]:
    """The command line is on top of everything, and under nothing."""
    folder = root / "autograder" / "cli"
    others = [path for path in engine(root) if folder not in path.parents]
    return broken(root, others, lambda path, module: not f"{module}.".startswith("autograder.cli."))


def nothing_that_grades_needs_the_proof(root: Path) -> list[str]:
    """The proof, the tools of authors, the pages and the class stand on the engine, and only the command line on them.

    The class knows the proof, whose catalogue it is made from and counts.
    """
    folders = [root / "autograder" / name for name in ("cli", "proof", "authoring", "docs", "classroom")]
    others = [path for path in engine(root) if not set(folders) & set(path.parents)]
    tools = ("autograder.proof.", "autograder.authoring.", "autograder.docs.", "autograder.classroom.")
    return broken(root, others, lambda path, module: not f"{module}.".startswith(tools))


def pages_know_no_grading(root: Path) -> list[str]:
    """The room of the pages reads the assignment, renders, and writes files; pandoc and typst are its own."""
    folder = root / "autograder" / "docs"
    own = {"archive", "pages", "feedback.assignment", "feedback.errors"}

    def allowed(path: Path, module: str) -> bool:
        if folder not in path.parents:
            return top(module) not in ("pypandoc", "typst")
        if top(module) == "autograder":
            return module.removeprefix("autograder.") in own or f"{module}.".startswith("autograder.docs.")
        return top(module) in STANDARD | {"pypandoc", "typst"}

    return broken(root, engine(root), allowed)


def trusted_code_imports_nothing_that_runs_code(root: Path) -> list[str]:
    """No pickle, no marshal and no torch in the engine, but for the torch that a student's test asks a worker for."""
    asked_for = ("feedback/server.py", "torch")
    return broken(
        root,
        engine(root),
        lambda path, module: (
            top(module) not in RUNS_CODE or (str(path.relative_to(root / "autograder")), module) == asked_for
        ),
    )


def trusted_code_evaluates_nothing(root: Path) -> list[str]:
    """No ``eval``, no ``exec``, and nothing is loaded with pickles allowed."""
    found = []
    for path in engine(root):
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec"):
                found.append(f"{path.relative_to(root)}:{node.lineno} calls {node.func.id}")
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                found.append(f"{path.relative_to(root)}:{node.value.lineno} says allow_pickle")
    return found


def engine_knows_no_assignment(root: Path) -> list[str]:
    """The engine is given paths: it imports neither solutions nor tests, and no name of theirs stands in its code."""
    assignment = load_assignment(root / "assignment.toml")
    modules = {path.stem for path in sources(root / "solutions" / assignment.package)} - {
        "__init__",
        "types",
        "testing",
    }
    plain_words = {"metrics", "agreement", "sampling", "base", "modules", "weights", "optim", "truth", "answers"}
    names = {assignment.package, *modules, *assignment.by_slug} - plain_words
    word = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, sorted(names)))})(?![\w-])")
    strangers = {assignment.package, "solutions", "tests", "experiments"}
    found = broken(root, engine(root), lambda path, module: top(module) not in strangers)
    for path in engine(root):
        for line, text in words_of(path):
            match = word.search(text)
            if match:
                found.append(f"{path.relative_to(root)}:{line} mentions {match[0]!r}")
    return found


def words_of(path: Path) -> Iterator[tuple[int, str]]:
    """The names and texts of a program, with their lines; docstrings and comments may give examples."""
    prose = set()
    for node in nodes(path):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            prose.add(node.value)
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
            yield node.lineno, node.value
        elif isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.lineno, node.name


def pure_parts_import_no_tools(root: Path) -> list[str]:
    """Errors, scores, deadlines, archives and stubs need neither pytest nor a terminal."""
    files = [path for path in engine(root) if short_name(root, path) in PURE]
    return broken(root, files, lambda path, module: top(module) not in {"pytest", "click", "rich", "subprocess"})


def package_imports_little(root: Path) -> list[str]:
    """The students' package: the standard library, numpy, torch in torch's own files, given files by relative import.

    Given files import given files; scripts among them may import rich and matplotlib where they are present.
    """
    assignment = load_assignment(root / "assignment.toml")
    package = root / "solutions" / assignment.package
    torch_files = {item.file for item in assignment.items if item.torch}

    def allowed(path: Path, module: str) -> bool:
        given = path.name not in assignment.files
        if top(module) in ("solutions", assignment.package):
            inside = module.removeprefix("solutions.").removeprefix(assignment.package).removeprefix(".")
            relative = module.startswith("solutions.")  # an absolute import would not say so
            script = given and "__main__" in path.read_text(encoding="utf-8")
            return relative and (script or f"{inside or '__init__'}.py" not in assignment.files)
        libraries = {"numpy"} | ({"torch"} if path.name in torch_files or path.stem.startswith("torch") else set())
        return top(module) in STANDARD | libraries | ({"rich", "matplotlib"} if given else set())

    return broken(root, sources(package), allowed)


def experiments_import_what_is_given(root: Path) -> list[str]:
    """The experiments: numpy, each other, the package's given files; what students write only inside of functions.

    So whatever is missing or broken in a package, every experiment can be started. matplotlib is for pictures alone,
    PyTorch for files of its part, and of the engine they ask for languages, titles and errors.
    """
    assignment = load_assignment(root / "assignment.toml")
    folder = root / "solutions" / "experiments"
    engine_parts = {f"autograder.feedback.{name}" for name in ("assignment", "errors", "language")}
    own = f"solutions.{folder.name}"

    def allowed(path: Path, module: str) -> bool:
        text = path.read_text(encoding="utf-8")
        if top(module) in ("solutions", "autograder"):
            return module in engine_parts or f"{module}.".startswith(f"{own}.")
        libraries = {"numpy", assignment.package}
        libraries |= {"torch"} if "# with torch" in text.split('"""')[0] else set()
        libraries |= (
            {"matplotlib"} if path.name == "pictures.py" else {"nltk", "datasets"} if path.name == "texts.py" else set()
        )
        return top(module) in STANDARD | libraries

    found = broken(root, sources(folder), allowed)
    for path in sources(folder):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module and top(node.module) == assignment.package:
                modules = {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
                for name in sorted(modules):
                    if f"{name.removeprefix(assignment.package + '.')}.py" in assignment.files:
                        found.append(f"{path.relative_to(root)}:{node.lineno} imports {name} at the top")
    return found


def graded_tests_know_fixtures_only(root: Path) -> list[str]:
    """Graded tests reach both packages by their fixtures: they import numpy, pytest, the decorators, and no package."""
    libraries = {"numpy", "pytest", "gradescope_utils"}

    def allowed(path: Path, module: str) -> bool:
        return top(module) in STANDARD | libraries or module.startswith("autograder.feedback")

    folders = (root / "tests" / "public", root / "tests" / "hidden")
    return broken(root, (path for folder in folders for path in sources(folder)), allowed)


def public_tests_use_no_reference(root: Path) -> list[str]:
    """A public test travels into the handout, where there is no reference: it does not even have the word."""
    found = []
    for path in sources(root / "tests" / "public"):
        for node in nodes(path):
            name = node.arg if isinstance(node, ast.arg) else node.id if isinstance(node, ast.Name) else ""
            if name == "reference" or (isinstance(node, ast.Constant) and node.value == "reference"):
                found.append(f"{path.relative_to(root)}:{getattr(node, 'lineno', 0)} uses the reference")
    return found


# Rule -> violations: (file, what is added to it). A file that does not exist is made.
RULES: dict[Rule, list[tuple[str, str]]] = {
    feedback_stands_alone: [
        ("autograder/feedback/checks.py", "from ..results import write"),
        ("autograder/feedback/card.py", "import autograder.pool"),
        ("autograder/feedback/scores.py", "def f():\n    from autograder import wire"),
        ("autograder/feedback/values.py", "import msgspec"),
    ],
    far_side_knows_nothing_trusted: [
        ("autograder/worker.py", "from .pool import Pool"),
        ("autograder/wire.py", "from .feedback.handles import Handle"),
        ("autograder/zygote.py", "def f():\n    from autograder import results"),
        ("autograder/confine.py", "from . import deadlines"),
        ("autograder/feedback/server.py", "from .inline import InlineLink"),
        ("autograder/feedback/values.py", "import pytest"),
        ("autograder/feedback/errors.py", "from .marks import item"),
    ],
    nobody_imports_the_command_line: [
        ("autograder/grade.py", "from .cli import main"),
        ("autograder/feedback/card.py", "import autograder.cli"),
        ("autograder/proof/audit.py", "from .. import cli"),
        ("autograder/build.py", "from .cli.common import FOUND"),
    ],
    nothing_that_grades_needs_the_proof: [
        ("autograder/grade.py", "from .proof.rehearsal import Rehearsal"),
        ("autograder/build.py", "from .proof import hints"),
        ("autograder/feedback/plugin.py", "import autograder.authoring.quiz"),
        ("autograder/build.py", "from .docs.making import make"),
        ("autograder/grade.py", "from .classroom.grader import Grader"),
        ("autograder/pages.py", "from .docs import links"),
    ],
    pages_know_no_grading: [
        ("autograder/docs/html.py", "from ..build import build"),
        ("autograder/docs/pdf.py", "import click"),
        ("autograder/docs/reading.py", "from ..feedback import checks"),
        ("autograder/build.py", "import typst"),
    ],
    trusted_code_imports_nothing_that_runs_code: [
        ("autograder/results.py", "import pickle"),
        ("autograder/pool.py", "from marshal import loads"),
        ("autograder/session.py", "def f():\n    import torch.nn"),
        ("autograder/feedback/checks.py", 'import importlib\nimportlib.import_module("torch")'),
        ("autograder/feedback/server.py", "import dill"),
        ("autograder/new.py", '__import__("pickle")'),
    ],
    trusted_code_evaluates_nothing: [
        ("autograder/proof/catalogue.py", 'eval("1")'),
        ("autograder/feedback/plugin.py", 'exec("x = 1")'),
        ("autograder/regions.py", 'np.load("x", allow_pickle=True)'),
    ],
    engine_knows_no_assignment: [
        ("autograder/pool.py", "import lm"),
        ("autograder/build.py", "from solutions.lm import ngram"),
        ("autograder/grade.py", "from tests.staff import links"),
        ("autograder/pages.py", 'SLUG = "perplexity"'),
        ("autograder/feedback/checks.py", 'TEXT = "your add_k is wrong"'),
        ("autograder/results.py", "student.ngram.count"),
    ],
    pure_parts_import_no_tools: [
        ("autograder/feedback/scores.py", "import pytest"),
        ("autograder/deadlines.py", "from rich.console import Console"),
        ("autograder/archive.py", "import click"),
    ],
    package_imports_little: [
        ("solutions/lm/ngram.py", "import torch"),
        ("solutions/lm/ngram.py", "from .metrics import perplexity"),
        ("solutions/lm/ngram.py", "from lm.vocab import Vocab"),
        ("solutions/lm/vocab.py", "from .ngram import MLE"),
        ("solutions/lm/metrics.py", "import scipy.special"),
        ("solutions/lm/metrics.py", "from rich import print"),
        ("solutions/lm/corpus.py", "import autograder"),
    ],
    experiments_import_what_is_given: [
        ("solutions/experiments/ngrams.py", "from lm.ngram import MLE"),
        ("solutions/experiments/ngrams.py", "from lm import corpus, metrics"),
        ("solutions/experiments/ngrams.py", "import torch"),
        ("solutions/experiments/torch_basics.py", "import matplotlib"),
        ("solutions/experiments/run.py", "from autograder.grade import grade"),
        ("solutions/experiments/texts.py", "import scipy"),
        ("solutions/experiments/new.py", "from ..lm import corpus"),
    ],
    graded_tests_know_fixtures_only: [
        ("tests/public/test_ngram.py", "from lm import ngram"),
        ("tests/hidden/test_ngram.py", "import solutions.lm.ngram"),
        ("tests/hidden/test_metrics.py", "from autograder.pool import Pool"),
        ("tests/public/test_metrics.py", "import scipy"),
    ],
    public_tests_use_no_reference: [
        ("tests/public/test_ngram.py", "def test_it(student, reference):\n    pass"),
        ("tests/public/test_metrics.py", 'def f(request):\n    return request.getfixturevalue("reference")'),
        ("tests/public/test_new.py", "print(reference)"),
    ],
}


@pytest.mark.parametrize("rule", [*RULES, far_side_is_all_there], ids=lambda rule: rule.__name__)
def test_rule_is_kept(rule: Rule) -> None:
    """Nothing in the repository breaks the rule."""
    assert rule(ROOT) == []


PLANTED = [(rule, file, text) for rule, plants in RULES.items() for file, text in plants]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of everything that the rules read."""
    root = tmp_path_factory.mktemp("copied")
    for folder in ("autograder", "solutions", "tests/public", "tests/hidden"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "assignment.toml", root)
    return root


@pytest.mark.parametrize(
    ("rule", "file", "text"),
    PLANTED,
    ids=[f"{rule.__name__}-{Path(file).stem}-{number}" for number, (rule, file, _) in enumerate(PLANTED)],
)
def test_planted_violation_is_found(copied: Path, rule: Rule, file: str, text: str) -> None:
    """One line in the wrong place, and the rule names its file."""
    path = copied / file
    before = path.read_text(encoding="utf-8") if path.exists() else None
    try:
        path.write_text(f"{before or ''}\n{text}\n", encoding="utf-8")
        found = rule(copied)
        assert len(found) >= 1
        assert all(line.startswith(f"{file}:") for line in found)
    finally:
        if before is None:
            path.unlink()
        else:
            path.write_text(before, encoding="utf-8")


def test_missing_file_of_the_far_side_is_found(copied: Path) -> None:
    """A worker's file under a new name is noticed, so that the rule about it is not lost."""
    moved = copied / "autograder" / "moved.py"
    (copied / "autograder" / "wire.py").rename(moved)
    try:
        assert far_side_is_all_there(copied) == ["wire"]
    finally:
        moved.rename(copied / "autograder" / "wire.py")


def test_package_of_the_far_side_imports_marks_and_errors_only() -> None:
    """Importing ``feedback.values`` runs the package's own file: what it imports comes to a worker as well."""
    found = {module for module, _ in imports(ROOT, ROOT / "autograder" / "feedback" / "__init__.py")}
    assert found == {"autograder.feedback.errors", "autograder.feedback.marks"}
    marks = {top(module) for module, _ in imports(ROOT, ROOT / "autograder" / "feedback" / "marks.py")}
    assert marks <= STANDARD
    assert list(imports(ROOT, ROOT / "autograder" / "__init__.py")) == []

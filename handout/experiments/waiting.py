"""Why a step did not end, in one line: an item that is not done yet, or what went wrong in whose code. Given."""

from __future__ import annotations

import re
import traceback
from functools import lru_cache
from pathlib import Path

ASSIGNMENT = "assignment.toml"
LONGEST = 160  # letters of a message


@lru_cache(maxsize=1)
def items() -> dict[str, tuple[str, str, str]]:
    """slug -> (number, title, title in Chinese) of all items; empty where nothing tells."""
    try:
        from autograder.feedback.assignment import load_assignment
        from autograder.feedback.errors import InputError
    except ImportError:  # the experiments alone, away from the handout
        return {}
    for folder in Path(__file__).resolve().parents[1:3]:
        try:
            by_slug = load_assignment(folder / ASSIGNMENT).by_slug
        except InputError:
            continue
        return {slug: (item.number, item.title, item.title_zh) for slug, item in by_slug.items()}
    return {}


def reason(error: BaseException, lang: str) -> tuple[str, str]:
    """What a step waits for, in a word, and a line that says it to people."""

    def say(english: str, chinese: str) -> str:
        return chinese if lang == "zh" else english

    stub = re.fullmatch(r"(\w+): ([\w.]+)", str(error)) if isinstance(error, NotImplementedError) else None
    if stub is not None:
        slug, function = stub.groups()
        number, english, chinese = items().get(slug, ("", "", ""))
        check = f"python check.py --item {number or slug}"
        title = f" {number}, {say(english, chinese)}" if number else f" {slug}"
        return slug, say(
            f"waits for item{title}: {function} is not written yet ({check})",
            f"等待题目{title}：{function} 还没有写（{check}）",
        )
    name = getattr(error, "name", None) or ""
    if isinstance(error, ModuleNotFoundError):
        if name.partition(".")[0] == "lm":  # a file that is about a part that this course leaves out
            return name, say(f"needs {name}, which is not there", f"需要 {name}，而这里没有")
        return name, say(f"needs {name}, which is not installed", f"需要 {name}，而这里没有安装")
    kind = type(error).__name__
    message = " ".join(str(error).split())
    said = f"{kind}: {message[:LONGEST]}{'...' * (len(message) > LONGEST)}" if message else kind
    where = _where(error)
    if where.startswith("lm/"):
        return kind, say(
            f"your code raised {said} in {where} (python check.py says more)",
            f"你的代码在 {where} 抛出 {said}（python check.py 会说得更清楚）",
        )
    return kind, say(
        f"cannot go on with what your functions returned: {said}, in {where} (python check.py says more)",
        f"你的函数返回的结果用不了：{said}，在 {where}（python check.py 会说得更清楚）",
    )


def _where(error: BaseException) -> str:
    """``lm/ngram.py:12``, the last place in a file of the package; otherwise the last of ours."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).parent.name}/{Path(error.filename).name}:{error.lineno}"
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    for folder in ("lm", "experiments"):
        for path, line in reversed(frames):
            if path.parent.name == folder:
                return f"{folder}/{path.name}:{line}"
    path, line = frames[-1]
    return f"{path.name}:{line}"

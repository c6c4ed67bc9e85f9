"""Pictures of the experiments: matplotlib where it is installed, styles for black and white, a Chinese font. Given."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

# Fonts with Chinese characters, by the names that matplotlib has for them. Noto's collection is known as its first
# face, the Japanese one, which has all characters of ours.
CHINESE_FONTS = (
    *(
        "Noto Sans CJK SC",
        "Noto Sans SC",
        "Source Han Sans SC",
        "Source Han Sans CN",
        "PingFang SC",
        "Hiragino Sans GB",
    ),
    *("Microsoft YaHei", "SimHei", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Heiti SC", "STHeiti", "Songti SC"),
    *("Noto Sans CJK JP", "Noto Serif CJK JP", "Arial Unicode MS", "SimSun", "Droid Sans Fallback"),
)


@lru_cache(maxsize=1)
def chinese_font() -> str:
    """The first of these fonts that is here, or ""."""
    from matplotlib import font_manager

    here = set(font_manager.get_font_names())
    return next((name for name in CHINESE_FONTS if name in here), "")


@contextmanager
def drawing(path: Path, width: float, height: float, chinese: bool) -> Iterator[tuple[Any, bool]]:
    """A matplotlib figure that is written to a path, SVG or PNG, and whether its words can be Chinese.

    The figure is None where there is no matplotlib. The same figure gives the same bytes.
    """
    try:
        import matplotlib
    except ImportError:
        yield None, chinese
        return
    matplotlib.use("agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    font = chinese_font() if chinese else ""
    style = {
        "svg.hashsalt": "lm",
        "font.sans-serif": [*filter(None, [font]), "DejaVu Sans"],
        "axes.unicode_minus": not font,  # the Chinese fonts lack that character
        "axes.prop_cycle": pyplot.cycler(
            linestyle=["-", "--", ":", "-."] * 2, marker=list("osv^Dx+*"), color=["black", "dimgrey"] * 4
        ),
    }
    with pyplot.rc_context(style):
        drawn = pyplot.figure(figsize=(width, height), layout="constrained")
        try:
            yield drawn, bool(font)
            path.parent.mkdir(parents=True, exist_ok=True)
            drawn.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        finally:
            pyplot.close(drawn)

"""Where a link of a page leads: to another page, into one, out into the world, or nowhere, which is refused."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..feedback.assignment import Assignment
from ..feedback.errors import InputError
from .pandoc import Node, rewrite
from .reading import Page, file_of

_WORLD = re.compile(r"(https?|mailto):", re.IGNORECASE)
_PICTURES = (".png", ".svg")

# page it stands on, page it leads to, id in that one or "" -> the address, None when that page is not there
Address = Callable[[Page, Page, str], "str | None"]


class Links:
    """The links between these pages, and the pictures on them.

    Attributes:
        pictures: what the pages show, place in the handout -> content; filled as pages are linked.
    """

    def __init__(self, root: Path, assignment: Assignment, pages: list[Page]) -> None:
        self._root = root
        self._assignment = assignment
        self._pages: Mapping[str, Page] = {page.place: page for page in pages}
        self.pictures: dict[str, bytes] = {}

    def linked(self, page: Page, address: Address, picture: Callable[[Page, str], str]) -> list[Node]:
        """The blocks of a page in which every link leads where ``address`` says, every picture to ``picture(place)``.

        Raises:
            InputError: with file and line, when a link leads nowhere, or a picture is not at hand.
        """

        def change(inner: list[Node]) -> list[Node]:
            new: list[Node] = []
            for node in inner:
                if node["t"] == "Link":
                    attributes, words, (target, title) = node["c"]
                    found = self._target(page, target, address)
                    if found is None:
                        new.extend(words)
                        continue
                    node = {"t": "Link", "c": [attributes, words, [found, title]]}
                elif node["t"] == "Image":
                    attributes, words, (target, title) = node["c"]
                    place = self._picture(page, target)
                    node = {"t": "Image", "c": [attributes, words, [picture(page, place), title]]}
                new.append(node)
            return new

        blocks: Any = rewrite(page.blocks, change)
        return list(blocks)

    def _target(self, page: Page, target: str, address: Address) -> str | None:
        """None for a file of the handout that is no page here, or none this term: the words stay, without a link."""
        if _WORLD.match(target):
            return target
        path, _, identifier = unquote(target).partition("#")
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page.place), path)) if path else page.place
        to = self._pages.get(place)
        if to is None:
            if file_of(self._root, place, self._assignment) is None:
                raise InputError(f"{page.at(f']({target}')}: the link {target} leads to no file of the handout")
            return None
        if identifier and identifier not in to.ids:
            raise InputError(f"{page.at(f']({target}')}: the link {target} leads to no heading of {to.source}")
        return address(page, to, identifier)

    def _picture(self, page: Page, target: str) -> str:
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page.place), unquote(target)))
        file = None if _WORLD.match(target) else file_of(self._root, place, self._assignment)
        if file is None or file.suffix not in _PICTURES:
            kinds = " or ".join(_PICTURES)
            raise InputError(f"{page.at(f']({target}')}: the picture {target} is no {kinds} file of the handout")
        self.pictures[place] = file.read_bytes()
        return place

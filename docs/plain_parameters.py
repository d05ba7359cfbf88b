"""For the site's reference: reads our parameters, `name : words`, as numpydoc's names with a description."""

from __future__ import annotations

import re
from typing import Any

import griffe

HEADING = "Parameters\n----------\n"
OTHER = re.compile(r"^\w+\n-{3,}$", re.M)
NAMED = re.compile(r"^(\w[\w, ]*) : (.*)$", re.M)


def plain(text: str) -> str:
    """The docstring with each `name : words` as a name and, below it, its words; what is said after them goes first."""
    before, heading, after = text.partition(HEADING)
    if not heading:
        return text
    listed, _, rest = after.partition("\n\n")
    other = OTHER.search(rest)
    prose, sections = (rest, "") if other is None else (rest[: other.start()], rest[other.start() :])
    said = [before.strip(), prose.strip(), heading + NAMED.sub(r"\1\n    \2", listed), sections]
    return "\n\n".join(part for part in said if part)


class PlainParameters(griffe.Extension):
    """Changes docstrings as they are read."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of a class or function, if it has one."""
        if obj.docstring is not None:
            obj.docstring.value = plain(obj.docstring.value)

"""For the site's reference: reads our parameters, `name : words`, as numpydoc's names with a description."""

from __future__ import annotations

import re
from typing import Any

import griffe

SECTION = re.compile(r"(?<=Parameters\n----------\n).*?(?=\n\n|\Z)", re.S)
NAMED = re.compile(r"^(\w[\w, ]*) : (.*)$", re.M)


def plain(text: str) -> str:
    """The docstring with each `name : words` as a name and, below it, its words."""
    return SECTION.sub(lambda section: NAMED.sub(r"\1\n    \2", section[0]), text)


class PlainParameters(griffe.Extension):
    """Changes docstrings as they are read."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of a class or function, if it has one."""
        if obj.docstring is not None:
            obj.docstring.value = plain(obj.docstring.value)

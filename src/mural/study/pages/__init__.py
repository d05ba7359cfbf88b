"""Pages made of results alone: docs/results.md, docs/claims.md, the beginning of README.md. `mural results`."""

from __future__ import annotations

from pathlib import Path

from mural.atomic import replacing
from mural.errors import MuralError
from mural.study.claims import Evidence, judge
from mural.study.claims import page as ledger
from mural.study.pages.front import beginning
from mural.study.pages.results import results_page
from mural.study.runs import Where

BEGIN, END = "<!-- `mural results` writes from here -->", "<!-- to here -->"
PAGE, LEDGER, README = Path("docs", "results.md"), Path("docs", "claims.md"), Path("README.md")


class NoPlaceError(MuralError, ValueError):
    """README.md has no marks to write between; the message says which."""


def texts(root: Path) -> dict[Path, str]:
    """What the generated pages of a checkout should say, by their place in it."""
    where = Where(root / "results")
    evidence = Evidence(where, root / "benchmarks", root / "docs" / "figures")
    readme, judged = (root / README).read_text(), list(judge(evidence))
    return {
        PAGE: results_page(root, where, judged),
        LEDGER: ledger(judged),
        README: between(readme, beginning(root, where)),
    }


def between(text: str, made: str) -> str:
    """A text with what stands between the marks replaced."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise NoPlaceError(f"{README} needs the lines {BEGIN} and {END}, between which the first table is written")
    return f"{before}{begin}\n\n{made}\n\n{end}{after}"


def write(root: Path) -> list[Path]:
    """Write the pages that have changed; returns their places."""
    changed = []
    for place, text in texts(root).items():
        path = root / place
        if not path.exists() or path.read_text() != text:
            with replacing(path) as scratch:
                scratch.write_text(text)
            changed.append(place)
    return changed

"""Writes what `docs/architecture.md` shows of the rooms: the drawing `rooms.svg`, and a table of files for each room.

    python docs/rooms.py

Both come from the layers in `pyproject.toml`, which `lint-imports` checks, and from the first lines of docstrings; a
test compares what is committed with what this script writes.
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE, DRAWING, PAGE = ROOT / "src" / "mural", ROOT / "docs" / "rooms.svg", ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms.py writes from here -->", "<!-- to here -->"
WIDTH, MARGIN, GAP, LINE = 760, 70, 26, 17  # pixels; exceptions are drawn in the right margin
BESIDE = 3  # boxes in a row that are wide enough for a sentence
LETTER = 7.2  # pixels, about, of a letter in the sentences


def contracts(kind: str) -> list[dict[str, Any]]:
    """The contracts of a kind."""
    every = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return [one for one in every if one["type"] == kind]


def layers() -> list[list[str]]:
    """Names of the rooms, those that import first; rooms of one layer do not know of each other."""
    return [layer.split(" | ") for layer in contracts("layers")[0]["layers"]]


def forbidden() -> set[tuple[str, str]]:
    """Rooms, and rooms below them that they may not import all the same."""
    return {
        (importer.split(".")[1], imported.split(".")[1])
        for one in contracts("forbidden")
        for importer in one["source_modules"]
        for imported in one["forbidden_modules"]
    }


def sentence(path: Path) -> str:
    """The first line of a docstring."""
    return (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n")[0]


def source(room: str) -> Path:
    """The file that says what a room is for."""
    folder = SOURCE / room
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def tables() -> Iterator[str]:
    """Lines of Markdown: a heading and a sentence for each room, a row for each of its files."""
    for room in (room for layer in layers() for room in layer):
        yield from ("", f"### `{room}`" if source(room).name == "__init__.py" else f"### `{room}.py`", "")
        yield sentence(source(room))
        files = sorted((SOURCE / room).rglob("*.py"), key=lambda path: (len(path.parts), path))
        rows = [(path.relative_to(SOURCE / room).as_posix(), sentence(path)) for path in files]
        rows = [(name.replace("/__init__.py", "/"), words) for name, words in rows if name != "__init__.py"]
        if rows:
            yield from ("", "| file | what it is for |", "|---|---|")
            yield from (f"| `{name}` | {words.replace('|', chr(92) + '|')} |" for name, words in sorted(rows))


def page() -> str:
    """The page on the architecture, with its tables made anew."""
    before, rest = PAGE.read_text().split(BEGIN)
    return before + BEGIN + "\n" + "\n".join(tables()) + "\n\n" + END + rest.split(END)[1]


def drawing() -> str:
    """The rooms as boxes, layer by layer; arrows go from those that import to those that are imported."""
    parts, places, y = [], {}, MARGIN
    above: list[str] = []
    for layer in layers():
        width = (WIDTH - GAP * (len(layer) - 1)) / len(layer)
        letters = int((width - 20) / LETTER)
        told_here = len(layer) <= BESIDE  # narrow boxes hold a name only; the tables have the sentences
        words = {
            room: textwrap.wrap(sentence(source(room)).replace("`", ""), letters) if told_here else [] for room in layer
        }
        name = "room" if told_here else "leaf"
        height = 34 + LINE * max(map(len, words.values()))
        for i, room in enumerate(layer):
            x = 20 + i * (width + GAP)
            places[room] = x + width, y + height / 2
            parts.append(f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{height}" rx="6"/>')
            parts.append(f'<text class="{name}" x="{x + 10:.0f}" y="{y + 22}">{room}</text>')
            for n, line in enumerate(words[room], start=1):
                parts.append(f'<text x="{x + 10:.0f}" y="{y + 23 + n * LINE}">{escape(line, quote=False)}</text>')
        count = max(len(above), len(layer)) if above else 0
        for i in range(count):
            if len(above) == count and {(above[i], room) for room in layer} <= forbidden():
                continue
            middle = 20 + (i + 0.5) * (WIDTH + GAP) / count - GAP / 2
            parts.append(f'<path class="arrow" d="M {middle:.0f} {y - GAP + 3} v {GAP - 9}"/>')
        above, y = layer, y + height + GAP
    ignored = contracts("layers")[0].get("ignore_imports", [])
    exceptions = sorted({tuple(end.split(".")[1] for end in one.split(" -> ")) for one in ignored})
    for n, (importer, imported) in enumerate(exceptions):
        (x0, y0), (x1, y1) = places[importer], places[imported]
        out = 20 + WIDTH + 28 + 10 * n
        curve = f"M {x0:.0f} {y0:.0f} C {out} {y0:.0f} {out} {y1:.0f} {x1 + 4:.0f} {y1:.0f}"
        parts.append(f'<path class="exception" d="{curve}"/>')
    told = "Arrows: imports. A room may import every room below it, and none beside or above it."
    if exceptions:
        told += " Dashed: exceptions."
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 40 + MARGIN} {y}">',
            "<style>text { font: 13px sans-serif; fill: #333 } .room { font: bold 16px sans-serif; fill: #111 }",
            ".leaf { font: bold 11px sans-serif; fill: #111 }",
            "rect { fill: #f4f6fa; stroke: #7a8aa0 } path { fill: none; stroke-width: 1.6 }",
            ".arrow { stroke: #30638e; marker-end: url(#head) }",
            ".exception { stroke: #c0392b; stroke-dasharray: 5 4; marker-end: url(#red) }</style>",
            *(
                f'<marker id="{name}" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="6" markerHeight="6" '
                'orient="auto">'
                f'<path d="M 0 0 L 8 4 L 0 8 z" style="fill: {colour}; stroke: none"/></marker>'
                for name, colour in (("head", "#30638e"), ("red", "#c0392b"))
            ),
            f'<rect width="{WIDTH + 40 + MARGIN}" height="{y}" style="fill: white; stroke: none"/>',
            '<text class="room" x="20" y="30">The rooms of src/mural</text>',
            f'<text x="20" y="52">{told}</text>',
            *parts,
            "</svg>",
            "",
        ]
    )


def main() -> None:
    """Write both files."""
    DRAWING.write_text(drawing())
    PAGE.write_text(page())


if __name__ == "__main__":
    main()

"""The page on the architecture, the contracts and the tree say the same."""

import importlib.util
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("rooms", ROOT / "docs" / "rooms.py")
rooms = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rooms)


def test_the_drawing_and_the_tables_are_up_to_date():
    again = "out of date: call `python docs/rooms.py`"
    assert rooms.DRAWING.read_text() == rooms.drawing(), again
    assert rooms.PAGE.read_text() == rooms.page(), again


def test_the_drawing_has_every_room_in_its_layer():
    tree = ET.fromstring(rooms.drawing())
    texts = [text for text in tree.iter("{http://www.w3.org/2000/svg}text") if text.get("class") in ("room", "leaf")]
    height = {text.text: int(text.get("y")) for text in texts}
    order = [{height[room] for room in layer} for layer in rooms.layers()]
    assert all(len(level) == 1 for level in order)
    assert order == sorted(order, key=min)


def test_no_arrow_goes_where_no_import_may():
    arrows = rooms.drawing().count('class="arrow"')
    widths = [len(layer) for layer in rooms.layers()]
    neighbours = {(room, other) for one, two in pairwise(rooms.layers()) for room in one for other in two}
    assert arrows == sum(map(max, widths, widths[1:])) - len(rooms.forbidden() & neighbours)


def test_the_page_names_every_file():
    page = rooms.page()
    for path in rooms.SOURCE.rglob("*.py"):
        if path.name not in ("__init__.py", "__main__.py"):
            room, _, name = path.relative_to(rooms.SOURCE).as_posix().partition("/")
            assert f"`{name or room}`" in page, path


def test_every_file_says_what_it_is_for():
    assert [path for path in rooms.SOURCE.rglob("*.py") if not rooms.sentence(path)] == []


def test_no_file_is_too_long_to_hold_in_ones_head():
    long = [
        f"{path.relative_to(ROOT)}: {count} lines"
        for folder in ("src", "tests", "examples", "docs")
        for path in (ROOT / folder).rglob("*.py")
        if (count := len(path.read_text().splitlines())) > 350
    ]
    assert not long, f"split {', '.join(long)}"

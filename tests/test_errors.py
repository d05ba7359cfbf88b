"""One base class for all errors of the package, and one way to suggest a name."""

import importlib
import inspect
import pickle
import pkgutil
import re
from pathlib import Path

import pytest

import mural
from mural.errors import ArgumentError, MuralError, did_you_mean, nearest
from mural.storage.disk import OutOfSpaceError
from mural.storage.metrics import DamagedLineError
from mural.tasks import MissingExtraError
from mural.typed import UnknownSettingError

WORKERS = ("__main__", "peers")  # what runs when it is imported, and what needs the packages of others


def classes():
    for found in pkgutil.walk_packages(mural.__path__, "mural."):
        if not found.name.endswith(WORKERS):
            try:
                module = importlib.import_module(found.name)
            except MissingExtraError:
                continue
            for _, thing in inspect.getmembers(module, inspect.isclass):
                if thing.__module__ == found.name and issubclass(thing, BaseException):
                    yield thing


def test_every_error_of_the_package_is_a_mural_error():
    found = {thing for thing in classes() if not issubclass(thing, Warning)}
    assert len(found) > 35
    assert [thing for thing in found if not issubclass(thing, MuralError)] == []
    assert mural.MuralError is MuralError


@pytest.mark.parametrize("error", [UnknownSettingError("sac.x", "known are sac"), DamagedLineError("line 2 of a")])
def test_errors_come_back_from_other_processes(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_errors_are_still_what_python_calls_them():
    assert issubclass(ArgumentError, ValueError)
    error = OutOfSpaceError("no room")
    assert isinstance(error, OSError)
    assert str(error) == "no room"
    public = {thing for thing in classes() if thing.__name__[0] != "_" and thing is not MuralError}
    builtin = (ValueError, RuntimeError, TypeError, ImportError, OSError, Warning)
    assert [thing for thing in public if not issubclass(thing, builtin)] == []


def test_nothing_in_the_package_raises_bare_errors():
    """But for what cannot happen, and files that are not there."""
    bare = re.compile(r"raise (ValueError|RuntimeError|TypeError|KeyError|Exception)\(")
    sources = sorted(Path(mural.__file__).parent.rglob("*.py"))
    assert len(sources) > 80
    assert [path.name for path in sources if bare.search(path.read_text())] == []


@pytest.mark.parametrize(
    ("name", "found"),
    [("zigzg-maze", "zigzag-maze"), ("spiral", "spiral-maze"), ("xyz", None), ("", None), ("ma", None)],
)
def test_the_nearest_name(name, found):
    known = ["zigzag-maze", "spiral-maze"]
    assert nearest(name, known) == found
    assert did_you_mean(name, known) == ("" if found is None else f"did you mean {found!r}? ")

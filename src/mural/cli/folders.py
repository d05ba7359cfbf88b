"""Finding the folder of a run by what the user calls it, and what the commands on runs share."""

from __future__ import annotations

import importlib
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from mural.errors import MuralError, did_you_mean
from mural.zoo import find, is_zoo

if TYPE_CHECKING:
    from mural.api import Agent

RUNS = Path("runs")
Imports = Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(name="import", metavar="MODULE")]


class NoRunError(MuralError, ValueError):
    """There is no run of this name, or it has nothing that could be loaded yet."""


class ImportedModuleError(MuralError, ImportError):
    """A module named with --import cannot be imported."""


def quoted(path: Path) -> str:
    """A path as a shell takes it."""
    return shlex.quote(str(path))


def find_run(name: Path) -> Path:
    """The folder of a run: a path, or the name of one in runs/."""
    if is_zoo(name):
        raise NoRunError(f"{find(name)} is a trained policy without its run: `mural eval {name}` plays it")
    for path in (name, RUNS / name):
        if (path / "config.json").is_file():
            return path
    known = sorted(path.parent.name for path in RUNS.glob("*/config.json"))
    hint = did_you_mean(name.name, known) or "`mural train` makes one"
    raise NoRunError(f"there is no run in {name}: a run's folder has a config.json. {hint.strip()}")


def import_modules(names: Sequence[str]) -> None:
    """Import the user's own modules, also from the current folder: they register methods and environments."""
    if names and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise ImportedModuleError(
                f"--import {name}: {error}; modules are looked for in this folder and among packages"
            ) from error
        except Exception as error:  # whatever the user's own code raises
            at = traceback.extract_tb(error.__traceback__)[-1]
            raise ImportedModuleError(
                f"--import {name}: the module raises {type(error).__name__}: {error} ({at.filename}, line {at.lineno})"
            ) from error


def load_agent(run: Path, imports: Sequence[str], config: dict[str, Any] | None = None, *, best: bool = False) -> Agent:
    """The agent of a run at its latest good checkpoint, or at its best; says which checkpoints were passed over."""
    from mural.api import Agent
    from mural.rewards import UnknownMethodError

    import_modules(imports)
    try:
        with plain_warnings():
            return Agent.load(run, config=config, best=best)
    except UnknownMethodError as error:
        raise NoRunError(f"{error}. For a method of your own, name its module with --import") from error


def require_trained(agent: Agent, run: Path) -> None:
    """An error if there is no checkpoint."""
    if not agent.steps:
        raise NoRunError(
            f"{run} has no checkpoint yet; wait for one, or start it again with `mural resume {quoted(run)}`"
        )


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Within it, warnings are lines for people, without file names and source."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"warning: {message}", file=sys.stderr, flush=True)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield

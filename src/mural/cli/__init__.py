"""`mural …`: every command is a typed dataclass; its fields are the flags."""

from __future__ import annotations

import gc
import sys
import traceback
from dataclasses import dataclass
from typing import Annotated

import tyro

from mural import __version__
from mural.cli.bench import Bench
from mural.cli.figures import Claims, Figure, Table
from mural.cli.info import Info, tracker
from mural.cli.lists import CheckExamples, Examples, Methods, Tasks
from mural.cli.pages import Results
from mural.cli.report import Report
from mural.cli.runs import Eval, Policy, Watch
from mural.cli.sweep import SweepCommand, with_verb
from mural.cli.training import INTERRUPTED, Resume, Train, train
from mural.cli.zoo import Zoo
from mural.errors import ArgumentError, MuralError
from mural.limits import broken

MISUSED, BROKEN = 2, 1  # exit codes: the user can do something about it; only we can


@dataclass
class Mural:
    """Learn tasks from examples of success: bring an environment and examples, get a policy and its learned reward.

    `mural COMMAND --help` explains a command, `mural --version` prints the version.
    """

    command: (
        Annotated[Train, tyro.conf.subcommand("train")]
        | Annotated[Resume, tyro.conf.subcommand("resume")]
        | Annotated[Eval, tyro.conf.subcommand("eval")]
        | Annotated[Watch, tyro.conf.subcommand("watch")]
        | Annotated[Policy, tyro.conf.subcommand("policy")]
        | Annotated[Zoo, tyro.conf.subcommand("zoo")]
        | Annotated[Report, tyro.conf.subcommand("report")]
        | Annotated[Tasks, tyro.conf.subcommand("tasks")]
        | Annotated[Methods, tyro.conf.subcommand("methods")]
        | Annotated[Examples, tyro.conf.subcommand("examples")]
        | Annotated[Figure, tyro.conf.subcommand("figure")]
        | Annotated[SweepCommand, tyro.conf.subcommand("sweep")]
        | Annotated[Table, tyro.conf.subcommand("table")]
        | Annotated[Claims, tyro.conf.subcommand("claims")]
        | Annotated[Results, tyro.conf.subcommand("results")]
        | Annotated[Bench, tyro.conf.subcommand("bench")]
        | Annotated[Info, tyro.conf.subcommand("info")]
    )


def main(argv: list[str] | None = None) -> None:
    """Entry point of the command `mural`."""
    gc.set_threshold(100_000, 50, 100)  # JAX makes many objects while it traces, hardly any of them garbage
    words = with_verb(sys.argv[1:] if argv is None else argv)
    try:
        if words == ["--version"]:
            print(f"mural-rl {__version__}")
        elif words[:1] == ["train"]:  # its flags depend on task and method
            train(words[1:])
        elif words[:2] == ["examples", "check"]:  # beside `mural examples TASK`
            tyro.cli(CheckExamples, prog="mural examples check", args=words[2:]).run()
        else:
            command = tyro.cli(Mural, prog="mural", args=words, config=(tyro.conf.OmitSubcommandPrefixes,)).command
            require_limits(command)
            command.run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        sys.exit(told(error))


def require_limits(command: object) -> None:
    """Raise an `ArgumentError` for the first flag whose number breaks its limit."""
    for name, value, words in broken(command):
        flag = name.rpartition(".")[2].replace("_", "-")
        raise ArgumentError(f"--{flag} is {value}; it must {words}")


def told(error: Exception) -> int:
    """Print an error: in one line if the user can do something about it, else with all that a report needs."""
    if expected(error):
        print(f"mural: {error}", file=sys.stderr)
        return MISUSED
    traceback.print_exception(error)
    place = tracker() or "whoever you have this package from"
    print(f"mural: this is a bug; send the lines above and the output of `mural info` to {place}", file=sys.stderr)
    return BROKEN


def expected(error: Exception) -> bool:
    """Whether an error tells the user what to do: our own, Gymnasium's, files, and packages that are missing.

    Every `OSError` is among them, on purpose: a full disk, a missing file or a folder without permission is the user's
    to mend, the message names the file, and a traceback would bury it.
    """
    if isinstance(error, ModuleNotFoundError):
        return not (error.name or "mural").startswith("mural.")
    ours = isinstance(error, MuralError | OSError)
    return ours or type(error).__module__.partition(".")[0] == "gymnasium"

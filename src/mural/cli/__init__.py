"""`mural …`: every command is a typed dataclass; its fields are the flags."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import tyro

from mural.cli.bench import Bench, Figure
from mural.cli.lists import Examples, Methods, Tasks
from mural.cli.runs import Eval, Policy, Watch
from mural.cli.training import INTERRUPTED, Resume, Train, train


@dataclass
class Mural:
    """Outcome-driven reinforcement learning: examples of success in, a policy and its learned reward out."""

    command: (
        Annotated[Train, tyro.conf.subcommand("train")]
        | Annotated[Resume, tyro.conf.subcommand("resume")]
        | Annotated[Eval, tyro.conf.subcommand("eval")]
        | Annotated[Watch, tyro.conf.subcommand("watch")]
        | Annotated[Policy, tyro.conf.subcommand("policy")]
        | Annotated[Tasks, tyro.conf.subcommand("tasks")]
        | Annotated[Methods, tyro.conf.subcommand("methods")]
        | Annotated[Examples, tyro.conf.subcommand("examples")]
        | Annotated[Figure, tyro.conf.subcommand("figure")]
        | Annotated[Bench, tyro.conf.subcommand("bench")]
    )


def main(argv: list[str] | None = None) -> None:
    """Entry point of the command `mural`."""
    words = sys.argv[1:] if argv is None else argv
    try:
        if words[:1] == ["train"]:  # its flags depend on task and method
            train(words[1:])
        else:
            tyro.cli(Mural, prog="mural", args=words, config=(tyro.conf.OmitSubcommandPrefixes,)).command.run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if not expected(error):
            raise
        print(f"mural: {error}", file=sys.stderr)
        sys.exit(2)


def expected(error: Exception) -> bool:
    """Whether an error tells the user what to do: our own ones, Gymnasium's, missing files and packages."""
    if type(error).__module__.partition(".")[0] in ("mural", "gymnasium") or isinstance(error, OSError | ImportError):
        return True
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    raised_in = trace.tb_frame.f_globals.get("__name__", "") if trace is not None else ""
    return isinstance(error, ValueError | RuntimeError) and raised_in.startswith("mural.")

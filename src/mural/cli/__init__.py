"""`mural …`: every command is a typed dataclass; its fields are the flags."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import tyro

from mural.cli.bench import Bench, Figure
from mural.cli.lists import Examples, Tasks


@dataclass
class Mural:
    """Outcome-driven reinforcement learning: examples of success in, a policy and its learned reward out."""

    command: (
        Annotated[Figure, tyro.conf.subcommand("figure")]
        | Annotated[Tasks, tyro.conf.subcommand("tasks")]
        | Annotated[Examples, tyro.conf.subcommand("examples")]
        | Annotated[Bench, tyro.conf.subcommand("bench")]
    )


def main(argv: list[str] | None = None) -> None:
    """Entry point of the command `mural`."""
    arguments = tyro.cli(Mural, prog="mural", args=argv, config=(tyro.conf.OmitSubcommandPrefixes,))
    try:
        arguments.command.run()
    except (ValueError, ImportError, RuntimeError, OSError) as error:
        print(f"mural: {error}", file=sys.stderr)
        sys.exit(2)

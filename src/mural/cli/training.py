"""`mural train` and `mural resume`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import Positional

from mural.cli.folders import Imports, find_run, load_agent, plain_warnings, quoted
from mural.errors import MuralError

if TYPE_CHECKING:
    from mural.api import Agent
    from mural.cli.settings import Parsed

INTERRUPTED = 130  # exit code of a program that Ctrl-C ended


class FolderTakenError(MuralError, ValueError):
    """The folder of a new run already holds a run, or is a file."""


class SettingError(MuralError, ValueError):
    """A setting that is not written as NAME=VALUE."""


@dataclass
class Train:
    """Learn a task from examples of success: `mural train zigzag-maze`. See `mural train --help` for all settings."""

    arguments: Positional[tuple[str, ...]] = field(default=())
    """TASK and settings."""

    def run(self) -> None:
        """Parse the settings that fit task and method, then train."""
        train(self.arguments)


@dataclass
class Resume:
    """Go on with a run from its latest good checkpoint."""

    run_dir: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(name="run", metavar="RUN")]
    """Folder of the run, or its name in runs/."""
    steps: int | None = None
    """Environment steps in all, the earlier ones included. None: as the run was started with."""
    changes: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="NAME=VALUE"), tyro.conf.UseAppendAction] = ()
    """Change a setting, e.g. --set sac.learning_rate=1e-4, by its name in the run's config.json; repeat for more."""
    imports: Imports = ()
    """Import this module first, to register your own methods or environments; repeat the flag for more modules."""

    def run(self) -> None:
        """Load and train."""
        path = find_run(self.run_dir)
        changes = dict(map(setting, self.changes)) | ({} if self.steps is None else {"steps": self.steps})
        agent = load_agent(path, self.imports, changes)
        if agent.steps >= agent.config.steps:
            done = f"has done all of its {agent.steps} steps"
            if self.steps is not None and agent.steps > self.steps:
                done = f"is at step {agent.steps} already, past --steps {self.steps}"
            print(f"{path} {done}; `mural resume {quoted(path)} --steps N` goes on to a later one")
            return
        print(f"{path}: going on from step {agent.steps}", flush=True)
        learn(agent, path)


def setting(text: str) -> tuple[str, Any]:
    """Name and value of `NAME=VALUE`, the value as JSON has it, or text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise SettingError(f"--set {text}: write it as NAME=VALUE, e.g. --set sac.learning_rate=1e-4")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def train(argv: Sequence[str]) -> None:
    """`mural train` with these arguments."""
    from mural.cli.settings import parse

    with plain_warnings():
        parsed = parse(argv)
        from mural.api import Agent
        from mural.storage.folder import RunFolder, RunFolderError

        try:
            RunFolder(parsed.out).require_free()
        except RunFolderError as error:
            raise FolderTakenError(f"{error} (--out names it)") from None
        announce(parsed)
        agent = Agent(parsed.config.task, config=parsed.config, run_dir=parsed.out)
    for finding in agent.run.settled:
        print(f"  {finding}")
    print(f"  all settings: {parsed.out / 'config.json'}", flush=True)
    learn(agent, parsed.out)


def announce(parsed: Parsed) -> None:
    """Say what is going to happen."""
    config = parsed.config
    print(f"{config.task}, {config.method}, {config.preset} preset, seed {config.seed}: {config.steps} steps")
    width = max((len(name) for name, _, _ in parsed.changed), default=0)
    for name, value, origin in parsed.changed:
        print(f"  {name:<{width}}  {value}  ({origin})", flush=True)


def learn(agent: Agent, path: Path) -> None:
    """Train to the end of the settings' steps; after Ctrl-C, say how to go on."""
    from mural.storage import checkpoint

    try:
        agent.learn(agent.config.steps - agent.steps)
    except KeyboardInterrupt:
        saved = max(checkpoint.listing(path), default=None)
        if saved is None:
            print(f"stopped before the first checkpoint of {path}; `mural resume {quoted(path)}` starts it again")
        else:
            print(f"stopped at step {saved}; go on with `mural resume {quoted(path)}`")
        sys.exit(INTERRUPTED)
    finally:
        agent.close()
    print(summary(agent, path), flush=True)


def summary(agent: Agent, path: Path) -> str:
    """How it ended, and what can be done with it."""
    evaluated = [row for row in agent.history if "eval/success" in row]
    success = f", success {evaluated[-1]['eval/success']:.0%}" if evaluated else ""
    run = quoted(path)
    return (
        f"{agent.steps} steps done{success}. `mural report {run}` makes a page of it, `mural eval {run}` evaluates it, "
        f"`mural policy export {run}` packs it"
    )

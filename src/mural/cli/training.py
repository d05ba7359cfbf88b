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

from mural.cli.folders import Imports, find_run, load_agent, plain_warnings
from mural.errors import MuralError

if TYPE_CHECKING:
    from mural.api import Agent
    from mural.cli.settings import Parsed

INTERRUPTED = 130  # exit code of a program that Ctrl-C ended


class FolderTakenError(MuralError, ValueError):
    """The folder of a new run already holds one."""


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
    """Environment steps in all. None: as many as the run was started for."""
    changes: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="NAME=VALUE"), tyro.conf.UseAppendAction] = ()
    """Go on with another value, e.g. --set sac.learning_rate=1e-4; names are those of the run's config.json."""
    imports: Imports = ()
    """A module to import first, that registers your own methods or environments; may be repeated."""

    def run(self) -> None:
        """Load and train."""
        path = find_run(self.run_dir)
        changes = dict(map(setting, self.changes)) | ({} if self.steps is None else {"steps": self.steps})
        agent = load_agent(path, self.imports, changes)
        if agent.steps >= agent.config.steps:
            print(f"{path} has all of its {agent.steps} steps; `mural resume {path} --steps N` adds to them")
            return
        print(f"{path}: on from step {agent.steps}", flush=True)
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
    if (parsed.out / "config.json").exists():
        raise FolderTakenError(
            f"{parsed.out} already holds a run: `mural resume {parsed.out}` goes on with it, --out names another folder"
        )
    announce(parsed)
    with plain_warnings():
        agent = start(parsed)
    learn(agent, parsed.out)


def announce(parsed: Parsed) -> None:
    """Say what is going to happen."""
    config = parsed.config
    print(f"{config.task}, {config.method}, {config.preset} preset, seed {config.seed}: {config.steps} steps")
    width = max((len(name) for name, _, _ in parsed.changed), default=0)
    for name, value, origin in parsed.changed:
        print(f"  {name:<{width}}  {value}  ({origin})")
    print(f"  all settings: {parsed.out / 'config.json'}", flush=True)


def start(parsed: Parsed) -> Agent:
    """A new agent; an environment that is not one of ours is looked at first."""
    from mural import tasks
    from mural.api import Agent
    from mural.inputs.checks import check_env, check_examples

    config = parsed.config
    agent = Agent(config.task, config=config, run_dir=parsed.out)
    if config.task not in {*tasks.TASKS, *(spec.id for spec in tasks.TASKS.values())}:
        check_env(agent.env)
        if config.examples is not None:
            keys = None if config.classifier_keys is None else list(config.classifier_keys)
            check_examples(agent.env, config.examples, keys, config.classifier_slice)
    return agent


def learn(agent: Agent, path: Path) -> None:
    """Train to the end of the settings' steps; after Ctrl-C, say how to go on."""
    from mural.storage import checkpoint

    try:
        agent.learn(agent.config.steps - agent.steps)
    except KeyboardInterrupt:
        saved = max(checkpoint.listing(path), default=None)
        if saved is None:
            print(f"stopped before the first checkpoint of {path}; `mural resume {path}` starts it again")
        else:
            print(f"stopped at step {saved}; go on with `mural resume {path}`")
        sys.exit(INTERRUPTED)
    finally:
        agent.close()
    print(summary(agent, path), flush=True)


def summary(agent: Agent, path: Path) -> str:
    """How it ended, and what can be done with it."""
    evaluated = [row for row in agent.history if "eval/success" in row]
    success = f", success {evaluated[-1]['eval/success']:.0%}" if evaluated else ""
    return f"{agent.steps} steps done{success}. `mural eval {path}` looks closer, `mural policy export {path}` packs it"

"""`mural eval`, `mural watch`, `mural policy`: what one does with a run."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console, Group, RenderableType
from rich.live import Live

from mural.atomic import UnwritableError, require_writable
from mural.cli.folders import Imports, NoRunError, find_run, load_agent, quoted, require_trained
from mural.cli.zoo import evaluated
from mural.errors import ArgumentError
from mural.limits import PositiveFloat, PositiveInt
from mural.zoo import is_zoo

RunDir = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(name="run", metavar="RUN")]


@dataclass
class Eval:
    """Run the policy of a run, or of the zoo, with its most likely actions."""

    run_dir: RunDir
    """Folder of the run, its name in runs/, or zoo:NAME (`mural zoo list`)."""
    episodes: PositiveInt = 20
    """How many episodes."""
    best: bool = False
    """Evaluate the state with the best evaluation so far (`mural train --keep-best`), not the latest one."""
    video: Path | None = None
    """Film them to this .mp4 or .gif file."""
    video_episodes: PositiveInt = 3
    """Episodes in the video."""
    picture: Path | None = None
    """Draw reward, visits and a trajectory to this .png file (tasks in a plane)."""
    json: bool = False
    """One JSON object instead of a table."""
    imports: Imports = ()
    """Import this module first, to register your own methods or environments; repeat the flag for more modules."""

    def run(self) -> None:
        """Evaluate, print, film, draw."""
        for target in (self.video, self.picture):
            if target is not None:
                require_writable(target)
        if is_zoo(self.run_dir):
            if self.best or self.picture is not None:
                raise ArgumentError("--best and --picture need the folder of a run: the zoo keeps only its policy")
            self._print(evaluated(str(self.run_dir), self.episodes, self.video, self.video_episodes))
            return
        path = find_run(self.run_dir)
        agent = load_agent(path, self.imports, best=self.best)
        require_trained(agent, path)
        self._print({"run": str(path), "step": agent.steps, "episodes": self.episodes, **agent.evaluate(self.episodes)})
        console = Console(stderr=True)
        if self.picture is not None:
            from mural.show.pictures import final_picture

            drawn = final_picture(agent.run, self.picture)
            console.print(f"{self.picture}" if drawn is not None else "no picture: this task is not in a plane")
        if self.video is not None:
            from mural.show.video import record

            with console.status(f"{self.video} …"):
                record(agent.run, self.video, self.video_episodes)
            console.print(f"{self.video}")
        agent.close()

    def _print(self, row: dict[str, Any]) -> None:
        if self.json:
            print(json.dumps(row), flush=True)
            return
        for name, value in row.items():
            print(f"{name.replace('_', ' '):<14} {format(value, '.4g') if isinstance(value, float) else value}")


@dataclass
class Watch:
    """Look at a run from outside, while it trains or afterwards."""

    run_dir: RunDir
    """Folder of the run, or its name in runs/."""
    once: bool = False
    """Print the current state and return."""
    seconds: PositiveFloat = 2.0
    """Seconds between two looks."""

    def run(self) -> None:
        """Draw until the run is done, or Ctrl-C."""
        path = find_run(self.run_dir)
        console = Console()
        drawn, done = look(path)
        if self.once or done:
            console.print(drawn)
            return
        with suppress(KeyboardInterrupt), Live(drawn, console=console, auto_refresh=False) as live:
            while not done:
                time.sleep(self.seconds)
                drawn, done = look(path)
                live.update(drawn, refresh=True)


@dataclass
class Export:
    """Write the policy as a small file that runs with NumPy alone: `mural.load_policy(path)(obs)`."""

    run_dir: RunDir
    """Folder of the run, or its name in runs/."""
    out: Path | None = None
    """The file. None: policy.npz in the run's folder."""
    imports: Imports = ()
    """Import this module first, to register your own methods or environments; repeat the flag for more modules."""

    def run(self) -> None:
        """Load and write."""
        path = find_run(self.run_dir)
        out = self.out or path / "policy.npz"
        if out.is_dir():
            raise ArgumentError(f"--out {out} is a folder; name a file in it: --out {quoted(out / 'policy.npz')}")
        agent = load_agent(path, self.imports)
        require_trained(agent, path)
        try:
            agent.export_policy(out)
        except UnwritableError as error:
            raise ArgumentError(f"{error}; name another file with --out") from error
        agent.close()
        print(f"{out}  ({out.stat().st_size / 1024:.0f} kB, step {agent.steps}): mural.load_policy({str(out)!r})(obs)")


@dataclass
class Show:
    """Describe the observations and actions of an exported policy."""

    file: Annotated[Path, tyro.conf.Positional]
    """The .npz file, or zoo:NAME."""

    def run(self) -> None:
        """Load with NumPy alone and describe."""
        from mural import load_policy

        policy = load_policy(self.file)
        print("observation   " + ", ".join(f"{name} {start}:{stop}" for name, start, stop in policy.layout))
        print(f"action        {policy.actions.low.tolist()} to {policy.actions.high.tolist()}")


@dataclass
class Policy:
    """Export the policy of a run to a file, or describe such a file."""

    what: Annotated[Export, tyro.conf.subcommand("export")] | Annotated[Show, tyro.conf.subcommand("show")]

    def run(self) -> None:
        """Run the chosen command."""
        self.what.run()


def look(path: Path) -> tuple[RenderableType, bool]:
    """The current state of a run, and whether it has reached its end. Loads nothing that trains."""
    from mural.settings.stopping import succeeded
    from mural.show.display import clock, speed, view
    from mural.storage import disk, metrics

    config: dict[str, Any] = disk.read_json(path / "config.json")
    if lacking := [name for name in ("task", "method", "seed", "steps") if name not in config]:
        raise NoRunError(f"{path / 'config.json'} lacks {', '.join(lacking)}: it is not the config.json of a run")
    rows, timings = (
        metrics.read(path / name) if (path / name).exists() else [] for name in ("metrics.jsonl", "timing.jsonl")
    )
    target, step = config["steps"], rows[-1]["step"] if rows else 0
    done = step >= target or succeeded(rows, config.get("stop_at_success"))
    title = f"{path}: {config['task']}, {config['method']}, seed {config['seed']}"
    state = f"{step} of {target} steps"
    per_second = speed(rows, timings)
    if done:
        state += ", done"
    elif per_second:
        state += f", {clock((target - step) / per_second)} left"
    if rows and not done:
        state += f"; last row {clock(time.time() - (path / 'metrics.jsonl').stat().st_mtime)} ago"
    return Group(title, state, view(rows, per_second)), done

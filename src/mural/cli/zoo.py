"""`mural zoo`: trained policies that come with the checkout; and what `mural eval zoo:NAME` does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from mural import zoo
from mural.cli.folders import Imports, find_run, import_modules, plain_warnings
from mural.cli.tables import show


@dataclass
class Add:
    """Put what a finished run learned into the zoo: its policy, its reward, and a card that says how it was made."""

    run_dir: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(name="run", metavar="RUN")]
    """Folder of the run, or its name in runs/."""
    name: str = ""
    """What to call it. Empty: the task; with other methods than mural, task and method."""
    out: Path = zoo.PLACE
    """The zoo."""
    imports: Imports = ()
    """Import this module first, to register your own methods or environments; repeat the flag for more modules."""

    def run(self) -> None:
        """Export, try, describe."""
        from mural.study.zoo import EPISODES, add

        import_modules(self.imports)
        path = find_run(self.run_dir)
        with Console(stderr=True).status(f"{path}: exporting, then {EPISODES} episodes …"), plain_warnings():
            animal = add(path, self.out, self.name)
        success = animal.card["evaluation"]["success"]
        print(f"{animal.folder}  ({animal.size / 1000:.0f} kB): success {success:.2f} in {EPISODES} episodes; try")
        print(f"  mural eval {zoo.PREFIX}{animal.name} --video v.mp4")


@dataclass
class List:
    """List the zoo."""

    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        """A row for each."""
        from mural.study.zoo import everything

        rows = [
            {
                "name": f"{zoo.PREFIX}{animal.name}",
                "method": animal.card["method"],
                "seed": animal.card["seed"],
                "steps": animal.card["steps"],
                "first 0.9 at": animal.card["solved_at"],
                "success": animal.card["evaluation"]["success"],
                "kB": animal.size // 1000,
                "commit": animal.card["commit"][:12],
            }
            for animal in everything()
        ]
        if not rows and not self.json:
            print(f"the zoo is empty here: it is the folder {zoo.PLACE} of the repository")
        else:
            show(rows, as_json=self.json)


@dataclass
class Zoo:
    """Trained policies that come with the repository: list them, or add one."""

    what: Annotated[List, tyro.conf.subcommand("list")] | Annotated[Add, tyro.conf.subcommand("add")]

    def run(self) -> None:
        """Run the chosen command."""
        self.what.run()


def evaluated(name: str, episodes: int, video: Path | None, video_episodes: int) -> dict[str, Any]:
    """Play a policy of the zoo, and film it."""
    from mural.study.zoo import load
    from mural.training.player import playing

    animal = load(name)
    with playing(animal.card["task"], animal.policy, animal.card["seed"]) as player:
        row = {"policy": str(animal.policy), "step": animal.card["steps"], "episodes": episodes}
        row |= player.evaluate(episodes)
        if video is not None:
            from mural.show.video import record

            console = Console(stderr=True)
            with console.status(f"{video} …"):
                record(player, video, video_episodes)
            console.print(f"{video}")
    return row

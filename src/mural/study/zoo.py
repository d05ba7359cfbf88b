"""The zoo: what a finished run learned as a policy, a reward and a card that says where they come from."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mural import zoo
from mural.atomic import replacing
from mural.errors import MuralError
from mural.storage import disk
from mural.study import results
from mural.study.runs import stopped_early
from mural.tasks import TASKS, file_name, is_ours

LEAST = 0.8  # success over the last ten evaluations, and of the file itself, for a run to be taken
EPISODES = 20  # that a file is tried in before it is kept
LARGEST = 10_000_000  # bytes of the whole zoo
POINTS = 40  # of the curve on a page


class NotForZooError(MuralError, ValueError):
    """A run that the zoo does not take; the message says why."""


@dataclass(frozen=True)
class Animal:
    """One policy of the zoo."""

    name: str
    folder: Path
    card: dict[str, Any]

    @property
    def policy(self) -> Path:
        """Its file."""
        return self.folder / zoo.POLICY

    @property
    def size(self) -> int:
        """Bytes of all of its files."""
        return sum(path.stat().st_size for path in self.folder.iterdir())


def load(name: str, place: Path | None = None) -> Animal:
    """The one of this name, with or without `zoo:`."""
    folder = zoo.find(name, place)
    return Animal(folder.name, folder, disk.read_json(folder / zoo.CARD))


def everything(place: Path | None = None) -> list[Animal]:
    """All, in the order of the tasks."""
    order = list(TASKS)
    animals = [load(name, place) for name in zoo.names(place)]
    return sorted(animals, key=lambda a: (order.index(a.card["task"]) if a.card["task"] in order else 99, a.name))


def add(run: Path, place: Path = zoo.PLACE, name: str = "") -> Animal:
    """Put a finished run into the zoo, in place of one of the same name; a `NotForZooError` if it does not fit."""
    from mural.api import Agent
    from mural.rewards import NotOfStatesError
    from mural.training.export import NothingToExportError

    summary = results.summary(run)
    name = checked_name(name) or default_name(summary)
    require_good(run, summary)
    place.mkdir(parents=True, exist_ok=True)
    scratch = place / f".part.{name}"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        agent = Agent.load(run)
        agent.export_policy(scratch / zoo.POLICY)
        with suppress(NotOfStatesError, NothingToExportError):  # of transitions, or there is none
            agent.export_reward(scratch / zoo.REWARD)
        agent.close()
        card = described(name, summary, tried(scratch / zoo.POLICY, summary))
        if (scratch / zoo.REWARD).exists():
            card["files"] = [zoo.POLICY, zoo.REWARD]
        disk.write_json(scratch / zoo.CARD, card)
        with replacing(scratch / zoo.PAGE) as file:
            file.write_text(page(card))
        require_room(place, name, scratch)
        shutil.rmtree(place / name, ignore_errors=True)
        scratch.rename(place / name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return load(name, place)


def require_good(run: Path, summary: results.Result) -> None:
    """A `NotForZooError` for runs that go on, or do not succeed."""
    done, target = summary["steps"], summary["config"]["steps"]
    if done < target and not stopped_early(summary):
        raise NotForZooError(f"{run} has made {done} of {target} steps: wait for its end, or `mural resume` it")
    success = summary["success_of_last_ten"]
    if success is None or success < LEAST:
        told = "no evaluation" if success is None else f"a success of {success:.2f} over its last ten evaluations"
        raise NotForZooError(f"{run} has {told}; the zoo takes runs of at least {LEAST}")


def require_room(place: Path, name: str, scratch: Path) -> None:
    """A `NotForZooError` if the zoo would become too large to be part of a repository."""
    others = [path for path in place.glob("*/*") if path.parent.name not in (name, scratch.name)]
    total = sum(path.stat().st_size for path in [*others, *scratch.iterdir()])
    if total > LARGEST:
        raise NotForZooError(
            f"with {name} the zoo would have {total / 1e6:.1f} MB; it may have {LARGEST / 1e6:.0f}: remove another"
        )


def tried(policy: Path, summary: results.Result) -> dict[str, Any]:
    """What the exported file does, or a `NotForZooError` if that is less than it should be."""
    from mural.training.player import playing

    with playing(summary["task"], policy, summary["seed"]) as player:
        found = {"episodes": EPISODES, **player.evaluate(EPISODES)}
    if found.get("success", 0.0) < LEAST:
        raise NotForZooError(
            f"the exported policy succeeds in {found.get('success', 0.0):.0%} of {EPISODES} episodes; the zoo takes "
            f"{LEAST:.0%}"
        )
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in found.items()}


def checked_name(name: str) -> str:
    """A name that can be one of a folder."""
    if name != Path(name).name or name.startswith(".") or zoo.is_zoo(name):
        raise NotForZooError(f"--name {name!r} is part of a path: use letters, digits and dashes")
    return name


def default_name(summary: results.Result) -> str:
    """The task; for other methods than MURAL, and for variants, with these after it."""
    method = "" if summary["method"] == "mural" else summary["method"]
    task = file_name(summary["task"])
    return "-".join(filter(None, (task, method, summary["variant"])))


def described(name: str, summary: results.Result, evaluation: dict[str, Any]) -> dict[str, Any]:
    """The card."""
    kept = (
        "task", "method", "variant", "seed", "steps", "success_of_last_ten", "solved_at", "seconds",
        "seconds_to_solved", "steps_per_second", "machine", "command", "dirty", "versions", "config",
    )  # fmt: skip
    card = {"name": name, "run": summary["name"], "commit": results.commit(summary), "evaluation": evaluation}
    card |= {key: summary[key] for key in kept} | {"files": [zoo.POLICY]}
    return card | {"curve": summary["curves"]["eval/success"]}


def page(card: dict[str, Any]) -> str:
    """The card for people."""
    found, name = card["evaluation"], f"{zoo.PREFIX}{card['name']}"
    rows = {
        "task": f"[{card['task']}](../../../docs/tasks/{card['task']}.md)" if is_ours(card["task"]) else card["task"],
        "method": f"{card['method']}, preset {card['config']['preset']}, seed {card['seed']}",
        "training": f"{card['steps']:,} steps{minutes(card['seconds'])}",
        "first evaluation ≥ 0.9": f"step {card['solved_at']:,}{minutes(card['seconds_to_solved'])}"
        if card["solved_at"] is not None
        else "never",
        "success, last ten evaluations": f"{card['success_of_last_ten']:.2f}",
        f"success of this file, {found['episodes']} episodes": f"{found['success']:.2f}",
        "commit": card["commit"][:12] + (" with uncommitted changes" if card["dirty"] else ""),
        "success over time, 0 to 9": f"`{sparks(card['curve'])}`",
    }
    table = "\n".join(f"| {key} | {value} |" for key, value in rows.items())
    reward = f"""reward = mural.OutcomeReward.load("{name}")  # reward(states), which it was trained on\n"""
    return f"""# {card["name"]}

What `{card["command"]}` learned. `mural zoo add` wrote this page; `{zoo.CARD}` has all settings and versions.

| | |
|---|---|
{table}

```sh
mural eval {name} --video v.mp4
```

```python
policy = mural.load_policy("{name}")  # policy(obs), with NumPy alone
{reward if zoo.REWARD in card["files"] else ""}```
"""


def minutes(seconds: float | None) -> str:
    """As ", 3.4 minutes", or nothing if the time was not kept."""
    return "" if seconds is None else f", {seconds / 60:.1f} minutes"


def sparks(curve: list[list[float]]) -> str:
    """A curve from 0 to 1 as digits from 0 to 9."""
    every = max(1, -(-len(curve) // POINTS))
    return "".join(str(round(9 * value)) for _, value in curve[::every])

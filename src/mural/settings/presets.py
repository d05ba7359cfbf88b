"""Presets: settings per task and method as data, each with where it comes from.

Rules are applied from top to bottom; each one that matches overrides those above it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from mural import tasks
from mural.rewards import find_method
from mural.settings.config import RunConfig, from_dict
from mural.typed import merge

Preset = Literal["fast", "paper", "release"]


@dataclass(frozen=True)
class Rule:
    """Settings for the tasks and methods whose names match."""

    values: Mapping[str, Any]
    source: str
    task: str = "*"
    method: str = "*"
    preset: str = "*"

    def applies(self, task: str, method: str, preset: str) -> bool:
        """Whether this rule is for them."""
        return (
            any(fnmatchcase(task, one) for one in self.task.split("|"))
            and any(fnmatchcase(method, one) for one in self.method.split("|"))
            and any(fnmatchcase(preset, one) for one in self.preset.split("|"))
        )


MAZES = "zigzag-maze|spiral-maze|double-maze|shuffled-maze"
PAPER = "paper|release"  # the release differs from the paper in what its own rules say
CLASSIFIERS = "mural|mural-no-meta"
TUNING = "docs/experiments.md, tuning the rivals: the best of its grid"
VICE = "vice|vice-count|vice-rnd|icm|vae-density|mural-negatives"


def _nml(values: Mapping[str, Any], source: str, task: str = "*", preset: str = "*") -> tuple[Rule, ...]:
    """Settings of meta-NML, wherever a method has it; that of `mural-negatives` keeps its own number of positives."""
    alone = {name: value for name, value in values.items() if name != "positives"}
    return (
        Rule({f"reward.classifier.{name}": value for name, value in values.items()}, source, task, CLASSIFIERS, preset),
        Rule(
            {f"reward.novelty.{name}": value for name, value in alone.items()}, source, task, "mural-negatives", preset
        ),
    )


def _paper_table(task: str, caption: str, mural: tuple[Any, ...], vice: tuple[Any, ...], ddl: int) -> tuple[Rule, ...]:
    """A table of the paper: MURAL (hidden, λ_dist, k_query), VICE (n_VICE, mixup, decay), DDL's steps per epoch."""
    source = f"paper, table of {caption}"
    hidden, width, query = mural
    steps, mixup, decay = vice
    return (
        *_nml({"hidden": hidden, "kernel_width": width, "query_weight": query}, source, task, PAPER),
        Rule({"reward.classifier.steps": steps, "reward.classifier.mixup": mixup}, source, task, VICE, PAPER),
        Rule({"reward.classifier.weight_decay": decay}, source, task, "vice|vae-density|mural-negatives", PAPER),
        Rule(
            {"reward.distance.steps": ddl},
            f"{source}: N_d and training interval, as steps per 1000",
            task,
            "ddl",
            PAPER,
        ),
    )


BUDGETS = {
    "zigzag-maze": 50_000, "spiral-maze": 60_000, "sawyer-push": 60_000, "sawyer-pick": 80_000, "sawyer-door": 80_000,
    "hand-reposition": 150_000, "double-maze": 150_000, "shuffled-maze": 150_000, "ant-maze": 500_000,
}  # fmt: skip

RULES: tuple[Rule, ...] = (
    # The paper, for all tasks
    Rule(
        {"sac.hidden": [512, 512], "sac.batch_size": 1024, "loop.replay_size": 500_000},
        "paper, table of general hyperparameters",
        preset=PAPER,
    ),
    Rule({"steps": 1_000_000}, "paper, figures: a million steps", preset=PAPER),
    Rule({"units": "raw", "keep_ordinary": True}, "released code: states and examples as they are", preset=PAPER),
    *_nml(
        {
            "train_points": 63,
            "adapt_points": 63,
            "step_size": 0.01,
            "outer_points": None,
            "negatives": 1024,
            "positives": 1024,
            "counts": False,
            "spare": False,
            "coreset": False,
            "reward": "probability",
            "outside_share": 0.0,
            "first_epochs": 10,
            "epochs": 1,
        },
        "paper, table of general hyperparameters (64-point batches, 128 query points, D of 2048); "
        "α, first meta-epochs and outer batch from the released code",
        preset=PAPER,
    ),
    # The paper's tables
    *_paper_table(
        "zigzag-maze|double-maze|shuffled-maze", "the zigzag maze", ([2048, 2048], 0.5, 1.0), (2, 1.0, 5e-3), 31
    ),
    *_paper_table("spiral-maze", "the spiral maze", ([2048, 2048], 0.5, 1.0), (2, 1.0, 5e-3), 31),
    *_paper_table("ant-maze", "ant locomotion", ([2048, 2048], 1.0, 1.0), (2, 1.0, 5e-3), 250),
    *_paper_table("sawyer-push", "Sawyer push", ([2048, 2048], 0.6, 1.0), (10, 1.0, 0.0), 250),
    *_paper_table("sawyer-pick", "Sawyer pick-and-place", ([512, 512], 0.6, 1.0), (2, 1.0, 0.0), 625),
    *_paper_table("sawyer-door", "Sawyer door opening", ([512, 512], 0.25, 2.0), (5, 0.0, 0.0), 625),
    *_paper_table("hand-reposition", "dexterous hand repositioning", ([2048, 2048], 0.5, 1.0), (10, 0.0, 5e-3), 250),
    Rule(
        {"reward.classifier.weight_decay": 0.0},
        "paper, tables of the mazes: VICE + count bonus",
        MAZES,
        "vice-count",
        PAPER,
    ),
    Rule(
        {"reward.classifier.weight_decay": 5e-3},
        "paper, table of ant locomotion: VICE + count bonus",
        "ant-maze",
        "vice-count",
        PAPER,
    ),
    Rule({"reward.classifier_scale": 0.25}, "paper, tables of the mazes and of the ant", method="vice-count"),
    Rule(
        {"reward.bonus_scale": 5.0},
        "paper, table of Sawyer door opening: RND reward scale",
        "sawyer-door",
        "vice-rnd",
        PAPER,
    ),
    Rule({"reward.classifier.steps": 2}, "paper, table of the hand: VICE + RND", "hand-reposition", "vice-rnd", PAPER),
    Rule({"reward.tabular.low": -4.0, "reward.tabular.high": 4.0}, "the arena", MAZES, "cnml"),
    # The release of 2021, where it differs from the paper. Its two bugs in accumulating gradients are not repeated
    Rule(
        {"sac.hidden": [256, 256], "sac.batch_size": 256, "loop.replay_size": 1_500_000},
        "released code: SAC",
        preset="release",
    ),
    Rule({"loop.stale": True}, "released code: rewards are stored at the visit and kept", preset="release"),
    *_nml(
        {"support": "query", "outer_query_weight": 0.5, "queries": "replay"},
        "released code: a batch for every query, half the query's weight in the outer loss, queries from the replay",
        preset="release",
    ),
    *_nml({"queries": "data"}, "released code: on the ant half of the queries are examples", "ant-maze", "release"),
    Rule({"reward.classifier.policy_term": True}, "released code: VICE's own loss", method=VICE, preset="release"),
    # Fast: one set of rules for every task, and budgets
    Rule(
        {"sac.hidden": [128, 128], "sac.batch_size": 128, "loop.pool": 8192},
        "ours: enough for all seven tasks, and several times as fast",
        preset="fast",
    ),
    Rule(
        {"sac.scale_inputs": True},
        "ours: raw metres are next to nothing for a network",
        preset="fast",
    ),
    Rule(
        {"sac.gamma": None, "sac.n_step": None, "sac.motion": None, "sac.waves": None},
        "ours: γ and n from the length of an episode; velocities where things move by themselves; waves on grids",
        preset="fast",
    ),
    Rule(
        {"loop.noise_correlation": 0.7},
        "ours: white noise never moved the door in 60 episodes, this does in 6",
        preset="fast",
    ),
    Rule(
        {"sac.entropy_per_action": -0.25},
        "docs/experiments.md: at −1 the temperature collapses before the frontier is crossed",
        preset="fast",
    ),
    Rule(
        {"sac.entropy_when_found": -0.5},
        "docs/experiments.md: the mode of the policy then does what its samples do",
        preset="fast",
    ),
    Rule(
        {"sac.averaging": 0.001},
        "docs/experiments.md: the policy's mode wavers from epoch to epoch, its average does not",
        preset="fast",
    ),
    Rule(
        {"sac.learning_rate": 1e-3, "loop.rich": 0.5},
        "docs/experiments.md: the values of the few transitions that lead to something new are learned in time",
        preset="fast",
    ),
    Rule(
        {"loop.rest": 0.95},
        "docs/experiments.md: a door that was held for 40,000 steps was lost as its own success counted against it",
        preset="fast",
    ),
    Rule(
        {"sac.relative": True},
        "docs/experiments.md: critics that learn the common level of all rewards lag behind it for 50,000 steps",
        preset="fast",
    ),
    Rule(
        {"sac.initial_temperature": 0.1},
        "docs/experiments.md: at 1 the entropy bonus drowns rewards below 1 for the first 10 epochs",
        preset="fast",
    ),
    Rule(
        {"sac.layer_norm": True},
        "docs/experiments.md: the critics forget sooner what is no longer rewarded",
        preset="fast",
    ),
    Rule(
        {"reward.classifier.steps": 100},
        "ours: the paper's 2 to 10 steps of 1e-4 per epoch would not be trained within these budgets",
        method=VICE,
        preset="fast",
    ),
    Rule(
        {"reward.bonus.steps": 100},
        "ours: RND's 1000 steps per epoch would cost more than SAC itself",
        method="vice-rnd",
        preset="fast",
    ),
    Rule({"reward.bonus.steps": 100}, "ours: a tenth of the updates", method="icm", preset="fast"),
    Rule({"reward.distance.steps": 250}, TUNING, method="ddl", preset="fast"),
    Rule({"reward.scale": 10.0}, TUNING, "sawyer-*|hand-reposition", "sac-distance", "fast"),
    *(Rule({"steps": steps}, "ours: a budget", task, preset="fast") for task, steps in BUDGETS.items()),
    # Both
    Rule({"num_examples": 5}, "paper, the double-sided maze: 5 examples", "double-maze"),
    Rule({"env_scale": 1.0}, "its hidden rewards are added to the reward of every method", "double-maze"),
    Rule({"env_scale": 0.0}, "has them already, or has no reward", "double-maze", "sac|rce"),
    Rule({"sac.n_step": 10, "sac.temperature": 1e-4}, "Eysenbach et al. 2021, their code", "*", "rce"),
)


def matching(task: str, method: str, preset: str) -> list[Rule]:
    """The rules for a task (short name or id), a method and a preset, in the order in which they apply."""
    return [rule for rule in RULES if rule.applies(tasks.short_name(task), method, preset)]


def resolve(
    task: str, method: str = "mural", preset: str = "fast", overrides: Mapping[str, Any] | None = None
) -> RunConfig:
    """Defaults, then the preset, then what the user asks for."""
    find_method(method)
    values: dict[str, Any] = {"task": task, "method": method, "preset": preset}
    for rule in matching(task, method, preset):
        values = merge(values, rule.values)
    return from_dict(merge(values, overrides or {}))

"""The paper's hyper-parameters beside our presets: which setting each row is, and where we differ on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mural.settings.presets import resolve
from mural.study.tables.paper import GENERAL, METRICS, TUNED, Choice

Read = Callable[[Any], Any]  # from the settings of a run


@dataclass(frozen=True)
class Row:
    """A value of the paper beside ours."""

    section: str
    name: str
    tried: tuple[Any, ...]
    paper: Any
    ours: Any
    """Of the preset `paper`. None: no setting, it is built that way."""
    fast: Any
    reason: str
    """Why ours differs, if it does."""

    @property
    def same(self) -> bool:
        """Whether the preset `paper` has the paper's value."""
        return self.ours is None or self.ours == self.paper


METHOD = {
    "SAC": "mural", "MURAL": "mural", "VICE": "vice", "RND": "vice-rnd", "VICE + count bonus": "vice-count",
    "VICE + RND": "vice-rnd", "DDL": "ddl",
}  # fmt: skip
STEPS_PER_EPOCH = 1000
SETTING: dict[tuple[str, str], Read] = {
    ("SAC", "learning rate"): lambda c: c.sac.learning_rate,
    ("SAC", "discount γ"): lambda c: "1 − 1/horizon" if c.sac.gamma is None else c.sac.gamma,
    ("SAC", "policy hidden sizes"): lambda c: c.sac.hidden,
    ("SAC", "batch size"): lambda c: c.sac.batch_size,
    ("SAC", "reward scaling"): lambda c: c.reward.scale,
    ("SAC", "replay buffer size"): lambda c: c.loop.replay_size,
    ("SAC", "Q hidden sizes"): lambda c: c.sac.hidden,
    ("SAC", "Q learning rate"): lambda c: c.sac.learning_rate,
    ("SAC", "target network τ"): lambda c: c.sac.tau,
    ("MURAL", "adaptation batch size"): lambda c: c.reward.classifier.train_points + 1,  # and the query
    ("MURAL", "meta-training tasks per epoch"): lambda c: (
        c.reward.classifier.updates_per_epoch * c.reward.classifier.queries_per_update * c.reward.classifier.epochs
    ),
    ("MURAL", "meta-test set size"): lambda c: c.reward.classifier.negatives + c.reward.classifier.positives,
    ("MURAL", "classifier hidden layers"): lambda c: c.reward.classifier.hidden,
    ("MURAL", "λ_dist"): lambda c: c.reward.classifier.kernel_width or "from the data",
    ("MURAL", "k_query"): lambda c: c.reward.classifier.query_weight,
    ("VICE", "classifier learning rate"): lambda c: c.reward.classifier.learning_rate,
    ("VICE", "classifier batch size"): lambda c: c.reward.classifier.batch_size,
    ("RND", "hidden layer sizes"): lambda c: c.reward.bonus.hidden,
    ("RND", "output units"): lambda c: c.reward.bonus.outputs,
    ("VICE + count bonus", "classifier reward scale"): lambda c: c.reward.classifier_scale,
    ("VICE + RND", "RND reward scale"): lambda c: c.reward.bonus_scale,
    ("DDL", "steps per epoch"): lambda c: c.reward.distance.steps,
    **{
        (section, name): read
        for section in ("VICE", "VICE + count bonus", "VICE + RND")
        for name, read in {
            "n_VICE": lambda c: c.reward.classifier.steps,
            "mixup α": lambda c: c.reward.classifier.mixup,
            "weight decay λ": lambda c: c.reward.classifier.weight_decay,
        }.items()
    },
}
BUILT_IN = {
    ("SAC", "policy type"), ("SAC", "policy activation"), ("SAC", "Q activation"), ("SAC", "Q weight decay"),
    ("VICE", "classifier optimizer"), ("VICE", "RL algorithm"),
}  # fmt: skip
# Where the preset `paper` differs on purpose: (table, section, row) → why. A test fails if one is no longer needed.
EXCEPTIONS: dict[tuple[str, str, str], str] = {}


def general() -> Iterator[Row]:
    """The table of general hyper-parameters, with the settings of the zigzag maze."""
    for section, rows in GENERAL.items():
        yield from _rows("general", "zigzag-maze", section, {name: Choice((), value) for name, value in rows.items()})


def of_task(task: str) -> Iterator[Row]:
    """The table of a task. DDL's two rows are one setting of ours: steps per epoch."""
    for section, rows in TUNED[task].items():
        if section == "DDL":
            steps = Choice((), int(STEPS_PER_EPOCH * rows["N_d"].taken / rows["training frequency"].taken))
            rows = {"steps per epoch": steps}
        yield from _rows(task, task, section, rows)


def _rows(table: str, task: str, section: str, rows: dict[str, Choice]) -> Iterator[Row]:
    paper, fast = (resolve(task, METHOD[section], preset) for preset in ("paper", "fast"))
    for name, choice in rows.items():
        read = None if (section, name) in BUILT_IN else SETTING[section, name]
        ours, quick = (None, None) if read is None else (read(paper), read(fast))
        reason = EXCEPTIONS.get((table, section, name), "")
        yield Row(section, name, choice.tried, choice.taken, ours, quick, reason)


@dataclass(frozen=True)
class Metric:
    """The distance of a task and its threshold, the paper's and ours."""

    task: str
    paper: str
    threshold: float
    ours: str
    our_threshold: float


def metrics() -> Iterator[Metric]:
    """The table of distance metrics and success thresholds."""
    from mural import tasks

    for task, (words, threshold) in METRICS.items():
        made = tasks.make(task)
        ours = (type(made).distance.__doc__ or "").strip().partition("\n")[0]
        yield Metric(task, words, threshold, ours, float(made.success_threshold))
        made.close()

"""The paper's tables, typed once: runtimes, metrics, hyper-parameters with what was tried and what was chosen."""

from __future__ import annotations

from typing import Any, NamedTuple


class Runtime(NamedTuple):
    """Seconds on the paper's GPU."""

    domain: str
    tasks: tuple[str, ...]
    feedforward: float
    meta: float
    naive: float


PER_INPUT = (  # tab:meta-nml-runtimes
    Runtime("mazes", ("zigzag-maze", "spiral-maze"), 0.0004, 0.0090, 15.19),
    Runtime("Sawyer push", ("sawyer-push",), 0.0004, 0.0092, 20.64),
    Runtime("Sawyer door", ("sawyer-door",), 0.0004, 0.0094, 20.68),
    Runtime("Sawyer pick", ("sawyer-pick",), 0.0005, 0.0089, 20.68),
    Runtime("ant", ("ant-maze",), 0.0004, 0.0083, 17.26),
    Runtime("hand", ("hand-reposition",), 0.0004, 0.0081, 17.58),
)


def _hours(hours: int, minutes: int, seconds: int) -> float:
    return 3600.0 * hours + 60 * minutes + seconds


PER_EPOCH = (  # tab:meta-nml-runtimes-per-epoch, of 1000 steps
    Runtime("mazes", ("zigzag-maze", "spiral-maze"), 23.50, 39.05, _hours(4, 13, 34)),
    Runtime("Sawyer push", ("sawyer-push",), 24.91, 43.81, _hours(5, 44, 25)),
    Runtime("Sawyer door", ("sawyer-door",), 19.77, 38.52, _hours(5, 45, 0)),
    Runtime("Sawyer pick", ("sawyer-pick",), 20.24, 40.73, _hours(5, 45, 0)),
    Runtime("ant", ("ant-maze",), 37.15, 73.72, _hours(4, 47, 40)),
    Runtime("hand", ("hand-reposition",), 48.37, 69.97, _hours(4, 53, 0)),
)

METRICS = {  # A.4.2: what distance is, and below which value a state is a success
    "zigzag-maze": ("maze distance to goal", 0.5),
    "spiral-maze": ("maze distance to goal", 0.5),
    "sawyer-push": ("puck L2 distance to goal", 0.05),
    "sawyer-door": ("angle difference to goal (radians)", 0.035),
    "sawyer-pick": ("ball L2 distance to goal", 0.06),
    "ant-maze": ("maze distance to goal", 5.0),
    "hand-reposition": ("object L2 distance to goal", 0.06),
}

GENERAL: dict[str, dict[str, Any]] = {  # A.6.1, for all domains
    "SAC": {
        "learning rate": 3e-4, "discount γ": 0.99, "policy type": "Gaussian", "policy hidden sizes": (512, 512),
        "policy activation": "ReLU", "batch size": 1024, "reward scaling": 1.0, "replay buffer size": 500_000,
        "Q hidden sizes": (512, 512), "Q activation": "ReLU", "Q weight decay": 0.0, "Q learning rate": 3e-4,
        "target network τ": 5e-3,
    },
    "MURAL": {"adaptation batch size": 64, "meta-training tasks per epoch": 128, "meta-test set size": 2048},
    "VICE": {
        "classifier learning rate": 1e-4, "classifier batch size": 128, "classifier optimizer": "Adam",
        "RL algorithm": "SAC",
    },
    "RND": {"hidden layer sizes": (256, 256), "output units": 512},
}  # fmt: skip


class Choice(NamedTuple):
    """What was tried, and what was taken (bold in the paper)."""

    tried: tuple[Any, ...]
    taken: Any


SMALL, LARGE = (512, 512), (2048, 2048)


def _mural(
    hidden: Any, widths: tuple[float, ...], width: float, queries: tuple[float, ...] = (1,), query: float = 1
) -> Any:
    return {
        "classifier hidden layers": Choice((SMALL, LARGE), hidden),
        "λ_dist": Choice(widths, width),
        "k_query": Choice(queries, query),
    }


def _vice(steps: tuple[int, ...], taken: int, mixup: float, decay: float | None, **more: Choice) -> dict[str, Choice]:
    rows = {"n_VICE": Choice(steps, taken), "mixup α": Choice((0, 1), mixup)}
    rows |= {} if decay is None else {"weight decay λ": Choice((0.0, 5e-3), decay)}
    return rows | {name.replace("_", " "): choice for name, choice in more.items()}


def _ddl(tried: tuple[int, ...], steps: int, every: int) -> dict[str, Choice]:
    return {"N_d": Choice(tried, steps), "training frequency": Choice((16, 64), every)}


QUARTER = Choice((0.25, 0.5, 1), 0.25)
SCALES = (1, 5, 10)
TUNED: dict[str, dict[str, dict[str, Choice]]] = {  # A.6.2 to A.6.8, a table per task
    "zigzag-maze": {
        "MURAL": _mural(LARGE, (0.5, 1), 0.5), "VICE": _vice((1, 2, 10), 2, 1, 5e-3),
        "VICE + count bonus": _vice((1, 2, 10), 2, 1, 0.0, classifier_reward_scale=QUARTER), "DDL": _ddl((2, 4), 2, 64),
    },
    "spiral-maze": {
        "MURAL": _mural(LARGE, (0.5, 1), 0.5), "VICE": _vice((1, 2, 10), 2, 1, 5e-3),
        "VICE + count bonus": _vice((1, 2, 10), 2, 1, 0.0, classifier_reward_scale=QUARTER), "DDL": _ddl((2, 4), 2, 64),
    },
    "ant-maze": {
        "MURAL": _mural(LARGE, (0.5, 1, 1.5, 2), 1), "VICE": _vice((1, 2, 10), 2, 1, 5e-3),
        "VICE + count bonus": _vice((1, 2, 10), 2, 1, 5e-3, classifier_reward_scale=QUARTER),
        "DDL": _ddl((2, 4), 4, 16),
    },
    "sawyer-push": {
        "MURAL": _mural(LARGE, (0.2, 0.6, 1), 0.6), "VICE": _vice((1, 2, 10), 10, 1, 0.0),
        "VICE + RND": _vice((1, 2, 10), 10, 1, None, RND_reward_scale=Choice(SCALES, 1)), "DDL": _ddl((4, 10), 4, 16),
    },
    "sawyer-pick": {
        "MURAL": _mural(SMALL, (0.2, 0.6, 1), 0.6), "VICE": _vice((1, 2, 10), 2, 1, 0.0),
        "VICE + RND": _vice((1, 2, 10), 2, 1, None, RND_reward_scale=Choice(SCALES, 1)), "DDL": _ddl((4, 10), 10, 16),
    },
    "sawyer-door": {
        "MURAL": _mural(SMALL, (0.05, 0.1, 0.25), 0.25, (1, 2), 2), "VICE": _vice((1, 5, 10), 5, 0, 0.0),
        "VICE + RND": _vice((1, 5, 10), 5, 0, None, RND_reward_scale=Choice(SCALES, 5)), "DDL": _ddl((4, 10), 10, 16),
    },
    "hand-reposition": {
        "MURAL": _mural(LARGE, (0.2, 0.5, 1), 0.5), "VICE": _vice((1, 2, 10), 10, 0, 5e-3),
        "VICE + RND": _vice((1, 2, 10), 2, 0, None, RND_reward_scale=Choice(SCALES, 1)), "DDL": _ddl((4, 10), 4, 16),
    },
}  # fmt: skip

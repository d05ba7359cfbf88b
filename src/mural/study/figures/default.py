"""The rules of the default that are the reward's, each in a picture, from the noise to what a batch holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from mural.nml import kernel
from mural.nml.weights import Data
from mural.rewards import dataset, metric
from mural.rewards.base import worth
from mural.rewards.methods.cnml_kernel import KernelCNML
from mural.show.axes import furnish
from mural.study.figures.default_given import counting, relation, wrong
from mural.study.figures.maze_axes import PLANE, map_points
from mural.study.figures.picture import PAGE, Ask, Drawn, from_scratch, sheet
from mural.study.maze_data import HORIZON, zigzag_data
from mural.tasks import make
from mural.tasks.mazes.layouts import ZIGZAG
from mural.training.collect import Noise, random_actions
from mural.training.compiled import by_rank

Floats = NDArray[np.floating]

spread = jax.jit(metric.spread)
log_likelihoods = jax.jit(kernel.log_likelihoods)
OLD, NEW = "#0072B2", "#D55E00"
POINTS = 200  # of D's visited states, so few that one sees what is left out
DRAWS = 400


def default(ask: Ask) -> Drawn:
    """Draw them all."""
    figure = sheet(PAGE, 5.0)
    axes = list(figure.subplots(3, 4).flat)
    panels: tuple[Callable[[Any, int], dict[str, Any]], ...] = (
        noise, units, aside, width, relation, counting, measures, spared,
        partial(holes, core=False), partial(holes, core=True), ranks, wrong,
    )  # fmt: skip
    names = (
        "noise", "units", "aside", "width", "relation", "counting", "measures", "spared",
        "random draw", "coreset", "ranks", "wrong",
    )  # fmt: skip
    data = {name: panel(ax, ask.seed) for name, panel, ax in zip(names, panels, axes, strict=True)}
    for ax in axes:
        ax.title.set_fontsize(6)
        ax.xaxis.label.set_fontsize(6)
        ax.yaxis.label.set_fontsize(6)
        ax.tick_params(labelsize=6)
    by_chance, chosen = data["random draw"]["bright"], data["coreset"]["bright"]
    said = (
        f"random episodes get {data['noise']['correlated']:.1f} away from the start with correlated noise and "
        f"{data['noise']['white']:.1f} with white noise; {POINTS} random points leave {by_chance:.0%} of the visited "
        f"states as bright as the unknown, a coreset {chosen:.0%}; of the ant's 15 numbers "
        f"{data['aside']['ant-maze']} are set aside, of pick's 7 {data['aside']['sawyer-pick']}; of "
        f"{data['wrong']['wrong']} wrong examples {data['wrong']['left out']} are left out, and "
        f"{data['wrong']['right left out']} right ones"
    )
    return Drawn(figure, data, said, from_scratch(ask.seed))


def noise(ax: Any, seed: int) -> dict[str, Any]:
    """Random episodes with white and with correlated noise."""
    reach = {}
    for name, correlation, colour in (("white", 0.0, OLD), ("correlated", 0.7, NEW)):
        act = random_actions(Noise(np.random.default_rng(seed), 6, 2, correlation))
        xy = np.repeat(np.asarray([ZIGZAG.start], dtype=float), 6, axis=0)
        paths = [xy]
        for _ in range(HORIZON):
            xy = ZIGZAG.move(xy, act(np.zeros((6, 0), np.float32), np.zeros((6, 0), np.float32)).astype(float))
            paths.append(xy)
        walked = np.stack(paths)
        ax.plot(walked[..., 0], walked[..., 1], color=colour, lw=0.6, label=[name] + [None] * 5)
        reach[name] = float(np.linalg.norm(walked - walked[0], axis=-1).max(axis=0).mean())
    furnish(ax, PLANE, "noise that gets somewhere")
    ax.legend(loc="lower right", fontsize=5)
    return reach


class First(NamedTuple):
    """The first visits of a task, by random actions, where its episodes began, and its examples."""

    starts: Floats
    visits: Floats
    examples: Floats


@cache
def first_visits(name: str, seed: int) -> First:
    """Random actions with correlated noise, for three episodes of a task."""
    task = make(name)
    nothing = np.zeros((1, 0), np.float32)
    try:
        act = random_actions(Noise(np.random.default_rng(seed), 1, task.action_space.shape[0], 0.7))
        starts, visits = [], []
        for episode in range(3):
            starts.append(task.reset(seed=seed + episode)[0])
            visits += [task.step(act(nothing, nothing)[0])[0] for _ in range(task.horizon)]
        rows = (starts, visits, task.success_examples(100, seed))
        return First(*(np.asarray(row, np.float32) for row in rows))
    finally:
        task.close()


def units(ax: Any, seed: int) -> dict[str, Any]:
    """What a centimetre of each number of the pick task counts for, before anything was lifted."""
    _, visits, examples = first_visits("sawyer-pick", seed)
    seen = jnp.asarray(visits[:HORIZON])
    _, scale = metric.spread(seen, jnp.asarray(examples), metric.slowness(seen))
    counts = 0.01 / np.asarray(scale)
    names = ["hand x", "hand y", "hand z", "ball x", "ball y", "ball z", "grip"]
    ax.bar(names, counts, color=[OLD] * 3 + [NEW] * 3 + [OLD])
    ax.tick_params(axis="x", rotation=60)
    ax.set(title="what a centimetre counts for")
    return dict(zip(names, counts.tolist(), strict=True))


def aside(ax: Any, seed: int) -> dict[str, Any]:
    """How wrong each number is at the start, and how seldom it lies still: what is set aside, and where nothing is."""
    found = {}
    for name, colour, marker in (("ant-maze", NEW, "o"), ("sawyer-pick", OLD, "s")):
        starts, visits, examples = first_visits(name, seed)
        away = np.sqrt(np.mean((starts - examples.mean(0)) ** 2, axis=0)) / examples.std(0)
        change = np.abs(visits[metric.LAG :] - visits[: -metric.LAG])
        moves = np.median(change, axis=0) / change.mean(axis=0)
        out = np.asarray(metric.set_aside(*map(jnp.asarray, (starts, visits, examples)), 1)) > 0
        short = name.split("-")[-1 if name.startswith("sawyer") else 0]
        ax.scatter(np.clip(away[~out], 0.01, 100), moves[~out], s=9, marker=marker, color=colour, label=short)
        if out.any():
            hollow = {"facecolors": "none", "edgecolors": colour}
            ax.scatter(
                np.clip(away[out], 0.01, 100), moves[out], s=9, marker=marker, label=f"{short}, set aside", **hollow
            )
        found[name] = int(out.sum())
    ax.axvline(1.0, color="0.6", lw=0.6)
    ax.axhline(metric.RESTLESS, color="0.6", lw=0.6)
    ax.set(title="right at the start, or not", xlabel="start to examples, in deviations", ylabel="usual / mean change")
    ax.set(xscale="log", ylim=(-0.05, 1.9))
    ax.legend(fontsize=5, loc="upper left")
    return found


@cache
def visited(seed: int) -> tuple[Floats, Floats]:
    """States of half a maze and examples, as the metric scales them."""
    data = zigzag_data(seed)
    centre, scale = spread(jnp.asarray(data.visits), jnp.asarray(data.examples), jnp.zeros(2))
    return scaled(data.visits, centre, scale), scaled(data.examples, centre, scale)


def scaled(x: Floats, centre: jax.Array, scale: jax.Array) -> Floats:
    """States in units of the metric."""
    return np.asarray((x - np.asarray(centre)) / np.asarray(scale), np.float32)


def neighbours(states: Floats) -> Floats:
    """Distance of each state to its tenth neighbour."""
    distances: Floats = cKDTree(states).query(states, [metric.NEIGHBOUR + 1])[0][:, 0]  # the nearest is itself
    return distances


def lambda_of(states: Floats) -> float:
    """λ: the usual distance to the tenth neighbour."""
    return float(np.median(neighbours(states)))


def width(ax: Any, seed: int) -> dict[str, Any]:
    """Distances to the tenth neighbour, and their median."""
    states, _ = visited(seed)
    away = neighbours(states)
    ax.hist(away, bins=40, range=(0, float(np.quantile(away, 0.98))), color=OLD)
    ax.axvline(lambda_of(states), color=NEW)
    ax.set(title="λ: to the tenth neighbour", xlabel="distance in the metric", yticks=[])
    return {"lambda": lambda_of(states)}


def line(goal: Floats) -> tuple[Floats, Floats]:
    """Places on a line through the examples' middle, and how far they are from it."""
    along = np.linspace(-1.5, 1.5, 121, dtype=np.float32)
    return along, goal.mean(axis=0)[None] + along[:, None] * np.array([[1.0, 0.0]], np.float32)


def odds_of(data: Data, places: Floats, width: float) -> Array:
    """Log-odds of success by kernel counts."""
    log_p = log_likelihoods(data, jnp.asarray(places, jnp.float32), width)
    return log_p[:, 1] - log_p[:, 0]


def reward(data: Data, places: Floats, width: float) -> Floats:
    """The surprise of failure by kernel counts."""
    return np.asarray(worth("surprise", odds_of(data, places, width)))


def drawn(states: Floats, examples: Floats, seed: int, **how: Any) -> Data:
    """D of these states, as the default makes it but for `how`."""
    part = KernelCNML(**{"negatives": 768, **how})
    key, key_examples = jax.random.split(jax.random.key(seed))
    rows = jax.random.randint(key, (dataset.candidates(part),), 0, len(states))
    return dataset.compose(part, jnp.asarray(states)[rows], len(states), examples, lambda_of(states), key=key_examples)


def measures(ax: Any, seed: int) -> dict[str, Any]:
    """p, its log-odds and the surprise of failure across the examples: the first has a flat top, the second no end."""
    states, examples = visited(seed)
    data = drawn(states, examples, seed)
    along, places = line(examples)
    odds = odds_of(data, places, lambda_of(states))
    ax.plot(along, worth("probability", odds), color=OLD, label="p")
    ax.plot(along, worth("log_odds", odds), color="0.6", label="log-odds / 10")
    ax.plot(along, worth("surprise", odds), color=NEW, label="−0.3 log(1 − p)")
    ax.set(title="a reward with a peak", xlabel="distance from the goal")
    ax.margins(y=0.75)  # room for the legend above the peak
    ax.legend(fontsize=5, loc="upper right")
    return {"highest": float(worth("surprise", odds).max())}


def spared(ax: Any, seed: int) -> dict[str, Any]:
    """The reward across the examples after 2,000 visits to them."""
    states, examples = visited(seed)
    rng = np.random.default_rng(seed)
    there = examples[rng.integers(0, len(examples), 2000)] + rng.normal(0, 0.02, (2000, 2)).astype(np.float32)
    states = np.concatenate([states, there]).astype(np.float32)
    along, places = line(examples)
    top = {}
    for name, spare, colour in (("held against it", False, OLD), ("spared", True, NEW)):
        found = reward(drawn(states, examples, seed, spare=spare), places, lambda_of(states))
        ax.plot(along, found, color=colour, label=name)
        top[name] = float(found.max())
    ax.set(title="2,000 visits to the goal", xlabel="distance from the goal", ylabel="reward")
    ax.margins(y=0.75)  # room for the legend above the peak
    ax.legend(fontsize=5, loc="upper right")
    return top


def holes(ax: Any, seed: int, core: bool) -> dict[str, Any]:
    """The reward map by few points, drawn at random or chosen as a coreset."""
    data = zigzag_data(seed)
    centre, scale = spread(jnp.asarray(data.visits), jnp.asarray(data.examples), jnp.zeros(2))
    states, examples = visited(seed)
    few = drawn(states, examples, seed, coreset=core, negatives=POINTS)
    found = lambda_of(states)
    places = scaled(map_points(), centre, scale)
    side = round(len(places) ** 0.5)
    image = reward(few, places, found).reshape(side, side).T
    ax.imshow(image, origin="lower", extent=PLANE.extent, vmin=0.0, vmax=0.5)
    furnish(ax, PLANE, f"{POINTS} points: {'coreset' if core else 'random draw'}")
    return {"bright": float(np.mean(np.asarray(odds_of(few, states, found)) > -0.5))}


def ranks(ax: Any, seed: int) -> dict[str, Any]:
    """Which transitions a batch holds: uniformly, and half of them by the rank of the reward."""
    data = zigzag_data(seed)
    states, examples = visited(seed)
    rewards = reward(drawn(states, examples, seed), states, lambda_of(states))
    ranked = np.asarray(by_rank(jnp.asarray(rewards), jnp.ones(len(rewards), bool)))
    rng = np.random.default_rng(seed)
    mean = {}
    for name, rich, colour, size in (("uniform", 0.0, OLD, 5), ("half by rank", 0.5, NEW, 2)):
        chance = (1 - rich) / len(ranked) + rich * ranked
        chosen = rng.choice(len(ranked), DRAWS, p=chance / chance.sum())
        ax.scatter(*data.visits[chosen].T, s=size, color=colour, linewidths=0, label=name)
        mean[name] = float(rewards[chosen].mean())
    furnish(ax, PLANE, f"{DRAWS} draws of a batch")
    ax.legend(loc="lower right", fontsize=5, markerscale=2)
    return mean

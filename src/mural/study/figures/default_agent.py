"""The rules of the default that are the agent's, each in a picture; `default` has those of the reward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from mural.agent import view as views
from mural.agent.sac import SAC, entropy_target
from mural.inputs import watching
from mural.inputs.spaces import Spaces
from mural.nml import descent, mlp, waves
from mural.settings import presets
from mural.settings.config import RunConfig
from mural.study.figures.default import NEW, OLD
from mural.study.figures.picture import PAGE, Ask, Drawn, from_scratch, sheet
from mural.study.maze_data import HORIZON
from mural.tasks import make
from mural.training.collect import Noise, random_actions
from mural.training.run import FORGOTTEN

Floats = NDArray[np.floating]

LEVEL = -0.4  # reward that all visited states share, as measured: docs/experiments.md
UPDATES = 60_000
SIDE, STEPS = 16, 1000  # of a grid with random values, and of learning them
EPOCHS = 30
LUCKY = 4  # epochs in which a place that only looks like success is visited before it is dark
WATCHED = ("ant-maze", "sawyer-push", "zigzag-maze")


def default_agent(ask: Ask) -> Drawn:
    """Draw them all."""
    figure = sheet(PAGE, 3.9)
    axes = list(figure.subplots(2, 4).flat)
    config = presets.resolve("zigzag-maze", "mural", "fast", {})
    panels: dict[str, Callable[[Any, RunConfig, int], dict[str, Any]]] = {
        "scaled": scaled, "entropy": entropy, "average": average, "relative": relative,
        "rest": rest, "discount": discount, "motion": motion, "waves": told_apart,
    }  # fmt: skip
    data = {name: panel(ax, config, ask.seed) for ax, (name, panel) in zip(axes, panels.items(), strict=True)}
    for ax in axes:
        ax.title.set_fontsize(7)
    left = data["relative"]["missing"]
    said = (
        f"after {UPDATES} updates, critics that start at 0 still miss {left:.0%} of the level that all rewards share; "
        f"what lies {data['discount']['steps']} steps ahead counts for {data['discount']['short']:.2f} with γ = 0.99 "
        f"and for {data['discount']['long']:.2f} with the ant's γ"
    )
    return Drawn(figure, data, said, from_scratch(ask.seed))


def scaled(ax: Any, config: RunConfig, seed: int) -> dict[str, Any]:
    """What the networks see of push: each number's deviation, raw and scaled."""
    task = make("sawyer-push")
    try:
        act = random_actions(Noise(np.random.default_rng(seed), 1, task.action_space.shape[0], 0.7))
        rows, nothing = [task.reset(seed=seed)[0]], np.zeros((1, 0), np.float32)
        rows += [task.step(act(nothing, nothing)[0])[0] for _ in range(HORIZON)]
        space, examples = task.observation_space, np.asarray(task.success_examples(100, seed), np.float32)
    finally:
        task.close()
    seen = np.stack(rows).astype(np.float32)
    view = views.measure(seen[:-1], seen[1:], examples, space.low, space.high)
    raw, shown = seen.std(axis=0), (seen / np.asarray(view.scale)[None]).std(axis=0)
    at = np.arange(len(raw))
    ax.bar(at - 0.2, raw, 0.4, color=OLD, label="as it is")
    ax.bar(at + 0.2, shown, 0.4, color=NEW, label="scaled")
    ax.set(title="1: what networks see of push", ylabel="deviation")
    ax.set_xticks(at, ["hand x", "hand y", "hand z", "puck x", "puck y"], rotation=60)
    ax.legend(fontsize=5)
    return {"raw": float(raw.mean()), "scaled": float(shown.mean())}


def entropy(ax: Any, config: RunConfig, seed: int) -> dict[str, Any]:
    """The entropy that the policy is asked for."""
    found = np.linspace(0, 1, 21)
    asked = np.array([float(entropy_target(config.sac, share, 1)) for share in found])
    ax.plot(found, asked, color=NEW)
    ax.set(title="7: less entropy once found", xlabel="share of episodes that succeed", ylabel="entropy per action")
    return {"before": asked[0], "after": asked[-1]}


def average(ax: Any, config: RunConfig, seed: int) -> dict[str, Any]:
    """Which of the policies of the past the evaluated one is made of."""
    rate, ago = config.sac.averaging, np.arange(4000)
    weight = rate * (1 - rate) ** ago
    ax.fill_between(ago, weight, color=NEW, alpha=0.6, lw=0)
    half = int(np.searchsorted(np.cumsum(weight), 0.5))
    ax.axvline(half, color=OLD)
    ax.set(title="8: a mean of past policies", xlabel="updates ago", ylabel="weight", xlim=(0, 4000), ylim=(0, None))
    ax.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    return {"half": half}


def learned_level(config: SAC, gamma: float, updates: int) -> Floats:
    """A critic's value after each update where every reward is `LEVEL`, if it follows its targets at once.

    The target network moves by τ of the way towards `LEVEL` + γ times itself.
    """
    level = LEVEL / (1 - gamma)
    return level * (1 - (1 - config.tau * (1 - gamma)) ** np.arange(updates + 1))


def relative(ax: Any, config: RunConfig, seed: int) -> dict[str, Any]:
    """How long critics that start at 0 need for a level that says nothing."""
    gamma = 0.99
    level = LEVEL / (1 - gamma)
    whole = learned_level(config.sac, gamma, UPDATES)
    at = np.arange(UPDATES + 1) / 1000
    ax.plot(at, whole, color=OLD, label="whole values")
    ax.axhline(level, color=NEW, label="relative: from the start")
    ax.set(title="9: the level of all values", xlabel="thousand updates", ylabel="value")
    ax.legend(fontsize=5)
    return {"missing": float(1 - whole[-1] / level)}


def rest(ax: Any, config: RunConfig, seed: int) -> dict[str, Any]:
    """When the reward comes to rest: after lasting success, and not after what was bright for some epochs."""
    when = {}
    for name, epochs, colour in (("success that lasts", EPOCHS, NEW), (f"{LUCKY} epochs of it", LUCKY, OLD)):
        share = [0.0]
        for epoch in range(EPOCHS):
            share.append((1 - FORGOTTEN) * share[-1] + FORGOTTEN * (epoch < epochs))
        ax.plot(share, color=colour, label=name)
        when[name] = next((i for i, s in enumerate(share) if s > config.loop.rest), None)
    ax.axhline(config.loop.rest, color="#888888", lw=0.8, ls=":")
    ax.set(title="12: when the reward rests", xlabel="epochs", ylabel="train/found")
    ax.legend(fontsize=5, loc="center right")
    return when


def discount(ax: Any, config: RunConfig, seed: int) -> dict[str, Any]:
    """What a reward some steps ahead is worth, for short episodes and for the ant's."""
    ahead, at = np.arange(401), 250
    worth = {}
    for name, horizon, colour in (("short", 100, OLD), ("long", 400, NEW)):
        gamma = 1 - 1 / horizon
        ax.plot(ahead, gamma**ahead, color=colour, label=f"γ = {gamma:.4g}: {horizon} steps")
        worth[name] = float(gamma**at)
    ax.set(title="13: looking as far as an episode", xlabel="steps ahead", ylabel="worth", ylim=(0, 1))
    ax.legend(fontsize=5)
    return {"steps": at, **worth}


def motion(ax: Any, config: RunConfig, seed: int) -> dict[str, Any]:
    """What still moves five steps after letting go, in shares of what moves while driven: a dot per number."""
    quarter = {}
    for i, name in enumerate(WATCHED):
        task = make(name)
        try:
            driven, seen, coasted = watching.watch(task, Spaces.of(task))
        finally:
            task.close()
        usual = np.sqrt((driven**2).mean(axis=0))
        moves = usual > 1e-6 * np.abs(seen).max(axis=0)
        goes_on = np.maximum(np.sqrt((coasted**2).mean(axis=(0, 1)))[moves] / usual[moves], 1e-4)
        ax.scatter(goes_on, np.full(len(goes_on), -i), s=8, color=NEW if name == "ant-maze" else OLD, alpha=0.6, lw=0)
        quarter[name] = float(np.percentile(goes_on, watching.QUARTER))
    ax.axvline(watching.STILL_MOVING, color="#888888", lw=0.8, ls=":")
    ax.set(title="14: what moves by itself", xlabel="share still moving", xscale="log", xlim=(5e-5, 2))
    ax.set_yticks([-i for i in range(len(WATCHED))], [name.split("-")[0 if "maze" in name else 1] for name in WATCHED])
    return quarter


def told_apart(ax: Any, config: RunConfig, seed: int) -> dict[str, Any]:
    """How soon a network of the agent's size learns random values of cells, with waves and without."""
    side = np.linspace(-1, 1, SIDE, dtype=np.float32)
    cells = jnp.asarray(np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2))
    values = jnp.asarray(np.random.default_rng(seed).normal(size=SIDE**2), jnp.float32)
    left = {}
    for name, count, colour in (("places", 0, OLD), ("and waves", SIDE // 2, NEW)):
        errors = learned_values(waves.beside(cells, count), values, config.sac, seed)
        ax.plot(errors, color=colour, label=name)
        left[name] = float(errors[-1])
    ax.set(title="15: random values of cells", xlabel="updates", ylabel="squared error", ylim=(0, None))
    ax.legend(fontsize=5)
    return left


def learned_values(inputs: Array, values: Array, config: SAC, seed: int) -> Floats:
    """The mean squared error [steps] while a network learns values [n] of inputs [n, d]."""

    def loss(params: mlp.Params) -> Array:
        return jnp.mean((mlp.forward(params, inputs)[:, 0] - values) ** 2)

    def step(fit: descent.Fit, _: Array) -> tuple[descent.Fit, Array]:
        error, gradient = jax.value_and_grad(loss)(fit.params)
        return descent.step(fit, gradient, config.learning_rate), error

    fit = descent.start(mlp.init((inputs.shape[1], *config.hidden, 1), key=jax.random.key(seed)))
    return np.asarray(jax.jit(lambda fit: jax.lax.scan(step, fit, jnp.arange(STEPS))[1])(fit))

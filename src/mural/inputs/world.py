"""What a run starts from: environments, their spaces, the examples, and the problem as reward methods see it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from mural import tasks
from mural.errors import MuralError, did_you_mean
from mural.inputs import checks
from mural.inputs.examples import WRAPPED, SuccessExamples, load_examples, rescaling
from mural.inputs.spaces import Env, Spaces, horizon_of
from mural.rewards import MethodSpec, Problem, total
from mural.settings.config import ConfigError, RunConfig

HELD_OUT = 50  # examples that a task makes beyond the ones to learn from, to measure calibration


class TaskLacksError(MuralError, ValueError):
    """A method needs what this environment does not report."""


@dataclass(frozen=True)
class World:
    """Everything outside the agent."""

    envs: tuple[Env, ...]
    spaces: Spaces
    examples: SuccessExamples | None
    held_out: NDArray[np.float32]  # [h, d] examples that nothing is trained on
    problem: Problem
    horizon: int | None

    @property
    def columns(self) -> tuple[int, ...]:
        """What the classifier sees of an observation."""
        return tuple(int(c) for c in self.spaces.columns)

    @property
    def example_obs(self) -> Array | None:
        """Whole observations of the examples, on the device."""
        return None if self.problem.example_obs is None else jnp.asarray(self.problem.example_obs)


def make_env(name: str, **kwargs: Any) -> Env:
    """A task by short name, or any environment that Gymnasium knows; wrong names get the nearest right one."""
    ours = {spec.name: spec.id for spec in tasks.TASKS.values()}
    if name in ours or name in ours.values():
        return gymnasium.make(ours.get(name, name), disable_env_checker=True, **kwargs)
    if not name:
        raise unknown(name)
    try:
        return gymnasium.make(name, **kwargs)
    except gymnasium.error.UnregisteredEnv:
        raise unknown(name) from None
    except (MuralError, gymnasium.error.Error, ImportError, OSError):
        raise
    except Exception as error:  # whatever its constructor raises
        raise checks.EnvError(f"the environment {name} cannot be made: {type(error).__name__}: {error}") from error


def require_known(name: str) -> None:
    """Raise what `make_env` would for a wrong name, without making anything."""
    if name in tasks.TASKS or ":" in name:  # "module:id" is registered when the module is imported
        return
    try:
        gymnasium.spec(name)
    except gymnasium.error.UnregisteredEnv:
        raise unknown(name) from None
    except gymnasium.error.Error:  # an id without its version, which `gymnasium.make` completes
        if not any(known.startswith(f"{name}-v") for known in gymnasium.registry):
            raise unknown(name) from None


def unknown(name: str) -> tasks.UnknownTaskError:
    """The error for a wrong name, with the nearest right one."""
    ours = {spec.name: spec.id for spec in tasks.TASKS.values()}
    ids = [*ours, *ours.values(), *gymnasium.registry]
    hint = did_you_mean(name, ids, cutoff=0.5)
    return tasks.UnknownTaskError(
        f"there is no task {name!r}; {hint}`mural tasks` lists ours, and any registered Gymnasium id will do "
        "(`--import my_module` imports the module that registers yours)"
    )


def build(
    config: RunConfig,
    spec: MethodSpec,
    env: Env | None = None,
    examples: Any = None,
    held_out: NDArray[np.float32] | None = None,
    check: bool = False,
) -> World:
    """Make environments, examples and problem, refusing what cannot work before anything is spent.

    A run that goes on passes `held_out`, the examples that it kept back when it began; then no others are kept back.
    `check`: try out what the user brings, say what looks like a mistake, and leave a few doubtful examples out. Our own
    tasks and their examples are trusted.
    """
    terms = config.terms
    total.check(terms)
    first = make_env(config.task) if env is None else env
    if check and (env is not None or not tasks.is_ours(config.task)):
        checks.check_env(first, config.classifier_keys, config.classifier_slice)
    more = config.loop.environments - 1
    if more and env is not None and env.spec is None:
        raise ConfigError("loop.environments > 1 needs an environment that Gymnasium can make again (env.spec is None)")
    spaces = Spaces.of(first, config.classifier_keys, config.classifier_slice)
    copies = [make_env(config.task) if env is None else gymnasium.make(env.spec) for _ in range(more)]  # type: ignore[arg-type]
    task: Any = first.unwrapped
    source = examples if examples is not None else config.examples
    brings = hasattr(task, "success_examples")
    found, kept_back = None, np.zeros((0, len(spaces.columns)), np.float32)
    needed = {"examples", "example_obs"} & set(spec.needs)
    if brings and not needed and source is None:  # for pictures and goals; not in units that are no longer the task's
        brings = not rescaling(first, task.success_examples(WRAPPED, config.seed), spaces)
    if needed or source is not None or brings:
        found = load_examples(source, spaces, first, config.num_examples, config.seed)
        if check and source is not None:
            sound = checks.examine(first, spaces, found)
            found = found if config.keep_ordinary else sound
        if held_out is not None:
            kept_back = held_out.reshape(-1, len(spaces.columns))
        elif source is None:
            kept_back = load_examples(None, spaces, first, HELD_OUT, config.seed + 1_000_003).states
        else:
            found, kept_back = split(found, config.loop.held_out, config.seed)
    if "example_obs" in spec.needs and (found is None or found.observations is None):
        raise TaskLacksError(
            f"{spec.name} needs examples that are whole observations ({spaces.obs_size} numbers), not only what the "
            "classifier sees"
        )
    horizon = horizon_of(first)
    if horizon is None:
        warnings.warn(
            "this environment has no time limit, so episodes end only with epochs: set one with "
            "gymnasium.wrappers.TimeLimit",
            stacklevel=3,
        )
    if not hasattr(task, "xy") and "xy" in total.reads(terms):
        instead = " and ".join(spaces.column_name(int(column)) for column in spaces.columns[:2])
        warnings.warn(
            f"{spec.name} counts visits to places: info['xy'], two numbers; if this environment does not report them, "
            f"it counts {instead}",
            stacklevel=3,
        )
    return World((first, *copies), spaces, found, kept_back, _problem(spaces, found, first), horizon)


def split(examples: SuccessExamples, share: float, seed: int) -> tuple[SuccessExamples, NDArray[np.float32]]:
    """Examples to learn from, and a share (none of fewer than 20) that is kept back."""
    rest, back = split_rows(len(examples.states), share, seed)
    whole = None if examples.observations is None else examples.observations[rest]
    return SuccessExamples(examples.states[rest], whole, examples.provenance), examples.states[back]


def split_rows(m: int, share: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which of `m` examples are learned from, and which are kept back."""
    kept_back = int(share * m) if m >= 20 else 0
    order = np.random.default_rng([seed, 7]).permutation(m)
    return np.sort(order[kept_back:]), order[:kept_back]


def _plane(env: Env) -> NDArray[np.float32] | None:
    """Corners [2, 2] of the plane that a task declares, if its observations are not wrapped into others."""
    task = env.unwrapped
    plane = getattr(task, "plane", None)
    if isinstance(plane, tasks.Plane) and env.observation_space == task.observation_space:
        return np.asarray([plane.low, plane.high], np.float32)
    return None


def _problem(spaces: Spaces, examples: SuccessExamples | None, env: Env) -> Problem:
    task, plane = env.unwrapped, _plane(env)
    if examples is None:
        none = np.zeros((0, len(spaces.columns)), np.float32)
        return Problem(spaces.obs_size, spaces.action_size, none, plane=plane)
    if hasattr(task, "distance") and examples.observations is not None:
        away = task.distance(np.asarray(examples.observations, np.float64))
    else:  # the task cannot measure states: the most central example stands for the goal
        away = np.linalg.norm(examples.states - examples.states.mean(axis=0), axis=1)
    goal = examples.states[int(np.argmin(away))]
    return Problem(spaces.obs_size, spaces.action_size, examples.states, examples.observations, goal, plane)


def require(spec: MethodSpec, reported: dict[str, float]) -> None:
    """Raise `TaskLacksError` if a method needs what the first transitions did not report."""
    for what in ("success", "distance"):
        if what in spec.needs and np.isnan(reported[what]):
            key = {"success": "is_success", "distance": "distance"}[what]
            raise TaskLacksError(
                f"method {spec.name!r} needs info[{key!r}] with every step, and this environment does not report it; "
                "choose a method that learns from examples (mural), or add it with a wrapper"
            )

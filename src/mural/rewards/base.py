"""The protocol of all methods: a reward is a sum of named, scaled parts, each of which can learn once per epoch.

A *part* is a frozen dataclass (its settings) with three functions; its state is any pytree of arrays, so that
checkpoints hold it like everything else. A *method* is a frozen dataclass that lists its terms: which parts, under
which names, with which scales. Neither knows anything of environments: they see arrays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from jax import Array

from mural.errors import MuralError, did_you_mean

PartState = Any
Info = dict[str, Array]
Need = Literal["examples", "example_obs", "env_reward", "success", "distance"]


class Transitions(NamedTuple):
    """n transitions. What the environment did not report (success, distance, l2) is NaN."""

    obs: Array  # [n, o] flattened observations
    action: Array  # [n, a] in [−1, 1]
    next_obs: Array  # [n, o]
    states: Array  # [n, d] what the classifier sees of `next_obs`: the state that is rewarded
    xy: Array  # [n, 2] where the agent, or what it moves, then is: the plane over which visits are counted
    env_reward: Array  # [n]
    success: Array  # [n] 0 or 1
    distance: Array  # [n] by the task's metric
    l2: Array  # [n] in a straight line


@dataclass(frozen=True)
class Problem:
    """What is known before the first step."""

    obs_size: int
    action_size: int
    examples: np.ndarray
    """Success examples as the classifier sees them, [m, d] float32; [0, d] for methods without examples."""
    example_obs: np.ndarray | None = None
    """The same examples as whole observations [m, o], where those are known."""
    goal: np.ndarray | None = None
    """The true goal as a state [d], for oracle methods: the example nearest to it."""

    @property
    def state_size(self) -> int:
        """Width d of what the classifier sees."""
        return int(self.examples.shape[1])


@dataclass(frozen=True)
class Experience:
    """What a part may learn from, once per epoch. All functions are compiled and deterministic in their key."""

    size: int
    """Transitions in the replay."""
    sample: Callable[[int, Array], Transitions]
    """(n, key) → n transitions, uniformly from the replay, with replacement."""
    recent: Transitions
    """All transitions since the last call, in order."""
    pairs: Callable[[int, Array], tuple[Array, Array, Array]]
    """(n, key) → states s_i [n, d], later states s_j of the same episodes [n, d], steps between them [n] (≥ 0)."""
    log_prob: Callable[[Array, Array], Array]
    """(obs, action) → log π(a|s) [n] of the current policy; a in [−1, 1]."""
    act: Callable[[Array, Array], tuple[Array, Array]]
    """(obs, key) → actions of the current policy [n, a] and their log π [n]."""


@runtime_checkable
class Part(Protocol):
    """One summand of a reward.

    A part whose labels depend on more than the state that a transition leads to says so, as in
    `reads: ClassVar[tuple[str, ...]] = ("obs", "action")`: the reward of a mere state is then not asked of it.
    """

    def init(self, problem: Problem, *, key: Array) -> PartState:
        """The state before any data: a pytree of arrays (or None)."""

    def learn(
        self, state: PartState, problem: Problem, experience: Experience, *, key: Array
    ) -> tuple[PartState, Info]:
        """Called once per epoch, before its rewards are needed. Info: scalars to log."""

    def label(self, state: PartState, batch: Transitions) -> Array:
        """Rewards [n], finite, a pure function of its arguments that JAX can compile."""


class Term(NamedTuple):
    """A part with its name in the logs and its scale in the sum."""

    name: str
    scale: float
    part: Part


class Method(Protocol):
    """A frozen dataclass of settings, registered under a name."""

    def terms(self) -> Sequence[Term]:
        """The summands of the reward."""


@dataclass(frozen=True)
class MethodSpec:
    """A registered method."""

    name: str
    config: type
    """The dataclass of its settings; calling it without arguments gives the defaults."""
    needs: tuple[Need, ...]
    """What a problem has to bring."""
    objective: Literal["td", "rce"]
    """How the critic learns: from rewards (td), or from examples alone (rce)."""

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.config.__doc__ or "").strip().splitlines()[0]


METHODS: dict[str, MethodSpec] = {}

C = TypeVar("C", bound=type)


class UnknownMethodError(MuralError, ValueError):
    """There is no method of this name; the message has the nearest one."""


class MethodError(MuralError, TypeError):
    """What was to be registered is not a method; the message says what is missing."""


def register_method(
    name: str, *, needs: Sequence[Need] = ("examples",), objective: Literal["td", "rce"] = "td"
) -> Callable[[C], C]:
    """Class decorator: make a frozen dataclass with `terms()` known as `--method name`."""

    def register(cls: C) -> C:
        if not dataclasses.is_dataclass(cls) or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            raise MethodError(f"method {name!r}: {cls.__name__} must be a frozen dataclass (@dataclass(frozen=True))")
        if not callable(getattr(cls, "terms", None)):
            raise MethodError(f"method {name!r}: {cls.__name__} needs a function terms() that returns its Terms")
        known = METHODS.get(name)
        if known is not None and (known.config.__module__, known.config.__qualname__) != (
            cls.__module__,
            cls.__qualname__,
        ):
            raise MethodError(f"method {name!r} is already registered, by {known.config.__module__}")
        METHODS[name] = MethodSpec(name, cls, tuple(needs), objective)
        return cls

    return register


def find_method(name: str) -> MethodSpec:
    """The method of this name, or an `UnknownMethodError` with the nearest one."""
    if name in METHODS:
        return METHODS[name]
    hint = did_you_mean(name, METHODS)
    raise UnknownMethodError(f"there is no method {name!r}; {hint}there are {', '.join(sorted(METHODS))}")

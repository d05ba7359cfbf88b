"""The protocol of all methods: a reward is a sum of named, scaled parts, each of which can learn once per epoch.

A *part* is a frozen dataclass (its settings) derived from `Part`; its state is any pytree of arrays, so that
checkpoints hold it like everything else. It says which columns of the transitions it reads: `states` ([n, d], what the
classifier sees of where a transition leads), or any of `mural.agent.replay.Rows`. What reads states alone is a reward
of states, which `OutcomeReward` can be asked for without any transition. A *method* is a frozen dataclass that lists
its terms: which parts, under which names, with which scales. Neither knows anything of environments: they see arrays.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mural import plugins
from mural.agent.replay import Terminations
from mural.agent.sac import SOFT_TD, Objective
from mural.errors import MuralError, did_you_mean

PartState = Any
Info = dict[str, Array]
Names = tuple[str, ...]
STATES, PAIRS, POLICY = "states", "pairs", "policy"
Need = Literal["examples", "example_obs", "env_reward", "success", "distance"]
Source = Literal["learned", "told", "none"]
Worth = Literal["probability", "log_odds", "surprise"]


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
    plane: np.ndarray | None = None
    """Lower and upper corner [2, 2] of the plane of places, where the task declares one."""
    waves: int = 0
    """Waves that networks see of each number of a state: on a grid, so that they tell neighbours apart."""

    @property
    def state_size(self) -> int:
        """Width d of what the classifier sees."""
        return int(self.examples.shape[1])


class Recent(dict[str, Array]):
    """New transitions by column; a column that no part named in `learns_from` is a `MethodError`."""

    def __missing__(self, name: str) -> Array:
        raise MethodError(f"a part learns from the column {name!r}: its class must name it in `learns_from`")


@dataclass(frozen=True)
class Experience:
    """What a part may learn from, once per epoch. All functions are compiled and deterministic in their key."""

    size: int
    """Transitions that `sample` draws from, or stands for."""
    draw: Callable[[int, Array, Names], tuple[Array, ...]]
    """(n, key, columns) → these columns of n transitions, uniformly, with replacement."""
    recent: Recent
    """The columns that the parts learn from, of all transitions since the last call, in order."""
    pairs: Callable[[int, Array], tuple[Array, Array, Array]]
    """(n, key) → states s_i [n, d], later states s_j of the same episodes [n, d], steps between them [n] (≥ 0)."""
    act: Callable[[Array, Array], tuple[Array, Array]]
    """(obs, key) → actions of the current policy [n, a] and their log π [n]."""
    abreast: int = 1
    """Environments whose transitions take turns in `recent`."""
    width: Array | float = 0.0
    """λ by the data: the usual distance from a visited state to its tenth neighbour."""
    starts: Array = field(default_factory=lambda: jnp.zeros((0, 0)))
    """States [k, d] in which the episodes of `recent` began; none where that is not known."""
    held: int | None = None
    """Transitions that `sample` really draws from, where that is fewer than it stands for. None: `size`."""

    def sample(self, n: int, key: Array, *columns: str) -> tuple[Array, ...]:
        """These columns of n transitions."""
        return self.draw(n, key, columns)

    def states(self, n: int, key: Array) -> Array:
        """The states [n, d] of n transitions."""
        return self.draw(n, key, (STATES,))[0]


class Part(ABC):
    """One summand of a reward. Only `label` has to be written."""

    @property
    def reads(self) -> Names:
        """The columns that `label` takes, in its order."""
        return (STATES,)

    @property
    def learns_from(self) -> Names:
        """What `learn` asks for: columns; `PAIRS` of states of one episode; what the `POLICY` would do."""
        return (STATES,)

    @property
    def scaled(self) -> bool:
        """Whether it sees states in the units of the metric, which move a little with every epoch. False: raw ones."""
        return True

    def init(self, problem: Problem, *, key: Array) -> PartState:
        """The state before any data: a pytree of arrays (or None)."""
        return None

    def learn(
        self, state: PartState, problem: Problem, experience: Experience, *, key: Array
    ) -> tuple[PartState, Info]:
        """Called once per epoch, before its rewards are needed. Info: scalars to log."""
        return state, {}

    @abstractmethod
    def label(self, *args: Any, **kwargs: Any) -> Array:
        """(state, column, …) → rewards [n], finite; a pure function of its arguments that JAX can compile."""


class Classifier(Part):
    """A part that knows the probability of success, which is its reward unless it says otherwise."""

    @abstractmethod
    def probability(self, state: PartState, states: Array) -> Array:
        """p(success) [n] of states [n, d]."""

    def label(self, state: PartState, states: Array) -> Array:
        """p(success)."""
        return self.probability(state, states)


def worth(measure: Worth, odds: Array) -> Array:
    """What a state is worth, from its log-odds log p/(1 − p) of success [n], in one of three measures.

    probability: p, the paper's. log_odds: a tenth of them, 0 where nobody has been, −1 where 20,000 visits failed.
    surprise: three tenths of −log(1 − p), which is as p where visits failed and as the log-odds at success.
    """
    match measure:
        case "probability":
            return jax.nn.sigmoid(odds)
        case "log_odds":
            return 0.1 * odds
        case "surprise":
            return 0.3 * jax.nn.softplus(odds)


class NMLPart(Classifier):
    """A classifier by conditional normalized maximum likelihood, which knows how little it knows."""

    reward: Worth = "probability"

    @abstractmethod
    def log_likelihoods(self, state: PartState, states: Array) -> Array:
        """log p_{θ_y}(y | s) [n, 2] of states [n, d]: each label's likelihood after the model was fitted to it too."""

    def probability(self, state: PartState, states: Array) -> Array:
        """p(success) [n]: the likelihoods, normalised."""
        return jax.nn.softmax(self.log_likelihoods(state, states))[:, 1]

    def label(self, state: PartState, states: Array) -> Array:
        """r(s) [n]: p(success) in the measure that is asked for."""
        log_p = self.log_likelihoods(state, states)
        return worth(self.reward, log_p[:, 1] - log_p[:, 0])

    def regret(self, state: PartState, states: Array) -> Array:
        """log Σ_y p_{θ_y}(y | s) [n] of states [n, d]: 0 where data settle the label, log 2 where there are none."""
        return jax.nn.logsumexp(self.log_likelihoods(state, states), axis=1)


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
    objective: Objective
    """How the critics learn: from rewards, or from examples alone."""
    reward: Source
    """Where the reward comes from: it is learned, the environment tells it, or there is none."""
    terminations: Terminations
    """What a termination means with `loop.terminations=auto`."""

    @property
    def why_none(self) -> str:
        """Why no reward can be asked of it, in words; '' if it learns one."""
        why = {"told": "the environment tells it one", "none": "its critic learns from the examples themselves"}
        return "" if self.reward == "learned" else f"method {self.name!r} learns no reward: {why[self.reward]}"

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.config.__doc__ or "").strip().splitlines()[0]


METHODS: dict[str, MethodSpec] = {}

C = TypeVar("C", bound=type)


class UnknownMethodError(MuralError, ValueError):
    """There is no method of this name; the message has the nearest one."""


class MethodError(MuralError, TypeError):
    """What was to be registered is not a method, or a part of it not a `Part`; the message says what is missing."""


class NotOfStatesError(MuralError, ValueError):
    """The reward of states was asked for, and this reward depends on more than states."""


def register_method(
    name: str,
    *,
    needs: Sequence[Need] = ("examples",),
    objective: Objective = SOFT_TD,
    reward: Source = "learned",
    terminations: Terminations = "absorb",
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
        METHODS[name] = MethodSpec(name, cls, tuple(needs), objective, reward, terminations)
        return cls

    return register


def find_method(name: str) -> MethodSpec:
    """The method of this name, ours or of an installed package, or an `UnknownMethodError` with the nearest one."""
    if not isinstance(cast(object, name), str):
        raise UnknownMethodError(f"method is {name!r}; it must be the name of one: {', '.join(sorted(METHODS))}")
    if name not in METHODS:
        plugins.load_methods()
    if name in METHODS:
        return METHODS[name]
    hint = did_you_mean(name, METHODS)
    raise UnknownMethodError(f"there is no method {name!r}; {hint}there are {', '.join(sorted(METHODS))}")

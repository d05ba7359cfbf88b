"""MURAL: the probability of success by meta-NML makes the reward (Algorithm 2 of the paper).

Once per epoch D is drawn anew (replay states with label 0, examples with label 1), the network is meta-trained from
where it was, and from then on p_meta-NML(success | s) is found by one gradient step per label, in closed form. The
reward is p itself (paper) or another measure of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mural.limits import NotNegativeFloat, NotNegativeInt, PositiveFloat, PositiveInt, PositiveOrInfinite, Share, Widths
from mural.nml import kernel, meta, mle, mlp, proposals, waves
from mural.nml.descent import Fit
from mural.nml.meta import MetaNML
from mural.nml.weights import Data, identity, subset
from mural.rewards import dataset
from mural.rewards.base import Experience, Info, NMLPart, Problem, Term, Worth, register_method

REPORTED = 256  # visited states that the report of an epoch is about


class NMLState(NamedTuple):
    """The classifier between two epochs."""

    network: Fit
    support: Data  # the points that a query adapts on
    kernel_width: Array
    epochs: Array


@dataclass(frozen=True)
class NMLClassifier(NMLPart):
    """p(success | state) by conditional normalized maximum likelihood, one gradient step per query and label."""

    hidden: Widths = (128, 128)
    """Widths of the hidden layers."""
    kernel_width: PositiveOrInfinite | None = None
    """λ_dist: points further away count for less than a tenth. None: the usual distance between visited states and
    their tenth neighbours, measured anew every epoch."""
    query_weight: NotNegativeFloat = 1.0
    """k_query: how many points a query counts for."""
    step_size: NotNegativeFloat = 0.1
    """α of the inner gradient step (released code: 0.01)."""
    negatives: PositiveInt = 768
    """Visited states that the classifier learns from in each epoch (paper: 1024); with the examples they are its data
    set D."""
    positives: NotNegativeInt = 256
    """Examples in D, drawn with replacement (paper: 1024); together as heavy as the replay states. 0: none."""
    counts: bool = True
    """Each point of D stands for replay size / negatives points, as CNML on all data asks. Off: one (paper)."""
    spare: bool = True
    """Do not count visited states that cannot be told from an example as failures. Off: count all (paper)."""
    coreset: bool = True
    """Choose the replay states of D so that every visited state has one of them nearby, each with the number of visits
    around it. Off: a random draw (paper)."""
    reward: Worth = "surprise"
    """What a state is worth: p(success) (paper), log_odds: a tenth of log p/(1 − p), or surprise: three tenths of
    −log(1 − p). The last two do not saturate around the examples."""
    meta_training: bool = True
    """Train for the answer after the step. Off: plain cross-entropy on D, the same step when asked (ablation)."""
    query_in_every_batch: bool = True
    """Importance weighting of the query in every inner batch (the paper's first trick)."""
    warm_start: bool = True
    """Go on from the last epoch's network (the paper's third trick). Off: a fresh one each epoch."""
    train_points: PositiveInt = 256
    """Points of D in an inner batch while training (released code: 63)."""
    adapt_points: PositiveInt | None = None
    """Points of D that a query adapts on (released code: 63). None: all."""
    support: Literal["epoch", "query"] = "epoch"
    """When the points that a query adapts on are drawn: once per epoch, so that all its rewards are one function, or
    for every query (released code)."""
    outer_query_weight: NotNegativeFloat = 1.0
    """Factor on k_query in the outer loss (released code: ½)."""
    outer_points: PositiveInt | None = 64
    """Points of D per task in the outer loss, drawn in proportion to their weight. None: all."""
    outside_share: Share = 1 / 3
    """Share of the query tasks that lie outside D (paper: 0)."""
    proposal: Literal["auto", "box", "pairs"] = "auto"
    """Where the query tasks outside D are drawn: in the box around D, or on lines through pairs of its points."""
    queries: Literal["data", "replay"] = "data"
    """Where the query tasks inside D come from: all of it (paper), or its replay states only (released code)."""
    learning_rate: PositiveFloat = 1e-3
    """Of Adam in the outer loop."""
    first_epochs: NotNegativeInt = 10
    """Meta-epochs before the first rewards."""
    epochs: NotNegativeInt = 1
    """Meta-epochs per epoch after that."""
    updates_per_epoch: PositiveInt = 16
    """Adam steps per meta-epoch."""
    queries_per_update: PositiveInt = 8
    """Query points per Adam step, each with both labels."""

    def config(self, count: int = 0) -> MetaNML:
        """The settings in the terms of `mural.nml`, for states with `count` waves of each number beside it."""
        proposal = proposals.resolve(self.proposal)
        return MetaNML(
            step_size=self.step_size,
            query_weight=self.query_weight,
            outer_query=self.outer_query_weight,
            query_in_every_batch=self.query_in_every_batch,
            train_points=self.train_points,
            adapt_points=self.adapt_points if self.support == "query" else None,  # else they are drawn in `learn`
            outer_points=self.outer_points,
            outside_share=self.outside_share,
            query_class=0 if self.queries == "replay" else None,
            proposal=waves.Proposed(proposal, count) if count else proposal,
            features=waves.Without(count) if count else identity,
            queries_per_update=self.queries_per_update,
            updates_per_epoch=self.updates_per_epoch,
        )

    @property
    def _whole(self) -> bool:
        """Whether all of D is kept for the queries."""
        return self.adapt_points is None or self.support == "query"

    def _fresh(self, inputs: int, *, key: Array) -> Fit:
        return meta.init((inputs, *self.hidden, 2), key=key)

    def init(self, problem: Problem, *, key: Array) -> NMLState:
        """An untrained network and an empty support."""
        size = self.negatives + self.positives
        points = size if self._whole else min(self.adapt_points or size, size)
        d = waves.width(problem.state_size, problem.waves)
        support = Data(jnp.zeros((points, d)), jnp.zeros(points, jnp.int32), jnp.zeros(points))
        width = np.nan if self.kernel_width is None else self.kernel_width
        return NMLState(self._fresh(d, key=key), support, jnp.float32(width), jnp.zeros((), jnp.int32))

    def learn(self, state: NMLState, problem: Problem, experience: Experience, *, key: Array) -> tuple[NMLState, Info]:
        """Draw D, meta-train on it, keep the points that queries adapt on."""
        keys = jax.random.split(key, 5)
        first = int(state.epochs) == 0
        data = dataset.draw(self, problem, experience, key=keys[0])
        width = jnp.float32(experience.width if self.kernel_width is None else self.kernel_width)
        data = data._replace(x=waves.beside(data.x, problem.waves))
        network = state.network if self.warm_start else self._fresh(data.x.shape[1], key=keys[1])
        rounds = self.first_epochs if first or not self.warm_start else self.epochs
        info: Info = {"loss": jnp.float32(jnp.nan)}
        for k in jax.random.split(keys[2], rounds):
            network, info = self._train(network, data, width, problem.waves, key=k)
        support = _subset(data, None if self._whole else self.adapt_points, key=keys[3])
        after = NMLState(network, support, width, state.epochs + 1)
        report = {"loss": jnp.mean(info["loss"]), "represents": jnp.max(data.represents)}
        report |= _report(self, after, jnp.asarray(problem.examples), experience.states(REPORTED, keys[4]))
        return after, report

    def _train(self, network: Fit, data: Data, width: Array, count: int, *, key: Array) -> tuple[Fit, Info]:
        if self.meta_training:
            return meta.epoch(self.config(count), network, data, width, self.learning_rate, key=key)
        return mle.steps(mle.MLE(), network, data, self.updates_per_epoch, self.learning_rate, key=key)

    def log_likelihoods(self, state: NMLState, states: Array) -> Array:
        """log p_{θ_y}(y | s) [n, 2], θ_y one gradient step from θ."""
        asked = meta.own_log_likelihoods if self.support == "query" else meta.log_likelihoods
        key = jax.random.fold_in(jax.random.key(0), state.epochs)
        params, count = state.network.params, waves.count(state.network.params, states)
        states = waves.beside(states, count)
        return asked(self.config(count), params, state.support, states, state.kernel_width, key=key)

    def prior(self, state: NMLState, states: Array) -> Array:
        """p(success | state) [n] of the same network before any adaptation."""
        return jax.nn.softmax(mlp.forward(state.network.params, waves.seen_by(state.network.params, states)))[:, 1]


_subset = partial(jax.jit, static_argnums=1)(subset)


@partial(jax.jit, static_argnums=0)
def _report(part: NMLClassifier, state: NMLState, examples: Array, states: Array) -> Info:
    """How sure the classifier is of the examples and of visited states, how much of that is adaptation, and how far it
    is from CNML by kernel counts on the same points: mean |p_meta-NML − p_kernel|."""
    beyond = jnp.roll(states, 1, axis=0) + jnp.roll(states, 2, axis=0) - states
    n, asked = states.shape[0], jnp.concatenate([states, beyond, examples])
    p = part.probability(state, asked)
    support = state.support._replace(x=state.support.x[:, : states.shape[1]])  # without waves
    counted = jax.nn.softmax(kernel.log_likelihoods(support, asked[: 2 * n], state.kernel_width))[:, 1]
    gap = jnp.abs(p[: 2 * n] - counted)
    return {
        "kernel_gap": jnp.mean(gap[:n]),
        "kernel_gap_beyond": jnp.mean(gap[n:]),
        "p_examples": jnp.mean(p[2 * n :]) if examples.shape[0] else jnp.float32(jnp.nan),
        "p_replay": jnp.mean(p[:n]),
        "adaptation": jnp.mean(jnp.abs(p[:n] - part.prior(state, states))),
    }


@register_method("mural")
@dataclass(frozen=True)
class Mural:
    """Meta-learned CNML: the success probability of a classifier that knows what it does not know."""

    classifier: NMLClassifier = field(default_factory=NMLClassifier)
    """The classifier."""
    scale: float = 1.0
    """Factor on its reward."""

    def terms(self) -> tuple[Term, ...]:
        """p_meta-NML."""
        return (Term("classifier", self.scale, self.classifier),)

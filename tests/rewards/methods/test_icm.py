"""ICM: its two losses by their formulas, and surprise that goes where the dynamics are known."""

import dataclasses

import jax
import numpy as np
import pytest

import mural
from mural.rewards.base import METHODS
from mural.rewards.methods.icm import Curiosity
from mural.rewards.methods.vice import ExamplesError
from tests.rewards import synthetic
from tests.rewards.methods.test_vice import forward
from tests.rewards.tiny import TinyRoom

KEY, PROBLEM = jax.random.key(0), synthetic.problem()
SMALL = Curiosity(hidden=(32,), features=8, steps=300, batch_size=64, learning_rate=3e-3)


def losses(networks, rows):
    """In NumPy: ½‖f(φ(s), a) − φ(s')‖² and ½‖g(φ(s), φ(s')) − a‖², per transition."""
    obs, action, next_obs = (np.asarray(a, float) for a in rows)
    now, then = (forward(networks.features, x) for x in (obs, next_obs))
    foreseen = forward(networks.forward, np.concatenate([now, action], axis=1))
    read = forward(networks.inverse, np.concatenate([now, then], axis=1))
    return 0.5 * ((foreseen - then) ** 2).sum(1), 0.5 * ((read - action) ** 2).sum(1)


def read(rows):
    return [rows[name] for name in SMALL.reads]


def test_losses_and_normaliser_equal_their_formulas():
    part = dataclasses.replace(SMALL, steps=1, beta=0.3)
    experience = synthetic.corridor()
    before = part.init(PROBLEM, key=KEY)
    state, info = part.learn(before, PROBLEM, experience, key=KEY)
    drawn = experience.sample(64, KEY, *SMALL.reads)
    forward_loss, inverse_loss = (a.mean() for a in losses(before.networks.params, drawn))
    assert float(info["forward_loss"]) == pytest.approx(forward_loss, rel=1e-4)
    assert float(info["inverse_loss"]) == pytest.approx(inverse_loss, rel=1e-4)
    assert float(info["loss"]) == pytest.approx(0.7 * inverse_loss + 0.3 * forward_loss, rel=1e-4)
    surprise, _ = losses(state.networks.params, read(experience.recent))
    raw = synthetic.label(dataclasses.replace(part, normalise=False), state, experience.recent)
    np.testing.assert_allclose(raw, surprise, rtol=1e-3, atol=1e-7)
    assert float(info["deviation"]) == pytest.approx(surprise.std(), rel=1e-3)
    np.testing.assert_allclose(synthetic.label(part, state, experience.recent), raw / surprise.std(), rtol=1e-3)


def test_actions_become_readable_and_known_moves_foreseeable():
    experience = synthetic.corridor()
    state = SMALL.init(PROBLEM, key=KEY)
    infos = []
    for i in range(3):
        state, info = SMALL.learn(state, PROBLEM, experience, key=jax.random.fold_in(KEY, i))
        infos.append({name: float(value) for name, value in info.items()})
    variance = 0.5 * np.asarray(experience.recent["action"]).var(0).sum()
    assert infos[-1]["inverse_loss"] < 0.3 * variance  # half of it would mean one of the two axes
    known, _ = losses(state.networks.params, read(experience.recent))
    # The same moves with the axes swapped: never seen, and not how the corridor works.
    rows = experience.recent
    odd = rows | {"next_obs": rows["next_obs"][:, ::-1] + 1.0}
    assert float(synthetic.label(SMALL, state, odd).mean()) > 20 * float(synthetic.label(SMALL, state, rows).mean())
    assert known.mean() < 0.1


def test_method_with_and_without_classifier():
    config = METHODS["icm"].config()
    assert [(t.name, t.scale) for t in config.terms()] == [("bonus", 1.0)]
    with_classifier = dataclasses.replace(config, classifier_scale=0.5, bonus_scale=2.0)
    assert [(t.name, t.scale) for t in with_classifier.terms()] == [("classifier", 0.5), ("bonus", 2.0)]


def test_examples_are_needed_for_the_classifier_alone():
    agent = mural.Agent(TinyRoom(), method="icm")
    assert agent.run.world.examples is None
    with pytest.raises(ExamplesError, match="no success examples"):
        mural.Agent(TinyRoom(), method="icm", config={"reward.classifier_scale": 1.0})

"""VAE density: the bound by its formula, below the true log-likelihood, and higher where states were seen."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.nml.mlp import Layer
from mural.rewards.base import METHODS
from mural.rewards.methods import vae_density
from mural.rewards.methods.vae_density import VAE, Density
from tests.rewards import synthetic
from tests.rewards.methods.test_vice import forward

KEY, PROBLEM = jax.random.key(0), synthetic.problem()
SMALL = Density(hidden=(32,), latent=2, steps=300, batch_size=128, learning_rate=5e-3, draws=16)


def bound(vae, u, noise):
    """In NumPy, from the densities of normal distributions: log p(u|z) + Σ of −KL of each latent on its own."""
    mean, log_v = np.split(forward(vae.encoder, u), 2, axis=1)
    off = u - forward(vae.decoder, mean + np.sqrt(np.exp(log_v)) * noise)
    sigma = np.sqrt(np.exp(2 * np.asarray(vae.log_sigma, float)) + 1e-4)
    log_p = np.log(np.exp(-0.5 * (off / sigma) ** 2) / (np.sqrt(2 * np.pi) * sigma)).sum(1)
    s = np.exp(0.5 * log_v)
    return log_p - (-np.log(s) + (s**2 + mean**2) / 2 - 0.5).sum(1)


def test_bound_and_loss_equal_their_formulas():
    rng = np.random.default_rng(0)
    vae = SMALL.init(PROBLEM, key=KEY).vae.params._replace(log_sigma=jnp.asarray([0.3, -0.5]))
    u, noise = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    ours = jax.jit(vae_density.bound)(vae, jnp.asarray(u, jnp.float32), jnp.asarray(noise, jnp.float32))
    np.testing.assert_allclose(ours, bound(vae, u, noise), rtol=1e-4)


def test_it_is_a_lower_bound_and_tight_at_the_exact_posterior():
    """A linear decoder with an exact encoder: u = z + σε has log p(u) = log N(u; 0, 1 + σ²), and no gap is left."""
    sigma2 = 0.25 + 1e-4
    exact = Layer(jnp.asarray([[1 / (1 + sigma2), 0.0]]), jnp.asarray([0.0, np.log(sigma2 / (1 + sigma2))]))
    vae = VAE((exact,), (Layer(jnp.ones((1, 1)), jnp.zeros(1)),), jnp.log(jnp.asarray([0.5])))
    u = np.array([-2.0, 0.1, 1.5])
    noise = np.random.default_rng(0).normal(size=(20000, 1)).astype(np.float32)
    expected = -0.5 * (u**2 / (1 + sigma2) + np.log(2 * np.pi * (1 + sigma2)))
    of = jax.jit(lambda vae, x: jnp.mean(vae_density.bound(vae, jnp.full((20000, 1), x), jnp.asarray(noise))))
    np.testing.assert_allclose([of(vae, x) for x in u], expected, atol=0.03)  # ±4 standard errors
    wrong = vae._replace(encoder=(exact._replace(b=exact.b + jnp.asarray([0.3, 0.5])),))
    assert all(float(of(wrong, x)) < e - 0.1 for x, e in zip(u, expected, strict=True))


def test_density_is_higher_on_seen_states_and_labels_repeat():
    experience = synthetic.corridor()
    rng = np.random.default_rng(0)
    unseen = synthetic.at(rng.normal([[0.0, 3.0]], 0.2, (200, 2)))
    state = SMALL.init(PROBLEM, key=KEY)
    assert np.isfinite(synthetic.label(SMALL, state, unseen)).all()
    for i in range(2):
        state, info = SMALL.learn(state, PROBLEM, experience, key=jax.random.fold_in(KEY, i))
    seen = experience.recent
    bonus, again = synthetic.label(SMALL, state, seen), synthetic.label(SMALL, state, seen)
    np.testing.assert_array_equal(bonus, again)
    assert float(synthetic.label(SMALL, state, unseen).min()) > float(bonus.max())
    # In nats and raw units it is a density: on seen states it beats a Gaussian with their mean and deviation.
    raw = dataclasses.replace(SMALL, normalise=False)
    x = np.asarray(seen["states"], float)
    gauss = -(0.5 * ((x - x.mean(0)) / x.std(0)) ** 2 + np.log(x.std(0)) + 0.5 * np.log(2 * np.pi)).sum(1).mean()
    assert float(info["bound"]) == pytest.approx(-float(synthetic.label(raw, state, seen).mean()), rel=1e-4)
    assert float(info["bound"]) > gauss - 0.05


def test_normaliser_is_over_all_novelty_measured_and_clipped():
    part, raw = dataclasses.replace(SMALL, clip=1.5), dataclasses.replace(SMALL, normalise=False)
    state, seen = SMALL.init(PROBLEM, key=KEY), []
    for seed in (0, 1):
        experience = synthetic.corridor(seed=seed)
        state, info = SMALL.learn(state, PROBLEM, experience, key=KEY)
        seen.extend(np.asarray(synthetic.label(raw, state, experience.recent)))
    rows = synthetic.corridor(seed=2).recent
    expected = (np.asarray(synthetic.label(raw, state, rows)) - np.mean(seen)) / np.std(seen)
    np.testing.assert_allclose(synthetic.label(part, state, rows), np.clip(expected, -1.5, 1.5), atol=1e-3)
    assert np.abs(expected).max() > 1.5
    assert np.isfinite(float(info["loss"]))


def test_method_with_and_without_classifier():
    config = METHODS["vae-density"].config(bonus_scale=0.3)
    assert [(t.name, t.scale) for t in config.terms()] == [("classifier", 1.0), ("bonus", 0.3)]
    assert [t.name for t in dataclasses.replace(config, classifier_scale=0.0).terms()] == ["bonus"]

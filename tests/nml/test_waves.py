"""Waves beside numbers: their order, what undoes them, and what they are for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.nml import descent, mlp, proposals, waves
from mural.nml.weights import Data

X = jnp.array([[0.5, -0.25], [0.1, 0.0]])


def test_numbers_then_sines_then_cosines():
    found = np.asarray(waves.beside(X, 2))
    assert found.shape == (2, waves.width(2, 2))
    angles = np.pi * np.array([0.5, 1.0, -0.25, -0.5])
    np.testing.assert_allclose(found[0], [0.5, -0.25, *np.sin(angles), *np.cos(angles)], atol=1e-6)
    np.testing.assert_array_equal(waves.Without(2)(waves.beside(X, 2)), X)
    assert waves.beside(X, 0) is X


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_network_says_how_many_it_sees(count):
    params = mlp.init((waves.width(2, count), 4, 1), key=jax.random.key(0))
    assert waves.count(params, X) == count
    np.testing.assert_array_equal(waves.seen_by(params, X), waves.beside(X, count))


def test_proposals_have_the_waves_that_belong_to_them():
    data = Data(waves.beside(X, 3), jnp.zeros(2, jnp.int32), jnp.ones(2))
    proposal = waves.Proposed(proposals.box, 3)
    found = proposal(jax.random.key(0), data, 50)
    plain = proposals.box(jax.random.key(0), data._replace(x=X), 50)
    np.testing.assert_array_equal(found, waves.beside(plain, 3))
    assert hash(proposal) == hash(waves.Proposed(proposals.box, 3))  # or every call would be compiled again


@pytest.mark.parametrize("seed", [0, 1])
def test_random_labels_of_cells_are_learned_sooner(seed):
    """Random values on an 8 × 8 grid, the same network and steps: with waves it has them, without it does not."""
    side = np.linspace(-1, 1, 8, dtype=np.float32)
    cells = jnp.asarray(np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2))
    values = jnp.asarray(np.random.default_rng(seed).choice([-1.0, 1.0], 64).astype(np.float32))
    left = {}
    for count in (0, 4):
        inputs = waves.beside(cells, count)
        fit = descent.start(mlp.init((inputs.shape[1], 32, 32, 1), key=jax.random.key(seed)))

        def loss(params, _, inputs=inputs):
            value = jnp.mean((mlp.forward(params, inputs)[:, 0] - values) ** 2)
            return value, {"loss": value}

        _, info = jax.jit(lambda fit, loss=loss: descent.descend(loss, fit, jnp.arange(300), 3e-3, 0.0))(fit)
        left[count] = float(np.asarray(info["loss"]).reshape(-1)[-1])
    assert left[4] < 0.5 * left[0], left

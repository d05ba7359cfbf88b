"""What the networks see: scales from bounds or data, the change since the last observation, and the twin in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.agent import sac
from mural.agent import view as views
from mural.agent.policy import NumpyPolicy
from mural.agent.sac import SAC

rng = np.random.default_rng(0)
INFINITE = np.full(3, np.inf)


def visits(n: int = 500, spread: tuple[float, ...] = (1.0, 0.01, 50.0)) -> tuple[np.ndarray, np.ndarray]:
    obs = rng.normal(size=(n, 3)) * spread
    return obs.astype(np.float32), (obs + 0.1 * rng.normal(size=(n, 3)) * spread).astype(np.float32)


def test_finite_bounds_are_the_scale():
    obs, after = visits()
    low, high = np.array([-5.0, -1.0, -300.0]), np.array([5.0, 0.5, 500.0])
    view = views.measure(obs, after, None, low, high)
    np.testing.assert_allclose(view.centre, [0, -0.25, 100])
    np.testing.assert_allclose(view.scale, [5, 0.75, 400])


def test_without_bounds_visits_and_examples_are():
    obs, after = visits()
    examples = np.tile(np.float32([4.0, 0.0, 0.0]), (7, 1))
    view = views.measure(obs, after, examples, -INFINITE, INFINITE)
    np.testing.assert_allclose(view.centre, [2, 0, 0], atol=3)
    # Half of the weight on seven examples: the variance of two equal groups, one of them a point four away.
    apart = examples[0, 0] - obs[:, 0].mean()
    assert view.scale[0] == pytest.approx(2 * np.sqrt(obs[:, 0].var() / 2 + apart**2 / 4), rel=1e-4)
    seen = np.asarray(views.see(view, jnp.asarray(obs), jnp.asarray(obs), False))
    assert (seen.std(axis=0) > 0.1).all()
    assert (seen.std(axis=0) < 1.5).all()


@pytest.mark.parametrize(
    ("low", "high"), [(-1e4, 1e4), (-0.1, 0.1), (0.0, np.inf)], ids=["far", "exceeded", "half open"]
)
def test_bounds_that_say_nothing_are_not_asked(low, high):
    obs, after = visits()
    view = views.measure(obs, after, None, np.full(3, low), np.full(3, high))
    assert view.scale[0] == pytest.approx(2 * obs[:, 0].std(), rel=1e-4)


def test_what_never_moved_gets_a_scale():
    obs, after = (np.zeros((50, 3), np.float32) for _ in range(2))
    view = views.measure(obs, after, None, -INFINITE, INFINITE)
    np.testing.assert_array_equal(view.scale, 1)
    np.testing.assert_array_equal(view.change, np.float32(views.STILL))
    bounded = views.measure(obs, after, None, np.full(3, -2.0), np.full(3, 2.0))
    np.testing.assert_array_equal(bounded.scale, 2)  # nothing was seen that speaks against the bounds


def test_examples_that_are_not_whole_observations():
    obs, after = visits()
    partly = np.full((9, 3), np.nan, np.float32)
    partly[:, 1] = 3.0
    view = views.measure(obs, after, partly, -INFINITE, INFINITE)
    assert view.centre[1] == pytest.approx(1.5, abs=0.01)
    assert view.centre[0] == pytest.approx(obs[:, 0].mean(), abs=1e-5)


def test_changes_are_of_order_one_in_any_unit():
    obs, after = visits()
    view = views.measure(obs, after, None, -INFINITE, INFINITE)
    seen = np.asarray(views.see(view, jnp.asarray(after), jnp.asarray(obs), True))
    assert seen.shape == (500, 6)
    np.testing.assert_allclose(seen[:, 3:].std(axis=0), 1.0, rtol=0.01)
    jump = views.see(view, jnp.asarray(obs[:1] + 1e6), jnp.asarray(obs[:1]), True)
    np.testing.assert_array_equal(jump[0, 3:], views.FASTEST)


def test_waves_stand_beside_each_number():
    view = views.View(jnp.array([1.0, 0.0]), jnp.array([2.0, 1.0]), jnp.ones(2))
    obs = np.array([[2.0, 0.25]], np.float32)
    seen = np.asarray(views.see(view, jnp.asarray(obs), jnp.asarray(obs), True, 2))
    x, y = 0.5, 0.25
    angles = np.pi * np.array([x, 2 * x, y, 2 * y])
    np.testing.assert_allclose(seen[0], [x, y, *np.sin(angles), *np.cos(angles), 0, 0], atol=1e-6)
    assert seen.shape[1] == views.inputs(2, True, 2)


@pytest.mark.parametrize("waves", [0, 3])
@pytest.mark.parametrize("motion", [False, True])
def test_numpy_sees_the_same(motion, waves):
    obs, after = visits(20)
    config = SAC(hidden=(8,), motion=motion, waves=waves)
    state = sac.init(config, 3, 2, key=jax.random.key(0))
    state = state._replace(view=views.measure(obs, after, None, -INFINITE, INFINITE))
    layers = [(np.asarray(layer.w), np.asarray(layer.b)) for layer in state.policy]
    policy = NumpyPolicy(layers, [np.asarray(v) for v in state.view], motion, waves)
    inputs = views.see(state.view, jnp.asarray(after), jnp.asarray(obs), motion, waves)
    np.testing.assert_allclose(policy.see(after, obs), inputs, rtol=1e-5, atol=1e-5)
    mean, _ = sac.distribution(state.policy, inputs)
    np.testing.assert_allclose(policy.mode(after, obs), np.tanh(mean), atol=1e-5)
    np.testing.assert_allclose(policy.mode(after), policy.mode(after, after), atol=1e-6)  # at rest if not told

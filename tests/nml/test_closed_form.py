"""The closed form equals autodiff on private copies of the weights: any depth, classes, weights and data size."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mural.nml import adaptation, closed_form, meta, mlp
from mural.nml.weights import Data, query_weights
from tests.nml import brute_force

WIDTHS = (7, 5, 9)
# Depth, classes, data. Few shapes, as every one is compiled: every depth with every number of classes.
SHAPES = [
    (depth, k, (1, 2, 5, 63, 300)[(3 * depth + i) % 5]) for depth in (1, 2, 3, 4) for i, k in enumerate((2, 3, 5))
]


def problems(shapes):
    return st.fixed_dictionaries(
        {
            "seed": st.integers(0, 2**31 - 1),
            "shape": st.sampled_from(shapes),
            "d": st.just(3),
            "kernel_width": st.one_of(st.just(np.inf), st.floats(0.05, 20)),
            "query_weight": st.sampled_from([0.02, 0.25, 1.0, 2.0, 50.0]),
            "step_size": st.sampled_from([0.001, 0.01, 0.1, 0.5]),
            "constant_counts": st.booleans(),
        }
    )


def make(problem, dtype):
    rng = np.random.default_rng(problem["seed"])
    depth, k, n = problem["shape"]
    sizes = (problem["d"], *WIDTHS[: depth - 1], k)
    params = mlp.init(sizes, key=jax.random.key(problem["seed"]), dtype=dtype)
    represents = np.full(n, rng.uniform(0.5, 30)) if problem["constant_counts"] else rng.uniform(0.1, 30, n)
    data = Data(
        jnp.asarray(rng.normal(size=(n, problem["d"])), dtype),
        jnp.asarray(rng.integers(0, k, n)),
        jnp.asarray(represents, dtype),
    )
    queries = np.concatenate([rng.normal(size=(2, problem["d"])), np.asarray(data.x[:1])])  # one equals a data point
    return params, data, jnp.asarray(queries, dtype)


@jax.jit
def closed(params, data, queries, kernel_width, query_weight, step_size):
    weights = query_weights(queries, data, kernel_width=kernel_width, query_weight=query_weight)
    return closed_form.log_likelihoods(params, closed_form.support(params, data), queries, weights, step_size)


slow = jax.jit(brute_force.log_likelihoods)


def both(problem, dtype):
    params, data, queries = make(problem, dtype)
    options = {key: problem[key] for key in ("kernel_width", "query_weight", "step_size")}
    ours = closed(params, data, queries, *options.values())
    return np.asarray(ours), np.asarray(slow(params, *data, queries, **options))


@settings(max_examples=40, deadline=None)
@given(problems(SHAPES))
def test_equals_autodiff_in_float64(problem):
    with jax.enable_x64(True):
        ours, book = both(problem, jnp.float64)
    assert ours.dtype == np.float64
    np.testing.assert_allclose(np.exp(ours), np.exp(book), rtol=1e-10, atol=0)


@settings(max_examples=25, deadline=None)
@given(problems(SHAPES[::3] + SHAPES[-1:]))
def test_equals_autodiff_in_float32(problem):
    ours, book = both(problem, jnp.float32)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(np.exp(ours), np.exp(book), rtol=1e-5, atol=0)


def test_no_kernel_is_one_of_infinite_width():
    params, data, queries = make({"seed": 0, "shape": SHAPES[3], "d": 3, "constant_counts": False}, jnp.float32)
    options = {"query_weight": 1.0, "step_size": 0.1}
    without = jax.jit(partial(brute_force.log_likelihoods, kernel_width=None))(params, *data, queries, **options)
    np.testing.assert_allclose(slow(params, *data, queries, kernel_width=np.inf, **options), without, rtol=1e-6)


@partial(jax.jit, static_argnames="steps")
def several(params, data, queries, steps):
    weights = query_weights(queries, data, kernel_width=0.7)
    logits = adaptation.adapted_logits(params, data, queries, weights, queries[:, None, :], 0.1, steps)
    return jnp.diagonal(jax.nn.log_softmax(logits[:, :, 0]), axis1=1, axis2=2)


@pytest.mark.parametrize("steps", [1, 2, 5, 20])
@pytest.mark.parametrize("k", [2, 3])
def test_several_steps_equal_autodiff(steps, k):
    with jax.enable_x64(True):
        problem = {"seed": steps, "shape": (3, k, 12), "d": 2, "constant_counts": False}
        params, data, queries = make(problem, jnp.float64)
        ours = several(params, data, queries, steps)
        options = {"kernel_width": 0.7, "query_weight": 1.0, "step_size": 0.1, "steps": steps}
        book = slow(params, *data, queries, **options)
    np.testing.assert_allclose(np.exp(ours), np.exp(book), rtol=1e-10)


ask = jax.jit(meta.log_likelihoods, static_argnums=0)


def test_a_point_that_stands_for_three_is_three_points():
    params = mlp.init((2, 8, 2), key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (5, 2))
    y = jnp.array([0, 1, 0, 0, 1])
    counts = np.array([3, 1, 2, 1, 1])
    queries = jax.random.normal(jax.random.key(2), (4, 2))
    options = {"key": jax.random.key(0)}
    short = ask(meta.MetaNML(), params, Data(x, y, jnp.asarray(counts, jnp.float32)), queries, 0.5, **options)
    repeated = np.repeat(np.arange(5), counts)
    data = Data(x[repeated], y[repeated], jnp.ones(len(repeated)))
    long = ask(meta.MetaNML(), params, data, queries, 0.5, **options)
    np.testing.assert_allclose(short, long, rtol=1e-5)


def test_padding_changes_nothing():
    params = mlp.init((2, 8, 3), key=jax.random.key(0))
    data = Data(jax.random.normal(jax.random.key(1), (5, 2)), jnp.array([0, 1, 2, 0, 1]), jnp.ones(5))
    far = Data(
        *(
            jnp.concatenate([a, b])
            for a, b in zip(data, (jnp.full((3, 2), 1e3), jnp.zeros(3, int), jnp.zeros(3)), strict=True)
        )
    )
    queries = jax.random.normal(jax.random.key(2), (4, 2))
    options = {"key": jax.random.key(0)}
    for width in (0.5, jnp.inf):
        plain = ask(meta.MetaNML(), params, data, queries, width, **options)
        padded = ask(meta.MetaNML(), params, far, queries, width, **options)
        np.testing.assert_allclose(plain, padded, rtol=1e-5)


@pytest.mark.parametrize(("fan_in", "fan_out"), [(2, 12), (12, 2), (12, 12), (3, 3)])
@pytest.mark.parametrize("points", [1, 40])
def test_the_gradient_of_the_data_by_either_order_of_products(fan_in, fan_out, points):
    """Against the sum as it is written, value and derivative: narrow and wide layers, few and many activations."""
    rng = np.random.default_rng(fan_in * fan_out + points)
    shapes = ((3, 2, points, fan_in), (30, fan_in), (30, fan_out), (3, 30))
    args = [jnp.asarray(rng.normal(size=shape).astype(np.float32)) for shape in shapes]

    def as_written(a, activations, errors, weights):
        similar = jnp.einsum("qloi,ni->qlon", a, activations) + 1
        return jnp.einsum("qn,qlon,nf->qlof", weights, similar, errors)

    def both(function):
        total = jax.grad(lambda *args: jnp.sum(jnp.sin(function(*args))), argnums=(0, 1, 2, 3))
        return jax.jit(lambda *args: (function(*args), *total(*args)))(*args)

    for found, expected in zip(both(closed_form.data_gradient), both(as_written), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)

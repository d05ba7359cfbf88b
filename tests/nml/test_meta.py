"""Meta-training: the loss and its second-order gradient, sampling without bias, query tasks, warm starts."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.nml import descent, meta, proposals
from mural.nml.meta import MetaNML
from mural.nml.weights import Data, Weights
from tests.nml import brute_force, problems

N, D, K, WIDTH = 12, 2, 3, 0.8
FULL = MetaNML(outer_points=None, step_size=0.3)


def problem(dtype=np.float32, n=N, seed=0):
    data = problems.data(n, D, K, seed, dtype)
    queries = np.random.default_rng(seed + 1).normal(size=(4, D)).astype(dtype)
    queries[-1] = data.x[0]
    return problems.network((D, 6, K), seed, dtype), data, jnp.asarray(queries)


loss = jax.jit(meta.meta_loss, static_argnums=1)
in_batch = jax.jit(meta.inner_query_weights, static_argnums=(0, 1))


@partial(jax.jit, static_argnums=1)
def by_the_book(params, steps, data, queries, kernel_width, query_weight, outer_query=1.0):
    """Adapt a copy of the weights to each task, then its weighted loss; the mean over tasks."""
    params = [tuple(layer) for layer in params]

    def task(query, label):
        augmented = brute_force.augmented(*data, query, label, kernel_width, query_weight)
        judged = brute_force.augmented(*data, query, label, kernel_width, outer_query * query_weight)
        return brute_force.loss(brute_force.adapt(params, *augmented, FULL.step_size, steps), *judged)

    labels = jnp.arange(params[-1][1].shape[0])
    return jnp.mean(jax.vmap(lambda query: jax.vmap(lambda label: task(query, label))(labels))(queries))


@pytest.mark.parametrize(("steps", "query_weight"), [(1, 3.0), (3, 1.0)])
def test_loss_is_adapt_then_weighted_loss(steps, query_weight):
    config = replace(FULL, steps=steps, query_weight=query_weight)
    with jax.enable_x64(True):
        params, data, queries = problem(np.float64)
        ours = loss(params, config, data, queries, WIDTH, key=jax.random.key(0))
        slow = by_the_book(params, steps, data, queries, WIDTH, query_weight)
        np.testing.assert_allclose(ours, slow, rtol=1e-10)
        # The kernel is off at infinite width, which is very wide.
        ours = loss(params, config, data, queries, jnp.inf, key=jax.random.key(0))
        slow = by_the_book(params, steps, data, queries, 1e14, query_weight)
        np.testing.assert_allclose(ours, slow, rtol=1e-10)


def test_the_query_may_weigh_less_in_the_outer_loss():
    with jax.enable_x64(True):
        params, data, queries = problem(np.float64)
        ours = loss(params, replace(FULL, outer_query=0.5), data, queries, WIDTH, key=jax.random.key(0))
        np.testing.assert_allclose(ours, by_the_book(params, 1, data, queries, WIDTH, 1.0, 0.5), rtol=1e-10)


@pytest.mark.parametrize("asked", [2, 4], ids=["a pass for each batch", "a pass over D"])
@pytest.mark.parametrize("always", [True, False])
def test_every_query_on_a_batch_of_its_own(asked, always):
    """The answers are those of one query at a time, each with its own key; all of D needs no draw."""
    params, data, queries = problem()
    own = jax.jit(meta.own_log_likelihoods, static_argnums=0)
    ask = jax.jit(meta.log_likelihoods, static_argnums=0)
    few, key = replace(FULL, adapt_points=4, query_in_every_batch=always), jax.random.key(3)
    queries = queries[:asked]
    found = own(few, params, data, queries, WIDTH, key=key)
    for one, query, k in zip(found, queries, jax.random.split(key, len(queries)), strict=True):
        np.testing.assert_allclose(one, ask(few, params, data, query[None], WIDTH, key=k)[0], rtol=1e-5)
    twice = own(few, params, data, jnp.stack([queries[0]] * 2), WIDTH, key=key)
    assert not np.allclose(twice[0], twice[1])
    everything = own(FULL, params, data, queries, WIDTH, key=key)
    np.testing.assert_allclose(everything, ask(FULL, params, data, queries, WIDTH, key=key), rtol=1e-5)


def test_counts_in_the_loss_are_repeated_points():
    params, data, queries = problem()
    half = jnp.arange(N) % (N // 2)
    twice = Data(data.x[half], data.y[half], jnp.ones(N))
    counted = twice._replace(represents=jnp.where(jnp.arange(N) < N // 2, 2.0, 0.0))
    once = twice._replace(represents=counted.represents / 2)
    long, short, other = (
        float(loss(params, FULL, d, queries, WIDTH, key=jax.random.key(0))) for d in (twice, counted, once)
    )
    assert short == pytest.approx(long, rel=1e-5)
    assert abs(other - short) > 1e-4


@pytest.mark.parametrize("steps", [1, 3])
def test_second_order_gradient_is_the_slope_of_the_loss(steps):
    config = replace(FULL, steps=steps)
    with jax.enable_x64(True):
        params, data, queries = problem(np.float64)
        flat, unflatten = jax.flatten_util.ravel_pytree(params)
        at = jax.jit(
            lambda flat: jax.value_and_grad(meta.meta_loss)(
                unflatten(flat), config, data, queries, WIDTH, key=jax.random.key(0)
            )
        )
        gradient, _ = jax.flatten_util.ravel_pytree(at(flat)[1])
        eps, rng = 1e-6, np.random.default_rng(1)
        for direction in rng.normal(size=(5, len(flat))):
            slope = (at(flat + eps * direction)[0] - at(flat - eps * direction)[0]) / (2 * eps)
            assert np.asarray(gradient) @ direction == pytest.approx(float(slope), rel=1e-6, abs=1e-8)


def assert_mean(samples, expected):
    """Within 4 standard errors: a false alarm once in 16,000 seeds."""
    error = np.std(samples, axis=0) / np.sqrt(len(samples))
    assert (error > 0).all()
    assert (np.abs(np.mean(samples, axis=0) - expected) < 4 * error).all()


def test_importance_sampled_outer_loss_is_unbiased():
    params, data, queries = problem(n=40)
    keys = jax.random.split(jax.random.key(0), 4000)
    sampled = replace(FULL, outer_points=5)
    samples = jax.jit(
        lambda keys: jax.lax.map(lambda key: meta.meta_loss(params, sampled, data, queries, WIDTH, key=key), keys)
    )(keys)
    assert_mean(np.asarray(samples), float(loss(params, FULL, data, queries, WIDTH, key=keys[0])))


def test_outer_sample_draws_in_proportion_to_weight():
    data = problems.data(40, D, K)
    raw = np.random.default_rng(0).uniform(size=(3, 40)) ** 4
    raw[:, 7] = 0.0
    weights = Weights(jnp.asarray(raw / raw.sum(1, keepdims=True) * 0.7, jnp.float32), jnp.full(3, 0.3))
    draw = jax.jit(jax.vmap(lambda key: meta.outer_sample(weights, data, 10, key=key)))
    points, labels, w = map(np.asarray, draw(jax.random.split(jax.random.key(0), 2000)))
    is_point = (points[:, :, :, None, :] == np.asarray(data.x)).all(-1)  # [samples, q, o, n]
    assert (is_point.sum(-1) == 1).all()
    assert not is_point[..., 7].any()
    np.testing.assert_array_equal(labels, np.asarray(data.y)[is_point.argmax(-1)])
    np.testing.assert_allclose(w.sum(-1), np.broadcast_to(weights.data.sum(1), w.shape[:2]), rtol=1e-5)
    drawn = (is_point * w[..., None]).sum(2)  # the weight that each point of D got in each sample
    seen = np.asarray(weights.data) > 1e-3  # the others turn up too rarely for a normal approximation
    expected = np.asarray(weights.data)
    error = drawn.std(0) / np.sqrt(len(drawn))
    assert seen.sum() > 20
    # 5 standard errors for more than 20 comparisons: a false alarm once in 10,000 seeds.
    assert (np.abs(drawn.mean(0) - expected)[seen] < 5 * error[seen]).all()


def test_all_points_are_taken_when_there_are_few():
    data = problems.data(N, D, K)
    weights = Weights(jnp.full((3, N), 0.5 / N), jnp.full(3, 0.5))
    for count in (None, N, N + 5):
        points, _, w = meta.outer_sample(weights, data, count, key=jax.random.key(0))
        assert points.shape == (3, N, D)
        np.testing.assert_array_equal(w, weights.data)


@pytest.mark.parametrize("padding", [0, 20])
def test_query_by_luck_has_the_chance_and_weight_of_any_point(padding):
    """Off, the query is in a batch of 6 out of 12 half of the time and counts double; padding plays no part."""
    _, data, _ = problem()
    data = Data(*(jnp.asarray(np.pad(a, [(0, padding), (0, 0)][: a.ndim])) for a in data))
    config = MetaNML(query_weight=3.0, query_in_every_batch=False)
    batch = jax.jit(meta.subset, static_argnums=1)(data, 6, key=jax.random.key(1))
    weights = np.asarray(in_batch(config, 2000, batch, data, key=jax.random.key(0)))
    there = weights > 0
    assert abs(there.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(there))
    np.testing.assert_allclose(weights[there], 6, rtol=1e-5)
    always = in_batch(replace(config, query_in_every_batch=True), 2000, batch, data, key=jax.random.key(0))
    np.testing.assert_array_equal(always, 3)
    np.testing.assert_array_equal(in_batch(config, 2000, data, data, key=jax.random.key(0)), 3)


def test_many_queries_are_answered_as_a_few_are():
    """Two whole groups of queries and a rest, against each group by itself; and a function of more than one column."""
    params, data, _ = problem()
    many = jnp.asarray(np.random.default_rng(5).normal(size=(2 * meta.ABREAST + 7, D)).astype(np.float32))
    ask = jax.jit(meta.log_likelihoods, static_argnums=0)
    found = ask(FULL, params, data, many, WIDTH, key=jax.random.key(0))
    parts = [ask(FULL, params, data, some, WIDTH, key=jax.random.key(0)) for some in jnp.array_split(many, 7)]
    np.testing.assert_allclose(found, np.concatenate(parts), rtol=1e-4, atol=1e-5)
    doubled = meta.in_groups(lambda rows: rows[0] + rows[1], (many, many), 100)
    np.testing.assert_array_equal(doubled, 2 * many)


def test_each_trick_changes_the_loss():
    params, data, queries = problem()
    base = MetaNML(train_points=4, outer_points=None)
    key = jax.random.key(2)
    values = [
        float(loss(params, base, data, queries, WIDTH, key=key)),
        float(loss(params, base, data, queries, jnp.inf, key=key)),
        float(loss(params, replace(base, query_in_every_batch=False), data, queries, WIDTH, key=key)),
    ]
    assert len({round(v, 5) for v in values}) == 3


def test_queries_come_from_d_and_from_outside_in_the_right_shares():
    _, data, _ = problem()
    data = data._replace(represents=data.represents.at[3].set(0.0))

    def elsewhere(key, data, count):
        return jnp.full((count, data.x.shape[1]), 77.0)

    for share, outside in ((0.0, 0), (1 / 3, 100), (1.0, 300)):
        config = MetaNML(outside_share=share, proposal=elsewhere)
        queries = np.asarray(meta.draw_queries(config, data, 300, key=jax.random.key(0)))
        assert queries.shape == (300, D)
        assert (queries == 77.0).all(1).sum() == outside
        inside = queries[(queries != 77.0).any(1)]
        matches = (inside[:, None] == np.asarray(data.x)[None]).all(-1)
        assert (matches.sum(1) == 1).all()
        assert not matches[:, 3].any()  # it represents nothing
        if share == 0:
            assert matches.any(0).sum() == N - 1
    for label in (0, 1):
        config = MetaNML(outside_share=0.0, query_class=label)
        queries = np.asarray(meta.draw_queries(config, data, 300, key=jax.random.key(0)))
        matches = (queries[:, None] == np.asarray(data.x)[None]).all(-1)
        assert set(np.asarray(data.y)[matches.argmax(1)]) == {label}


def trained(config, state, data, epochs, key):
    losses = []
    for i in range(epochs):
        state, info = meta.epoch(config, state, data, WIDTH, 3e-3, key=jax.random.fold_in(key, i))
        losses.append(float(info["loss"].mean()))
    return state, losses


def test_retraining_goes_on_where_it_ended_without_compiling_again():
    _, data, queries = problem()
    config = MetaNML(outer_points=8, queries_per_update=4, updates_per_epoch=4)
    start = meta.init((D, 16, K), key=jax.random.key(0))
    once, _ = trained(config, start, data, 20, jax.random.key(1))
    compiled = meta.epoch._cache_size()
    moved = data._replace(x=data.x + 0.01, represents=data.represents * 2)
    twice, _ = trained(config, once, moved, 20, jax.random.key(2))
    meta.epoch(config, twice, moved, 0.3, 1e-4, key=jax.random.key(3))
    assert meta.epoch._cache_size() == compiled
    at = [float(loss(s.params, FULL, data, queries, WIDTH, key=jax.random.key(0))) for s in (start, once, twice)]
    assert at[0] > at[1] > at[2]
    assert int(twice.optimiser.count) == 2 * 20 * config.updates_per_epoch


def test_an_update_reports_the_loss_and_gradient_it_used():
    params, data, queries = problem()
    state = descent.start(params)
    key = jax.random.key(4)
    new, info = jax.jit(meta.update, static_argnums=0)(FULL, state, data, queries, WIDTH, 1e-2, key=key)
    assert info["loss"] == pytest.approx(float(loss(params, FULL, data, queries, WIDTH, key=key)), rel=1e-5)
    assert float(info["gradient_norm"]) > 0
    # Adam's first step is the learning rate along the sign of the gradient.
    step = np.concatenate(
        [np.ravel(a - b) for a, b in zip(jax.tree.leaves(params), jax.tree.leaves(new.params), strict=True)]
    )
    assert 0.009 < np.abs(step).max() < 0.0101
    assert loss(new.params, FULL, data, queries, WIDTH, key=key) < info["loss"]


def test_beyond_the_box_only_the_kernel_knows():
    """Two queries beyond the same side differ for the kernel alone: without it they get the same answer."""
    params, data, _ = problem()
    _, high = proposals.reach(data)
    far = jnp.stack([high + 1, high + 5])
    ask = jax.jit(partial(meta.log_likelihoods, MetaNML(), params, data, far, key=jax.random.key(0)))
    off, on = np.asarray(ask(jnp.inf)), np.asarray(ask(WIDTH))
    np.testing.assert_array_equal(off[0], off[1])
    assert not np.array_equal(on[0], on[1])

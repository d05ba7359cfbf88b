"""Meta-NML by the book, for tests: autodiff on a private copy of the weights for every query and label."""

import jax
import jax.numpy as jnp


def forward(params, x):
    for w, b in params[:-1]:
        x = jnp.maximum(x @ w + b[None, :], 0)
    w, b = params[-1]
    return x @ w + b[None, :]


def loss(params, x, y, weights):
    """Weighted cross-entropy, divided by the sum of the weights."""
    logits = forward(params, x)
    log_z = jax.scipy.special.logsumexp(logits, axis=1)
    losses = log_z - logits[jnp.arange(len(y)), y]
    return jnp.sum(weights * losses) / jnp.sum(weights)


def augmented(x, y, represents, query, label, kernel_width, query_weight):
    """D ∪ (query, label) and its weights, with the kernel written as in the paper."""
    distance = jnp.sqrt(jnp.sum((x - query[None, :]) ** 2, axis=1))
    kernel = jnp.ones_like(distance) if kernel_width is None else jnp.exp(-2.3 / kernel_width * distance)
    weights = jnp.append(represents * kernel, query_weight)
    return jnp.concatenate([x, query[None, :]]), jnp.append(y, label), weights


def adapt(params, x, y, weights, step_size, steps=1):
    def step(_, params):
        gradient = jax.grad(loss)(params, x, y, weights)
        return [(w - step_size * dw, b - step_size * db) for (w, b), (dw, db) in zip(params, gradient, strict=True)]

    return jax.lax.fori_loop(0, steps, step, params)


def log_likelihoods(params, x, y, represents, queries, *, kernel_width, query_weight, step_size, steps=1):
    params = [tuple(layer) for layer in params]

    def one(query, label):
        task = augmented(x, y, represents, query, label, kernel_width, query_weight)
        logits = forward(adapt(params, *task, step_size, steps), query[None, :])[0]
        return logits[label] - jax.scipy.special.logsumexp(logits)

    labels = jnp.arange(params[-1][1].shape[0])
    return jax.vmap(lambda query: jax.vmap(lambda label: one(query, label))(labels))(queries)

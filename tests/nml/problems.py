"""Random networks and data, made by NumPy: JAX would compile every operation that makes them."""

from itertools import pairwise

import jax.numpy as jnp
import numpy as np

from mural.nml.mlp import Layer
from mural.nml.weights import Data


def network(sizes, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return tuple(
        Layer(*(jnp.asarray(rng.uniform(-1, 1, shape) / a**0.5, dtype) for shape in ((a, b), (b,))))
        for a, b in pairwise(sizes)
    )


def data(n, d, k, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n).astype(np.int32)
    return Data(
        *(jnp.asarray(a) for a in (rng.normal(size=(n, d)).astype(dtype), y, rng.uniform(0.5, 4, n).astype(dtype)))
    )

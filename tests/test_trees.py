"""Trees as named arrays: every structure in use comes back bit for bit, and a tree that does not fit says where."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import numpy as safetensors

from mural.nml import mlp
from mural.trees import StructureError, flatten, restore


class Pair(NamedTuple):
    left: Any
    right: Any


@partial(jax.tree_util.register_dataclass, data_fields=["policy", "step"], meta_fields=["name"])
@dataclass(frozen=True)
class Agent:
    policy: Any
    step: Any
    name: str = "sac"


def same(a, b):
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        assert np.shape(x) == np.shape(y)
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


def agent(seed=0, sizes=(3, 4, 2)):
    params = mlp.init(sizes, key=jax.random.key(seed))
    return Agent(params, jnp.asarray(seed, jnp.int32))


def test_names_are_readable_and_in_order():
    assert list(flatten(agent())) == ["policy.0.w", "policy.0.b", "policy.1.w", "policy.1.b", "step"]
    state = optax.chain(optax.clip(1.0), optax.adam(1e-3)).init({"w": jnp.ones(2)})
    assert list(flatten(state)) == ["1.0.count", "1.0.mu.w", "1.0.nu.w"]
    assert list(flatten(jnp.ones(2))) == ["value"]
    assert list(flatten({"a": None, "b": Pair(None, 1)})) == ["b.right"]


@pytest.mark.parametrize(
    "tree",
    [
        agent(),
        optax.adamw(1e-3).init(agent().policy),
        {"x": Pair(jnp.arange(3, dtype=jnp.uint8), None), "y": [jnp.array(True), (), jnp.zeros((0, 3))]},
        {
            "np": np.arange(4, dtype=np.float64),
            "wide": np.array(2**40),
            "specials": jnp.array([jnp.nan, jnp.inf, -0.0]),
        },
        jnp.array([1, 2**32 - 1], jnp.uint32),
        {},
    ],
)
def test_round_trip(tree):
    stored = safetensors.load(safetensors.save(flatten(tree)))
    back = restore(tree, stored)
    same(tree, back)
    assert all(isinstance(leaf, (jax.Array, np.ndarray)) for leaf in jax.tree.leaves(back))
    same(tree, restore(jax.tree.map(lambda x: x * 0 if x.dtype != bool else ~x, tree), stored))  # only the kind counts


leaves = hnp.arrays(
    st.sampled_from([np.float32, np.int32, np.uint32, np.uint8, np.bool_]), hnp.array_shapes(min_dims=0, min_side=0)
)
keys = st.text("abcxyz_-", min_size=1, max_size=4)
forests = st.recursive(
    st.none() | leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3) | st.builds(Pair, inner, inner)
    ),
    max_leaves=8,
)


@settings(deadline=None, derandomize=True)
@given(forests)
def test_round_trip_of_any_tree(tree):
    back = restore(jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), tree), flatten(tree))
    same(tree, back)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(back))


def test_doubles_with_64_bit_jax():
    with jax.enable_x64(True):
        tree = {"d": jnp.linspace(0, 1, 5), "i": jnp.arange(3)}
        assert flatten(tree)["d"].dtype == np.float64
        same(tree, restore(tree, flatten(tree)))


def test_python_scalars_have_the_type_jax_gives_them():
    arrays = flatten({"a": 3, "b": 0.5, "c": True})
    assert [a.dtype.name for a in arrays.values()] == ["int32", "float32", "bool"]
    assert float(restore({"a": 0, "b": 0.0, "c": False}, arrays)["b"]) == 0.5


def test_restored_arrays_own_their_memory():
    """JAX is free to use the memory of a NumPy array, above all of one that lies at a multiple of 64 bytes."""
    room = np.zeros(4096 + 16, np.float32)
    start = -room.ctypes.data % 64 // 4
    stored = {"value": room[start : start + 4096]}
    back = restore(jnp.ones(4096), stored)
    room[:] = 7
    assert float(back.sum()) == 0


def test_a_kept_copy_survives_donation():
    x = jnp.zeros(4096)
    kept = flatten(x)["value"]
    x = jax.jit(lambda a: a + 1, donate_argnums=0)(x)
    assert kept.sum() == 0
    assert float(x[0]) == 1


def test_mismatch_names_what_is_wrong():
    arrays = flatten(agent())
    with pytest.raises(StructureError, match=r"other settings.*missing: policy.2.w, policy.2.b\."):
        restore(agent(sizes=(3, 4, 2, 2)), arrays)
    with pytest.raises(StructureError, match=r"not expected: policy.1.w, policy.1.b; of another shape"):
        restore(agent(sizes=(3, 2)), arrays)
    with pytest.raises(StructureError, match=r"policy.0.w \(float32\[3, 4\], here float32\[3, 5\]\).* and 1 more"):
        restore(agent(sizes=(3, 5, 3)), arrays)
    with pytest.raises(StructureError, match=r"step \(int32\[\], here float32\[\]\)"):
        restore(Agent(agent().policy, 0.0), arrays)


def test_names_that_collide_are_refused():
    with pytest.raises(StructureError, match=r"'a\.b'"):
        flatten({"a": {"b": 1}, "a.b": 2})

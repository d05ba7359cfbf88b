"""Pytrees as named arrays, and back.

A checkpoint stores names and numbers, never structure: the structure comes from the program that reads it. So
nothing in a file can choose which classes are built, and a file that does not fit the program is noticed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import jax.numpy as jnp
import numpy as np
from jax.tree_util import keystr, tree_flatten_with_path, tree_unflatten
from numpy.typing import NDArray

from mural.errors import MuralError

Arrays = dict[str, NDArray[Any]]
Tree = TypeVar("Tree")

ROOT = "value"  # the name of a tree that is a single array
SHOWN = 3  # of each kind of mismatch in a message


class StructureError(MuralError, ValueError):
    """Stored arrays do not fit the tree they were to fill; the message names the first that do not."""


def flatten(tree: Any) -> Arrays:
    """The leaves under readable names such as ``policy.0.w``, in the tree's own order; None has no name.

    Leaves on the CPU are not copied: the arrays are views, for reading only.
    """
    return {name: _numpy(leaf) for name, leaf in _named(tree)[0].items()}


def restore(template: Tree, arrays: Mapping[str, NDArray[Any]], newer: Collection[str] = ()) -> Tree:
    """A tree like `template` (structure, shapes, dtypes) with the numbers of `arrays`.

    Leaves whose name ends in one of `newer` may be missing, as files of earlier versions have none of them; they are
    then the template's.

    Leaves of the template may be arrays, Python scalars, or `jax.ShapeDtypeStruct`. NumPy leaves stay NumPy
    (they may be 64 bits wide where JAX is not); all others become JAX arrays that own their memory, so that they
    can be donated.
    """
    leaves, structure = _named(template)
    since = {name: _numpy(leaf) for name, leaf in leaves.items() if name not in arrays and name.endswith(tuple(newer))}
    arrays = {**arrays, **since}
    problems = _listed("missing", [name for name in leaves if name not in arrays])
    problems += _listed("not expected", [name for name in arrays if name not in leaves])
    problems += _listed(
        "of another shape or type",
        [
            f"{name} ({_kind(arrays[name])}, here {_kind(leaf)})"
            for name, leaf in leaves.items()
            if name in arrays and _kind(arrays[name]) != _kind(leaf)
        ],
    )
    if problems:
        raise StructureError(
            f"the checkpoint was written with other settings: {'; '.join(problems)}. "
            "Resume with the settings that the run was started with, or start a new run"
        )
    filled = [
        np.array(arrays[name]) if isinstance(leaf, (np.ndarray, np.generic)) else jnp.array(arrays[name], copy=True)
        for name, leaf in leaves.items()
    ]
    return tree_unflatten(structure, filled)


def _named(tree: Any) -> tuple[dict[str, Any], Any]:
    """The leaves by name, and the structure."""
    paths, structure = tree_flatten_with_path(tree)
    leaves: dict[str, Any] = {}
    for path, leaf in paths:
        name = keystr(path, simple=True, separator=".") or ROOT
        if name in leaves:
            raise StructureError(f"two leaves of the tree are called {name!r}; rename a key so that names are unique")
        leaves[name] = leaf
    return leaves, structure


def _numpy(leaf: Any) -> NDArray[Any]:
    """The leaf as an array; Python scalars get the dtype that JAX gives them."""
    return np.asarray(leaf, dtype=None if hasattr(leaf, "dtype") else jnp.result_type(leaf))


def _kind(leaf: Any) -> str:
    """Type and shape, such as float32[3, 4]."""
    dtype = leaf.dtype if hasattr(leaf, "dtype") else jnp.result_type(leaf)
    return f"{np.dtype(dtype).name}{list(np.shape(leaf))}"


def _listed(what: str, names: list[str]) -> list[str]:
    """One clause with the first few names, or none."""
    if not names:
        return []
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return [f"{what}: {', '.join(names[:SHOWN])}{more}"]

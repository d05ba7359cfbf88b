"""What a transition is worth: one file per method, all behind one protocol. Knows nothing of environments."""

from mural.rewards import ddl, icm, oracle, vae_density, vice, vice_count, vice_rnd
from mural.rewards.base import (
    METHODS,
    Experience,
    Info,
    Method,
    MethodError,
    MethodSpec,
    Part,
    Problem,
    Term,
    Transitions,
    UnknownMethodError,
    find_method,
    register_method,
)

__all__ = [
    "METHODS",
    "Experience",
    "Info",
    "Method",
    "MethodError",
    "MethodSpec",
    "Part",
    "Problem",
    "Term",
    "Transitions",
    "UnknownMethodError",
    "ddl",
    "find_method",
    "icm",
    "oracle",
    "register_method",
    "vae_density",
    "vice",
    "vice_count",
    "vice_rnd",
]

"""What a transition is worth: one file per method, all behind one protocol. Knows nothing of environments."""

from mural.rewards import oracle, vice
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
    "find_method",
    "oracle",
    "register_method",
    "vice",
]

"""Recursive classification of examples (Eysenbach, Levine, Salakhutdinov 2021): no reward at all.

The critic itself is the classifier: C(s, a) = σ(f(s, a)) is the probability that success lies ahead, learned from
examples and from its own predictions one and n steps on; the policy maximises C. The losses are those of
`mural.agent.rce`, and their settings `sac.n_step` and `sac.temperature`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mural.agent.rce import RecursiveClassification
from mural.rewards.base import Term, register_method


@register_method("rce", needs=("examples", "example_obs"), objective=RecursiveClassification(), reward="none")
@dataclass(frozen=True)
class RCE:
    """Recursive classification of examples: the critic predicts future success, and there is no reward."""

    def terms(self) -> tuple[Term, ...]:
        """There is no reward."""
        return ()

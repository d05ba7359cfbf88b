"""Ablation: the same network and the same one-step query, trained without looking ahead at that step."""

from __future__ import annotations

from dataclasses import dataclass, field

from mural.rewards.base import Term, register_method
from mural.rewards.methods.mural import NMLClassifier


@register_method("mural-no-meta")
@dataclass(frozen=True)
class MuralNoMeta:
    """Ablation of MURAL: the classifier is trained by cross-entropy, without meta-training, and asked as before."""

    classifier: NMLClassifier = field(default_factory=lambda: NMLClassifier(meta_training=False))
    """The classifier."""
    scale: float = 1.0
    """Factor on its reward."""

    def terms(self) -> tuple[Term, ...]:
        """p after one step from weights that were not trained for it."""
        return (Term("classifier", self.scale, self.classifier),)

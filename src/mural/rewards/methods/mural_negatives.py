"""Ablation: the novelty half and the success half of MURAL, learned apart and added."""

from __future__ import annotations

from dataclasses import dataclass, field

from mural.rewards.base import Term, register_method
from mural.rewards.methods.mural import NMLClassifier
from mural.rewards.methods.vice import ViceClassifier


@register_method("mural-negatives")
@dataclass(frozen=True)
class MuralNegatives:
    """Ablation of MURAL: a novelty bonus by meta-NML without examples, plus an ordinary classifier's probability."""

    novelty: NMLClassifier = field(default_factory=lambda: NMLClassifier(positives=0, reward="probability"))
    """Meta-NML without examples: high where nobody has been, falling with every visit."""
    classifier: ViceClassifier = field(default_factory=lambda: ViceClassifier(reward="prob"))
    """A maximum-likelihood classifier that tells examples from states of the replay."""
    novelty_scale: float = 1.0
    """Factor on the novelty."""
    classifier_scale: float = 1.0
    """Factor on the ordinary classifier."""

    def terms(self) -> tuple[Term, ...]:
        """Novelty and success."""
        return Term("novelty", self.novelty_scale, self.novelty), Term(
            "classifier", self.classifier_scale, self.classifier
        )

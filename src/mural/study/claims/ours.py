"""Claims of ours, beside the paper's: kernel counts alone, each rule of the fast preset, few and wrong examples."""

from __future__ import annotations

from collections.abc import Callable

from mural.study.claims.base import Claim, Evidence, Finding, Verdict, all_of, better, between, signed
from mural.study.claims.learning import ALL, BOTH, ablated, group
from mural.study.runs import ARMS, MAZES, Group


def equal(ours: Group, theirs: Group, tolerance: float = 0.1) -> Callable[[Evidence], tuple[Verdict, str]]:
    """Whether a difference lies within ± the tolerance."""

    def judge(evidence: Evidence) -> tuple[Verdict, str]:
        _, gap = better(evidence, ours, theirs)
        told = "not yet run" if gap is None else signed(gap)
        return between(gap, -tolerance, tolerance), f"{ours.task} {told}"

    return judge


def counts_alone(evidence: Evidence) -> Finding:
    """Kernel counts in closed form reach what meta-NML reaches."""
    judged = {task: equal(group(task), group(task, "cnml"))(evidence) for task in (*MAZES, *ARMS)}
    told = ", ".join(text for _, text in judged.values())
    return Finding(f"success of MURAL minus cnml: {told}", all_of({task: test for task, (test, _) in judged.items()}))


def as_good_with(study: str, variant: str) -> Callable[[Evidence], Finding]:
    """MURAL does as well on a maze and on the door with other examples as with 150 right ones."""

    def judge(evidence: Evidence) -> Finding:
        judged = {
            task: equal(group(task), group(task, "mural", variant, study))(evidence)
            for task in ("zigzag-maze", "sawyer-door")
        }
        told = ", ".join(text for _, text in judged.values())
        tests = all_of({task: test for task, (test, _) in judged.items()})
        return Finding(f"success of MURAL minus that with {variant}: {told}", tests)

    return judge


FEW, WRONG = "mural sweep studies/examples-count.toml", "mural sweep studies/wrong-examples.toml"
OURS = (
    Claim("counts-alone", "Kernel counts in closed form, without a network, do as well as meta-NML.", "ours", ALL,
          counts_alone, ours=True),
    Claim("counts", "Counting all visits instead of shares is worth it.", "ours", BOTH,
          ablated("mural", "no-counts"), ours=True),
    Claim("current", "Current rewards instead of those stored at the visit are worth it.", "ours", BOTH,
          ablated("mural", "stored-rewards"), ours=True),
    Claim("coreset", "Choosing D's visited states to cover them, instead of at random, is worth it.", "ours", BOTH,
          ablated("mural", "random-draw"), ours=True),
    Claim("batches", "Drawing half of the old transitions by the rank of their reward is worth it.", "ours", BOTH,
          ablated("mural", "uniform-batches"), ours=True),
    Claim("relative", "Critics that leave out the mean level of the reward are worth it.", "ours", BOTH,
          ablated("mural", "whole-values"), ours=True),
    Claim("surprise", "The surprise of failure as reward, instead of the paper's probability, is worth it.", "ours",
          BOTH, ablated("mural", "probability"), ours=True),
    Claim("no-log-odds", "The surprise of failure as reward, instead of the log-odds, is worth it.", "ours",
          BOTH, ablated("mural", "log-odds"), ours=True),
    Claim("noise", "Correlated noise is worth it.", "ours", BOTH, ablated("mural", "white-noise"), ours=True),
    Claim("units", "A metric without units is worth it.", "ours", BOTH, ablated("mural", "raw-units"), ours=True),
    Claim("five", "Five examples do as well as 150.", "ours", FEW, as_good_with("examples-count", "examples-5"),
          ours=True),
    Claim("twenty", "Twenty examples do as well as 150.", "ours", FEW, as_good_with("examples-count", "examples-20"),
          ours=True),
    Claim("wrong-5", "One wrong example in twenty costs nothing.", "ours", WRONG,
          as_good_with("wrong-examples", "wrong-5"), ours=True),
    Claim("wrong-20", "One wrong example in five costs nothing.", "ours", WRONG,
          as_good_with("wrong-examples", "wrong-20"), ours=True),
)  # fmt: skip

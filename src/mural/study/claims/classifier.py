"""Claims on the classifier alone: the theorem, runtimes, fidelity, and what its reward looks like on the maze."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from mural.nml.tabular import tabular_cnml
from mural.study.claims.base import Claim, Evidence, Finding, Verdict, all_of, nothing
from mural.study.tables import runtimes

COUNTS = range(6)
MAPS = "mural figure classifier-reward-comparisons --out docs/figures"
FIDELITY = "mural bench fidelity --json > benchmarks/fidelity.jsonl"


def theorem(evidence: Evidence) -> Finding:
    """Our closed form against likelihoods that are maximised numerically, for all counts up to five."""
    gaps = []
    for n in COUNTS:
        for g in COUNTS:
            p0, p1 = 1 - best(n + 1, g), best(n, g + 1)
            gaps.append(abs(p1 / (p0 + p1) - float(tabular_cnml(n, g))))
    text = f"largest difference over all counts up to {COUNTS[-1]}: {max(gaps):.0e}, maximised numerically"
    return Finding(text, Verdict.HOLDS if max(gaps) < 1e-4 else Verdict.FAILS)


def best(failures: int, successes: int) -> float:
    """The probability of success that maximises the likelihood."""

    def loss(p: float) -> float:
        return float(-failures * np.log(1 - p) - successes * np.log(p))

    return float(minimize_scalar(loss, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-10}).x)


def speedup(evidence: Evidence) -> Finding:
    """Naive CNML / meta-NML per state; the paper has 1600 to 2300."""
    if not evidence.rows("classifier"):
        return nothing()
    rows = list(runtimes.per_input(evidence.benchmarks / "classifier.jsonl"))
    tests = {t.domain: None if t.speedup is None else t.speedup >= 1600 for t in rows}
    ratios = [t.speedup for t in rows if t.speedup is not None]
    span = f"{min(ratios):,.0f} to {max(ratios):,.0f} times" if ratios else "–"
    return Finding(f"{span} as fast, one state at a time on one core", all_of(tests))


def epochs(evidence: Evidence) -> Finding:
    """An epoch of MURAL / one of VICE, in every domain; the paper has 1.4 to 2.0."""
    if not evidence.rows("train") or not evidence.rows("classifier"):
        return nothing()
    root = evidence.benchmarks
    rows = list(runtimes.per_epoch(evidence.where, root / "train.jsonl", root / "classifier.jsonl"))
    tests = {t.domain: None if t.meta_ratio is None else t.meta_ratio <= 2.0 for t in rows}
    told = [f"{t.domain} {'not yet run' if t.meta_ratio is None else f'{t.meta_ratio:.2f}'}" for t in rows]
    return Finding("1000 steps of MURAL / 1000 of VICE: " + ", ".join(told), all_of(tests))


def fidelity(evidence: Evidence, method: str, truth: str, dataset: str = "maze") -> dict[str, Any] | None:
    """A row of the fidelity benchmark."""
    asked = (dataset, method, truth)
    rows = evidence.rows("fidelity")
    return next((row for row in rows if (row["dataset"], row["method"], row["truth"]) == asked), None)


def one_step(evidence: Evidence) -> Finding:
    """Near the ideal: within 0.05 on average, and at most a fifth of maximum likelihood's distance."""
    ours, plain = (fidelity(evidence, method, "ideal") for method in ("meta-1", "mle"))
    if ours is None or plain is None:
        return nothing()
    tests = {
        "near": ours["mean_error"] <= 0.05,
        "far nearer than maximum likelihood": ours["mean_error"] <= plain["mean_error"] / 5,
        "in the same order": ours["tau"] >= 0.8,
    }
    text = (
        f"mean distance to the ideal {ours['mean_error']:.3f}, Kendall's τ {ours['tau']:.2f} "
        f"(maximum likelihood: {plain['mean_error']:.3f}, {plain['tau']:.2f}); {ours['queries']} cells of the maze"
    )
    return Finding(text, all_of(tests))


def more_steps(evidence: Evidence) -> Finding:
    """Twenty steps nearer to exact CNML than one, on every data set."""
    rows = [row for row in evidence.rows("fidelity") if row["truth"] == "exact"]
    found = {(row["dataset"], row["method"]): row["mean_error"] for row in rows}
    names = sorted(dataset for dataset, method in found if method == "meta-20" and (dataset, "meta-1") in found)
    tests: dict[str, bool | None] = {name: found[name, "meta-20"] < found[name, "meta-1"] for name in names}
    told = [f"{name} {found[name, 'meta-1']:.3f} → {found[name, 'meta-20']:.3f}" for name in names]
    return Finding("mean distance to exact CNML, 1 → 20 steps: " + ", ".join(told) if told else "–", all_of(tests))


def first_step(evidence: Evidence) -> Finding:
    """More than half of the change of ten steps comes with the first."""
    data = evidence.figure("nml-comparisons-discrete")
    if data is None:
        return nothing()
    change = dict(zip(data["steps"], data["to_the_network"], strict=True))
    share = change[1] / change[10]
    return Finding(f"the first of ten steps makes {share:.0%} of the change", decided(share > 0.5))


def weighting(evidence: Evidence) -> Finding:
    """The query's loss over the last pass wavers less with the query in every batch."""
    data = evidence.figure("importance-weighting-plots")
    if data is None:
        return nothing()
    spread = {}
    for label, losses in data["losses"].items():
        spread["every" if "every" in label else "one"] = float(np.std(losses["query"][len(losses["query"]) // 2 :]))
    text = f"deviation of the query's loss {spread['every']:.3f}, without the weighting {spread['one']:.3f}"
    return Finding(text, decided(spread["every"] < spread["one"]))


def sharp(evidence: Evidence) -> Finding:
    """A converged classifier is nearly sure on most of the maze, and says nearly nothing between."""
    return shares(
        evidence, "maximum likelihood", lambda p: (p > 0.05) & (p < 0.95), "between 0.05 and 0.95", at_most=0.1
    )


def unseen(evidence: Evidence) -> Finding:
    """Meta-NML: little where the agent has been, about a half where nobody has."""
    data = evidence.figure("classifier-reward-comparisons")
    if data is None:
        return nothing()
    visited, new = data["at_visits"], data["unseen"]
    tests = {"visited": visited < 0.2, "unseen": 0.3 <= new <= 0.7}
    return Finding(f"mean reward {visited:.2f} at visited states, {new:.2f} in the unseen corridor", all_of(tests))


def misleads(evidence: Evidence) -> Finding:
    """A regularised classifier follows the straight line to the goal more than the way around the walls."""
    data = evidence.figure("classifier-reward-comparisons")
    if data is None:
        return nothing()
    straight, around = data["tau"]["regularised"]["straight"], data["tau"]["regularised"]["around"]
    text = f"Kendall's τ of reward and nearness: {straight:.2f} in a straight line, {around:.2f} around the walls"
    return Finding(text, decided(straight > around))


def shares(evidence: Evidence, which: str, within: Any, words: str, at_most: float) -> Finding:
    """The share of the maze on which a map is within some limits."""
    data = evidence.figure("classifier-reward-comparisons")
    if data is None:
        return nothing()
    share = float(np.mean(within(np.array(data["maps"][which]))))
    return Finding(f"{share:.0%} of the maze is {words}", decided(share <= at_most))


def decided(holds: bool) -> Verdict:
    """A claim that says one thing."""
    return Verdict.HOLDS if holds else Verdict.FAILS


CLASSIFIER = (
    Claim("theorem", "For states without relation, CNML gives (G + 1)/(N + G + 2): counts of successes and visits.",
          "Theorem 1", "mural claims", theorem),
    Claim("speed", "Meta-NML is at least 1,600 times as fast as naive CNML.", "tab:meta-nml-runtimes",
          "mural bench classifier --json > benchmarks/classifier.jsonl", speedup),
    Claim("epochs", "An epoch of RL with meta-NML takes at most twice as long as with a plain classifier.",
          "tab:meta-nml-runtimes-per-epoch", "mural bench train --json > benchmarks/train.jsonl", epochs),
    Claim("one-step", "One gradient step comes close to CNML.", "section 5.1, fig:nml-comparisons-discrete", FIDELITY,
          one_step),
    Claim("more-steps", "More gradient steps come closer to it.", "A.3.1", FIDELITY, more_steps),
    Claim("first-step", "Most of what adaptation changes, the first step changes.", "fig:mle-cnml-diff",
          "mural figure nml-comparisons-discrete --out docs/figures", first_step),
    Claim("weighting", "With the query in every batch, its loss wavers less.", "fig:importance-weighting-plots",
          "mural figure importance-weighting-plots --out docs/figures", weighting),
    Claim("sharp", "A classifier by maximum likelihood, trained to the end, has a sharp boundary and says little else.",
          "fig:classifier-reward-comparisons", MAPS, sharp),
    Claim("misleads", "Weight decay, mixup and early stopping make it smooth, and misleading where there are walls.",
          "fig:failclassifier", MAPS, misleads),
    Claim("unseen", "Meta-NML gives new states about a half, and states that were visited in vain little.",
          "fig:classifier-reward-comparisons", MAPS, unseen),
)  # fmt: skip

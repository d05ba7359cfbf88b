"""Claims on the classifier alone: the theorem, runtimes, and how near it comes to what it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from mural.nml.tabular import tabular_cnml
from mural.study.claims.base import Claim, Evidence, Finding, Verdict, all_of, decided, nothing
from mural.study.tables import runtimes

COUNTS = range(6)
GROWING = "growing-maze"
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
    tests = {t.domain: Verdict.OPEN if t.speedup is None else decided(t.speedup >= 1600) for t in rows}
    ratios = [t.speedup for t in rows if t.speedup is not None]
    span = f"{min(ratios):,.0f} to {max(ratios):,.0f} times" if ratios else "–"
    return Finding(f"{span} as fast, one state at a time on one core", all_of(tests))


def epochs(evidence: Evidence) -> Finding:
    """An epoch of MURAL / one of VICE, in every domain; the paper has 1.4 to 2.0."""
    if not evidence.rows("train") or not evidence.rows("classifier"):
        return nothing()
    root = evidence.benchmarks
    rows = list(runtimes.per_epoch(evidence.where, root / "train.jsonl", root / "classifier.jsonl"))
    tests = {t.domain: Verdict.OPEN if t.meta_ratio is None else decided(t.meta_ratio <= 2.0) for t in rows}
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
    tests = {name: found[name, "meta-20"] < found[name, "meta-1"] for name in names}
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


def kernel_truer(evidence: Evidence) -> Finding:
    """Nearer to the ideal with the kernel than without, on the maze."""
    found = growing(evidence)
    without = next((error for method, error in found.items() if method.endswith("no kernel")), None)
    with_ = next((found[m.removesuffix(", no kernel")] for m in found if m.endswith("no kernel")), None)
    if without is None or with_ is None:
        return nothing()
    return Finding(
        f"mean distance to the ideal {with_:.3f}, without the kernel {without:.3f}", decided(with_ < without)
    )


def warm_keeps_up(evidence: Evidence) -> Finding:
    """From the last network, one meta-epoch is within 0.05 of the ideal, and nearer than one from a fresh network."""
    found = growing(evidence)
    warm, cold = (found.get(m) for m in ("warm, 1 meta-epoch per epoch", "anew, 1 meta-epoch"))
    if warm is None or cold is None:
        return nothing()
    others = ", ".join(f"{method} {error:.3f}" for method, error in found.items() if "no kernel" not in method)
    return Finding(
        f"mean distance to the ideal, one seed: {others}", all_of({"near": warm <= 0.05, "nearer": warm < cold})
    )


def growing(evidence: Evidence) -> dict[str, float]:
    """Mean distance to the ideal by method, of the maze whose data come in epochs."""
    rows = [row for row in evidence.rows("fidelity") if (row["dataset"], row["truth"]) == (GROWING, "ideal")]
    return {row["method"]: float(row["mean_error"]) for row in rows}


def weighting(evidence: Evidence) -> Finding:
    """The losses of batch and query over the last pass waver less with the query in every batch."""
    data = evidence.figure("importance-weighting-plots")
    if data is None:
        return nothing()
    spread = {
        ("every" if "every" in label else "one", of): float(np.std(losses[of][len(losses[of]) // 2 :]))
        for label, losses in data["losses"].items()
        for of in ("query", "batch")
    }
    told = [f"deviation of the {of}'s loss {spread['every', of]:.3f} ({spread['one', of]:.3f} without the weighting)"
            for of in ("query", "batch")]  # fmt: skip
    return Finding("; ".join(told), all_of({of: spread["every", of] < spread["one", of] for of in ("query", "batch")}))


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
    Claim("kernel-truer", "Weighting the loss by a kernel makes the answers truer.", "A.2.2", FIDELITY, kernel_truer),
    Claim("warm-keeps-up", "From a warm start, one meta-epoch keeps up with data that come in.", "A.2.3", FIDELITY,
          warm_keeps_up),
    Claim("weighting", "With the query in every batch, the losses of batch and query waver less.",
          "fig:importance-weighting-plots", "mural figure importance-weighting-plots --out docs/figures", weighting),
)  # fmt: skip

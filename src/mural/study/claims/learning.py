"""Claims on learning: who solves what, how soon, what was explored, and what the ablations cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mural.study import statistics
from mural.study.claims.base import (
    Claim,
    Evidence,
    Finding,
    Verdict,
    above,
    all_of,
    better,
    between,
    nothing,
    opposite,
    reached,
    signed,
    versus,
)
from mural.study.runs import ABLATED, COMPARISON, LAST, MAZES, Group, steps_to_solved

PAPER = {"vice", "vice-count", "vice-rnd", "ddl", "icm", "vae-density", "sac-sparse"}  # what the paper calls prior
HOME = {group.task: group.study for group in COMPARISON}
SOME = 0.1  # success below this is failure
AHEAD = 0.5  # a probability of being sooner or better that says nothing


def group(task: str, method: str = "mural", variant: str = "", study: str = "") -> Group:
    """A group of a task's study, or of another one."""
    return Group(study or HOME[task], task, method, variant)


def rivals(task: str, among: set[str]) -> list[Group]:
    """The methods that a task's study compares with."""
    return [one for one in COMPARISON if one.task == task and one.method in among]


def beats(task: str) -> Callable[[Evidence], Finding]:
    """MURAL reaches 0.9 and is better than every prior method on a task."""

    def judge(evidence: Evidence) -> Finding:
        mine = group(task)
        tests, told = reached(evidence, [mine])
        gaps = {}
        for theirs in rivals(task, PAPER):
            tests[theirs.label], gap = better(evidence, mine, theirs)
            gaps[theirs.label] = gap
        ran = [f"{name} {signed(gap)}" for name, gap in gaps.items() if gap is not None]
        waiting = [name for name, gap in gaps.items() if gap is None]
        told += [f"minus the success of {', '.join(ran)}"] if ran else []
        told += [f"not yet run: {', '.join(waiting)}"] if waiting else []
        return Finding("; ".join(told), all_of(tests))

    return judge


def not_behind_distance(evidence: Evidence) -> Finding:
    """Nowhere clearly below SAC on the L2 distance: the interval stays above −0.1."""
    return versus(evidence, [(group(task), group(task, "sac-distance")) for task in HOME], margin=-0.1, worth=0.0)


def sooner(rival: str) -> Callable[[Evidence], Finding]:
    """A run of MURAL reaches 0.9 in fewer steps than one of the rival, with a probability surely above one half."""

    def judge(evidence: Evidence) -> Finding:
        tests: dict[str, Verdict] = {}
        told = []
        for task in [one.task for one in COMPARISON if one.method == rival]:
            ours, theirs = (evidence.runs(group(task, method)) for method in ("mural", rival))
            if not ours or not theirs:
                tests[task] = Verdict.OPEN
                continue
            # Negative, as less time is better; what never comes ties with what never comes.
            times = [{task: [-min(steps_to_solved(run), 1e12) for run in runs]} for runs in (ours, theirs)]
            chance = statistics.improvement(*times)
            tests[task] = above(chance, AHEAD)
            told.append(f"{task} {chance.text()}")
        return Finding(f"probability to be sooner than {rival}: " + ", ".join(told) if told else "–", all_of(tests))

    return judge


def beats_novelty(evidence: Evidence) -> Finding:
    """Better than curiosity and than density on every task that they were run on."""
    pairs = [(group(theirs.task), theirs) for theirs in COMPARISON if theirs.method in ("icm", "vae-density")]
    return versus(evidence, pairs)


def scales(evidence: Evidence) -> Finding:
    """Ant and hand reach 0.9."""
    tests, told = reached(evidence, [group("ant-maze"), group("hand-reposition")])
    return Finding("; ".join(told), all_of(tests))


def ablated(method: str, variant: str = "") -> Callable[[Evidence], Finding]:
    """MURAL is better than its ablation on a maze and on an arm."""

    def judge(evidence: Evidence) -> Finding:
        return versus(evidence, [(group(task), group(task, method, variant, "ablations")) for task in ABLATED])

    return judge


def tracks_distance(evidence: Evidence) -> Finding:
    """The reward falls with the ball's distance, more so than that of maximum likelihood."""
    data = evidence.figure("shaping")
    if data is None:
        return nothing()
    ours, plain = data["correlation"]["MURAL"], data["correlation"]["maximum likelihood"]
    text = f"correlation of reward and nearness of the ball: {ours:.2f}, maximum likelihood {plain:.2f}"
    return Finding(text, all_of({"tracks": ours > 0.3, "more": ours > plain}))


def covers_more(evidence: Evidence) -> Finding:
    """Coverage at the end, MURAL minus VICE, on the mazes."""
    tests: dict[str, Verdict] = {}
    told = []
    for task in MAZES:
        ours, theirs = (evidence.last(group(task, method), "coverage") for method in ("mural", "vice"))
        gap = statistics.difference({task: ours}, {task: theirs}) if ours and theirs else None
        tests[task] = above(gap, 0)
        told.append(f"{task} {'not yet run' if gap is None else signed(gap)}")
    return Finding("coverage of MURAL minus VICE: " + ", ".join(told), all_of(tests))


def seventy(evidence: Evidence) -> Finding:
    """Coverage at the end lies between 0.6 and 0.8 on the mazes."""
    tests: dict[str, Verdict] = {}
    told = []
    for task in MAZES:
        values = evidence.last(group(task), "coverage")
        estimate = statistics.mean({task: values}) if values else None
        tests[task] = between(estimate, 0.6, 0.8)
        told.append(f"{task} {'not yet run' if estimate is None else estimate.text()}")
    return Finding("mean coverage at the end: " + ", ".join(told), all_of(tests))


def fails(method: str, tasks: Sequence[str]) -> Callable[[Evidence], Finding]:
    """A method stays below 0.1 on every one of these tasks."""

    def judge(evidence: Evidence) -> Finding:
        tests, told = reached(evidence, [group(task, method) for task in tasks], SOME)
        return Finding("; ".join(told), all_of({name: opposite(test) for name, test in tests.items()}))

    return judge


def stuck(evidence: Evidence) -> Finding:
    """Rivals that end nearer to the goal than they began, and hardly ever at it: on the mazes."""
    tests: dict[str, Verdict] = {}
    told = []
    for theirs in [one for one in COMPARISON if one.task in MAZES and one.method in PAPER]:
        runs = evidence.runs(theirs)
        if not runs or any(not run["curves"].get("eval/distance") for run in runs):
            tests[theirs.name] = Verdict.OPEN
            continue
        curves = [[value for _, value in run["curves"]["eval/distance"]] for run in runs]
        nearer = float(np.mean([np.min(curve) < 0.8 * curve[0] for curve in curves]))
        success = statistics.iqm({theirs.task: evidence.success(theirs)})
        tests[theirs.name] = opposite(above(success, SOME)) if nearer >= 0.5 else Verdict.FAILS
        told.append(f"{theirs.name}: {nearer:.0%} came nearer by a fifth, success {success.text()}")
    return Finding("; ".join(told) or "–", all_of(tests))


def shuffled(evidence: Evidence) -> Finding:
    """MURAL solves the shuffled maze on most seeds, VICE does not."""
    ours, theirs = (evidence.success(Group("shuffled", "shuffled-maze", method)) for method in ("mural", "vice"))
    if not ours or not theirs:
        return nothing()
    solved, lost = ([float(score >= 0.9) for score in scores] for scores in (ours, theirs))
    shares = [statistics.mean({"maze": of}) for of in (solved, lost)]
    text = (
        f"MURAL solves it on {sum(solved):.0f} of {len(ours)} seeds, a share of {shares[0].text()}; VICE on "
        f"{sum(lost):.0f} of {len(theirs)}, {shares[1].text()}"
    )
    return Finding(text, all_of({"MURAL": above(shares[0], 0.5), "VICE does not": opposite(above(shares[1], 0.5))}))


def generalises(evidence: Evidence) -> Finding:
    """MURAL needs fewer steps on the plain maze than on the shuffled one."""
    plain, other = (evidence.runs(one) for one in (group("zigzag-maze"), Group("shuffled", "shuffled-maze", "mural")))
    if not plain or not other:
        return nothing()
    times = [{"maze": [-min(steps_to_solved(run), 1e12) for run in runs]} for runs in (plain, other)]
    chance = statistics.improvement(*times)
    return Finding(f"probability to be sooner on the plain maze {chance.text()}", above(chance, AHEAD))


def hidden(evidence: Evidence) -> Finding:
    """The return of the hidden rewards: MURAL's above VICE's and above plain SAC's."""
    ones = {name: Group("double", "double-maze", name) for name in ("mural", "vice", "sac")}
    found = {name: evidence.last(one, "eval/env_return", LAST) for name, one in ones.items()}
    if not all(found.values()):
        return nothing()
    gaps = {name: statistics.difference({"m": found["mural"]}, {"m": found[name]}) for name in ("vice", "sac")}
    means = ", ".join(f"{name} {np.mean(values):.1f}" for name, values in found.items())
    told = "; ".join(f"minus {name} {signed(gap)}" for name, gap in gaps.items())
    return Finding(
        f"hidden reward per episode at the end: {means}; MURAL {told}",
        all_of({name: above(gap, 0) for name, gap in gaps.items()}),
    )


def warm_start(evidence: Evidence) -> Finding:
    """One meta-epoch per epoch, from the last epoch's network: both mazes reach 0.9 so."""
    runs = [run for task in MAZES for run in evidence.runs(group(task))]
    classifiers = [run["config"].get("reward", {}).get("classifier", {}) for run in runs]
    if not runs or not all(one.get("warm_start") and one.get("epochs") == 1 for one in classifiers):
        return nothing()
    tests, told = reached(evidence, [group(task) for task in MAZES])
    return Finding("with one meta-epoch per epoch: " + "; ".join(told), all_of(tests))


def kernel_needed(evidence: Evidence) -> Finding:
    """Without the kernel, less success."""
    return ablated("mural", "no-kernel")(evidence)


SWEEPS = {study: f"mural sweep studies/{study}.toml" for study in (*HOME.values(), "ablations", "shuffled", "double")}
BOTH = f"{SWEEPS['mazes']}; {SWEEPS['ablations']}"
ALL = "mural sweep studies/{mazes,arms,hand,ant}.toml"
LEARNING = (
    *(
        Claim(f"beats-{task}", f"MURAL solves {task} and beats the prior methods there.", "fig:comparisons",
              SWEEPS[study], beats(task))
        for task, study in HOME.items()
    ),
    Claim("distance", "MURAL is nowhere behind SAC on a reward by L2 distance.", "fig:comparisons", ALL,
          not_behind_distance),
    Claim("sooner-vice", "MURAL learns in fewer steps than VICE.", "section 6.2", ALL, sooner("vice")),
    Claim("sooner-ddl", "MURAL learns in fewer steps than DDL.", "section 6.2", ALL, sooner("ddl")),
    Claim("sooner-distance", "MURAL learns in fewer steps than SAC on a reward by L2 distance.", "section 6.2", ALL,
          sooner("sac-distance")),
    Claim("novelty", "MURAL beats what seeks novelty: curiosity (alone, and with a classifier) and density.",
          "section 6.2", ALL, beats_novelty),
    Claim("scales", "MURAL scales to the ant and to the hand.", "section 6.2",
          f"{SWEEPS['ant']}; {SWEEPS['hand']}", scales),
    Claim("no-meta", "Without meta-training, the same one-step query does much worse.", "fig:ablations", BOTH,
          ablated("mural-no-meta")),
    Claim("negatives", "Novelty and success learned apart and added do worse.", "fig:ablations", BOTH,
          ablated("mural-negatives")),
    Claim("shaping", "In pick, the reward rises towards the place of success; a plain classifier's does not.",
          "fig:shaping", "mural figure shaping --out docs/figures", tracks_distance),
    Claim("coverage", "MURAL covers more of a maze than VICE.", "fig:visitations", SWEEPS["mazes"], covers_more),
    Claim("seventy", "At convergence MURAL has covered about 70 % of the states, not all.", "section 6.4",
          SWEEPS["mazes"], seventy),
    Claim("stuck", "Rivals come nearer to the goal of a maze and get stuck in a local minimum.", "fig:distance-metrics",
          SWEEPS["mazes"], stuck),
    Claim("sparse", "SAC with sparse rewards fails on the mazes.", "A.4.1", SWEEPS["mazes"],
          fails("sac-sparse", MAZES)),
    Claim("vice-mazes", "An ordinary classifier as reward fails on the mazes.", "A.4.1", SWEEPS["mazes"],
          fails("vice", MAZES)),
    Claim("warm-start", "A warm start needs only a little training per epoch.", "A.2.3", SWEEPS["mazes"], warm_start),
    Claim("kernel", "Weighting the loss by a kernel around the query is needed.", "A.2.2", BOTH, kernel_needed),
    Claim("shuffled", "Where states do not generalise, MURAL still solves the maze on most seeds; VICE does not.",
          "fig:shuffled-maze-plots", SWEEPS["shuffled"], shuffled),
    Claim("generalises", "MURAL is quicker where states generalise.", "A.5.1",
          f"{SWEEPS['mazes']}; {SWEEPS['shuffled']}", generalises),
    Claim("hidden", "MURAL finds rewards that no example tells of; VICE and plain SAC do not.", "fig:double-maze-plot",
          SWEEPS["double"], hidden),
)  # fmt: skip

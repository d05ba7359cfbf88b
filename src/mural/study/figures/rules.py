"""What each rule of the default is worth on a maze and on an arm: success at the end, and steps to the first 0.9."""

from __future__ import annotations

from matplotlib.axes import Axes

from mural.study import statistics
from mural.study.figures.picture import PAGE, Ask, Drawn, sheet
from mural.study.runs import ABLATED, RULES, Group, gather, groups, steps_to_solved, success
from mural.study.statistics import NEVER

WHOLE = "all rules"
COLOURS, MARKS = ("#D55E00", "#0072B2"), ("o", "s")


def rules(ask: Ask) -> Drawn:
    """A row per rule, a mark per task. Left: right of zero the rule helps. Right: a dot per seed."""
    plain = {task: Group(study, task, "mural") for task, study in ABLATED.items()}
    without = groups("ablations", ABLATED, ["mural"], RULES)
    runs = gather([*plain.values(), *without], ask.where, what="the figure of the rules", partial=ask.partial)
    figure = sheet(PAGE, 0.28 * len(RULES) + 1.1)
    lost, soon = figure.subplots(1, 2, sharey=True)
    lost.axvline(0, color="#888888", linewidth=0.8)
    data: dict[str, dict[str, object]] = {}
    steps: dict[str, dict[str, list[float]]] = {}
    for j, (task, ours) in enumerate(plain.items()):
        if ours not in runs.by:
            continue
        whole = [steps_to_solved(run) for run in runs.by[ours]]
        dots(soon, whole, 1.16 - 0.32 * j, COLOURS[j], MARKS[j])
        slowest = max((x for x in whole if x != NEVER), default=0.0)
        soon.axvline(slowest / 1000, color=COLOURS[j], linewidth=0.8, linestyle=":")
        for i, rule in enumerate(RULES):
            theirs = Group("ablations", task, "mural", rule)
            if theirs not in runs.by:
                continue
            first, second = ([success(run) for run in runs.by[group]] for group in (ours, theirs))
            gap = statistics.difference({task: first}, {task: second})
            y = -i + 0.16 - 0.32 * j
            lost.plot([gap.low, gap.high], [y, y], color=COLOURS[j], linewidth=2, alpha=0.5)
            lost.plot(gap.value, y, MARKS[j], color=COLOURS[j], markersize=4, label="" if task in data else task)
            data.setdefault(task, {})[rule] = gap.plain()
            found = [steps_to_solved(run) for run in runs.by[theirs]]
            steps.setdefault(task, {WHOLE: whole})[rule] = found
            dots(soon, found, y, COLOURS[j], MARKS[j])
    lost.set_yticks([1 - i for i in range(len(RULES) + 1)], [WHOLE, *RULES])
    lost.set(xlabel="success lost at the end", xlim=(-1.05, 1.05))
    soon.set(xlabel="first 0.9, thousand steps (×: never)", xlim=(0, None))
    if lost.get_legend_handles_labels()[0]:  # there are ablations
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
    said = "; ".join(
        f"{task}: " + ", ".join(f"{rule} {gap['value']:+.2f}" for rule, gap in of.items())  # type: ignore[index]
        for task, of in data.items()
    )
    told = {task: {rule: [never(x) for x in found] for rule, found in of.items()} for task, of in steps.items()}
    return Drawn(figure, {"lost": data, "steps": told, **runs.provenance()}, said, runs.made_by())


def dots(axis: Axes, steps: list[float], y: float, colour: str, mark: str) -> None:
    """A dot per run in thousands of steps, and a cross at the right edge if some never came there."""
    there = [x / 1000 for x in steps if x != NEVER]
    axis.plot(there, [y] * len(there), mark, color=colour, markersize=3, alpha=0.7)
    if len(there) < len(steps):
        axis.plot(0.99, y, "x", color=colour, markersize=4, transform=axis.get_yaxis_transform())


def never(steps: float) -> float | None:
    """Steps for a file: None where they are NEVER."""
    return None if steps == NEVER else steps

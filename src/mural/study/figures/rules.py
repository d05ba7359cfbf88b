"""What each rule of the default is worth: success of MURAL minus that of MURAL without it, on a maze and on an arm."""

from __future__ import annotations

from mural.study import statistics
from mural.study.figures.picture import COLUMN, Ask, Drawn, sheet
from mural.study.runs import ABLATED, RULES, Group, gather, groups, success

COLOURS, MARKS = ("#D55E00", "#0072B2"), ("o", "s")


def rules(ask: Ask) -> Drawn:
    """A row per rule, a mark per task; right of zero the rule helps."""
    plain = {task: Group(study, task, "mural") for task, study in ABLATED.items()}
    without = groups("ablations", ABLATED, ["mural"], RULES)
    runs = gather([*plain.values(), *without], ask.where, what="the figure of the rules", partial=ask.partial)
    figure = sheet(COLUMN, 0.28 * len(RULES) + 0.9)
    axis = figure.subplots()
    axis.axvline(0, color="#888888", linewidth=0.8)
    data: dict[str, dict[str, object]] = {}
    for i, rule in enumerate(RULES):
        for j, (task, ours) in enumerate(plain.items()):
            theirs = Group("ablations", task, "mural", rule)
            if ours not in runs.by or theirs not in runs.by:
                continue
            first, second = ([success(run) for run in runs.by[group]] for group in (ours, theirs))
            gap = statistics.difference({task: first}, {task: second})
            y = -i - 0.16 + 0.32 * (1 - j)
            axis.plot([gap.low, gap.high], [y, y], color=COLOURS[j], linewidth=2, alpha=0.5)
            axis.plot(gap.value, y, MARKS[j], color=COLOURS[j], markersize=4, label="" if task in data else task)
            data.setdefault(task, {})[rule] = gap.plain()
    axis.set_yticks([-i for i in range(len(RULES))], RULES)
    axis.set(xlabel="success lost", xlim=(-1.05, 1.05))
    if any(axis.get_legend_handles_labels()[0] for axis in figure.axes):  # there are ablations
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
    said = "; ".join(
        f"{task}: " + ", ".join(f"{rule} {gap['value']:+.2f}" for rule, gap in of.items())  # type: ignore[index]
        for task, of in data.items()
    )
    return Drawn(figure, {"lost": data, **runs.provenance()}, said, runs.made_by())

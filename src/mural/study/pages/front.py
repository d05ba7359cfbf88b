"""The first things of README.md: the strip of learned policies, and what MURAL, VICE and the best rival reach."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mural import zoo
from mural.rewards import find_method
from mural.study import statistics
from mural.study.pages.films import film_of
from mural.study.pages.strip import PICTURE, shown
from mural.study.runs import (
    COMPARISON,
    MINIMUM,
    ONE_ROLLOUT,
    Result,
    Runs,
    Where,
    available,
    minutes_to_solved,
    success,
)
from mural.study.statistics import NEVER, Estimate
from mural.study.tables import markdown
from mural.study.zoo import everything

OURS, VICE, COUNTS = "mural", "vice", "cnml"  # counts: ours too, without a network
NOT_OTHERS = (OURS, VICE, COUNTS)
OPEN = "not yet run"


def beginning(root: Path, where: Where) -> str:
    """Picture and table with their captions."""
    runs = available(COMPARISON, where)
    return "\n\n".join([*picture(root), markdown(rows(runs)), caption(runs)])


def picture(root: Path) -> list[str]:
    """The strip, if it was drawn."""
    names = [name for name, _ in shown(root / PICTURE)]
    if not names:
        return []
    cards = {animal.name: animal.card for animal in everything(root / zoo.PLACE)}
    numbers = sorted({cards[name]["config"]["num_examples"] for name in names if name in cards})
    examples = " or ".join(map(str, numbers))
    listed = ", ".join(f"{name} ({cards[name]['steps'] // 1000}k steps)" if name in cards else name for name in names)
    films = ", ".join(f"[{name}]({film_of(name)})" for name in names if (root / film_of(name)).is_file())
    return [
        f"![Episodes of the learned policies: {', '.join(names)}]({PICTURE})",
        f"*Learned from {examples} examples of success and no reward, an episode per row: {listed}. "
        f"{f'Films: {films}. ' if films else ''}"
        f"They come with the repository: `mural eval {zoo.PREFIX}{names[-1]} --video v.mp4` plays one.*",
    ]


def rows(runs: Runs) -> list[dict[str, str]]:
    """A row per task of the comparison, also where nothing was run yet."""
    return [row(runs, task) for task in dict.fromkeys(group.task for group in COMPARISON)]


def linked(task: str) -> str:
    """The name of a task, with a link to its page."""
    return f"[{task}](docs/tasks/{task}.md)"


def row(runs: Runs, task: str) -> dict[str, str]:
    """A task: what MURAL, VICE and the best of the others reach, and when MURAL first does."""
    of = {group.label: found for group, found in runs.of_task(task).items()}
    rivals = {label: reached(task, found) for label, found in of.items() if method(label) not in NOT_OTHERS}
    best = max(rivals, key=lambda label: rivals[label].value, default=None)
    return {
        "task": linked(task),
        "MURAL": told(task, of.get(OURS)),
        "VICE": told(task, of.get(VICE)),
        "best other": OPEN if best is None else f"{told(task, of[best])} {named(best)}",
        "MURAL's first 0.9": times(task, of.get(OURS)),
    }


def method(label: str) -> str:
    """The method of a group, whatever its variant."""
    return label.partition(" ")[0]


def named(label: str) -> str:
    """A method, marked if it is told a reward that MURAL has to do without."""
    return f"{label}, which is told the reward" if find_method(method(label)).reward == "told" else label


def reached(task: str, runs: Sequence[Result]) -> Estimate:
    """The interquartile mean of success."""
    return statistics.iqm({task: [success(run) for run in runs]})


def told(task: str, runs: Sequence[Result] | None) -> str:
    """Success with its interval, or with the number of runs where there is one alone."""
    if not runs:
        return OPEN
    estimate = reached(task, runs)
    return f"{estimate.value:.2f} ({span([len(runs)])})" if len(runs) < MINIMUM else estimate.text()


def times(task: str, runs: Sequence[Result] | None) -> str:
    """Median steps and minutes of training to the first evaluation of at least 0.9."""
    if not runs:
        return ""
    steps = statistics.median_time({task: [NEVER if r["solved_at"] is None else r["solved_at"] / 1000 for r in runs]})
    if steps.value == NEVER:
        return "never"
    minutes = [minutes_to_solved(run) for run in runs]
    known = [m for m in minutes if m is not None]
    median = statistics.median_time({task: known}).value if len(known) == len(minutes) else None
    return f"{steps.value:.0f}k steps" + ("" if median is None else f", {median:.1f} min")


def caption(runs: Runs) -> str:
    """How to read the table."""
    seeds = [len(found) for found in runs.by.values()]
    count = "no runs yet" if not seeds else f"{sum(seeds)} runs, {span(seeds)} each"
    return (
        "*Success at the end of training: the mean of the last ten evaluations, as interquartile mean over seeds with "
        f"a 95 % interval ({count}); {ONE_ROLLOUT}. "
        "Best other: of the paper's other rivals, and of SAC on a reward that it is told. "
        "Minutes: one run per core of a machine with two, shared with other work. [docs/results.md](docs/results.md) "
        "has all methods, the curves, and what did not hold; `mural results` wrote this table.*"
    )


def span(counts: Sequence[int]) -> str:
    """From the least to the most."""
    least, most = min(counts), max(counts)
    return f"{most} seed{'s' * (most > 1)}" if least == most else f"{least} to {most} seeds"

"""Reading runs for a page: run folders and collected results, of which nothing is believed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mural.errors import MuralError, did_you_mean
from mural.settings.stopping import succeeded
from mural.storage import disk, metrics

TEXT = 200  # characters of a name or a value that are shown
DEEP = 8  # levels of nested settings that are shown
ENTRIES = 500  # settings that are shown
TABLE = "calibration/table"
LARGEST = 500_000_000  # bytes of a file that is read
LAST = 10  # evaluations that a final number is the mean of


class ReportError(MuralError, ValueError):
    """There is nothing to make a page of; the message says what was looked for."""


@dataclass
class RunData:
    """What is known of a run, cleaned: texts are short, numbers are finite."""

    path: Path
    name: str
    task: str = "unknown task"
    method: str = "unknown method"
    variant: str = ""
    seed: str = "?"
    target: int | None = None
    """Steps that it was to make."""
    stops_at: float | None = None
    """Success at which it may stop early."""
    seconds: float | None = None
    rows: list[dict[str, float]] = field(default_factory=list)
    tables: dict[int, list[tuple[float, float, float]]] = field(default_factory=dict)
    """Reliability by step: mean p, share of successes, points, for each tenth of p."""
    settings: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    """What is missing or damaged, in sentences."""

    @property
    def steps(self) -> int:
        """Steps that it has made."""
        return int(self.rows[-1]["step"]) if self.rows else 0

    @property
    def stopped(self) -> bool:
        """Whether it has stopped before its end because it succeeded."""
        return self.target is not None and self.steps < self.target and succeeded(self.rows, self.stops_at)

    def curve(self, metric: str) -> list[tuple[float, float]]:
        """(step, value) where there is one."""
        return [(row["step"], row[metric]) for row in self.rows if metric in row]

    def final(self, metric: str) -> float | None:
        """Mean of the last ten values; None if there are none."""
        values = [value for _, value in self.curve(metric)[-LAST:]]
        return sum(values) / len(values) if values else None


def read_all(paths: Sequence[Path]) -> list[RunData]:
    """All runs and results in these paths, each once; a `ReportError` if a path holds none."""
    found: dict[Path, RunData] = {}
    for path in paths:
        places = list(expand(path))
        if not places:
            known = sorted(entry.parent.name for entry in path.parent.glob("*/config.json"))
            hint = did_you_mean(path.name, known) or "A run is a folder that `mural train` made. "
            raise ReportError(f"there is no run in {path}: neither config.json nor metrics.jsonl. {hint.strip()}")
        for place in places:
            if place.resolve() not in found:
                found[place.resolve()] = read_run(place) if place.is_dir() else read_result(place)
    return list(found.values())


def expand(path: Path) -> Iterable[Path]:
    """A run's folder, a file of results, or the runs and results in a folder."""
    if path.is_file():
        return [path] if path.suffix == ".json" else []
    if is_run(path):
        return [path]
    return sorted([entry for entry in path.glob("*") if is_run(entry)] + list(path.glob("*.json")))


def is_run(path: Path) -> bool:
    """Whether a folder is, or was, a run."""
    return (path / "config.json").exists() or (path / "metrics.jsonl").exists()


def read_run(path: Path) -> RunData:
    """A run's folder, with a sentence for each thing that is amiss."""
    run = RunData(path, text(path.resolve().name))
    try:
        describe(run, disk.read_json(plain(path / "config.json")))
    except (MuralError, OSError) as error:
        run.problems.append(f"Its settings are unknown. {text(error)}")
    try:
        run.versions = flat(disk.read_json(plain(path / "versions.json")))
    except (MuralError, OSError) as error:
        run.problems.append(f"The versions that it ran with are unknown. {text(error)}")
    try:
        take_rows(run, metrics.read(plain(path / "metrics.jsonl")))
    except FileNotFoundError:
        run.problems.append("It has no metrics.jsonl: it has not finished its first epoch, or the file was lost.")
    except (MuralError, OSError) as error:
        run.problems.append(f"Its metrics cannot be read. {text(error)}")
    try:
        times = [clean(row.get("total")) for row in metrics.read(plain(path / "timing.jsonl"))]
        run.seconds = sum(seconds for seconds in times if seconds is not None)
    except (MuralError, OSError):
        run.problems.append("It has no readable timing.jsonl, so its time is unknown.")
    return run


def read_result(path: Path) -> RunData:
    """A collected result, as `results/` has them."""
    run = RunData(path, text(path.stem))
    try:
        result = disk.read_json(plain(path))
    except (MuralError, OSError) as error:
        run.problems.append(f"It is not a result. {text(error)}")
        return run
    config, curves = result.get("config"), result.get("curves")
    describe(run, config if isinstance(config, dict) else result)
    run.variant = text(result.get("variant") or "")
    run.versions = flat(result.get("versions"))
    run.seconds = clean(result.get("seconds"))
    rows: dict[float, dict[str, float]] = {}
    for metric, curve in curves.items() if isinstance(curves, dict) else ():
        for point in curve if isinstance(curve, list) else ():
            if isinstance(point, list) and len(point) == 2 and (step := clean(point[0])) is not None:
                rows.setdefault(step, {"step": step})[metric] = point[1]
    take_rows(run, list(rows.values()))
    return run


def plain(path: Path) -> Path:
    """The path, if it is no pipe or device that could be read for ever, and of a size that a run may have."""
    if path.exists() and not (path.is_file() and path.stat().st_size <= LARGEST):
        raise ReportError(f"{path} is not a file of a run: it is no plain file, or larger than {LARGEST / 1e6:.0f} MB.")
    return path


def describe(run: RunData, config: Mapping[str, Any]) -> None:
    """Take over what a run is."""
    run.settings = flat(config)
    lacking = [name for name in ("task", "method", "seed", "steps") if name not in config]
    if lacking:
        run.problems.append(f"Its settings lack {', '.join(lacking)}.")
    run.task, run.method = text(config.get("task", run.task)), text(config.get("method", run.method))
    run.seed = text(config.get("seed", run.seed))
    run.stops_at = clean(config.get("stop_at_success"))
    target = clean(config.get("steps"))
    run.target = None if target is None else int(target)


def take_rows(run: RunData, rows: Iterable[Mapping[str, Any]]) -> None:
    """Take over the finite numbers of the rows, in the order of their steps."""
    dropped = 0
    for row in rows:
        step = clean(row.get("step"))
        if step is None or step < 0:
            dropped += 1
            continue
        numbers = {name: number for name, value in row.items() if (number := clean(value)) is not None}
        run.rows.append(numbers | {"step": float(int(step))})
        if table := reliability(row.get(TABLE)):
            run.tables[int(step)] = table
    run.rows.sort(key=lambda row: row["step"])
    if dropped:
        run.problems.append(f"{dropped} rows of its metrics have no step and are left out.")
    if not run.rows and not run.problems:
        run.problems.append("Its metrics are empty: it has not finished its first epoch.")


def reliability(table: Any) -> list[tuple[float, float, float]]:
    """The rows of a reliability table that are one."""
    found = []
    for row in table if isinstance(table, list) else ():
        values = [clean(value) for value in row] if isinstance(row, list) and len(row) == 3 else []
        p, share, points = values or (None, None, None)
        if p is not None and share is not None and points is not None and 0 <= p <= 1 and 0 <= share <= 1 < points + 1:
            found.append((p, share, points))
    return found[:20]


def clean(value: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and abs(number) < 1e15 else None


def text(value: Any) -> str:
    """A value as a short line of visible characters; the page escapes it."""
    shown = value if isinstance(value, str) else str(value) if isinstance(value, Exception) else compact(value)
    line = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in shown)
    return line if len(line) <= TEXT else f"{line[: TEXT - 1]}…"


def compact(value: Any) -> str:
    """A value as JSON writes it."""
    try:
        return json.dumps(value, default=str, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "a value that cannot be shown"


def flat(value: Any, prefix: str = "", depth: int = 0) -> dict[str, str]:
    """Nested settings by dotted names."""
    found: dict[str, str] = {}
    for key, entry in value.items() if isinstance(value, Mapping) else ():
        name = f"{prefix}{text(key)}"
        if isinstance(entry, Mapping) and entry and depth < DEEP:
            found |= flat(entry, f"{name}.", depth + 1)
        else:
            found[name] = text(entry)
        if len(found) > ENTRIES:
            break
    return dict(list(found.items())[:ENTRIES])

"""Result files: a run's curves, settings, versions and machine in one small file of JSON; and reading them back."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from mural.atomic import replacing
from mural.errors import MuralError
from mural.settings.stopping import succeeded
from mural.storage import disk, metrics
from mural.tasks import file_name

Result = dict[str, Any]

CURVES = (
    "eval/success", "eval/sampled_success", "eval/env_return", "eval/distance", "train/success", "train/distance",
    "coverage", "reward/mean",
)  # fmt: skip
RARE = ("eval/sampled_success", "eval/env_return")  # kept where they were logged
ALSO = "kernel_gap"  # part of the names of further curves
SOLVED = 0.9
ATTEMPTS = "attempts.jsonl"
LATER = {
    "variant": "", "seconds": None, "seconds_to_solved": None, "steps_per_second": None, "machine": None,
    "success_of_last_ten": None,
}  # fmt: skip


class ResultError(MuralError, ValueError):
    """A result file that cannot be read, or a folder that no result can be made of."""


def summary(folder: Path, variant: str | None = None) -> Result:
    """The compact result of a run. Without `variant`, the folder's name tells it."""
    rows = metrics.read(folder / "metrics.jsonl") if (folder / "metrics.jsonl").is_file() else []
    config, versions = (disk.read_json(folder / name) for name in ("config.json", "versions.json"))
    tries = attempts(folder)
    evaluated = [row for row in rows if row.get("eval/success") is not None]
    success = [row["eval/success"] for row in evaluated]
    solved = next((row["step"] for row in evaluated if row["eval/success"] >= SOLVED), None)
    steps, clock = rows[-1]["step"] if rows else 0, seconds(folder)
    asked = config.get("stop_at_success")
    stopped = succeeded(rows, SOLVED if asked is None else asked)
    commits = list(dict.fromkeys(entry["commit"] for entry in tries if entry.get("commit")))
    result = {
        "task": config["task"], "method": config["method"], "seed": config["seed"], "name": folder.name,
        "steps": steps,
        "stopped": stopped,
        "success_of_last_ten": float(np.mean(success[-10:])) if success else None,
        "final_distance": rows[-1].get("eval/distance") if rows else None,
        "solved_at": solved,
        "seconds": clock.get(steps),
        "seconds_to_solved": clock.get(solved) if solved is not None else None,
        "steps_per_second": round(steps / clock[steps], 2) if clock.get(steps) else None,
        "curves": {name: curve(rows, name) for name in names(rows)},
        "config": config,
        "versions": versions,
        "dirty": any(commit.endswith("+") for commit in (versions.get("commit", ""), *commits)),
        "machine": {name: tries[-1].get(name) for name in ("cpu", "cores")} if tries else None,
        "command": tries[0]["command"] if tries
        else f"mural train {config['task']} --config c.json, where c.json holds the entry `config` of this file",
    }  # fmt: skip
    if len(commits) > 1:  # it was resumed after the code had changed
        result["commits"] = commits
    return result | {"variant": told_variant(result) if variant is None else variant}


def write(folder: Path, out: Path, variant: str | None = None) -> Result:
    """Make a run's result file, out/NAME.json; returns what it says."""
    result = summary(folder, variant)
    with replacing(out / f"{folder.name}.json") as scratch:
        scratch.write_text(json.dumps(result) + "\n")
    return result


def load(*places: Path) -> list[Result]:
    """The results in files or folders; what older files lack has its default."""
    found = []
    for place in places:
        for path in [place] if place.is_file() else sorted(place.glob("*.json")):
            try:
                result = disk.read_json(path)
                found.append({**LATER, **result, "variant": result.get("variant") or told_variant(result),
                              "dirty": result.get("dirty", commit(result).endswith("+"))})  # fmt: skip
            except (disk.DamagedFileError, KeyError, TypeError, AttributeError) as error:
                raise ResultError(f"{path} is no result file ({error}): collect it again, or remove it") from None
    return found


def group(results: Iterable[Result]) -> dict[tuple[str, str, str], list[Result]]:
    """Results by (task, method, variant), those of a group by seed."""
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for result in sorted(results, key=lambda one: (one["task"], one["method"], one["variant"], one["seed"])):
        groups.setdefault((result["task"], result["method"], result["variant"]), []).append(result)
    return groups


def told_variant(result: Result) -> str:
    """What stands between method and seed in the name of a run."""
    begin = re.escape(f"{file_name(result['task'])}-{result['method']}")
    found = re.fullmatch(rf"{begin}(?:-(.+))?-{result['seed']}", str(result["name"]))
    return (found[1] or "") if found else ""


def commit(result: Result) -> str:
    """The commit that a run began with; '' if it is not known."""
    return str(result.get("versions", {}).get("commit", ""))


def names(rows: Sequence[Result]) -> list[str]:
    """The curves to keep."""
    last = rows[-1] if rows else {}
    return [*CURVES[:1], *(n for n in CURVES[1:] if n not in RARE or any(n in row for row in rows)),
            *(name for name in last if ALSO in name)]  # fmt: skip


def curve(rows: Sequence[Result], name: str) -> list[list[float]]:
    """[step, value] of each row that has it."""
    return [[row["step"], round(row[name], 4)] for row in rows if row.get(name) is not None]


def seconds(folder: Path) -> dict[int, float]:
    """The time that training took up to each step that was measured; empty if nothing was."""
    path, told = folder / "timing.jsonl", folder / "metrics.jsonl"
    try:
        done = {row["step"] for row in metrics.read(told)} if told.is_file() else set()  # first: a run may be writing
    except MuralError:
        return {}
    rows = metrics.read(path) if path.is_file() else []
    if not done <= {row["step"] for row in rows}:
        return {}  # some of it was lost
    totals = accumulate(row.get("total") or 0.0 for row in rows)
    return {row["step"]: round(total, 2) for row, total in zip(rows, totals, strict=True)}


def attempts(folder: Path) -> list[Result]:
    """How the processes of a run were started, and on what; empty if no sweep did."""
    path = folder / ATTEMPTS
    return metrics.read(path) if path.is_file() else []


def machine() -> dict[str, Any]:
    """What computes here."""
    cpu = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), cpu)
    except OSError:
        pass
    return {"cpu": cpu, "cores": os.cpu_count()}

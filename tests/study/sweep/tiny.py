"""A sweep that is trained for real in seconds."""

import json
import os

from mural.study.sweep import spec
from tests.training import small

SETTINGS = small.SETTINGS | {"watch.picture_every": 0}
STEPS = 1200  # 20 epochs


def table(home, seeds=(3,), methods=("sac-distance",), steps=STEPS):
    """The table [sweep] of a tiny sweep below a folder."""
    return {
        "tasks": ["zigzag-maze"], "methods": list(methods), "seeds": list(seeds), "steps": steps,
        "out": str(home / "runs"), "results": str(home / "results"), "set": SETTINGS,
    }  # fmt: skip


def plan(home, seeds=(3,), methods=("sac-distance",), steps=STEPS, **entries):
    """The runs of a tiny sweep."""
    return spec.plan(spec.parse({"sweep": table(home, seeds, methods, steps)} | entries))


def write(home, steps=STEPS):
    """The file of a tiny sweep."""
    values = table(home, steps=steps)
    settings = values.pop("set")
    lines = ["[sweep]", *(f"{name} = {json.dumps(value)}" for name, value in values.items())]
    lines += ["[sweep.set]", *(f'"{name}" = {json.dumps(value)}' for name, value in settings.items())]
    home.mkdir(parents=True, exist_ok=True)
    (home / "tiny.toml").write_text("\n".join(lines) + "\n")
    return home / "tiny.toml"


def trainer(folder):
    """The process that trains the run in a folder; None if there is none."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().decode().split("\0")
        except OSError:
            continue
        if str(folder) in words and "mural" in words and "-c" not in words[:2]:
            return int(pid)
    return None

"""Run folders as training leaves them, written quickly."""

import json

import numpy as np
from PIL import Image

from tests.storage.test_maps import made

TABLE = [[0.05, 0.0, 400.0], [0.6, 0.5, 10.0], [0.95, 0.9, 600.0]]


def run_folder(folder, success=(0.0, 0.5, 1.0), task="zigzag-maze", method="mural", seed=0, **settings):
    """A run with an evaluation per epoch of 1,000 steps; success None: the environment does not report it."""
    folder.mkdir(parents=True)
    count = len(success)
    config = {"task": task, "method": method, "seed": seed, "steps": 1000 * count, "sac": {"gamma": 0.99}, **settings}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "versions.json").write_text(json.dumps({"python": "3.11", "jax": "0.10"}))
    rows = []
    for epoch, value in enumerate(success, start=1):
        row = {"step": 1000 * epoch, "epoch": epoch, "coverage": epoch / count, "eval/return": 2.0 * epoch}
        row |= {"calibration/ece": 0.1, "calibration/brier": 0.2, "calibration/table": TABLE}
        rows.append(row if value is None else row | {"eval/success": value, "eval/distance": 5 * (1 - value)})
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "timing.jsonl").write_text("".join(json.dumps({"step": r["step"], "total": 30.0}) + "\n" for r in rows))
    return folder


def with_maps(folder, steps=(1000, 2000, 3000)):
    """The same with maps, whose visits grow."""
    for i, step in enumerate(steps, start=1):
        path = np.array([[0.0, 0.0], [float(i), 1.0]])
        visits = np.full((4, 4), i, np.uint32)
        made(step=step, epoch=i, visits=visits, path=path).save(folder / "maps" / f"{step:010d}.npz")
    return folder


def with_pictures(folder, steps=(1000, 2000)):
    """The same with pictures alone."""
    (folder / "pictures").mkdir()
    for step in steps:
        Image.new("RGB", (90, 45), (step // 20, 0, 0)).save(folder / "pictures" / f"{step:010d}.png")
    return folder

"""Records of runs that were never trained: what a sweep reads of a folder."""

import json


def record(folder, success, *, task="zigzag-maze", method="mural", seed=0, steps=100_000, **config):
    """A run with an evaluation after each 1000 steps, from the second on; each 1000 steps take 2 seconds."""
    folder.mkdir(parents=True)
    config = {"task": task, "method": method, "preset": "fast", "seed": seed, "steps": steps, **config}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "versions.json").write_text('{"jax": "0", "commit": "abc"}')
    rows = [{"step": 1000, "coverage": 0.1}]
    rows += [
        {"step": 1000 * (i + 2), "coverage": 0.5, "eval/success": s, "eval/distance": 1 - s}
        for i, s in enumerate(success)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    timing = [{"step": row["step"], "total": 2.0} for row in rows]
    (folder / "timing.jsonl").write_text("".join(json.dumps(row) + "\n" for row in timing))
    return folder

"""Result files of runs that never were, with the success that a test wants."""

import json


def result(
    task="zigzag-maze", method="mural", seed=10, success=1.0, *, variant="", solved=20_000, steps=50_000, **more
):
    """A finished run that rises to `success` at step `solved`, and stays."""
    at = range(5000, steps + 1, 5000)
    value = [success if solved is not None and step >= solved else 0.0 for step in at]
    curves = {
        "eval/success": [[step, v] for step, v in zip(at, value, strict=True)],
        "eval/distance": [[step, 10.0 * (1 - v)] for step, v in zip(at, value, strict=True)],
        "coverage": [[step, min(0.9, step / 40_000)] for step in at],
    } | more.pop("curves", {})
    return {
        "task": task, "method": method, "seed": seed, "variant": variant, "steps": steps, "stopped": False,
        "name": "-".join(filter(None, (task, method, variant, str(seed)))),
        "success_of_last_ten": success, "final_distance": 10.0 * (1 - success),
        "solved_at": solved if success >= 0.9 else None, "seconds_to_solved": 120.0 if success >= 0.9 else None,
        "curves": curves, "config": {"steps": steps}, "versions": {"commit": f"{seed:040d}"},
    } | more  # fmt: skip


def write(folder, *results):
    """As files of a study."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in results:
        (folder / f"{one['name']}.json").write_text(json.dumps(one))
    return folder


def seeds(*args, success=(1.0, 1.0, 1.0), **more):
    """Runs with these successes, from seed 10 on."""
    return [result(*args, seed=10 + i, success=s, **more) for i, s in enumerate(success)]

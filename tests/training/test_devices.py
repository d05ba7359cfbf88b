"""More devices than one, as with GPUs: the whole loop still runs, stays on the first, and gives the same numbers."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

import mural
from tests.training import small

ROOT = Path(__file__).parents[2]


def loop(folder: str) -> dict[str, Any]:
    """Train, load, go on, export; what came out, and which devices hold the state of the run."""
    agent = mural.Agent(small.Field(), small.examples(), seed=5, run_dir=folder, config=small.MURAL, check=False)
    agent.learn(120, progress=False)
    agent = mural.Agent.load(folder, env=small.Field())
    agent.learn(60, progress=False)
    agent.export_policy(f"{folder}/policy.npz")
    states = np.linspace(-1, 1, 20, dtype=np.float32).reshape(10, 2)
    held = jax.tree.leaves((agent.run.agent, agent.run.parts, agent.run.replay))
    return {
        "devices": len(jax.devices()),
        "homes": sorted({str(device) for leaf in held for device in leaf.devices()}),
        "rewards": agent.reward(states).tolist(),
        "actions": mural.load_policy(f"{folder}/policy.npz")(states).tolist(),
        "steps": agent.steps,
    }


def test_the_whole_loop_with_two_devices(tmp_path):
    # In front: XLA stops reading its flags at a word without dashes.
    flags = f"--xla_force_host_platform_device_count=2 {os.environ.get('XLA_FLAGS', '')}"
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-m", "tests.training.test_devices", str(tmp_path / "two")],
        env=os.environ | {"XLA_FLAGS": flags, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    two, one = json.loads(done.stdout.splitlines()[-1]), loop(str(tmp_path / "one"))
    assert (one["devices"], two["devices"]) == (1, 2)
    assert one["homes"] == two["homes"]
    assert len(two["homes"]) == 1
    assert one["steps"] == two["steps"] == 180
    np.testing.assert_allclose(two["rewards"], one["rewards"], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(two["actions"], one["actions"], rtol=1e-4, atol=1e-6)


if __name__ == "__main__":
    print(json.dumps(loop(sys.argv[1])))

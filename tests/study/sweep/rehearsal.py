"""Ctrl-C, and losing a node, in the root of the repository: `python -m tests.study.sweep.rehearsal [FOLDER] [memory]`.

A Ray cluster of a head and two worker nodes, each with processes of its own, on this machine, with token
authentication. `mural sweep … --ray` begins on it, and is interrupted in the middle of a run. The same command goes on;
then the node that trains is killed (SIGKILL to its raylet and its workers), and the other one goes on from the last
checkpoint. The results are the bytes of a local sweep that nothing disturbed. With `memory`, no node is killed: memory
is taken until Ray's monitor ends the worker, and given back.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mural.storage import checkpoint
from mural.study import results
from mural.study.sweep import state
from tests.study.sweep.tiny import STEPS, plan, trainer, write

os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_memory_monitor_refresh_ms": "250"}
# A node counts as lost after three seconds without a sign of life, so that the rehearsal is short.
HEALTH = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 1000, "health_check_failure_threshold": 3}
PAUSE = 0.02
LEAVE = 3.0  # seconds in which the processes of a sweep that was interrupted have to be gone


ROOM, TAKEN = (
    0.12,
    0.2,
)  # shares of the machine's memory: what Ray's monitor allows beyond today's use, and what we take


class Eater:
    """Takes memory once a run has saved something, until Ray has ended its worker."""

    def __init__(self, first):
        self.first, self.killed, self.held = first, "", None

    def look(self, run):
        tries = results.attempts(run.folder)
        if self.held is None and not self.killed and saved(run) >= self.first + 120:
            self.killed = tries[-1]["place"]
            self.held = bytearray(os.urandom(1)) * int(TAKEN * memory()["MemTotal"])
        elif self.held is not None and not state.busy(run.folder):
            self.held = None


def memory():
    """Bytes by name."""
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    return {words[0].rstrip(":"): 1024 * int(words[1]) for words in lines}


class Killer:
    """Kills the node that trains a run, once the run has saved something."""

    def __init__(self, first, nodes):
        self.first, self.nodes, self.killed = first, nodes, ""

    def look(self, run):
        if not self.killed and saved(run) >= self.first + 120:
            self.killed = results.attempts(run.folder)[-1]["place"]
            raylet = self.nodes[self.killed].all_processes["raylet"][0].process.pid
            for pid in (*children(raylet), raylet):  # Ray's processes; the training has to die with them
                os.kill(pid, signal.SIGKILL)


def children(pid):
    """The processes that a process has started."""
    return [
        int(word) for task in Path(f"/proc/{pid}/task").iterdir() for word in (task / "children").read_text().split()
    ]


def saved(run):
    """The step of the latest checkpoint."""
    return max(checkpoint.listing(run.folder), default=0)


def interrupt(command, run):
    """Ctrl-C to a sweep once its run has begun: what it says, and what it leaves."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as sweep:
        while sweep.poll() is None and not state.progress(run.folder)[0]:
            time.sleep(PAUSE)
        sweep.send_signal(signal.SIGINT)
        said, _ = sweep.communicate(timeout=60)
    print(said, end="", flush=True)
    deadline = time.monotonic() + LEAVE
    while (left := trainer(run.folder)) and time.monotonic() < deadline:
        time.sleep(PAUSE)
    look = state.look(run)
    return {"code": sweep.returncode, "said": said.splitlines()[-1], "left": left, "state": look.state,
            "step": look.step, "saved": saved(run), "files": sorted(os.listdir(run.folder.parent))}  # fmt: skip


def go_on(command, run, meddler):
    """The same command, to its end, with somebody who meddles; its exit code."""
    with subprocess.Popen(command) as sweep:
        while sweep.poll() is None:
            meddler.look(run)
            time.sleep(PAUSE)
    return sweep.returncode


def rehearse(home, *, of_memory=False):
    """What happened, as plain values."""
    if of_memory:
        used = 1 - memory()["MemAvailable"] / memory()["MemTotal"]
        os.environ |= {"RAY_memory_usage_threshold": str(round(used + ROOM, 3))}
    from ray.cluster_utils import Cluster

    begun = time.monotonic()
    steps = STEPS * (20 if of_memory else 1)  # taking memory takes longer than a tiny run
    (quiet,), (run,) = (plan(home / place, steps=steps) for place in ("local", "ray"))
    mural = [sys.executable, "-W", "ignore", "-m", "mural", "sweep"]
    undisturbed = subprocess.Popen([*mural, str(write(home / "local", steps)), "--jobs", "1"])  # in the meantime
    ours = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, "_system_config": HEALTH}
    )
    try:
        nodes = {node.node_id: node for node in (ours.add_node(num_cpus=1), ours.add_node(num_cpus=1))}
        command = [*mural, str(write(home / "ray", steps)), "--ray", ours.address]
        interrupted = interrupt(command, run)
        meddler = Eater(saved(run)) if of_memory else Killer(saved(run), nodes)
        code = go_on(command, run, meddler)
    finally:
        ours.shutdown()
        undisturbed.wait()
    tries = results.attempts(run.folder)
    one, two = (json.loads(path.read_text()) for path in (quiet.result, run.result))
    return {
        "interrupted": interrupted, "code": code, "state": state.look(run).state,
        "killed": meddler.killed, "nodes": [entry["place"] for entry in tries],
        "resumed": [entry["resumed"] for entry in tries],
        "same metrics": (quiet.folder / "metrics.jsonl").read_bytes() == (run.folder / "metrics.jsonl").read_bytes(),
        "same curves": json.dumps(one["curves"]) == json.dumps(two["curves"]),
        "evaluations": len(two["curves"]["eval/success"]),
        "seconds": round(time.monotonic() - begun),
    }  # fmt: skip


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        words = sys.argv[1:]
        home = Path(next((word for word in words if word != "memory"), folder)).resolve()
        print(json.dumps(rehearse(home, of_memory="memory" in words)))

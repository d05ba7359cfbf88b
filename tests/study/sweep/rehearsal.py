"""Losing a node, or memory, in the root of the repository: `python -m tests.study.sweep.rehearsal [FOLDER] [memory]`.

A Ray cluster of a head and two worker nodes, each with processes of its own, on this machine, with token
authentication. A sweep begins on it. In the middle of the run, the node that trains it is killed (SIGKILL to its raylet
and its workers). The other one goes on from the last checkpoint, and the results are the bytes of a local sweep that
nothing disturbed. With `memory`, no node is killed: memory is taken until Ray's monitor ends the worker, and given
back.
"""

import json
import os
import secrets
import signal
import sys
import tempfile
import time
from pathlib import Path

from mural.study.sweep import state

os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_memory_monitor_refresh_ms": "250"}
# A node counts as lost after three seconds without a sign of life, so that the rehearsal is short.
HEALTH = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 1000, "health_check_failure_threshold": 3}


ROOM, TAKEN = (
    0.12,
    0.2,
)  # shares of the machine's memory: what Ray's monitor allows beyond today's use, and what we take


class Eater:
    """Takes memory once a run has saved something, until Ray has ended its worker."""

    def __init__(self):
        self.killed, self.held = "", None

    def look(self, run):
        from mural.storage import checkpoint
        from mural.study import results

        tries = results.attempts(run.folder)
        if self.held is None and not self.killed and max(checkpoint.listing(run.folder), default=0) >= 120:
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

    def __init__(self, nodes):
        self.nodes, self.killed = nodes, ""

    def look(self, run):
        from mural.storage import checkpoint
        from mural.study import results

        if not self.killed and max(checkpoint.listing(run.folder), default=0) >= 120:
            self.killed = results.attempts(run.folder)[-1]["place"]
            raylet = self.nodes[self.killed].all_processes["raylet"][0].process.pid
            for pid in (*children(raylet), raylet):  # Ray's processes; the training has to die with them
                os.kill(pid, signal.SIGKILL)


def children(pid):
    """The processes that a process has started."""
    return [
        int(word) for task in Path(f"/proc/{pid}/task").iterdir() for word in (task / "children").read_text().split()
    ]


def rehearse(home, *, of_memory=False):
    """What happened, as plain values."""
    if of_memory:
        used = 1 - memory()["MemAvailable"] / memory()["MemTotal"]
        os.environ |= {"RAY_memory_usage_threshold": str(round(used + ROOM, 3))}
    from ray.cluster_utils import Cluster

    from mural.study import results
    from mural.study.sweep import cluster, local
    from mural.study.sweep.board import Board
    from tests.study.sweep.tiny import plan

    begun = time.monotonic()
    (quiet,), (run,) = plan(home / "local"), plan(home / "ray")
    assert local.sweep([quiet], 1, Board(1)).done
    ours = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, "_system_config": HEALTH}
    )
    try:
        nodes = {node.node_id: node for node in (ours.add_node(num_cpus=1), ours.add_node(num_cpus=1))}
        killer = Eater() if of_memory else Killer(nodes)

        class Watched(Board):
            def refresh(self, waiting):
                super().refresh(waiting)
                killer.look(run)

        cluster.PAUSE = 0.05
        outcome = cluster.sweep([run], ours.address, Watched(1))
    finally:
        ours.shutdown()
    tries = results.attempts(run.folder)
    one, two = (json.loads(path.read_text()) for path in (quiet.result, run.result))
    return {
        "done": outcome.done, "killed": killer.killed, "nodes": [entry["place"] for entry in tries],
        "resumed": [entry["resumed"] for entry in tries],
        "same metrics": (quiet.folder / "metrics.jsonl").read_bytes() == (run.folder / "metrics.jsonl").read_bytes(),
        "same curves": json.dumps(one["curves"]) == json.dumps(two["curves"]),
        "evaluations": len(two["curves"]["eval/success"]),
        "seconds": round(time.monotonic() - begun),
    }  # fmt: skip


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        words = sys.argv[1:]
        home = Path(next((word for word in words if word != "memory"), folder))
        print(json.dumps(rehearse(home, of_memory="memory" in words)))

"""Processes of their own: cores, threads, signals, and an end together with their parent."""

import json
import os
import signal
import subprocess
import sys
import time

from mural.study.processes import ONE_THREAD, cores_here, environment, pinned

ABOUT = """
import json, os, signal
blocked = [int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, ())]
handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
print(json.dumps([sorted(os.sched_getaffinity(0)), blocked, handled, os.environ["NPROC"], os.environ["XLA_FLAGS"]]))
"""
PARENT = """
import subprocess, sys, time
from mural.study.processes import pinned
child = subprocess.Popen(pinned([sys.executable, "-c", "import time; time.sleep(60)"], death=9))
print(child.pid, flush=True)
time.sleep(60)
"""


def test_a_process_has_its_core_one_thread_and_hears_ctrl_c():
    """Also below one that ignores and blocks SIGINT, as shells and Ray do."""
    core = cores_here()[-1]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        command = pinned([sys.executable, "-c", ABOUT], [core])
        said = subprocess.run(command, env=environment(1), capture_output=True, text=True, check=True).stdout
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, before)
    cores, blocked, handled, threads, flags = json.loads(said)
    assert (cores, blocked, handled, threads) == ([core], [], True, "1")
    assert flags.endswith(" ".join(ONE_THREAD))


def test_a_process_dies_with_its_parent():
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    time.sleep(0.5)
    os.kill(child, 0)  # it lives
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and alive(child):
        time.sleep(0.05)
    assert not alive(child)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False

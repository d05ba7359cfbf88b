"""Training processes to be killed, born of one parent that has imported everything and done nothing.

Importing JAX takes seconds; a fork takes none of them. It is safe because the parent has a single thread: JAX starts
its own with the first computation, which only the children do.
"""

import json
import subprocess
import sys
from types import TracebackType
from typing import Any, Self

from mural.study.processes import ONE_THREAD, environment

PARENT = """
import json, os, sys
import jax
import mural.tasks
from mural.api import Agent
from mural.storage.folder import RunFolder
threads = [line for line in open("/proc/self/status") if line.startswith("Threads")]
assert threads[0].split()[1] == "1", threads

def live(task):
    if RunFolder(task["run_dir"]).exists():
        agent = Agent.load(task["run_dir"])
    else:
        agent = Agent(**{k: v for k, v in task.items() if k != "until"})
    os.write(1, f"from {agent.steps}\\n".encode())
    if agent.steps < task["until"]:
        agent.learn(task["until"] - agent.steps, progress=False)
    os.write(1, b"done\\n")

for line in sys.stdin:
    child = os.fork()
    if not child:
        code = 1
        try:
            live(json.loads(line))
            code = 0
        finally:
            if code:
                import traceback
                traceback.print_exc()
            os._exit(code)
    os.write(1, f"pid {child}\\n".encode())
    _, status = os.waitpid(child, 0)
    os.write(1, f"end {os.waitstatus_to_exitcode(status)}\\n".encode())
"""


class Nursery:
    """`begin` a process; read its `line`s; the last is "end <exit code>"."""

    def __init__(self) -> None:
        self.parent = subprocess.Popen(
            [sys.executable, "-c", PARENT],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment(threads=1) | {"XLA_FLAGS": " ".join(ONE_THREAD)},
        )  # fmt: skip

    def begin(self, **task: Any) -> int:
        """The process id of a child that trains an `Agent` with these arguments `until` a step, or goes on with it."""
        assert self.parent.stdin is not None
        self.parent.stdin.write(json.dumps(task) + "\n")
        self.parent.stdin.flush()
        while not (line := self.line()).startswith("pid"):
            assert line, "the parent died"
        return int(line.split()[1])

    def line(self) -> str:
        """The next thing that is said."""
        assert self.parent.stdout is not None
        return self.parent.stdout.readline().rstrip("\n")

    def end(self) -> tuple[int, list[str]]:
        """Wait for the child; its exit code and what it said."""
        said = []
        while not (line := self.line()).startswith("end"):
            assert line, "the parent died"
            said.append(line)
        return int(line.split()[1]), said

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self.parent.stdin is not None
        self.parent.stdin.close()
        self.parent.wait(timeout=60)
        assert self.parent.stdout is not None
        self.parent.stdout.close()

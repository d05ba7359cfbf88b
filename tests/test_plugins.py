"""Methods and tasks of other packages: a real package on the path, found by its entry points."""

import subprocess
import sys

PACKAGE = """
from dataclasses import dataclass, field
import jax.numpy as jnp
import mural
from mural.rewards import Part, Term

@dataclass(frozen=True)
class Flat(Part):
    def label(self, state, states):
        return jnp.full(states.shape[0], 0.25)

@mural.register_method("flat")
@dataclass(frozen=True)
class FlatMethod:
    '''The same everywhere.'''
    part: Flat = field(default_factory=Flat)
    def terms(self):
        return (Term("flat", 1.0, self.part),)
"""
TASK = """
from mural.tasks.mazes.tasks import ZigzagMaze
print("imported")
class Mine(ZigzagMaze):
    pass
"""
ENTRIES = """
[mural.methods]
flat = other_rewards
broken = other_missing
[mural.tasks]
mine = other_tasks:Mine
spiral-maze = other_tasks:Mine
nameless = other_tasks
"""


def python(folder, code):
    (folder / "other_rewards.py").write_text(PACKAGE)
    (folder / "other_tasks.py").write_text(TASK)
    info = folder / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_method_of_another_package(tmp_path):
    out, err = python(
        tmp_path,
        "import mural\n"
        "reward = mural.OutcomeReward([[1.0, 2.0]], method='flat')\n"
        "reward.update([[0.0, 0.0]]); print(reward([5.0, 5.0]))\n"
        "from mural.cli import main; main(['methods', '--json'])",
    )
    assert out.startswith("0.25\n")
    assert '"name": "flat", "needs": "examples", "summary": "The same everywhere."' in out
    assert "'broken' of the package other (other_missing) is left out: ModuleNotFoundError" in err
    assert err.count("'broken' of") == 1


def test_a_task_of_another_package_is_imported_when_it_is_made(tmp_path):
    out, err = python(
        tmp_path,
        "import mural, gymnasium\nfrom mural.tasks import TASKS, make\n"
        "print(TASKS['mine'].id, TASKS['spiral-maze'].package)\n"
        "print(type(make('mine')).__name__, gymnasium.make('other/Mine-v0').unwrapped.success_examples(5, 0).shape)",
    )
    assert out == "other/Mine-v0 mural-rl\nimported\nMine (5, 2)\n"
    assert "mural-rl has a task of that name" in err
    assert "'package.module:Class'" in err

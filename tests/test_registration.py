"""After `import mural` Gymnasium knows the tasks, in whichever order the two are imported; and nothing heavy is."""

import subprocess
import sys

import pytest

MAKE = "print(gymnasium.make('mural/ZigzagMaze-v0').unwrapped)"
BLOCK = "import sys\nfor name in ('gymnasium', 'jax', 'matplotlib'): sys.modules[name] = None\n"


def python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("names", ["mural, gymnasium", "gymnasium, mural", "mural.agent, gymnasium"])
def test_gymnasium_makes_our_tasks(names):
    out = python(f"import {names}\nimport sys\nprint('jax' in sys.modules, 'matplotlib' in sys.modules)\n{MAKE}")
    assert out == "False False\n<ZigzagMaze<mural/ZigzagMaze-v0>>\n"


def test_gymnasium_stays_what_it_is():
    out = python(
        "import importlib.util, inspect, importlib.resources, mural\n"
        "print(importlib.util.find_spec('gymnasium').origin.endswith('__init__.py'))\n"
        "import gymnasium\n"
        "print('register' in inspect.getsource(gymnasium), importlib.resources.files('gymnasium').is_dir())\n"
        "print(sum(name.startswith('mural/') for name in gymnasium.registry))\n"
    )
    assert out == "True\nTrue True\n9\n"


def test_without_gymnasium_and_jax_a_policy_is_still_loaded(tmp_path):
    path = str(tmp_path / "p.npz")
    code = (
        "import mural, numpy as np\n"
        "from mural.agent.policy import NumpyPolicy, save_policy\n"
        "policy = NumpyPolicy([(np.zeros((2, 2)), np.zeros(2))])\n"
        f"save_policy({path!r}, policy, np.array([-1.0]), np.array([1.0]), [('observation', 0, 2)])\n"
        f"print(mural.load_policy({path!r})(np.zeros(2)))\n"
        "try:\n    mural.load_policy('none')\nexcept mural.MuralError as error:\n    print('named')\n"
    )
    assert python(BLOCK + code) == "[0.]\nnamed\n"


def test_import_is_fast_and_loads_nothing_heavy():
    out = python(
        "import time; begun = time.process_time(); import mural; took = time.process_time() - begun\n"
        "import sys; print(took)\n"
        "heavy = 'gymnasium jax matplotlib mujoco numpy torch tyro rich'.split()\n"
        "print(*[name for name in heavy if name in sys.modules])"
    )
    took, loaded = out.splitlines()
    assert float(took) < 0.5
    assert loaded == ""

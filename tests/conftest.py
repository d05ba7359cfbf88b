"""Every test runs with JAX's silent rank promotion turned into an error, and with quick compiling.

Much of the time of these tests is compiling. XLA optimises little here, though not nothing, as the tests run what they
compile a thousand times (the processes of `nursery` do without these flags: what they compute to the bit is what users
compute). All workers share the users' cache of compiled functions.
"""

import gc
import os
from ctypes.util import find_library
from importlib.metadata import version
from pathlib import Path

QUICK = (
    "--xla_backend_optimization_level=1 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_parallel_codegen_split_count=1"
)
if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11):  # later ones end the process: they do not know it
    QUICK += " --xla_cpu_use_fusion_emitters=false"

# In front: XLA stops reading at a word without dashes. A worker of pytest-xdist inherits what the first process set.
if QUICK not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{QUICK} {os.environ.get('XLA_FLAGS', '')}".strip()

# Drawing without a display: chosen before anybody imports MuJoCo (the environments of others do).
if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) and find_library("EGL"):
    os.environ.setdefault("MUJOCO_GL", "egl")

import jax  # noqa: E402
import matplotlib  # noqa: E402
import pytest  # noqa: E402

from mural import cache  # noqa: E402

gc.set_threshold(100_000, 50, 100)  # tracing makes many objects, and hardly any of them are garbage
cache.enable()
jax.config.update("jax_numpy_rank_promotion", "raise")
matplotlib.use("Agg")

MAPS = Path("/proc/self/maps")
MANY = 20_000  # of the 65,530 pieces of memory that Linux lets a process map; XLA ends with a crash at the limit


@pytest.fixture(scope="module", autouse=True)
def _few_executables():
    """Let go of compiled functions when there are many: each keeps some memory mapped."""
    yield
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MANY:
        jax.clear_caches()
        gc.collect()

"""Every test runs with JAX's silent rank promotion turned into an error, and with quick compiling.

Nearly all of the time of these tests is compiling. XLA optimises little here (the processes of `nursery` do without
these flags: what they compute to the bit is what users compute), and all workers share the users' cache of compiled
functions.
"""

import os

QUICK = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_use_fusion_emitters=false"
)

# In front: XLA stops reading at a word without dashes. A worker of pytest-xdist inherits what the first process set.
if QUICK not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{QUICK} {os.environ.get('XLA_FLAGS', '')}".strip()

import jax  # noqa: E402
import matplotlib  # noqa: E402

from mural import cache  # noqa: E402

cache.enable()
jax.config.update("jax_numpy_rank_promotion", "raise")
matplotlib.use("Agg")

"""Every test runs with JAX's silent rank promotion turned into an error."""

import jax
import matplotlib

jax.config.update("jax_numpy_rank_promotion", "raise")
matplotlib.use("Agg")

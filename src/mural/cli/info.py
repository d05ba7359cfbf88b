"""`mural info`: what is installed and found here, to be pasted into a report of a bug."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import platform
from dataclasses import dataclass
from importlib import metadata
from typing import Any

PACKAGES = ("mural-rl", "jax", "jaxlib", "numpy", "scipy", "optax", "scikit-learn", "gymnasium", "mujoco")
EXTRAS = {
    "robots": ("mujoco", "metaworld", "imageio"),
    "sb3": ("stable_baselines3",),
    "data": ("minari", "pyarrow"),
    "bench": ("gymnasium_robotics", "sbx", "stable_baselines3"),
}


@dataclass
class Info:
    """Print versions, devices, extras and the cache folder: paste this into a report of a bug."""

    json: bool = False
    """One JSON object instead of lines."""

    def run(self) -> None:
        """Print."""
        found = collected()
        if self.json:
            print(json.dumps(found))
            return
        width = max(map(len, found))
        for name, value in found.items():
            print(f"{name:<{width}}  {value}")


def collected() -> dict[str, str]:
    """Name → what was found, in the order in which it is printed."""
    found = {"python": f"{platform.python_version()} ({platform.system()}, {platform.machine()})"}
    found |= {name: version(name) for name in PACKAGES}
    found |= {"devices": devices(), "processors": str(os.cpu_count())}
    for extra, modules in EXTRAS.items():
        missing = [name for name in modules if importlib.util.find_spec(name) is None]
        found[f"extra {extra}"] = f"without {', '.join(missing)}" if missing else "installed"
    return found | {"cache folder": cache_folder()}


def version(package: str) -> str:
    """The version of a package, or a dash."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "–"


def devices() -> str:
    """What JAX computes on."""
    try:
        jax: Any = importlib.import_module("jax")
        return ", ".join(map(str, jax.devices()))
    except Exception as error:  # a broken installation is what a report may be about
        return f"{type(error).__name__}: {error}".splitlines()[0]


def cache_folder() -> str:
    """Where compiled programs are kept between processes."""
    from mural import cache

    return str(cache.folder() or "none")

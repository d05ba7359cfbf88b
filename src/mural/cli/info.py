"""`mural info`: what is installed and found here, to be pasted into a report of a bug."""

from __future__ import annotations

import importlib
import json
import os
import platform
import re
from dataclasses import dataclass
from importlib import metadata
from typing import Any

PACKAGES = ("mural-rl", "jax", "jaxlib", "numpy", "scipy", "optax", "scikit-learn", "gymnasium", "mujoco")
OURS, NONE = "mural-rl", "–"


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
    for extra in about("Provides-Extra"):
        missing = lacking(OURS, extra)
        found[f"extra {extra}"] = f"without {', '.join(missing)}" if missing else "installed"
    return found | {"cache folder": cache_folder(), "issues": tracker() or NONE}


def about(entry: str) -> list[str]:
    """What the metadata of this package say under a name."""
    try:
        return metadata.metadata(OURS).get_all(entry) or []
    except metadata.PackageNotFoundError:  # the sources alone, on a path
        return []


def lacking(package: str, extra: str) -> list[str]:
    """Which packages of an extra are not installed, in the order of names; also those of extras that it asks for."""
    missing: set[str] = set()
    for line in metadata.requires(package) or []:
        wanted = re.match(r"([\w.-]+)(?:\[(.*?)\])?", line)
        if wanted is None or not re.search(rf"""extra == ['"]{re.escape(extra)}['"]""", line):
            continue
        name, further = wanted[1], wanted[2] or ""
        if version(name) == NONE:
            missing.add(name)
        else:
            missing.update(one for more in further.split(",") if more for one in lacking(name, more.strip()))
    return sorted(missing)


def tracker() -> str | None:
    """Where this package says that reports of bugs go."""
    addresses = dict(line.split(", ", 1) for line in about("Project-URL"))
    return next((url for name, url in addresses.items() if name.lower() in ("issues", "issue tracker")), None)


def version(package: str) -> str:
    """The version of a package, or a dash."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return NONE


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

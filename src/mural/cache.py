"""What JAX has compiled, kept between processes: a second run starts in seconds.

The folder is `mural/jax` in the user's cache folder. MURAL_CACHE names another one, or turns the cache off
(`MURAL_CACHE=off`); without it, JAX's own JAX_COMPILATION_CACHE_DIR counts. A cache that cannot be read or written
costs time, never a run.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import warnings
import zlib
from collections.abc import Callable, Iterable
from operator import attrgetter
from pathlib import Path

SETTING = "MURAL_CACHE"
OFF = ("off", "0", "no", "false")
LIMIT = 1 << 30  # bytes: about a hundred times what one task and method need
WORTH_KEEPING = 0.05  # seconds of compiling: reading an entry back takes about 5 ms
CHECKED = "checked"  # its time of change is that of the last look through the folder


def folder() -> Path | None:
    """The folder that compiled functions are kept in; None if the cache is off, or the user has no home."""
    chosen = os.environ.get(SETTING, "").strip()
    if chosen.lower() in OFF:
        return None
    if not chosen and (own := os.environ.get("JAX_COMPILATION_CACHE_DIR")):
        return Path(own)
    try:
        return (Path(chosen).expanduser() if chosen else user_folder() / "mural" / "jax").absolute() / machine()
    except (RuntimeError, OSError):  # no home, no such user, or the current folder is gone
        return None


def user_folder() -> Path:
    """Where programs keep what they can make again: the platform's folder, or XDG_CACHE_HOME."""
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    return Path.home() / ".cache"


def machine() -> str:
    """A name for this kind of processor: code compiled for another one may not run here, and homes are shared."""
    features: list[str] = []
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features = sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))})
    except OSError:
        features = [platform.processor()]
    about = "\n".join([sys.platform, platform.machine(), *features])
    return hashlib.sha256(about.encode()).hexdigest()[:12]


def enable() -> Path | None:
    """Let JAX keep what it compiles; returns the folder, or None if the cache is off or its folder cannot be used.

    Call it before JAX compiles anything that is worth keeping. A second call changes nothing.
    """
    import jax  # takes half a second, and `folder` needs none of it

    update: Callable[[str, object], None] = jax.config.update
    place = folder()
    if place is None:
        update("jax_enable_compilation_cache", False)
        return None
    # JAX warns when an entry cannot be read or written, and then compiles as if there were no cache.
    warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation cache entry")
    # Some releases of JAX have a type for this name, others have none.
    present: str | None = attrgetter("jax_compilation_cache_dir")(jax.config)
    if present == str(place) or (present and not os.environ.get(SETTING)):
        return Path(present)  # enabled before, or set by the user's own program
    try:
        place.mkdir(parents=True, exist_ok=True)
        tidy(place, LIMIT)
    except OSError:  # a file in its place, no permission, no room
        return None
    update("jax_compilation_cache_dir", str(place))
    update("jax_persistent_cache_min_compile_time_secs", WORTH_KEEPING)
    return place


def tidy(place: Path, limit: int) -> None:
    """Remove damaged entries that are new since the last look, then the longest unused ones beyond `limit` bytes.

    JAX never replaces an entry, so that a damaged one (a full disk, a process killed as it wrote) would cost its
    compilation in every run. JAX's own limit needs a package that it does not bring.
    """
    mark = place / CHECKED
    looked = mark.stat().st_mtime if mark.exists() else 0.0
    entries = []
    for path in place.glob("*-cache"):
        try:
            stat = path.stat()
            if stat.st_mtime >= looked - 60 and not whole(path.read_bytes()):
                path.unlink()
            else:
                entries.append((max(stat.st_atime, stat.st_mtime), stat.st_size, path))
        except OSError:
            continue  # another process was faster, or the entry is not ours to touch
    drop(entries, limit)
    mark.touch()


def whole(entry: bytes) -> bool:
    """Whether an entry ends as it should. Only zlib's are looked at: with zstandard installed, JAX uses that."""
    if entry[:1] != b"\x78":
        return entry[:4] == b"\x28\xb5\x2f\xfd"
    stream = zlib.decompressobj()
    try:
        stream.decompress(entry)
    except zlib.error:
        return False
    return stream.eof


def drop(entries: Iterable[tuple[float, int, Path]], limit: int) -> None:
    """Remove the longest unused of (time, size, path) until the others take at most `limit` bytes."""
    room = limit
    for _, size, path in sorted(entries, reverse=True):
        room -= size
        if room < 0:
            path.unlink(missing_ok=True)

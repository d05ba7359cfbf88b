"""Checkpoints: folders that are there wholly or not at all, and that notice when they were damaged.

    checkpoints/0000012000/agent.safetensors, replay.safetensors, …, manifest.json

Everything is written beside its final place, brought to the disk, and moved there by one rename. The manifest has
the size and hash of each file and a hash of itself. Reading needs safetensors and JSON only: a checkpoint is data.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from mural.atomic import sync_folder
from mural.errors import ArgumentError, MuralError
from mural.storage import disk

FORMAT, VERSION = "mural-checkpoint", 3
MANIFEST, SUFFIX = "manifest.json", ".safetensors"
SAVING, REPLACED, REMOVED = ".saving", ".replaced", ".removed"  # what a save may leave behind when it is killed

TYPES = {"bool", "float16", "float32", "float64"} | {f"{sign}int{n}" for sign in ("", "u") for n in (8, 16, 32, 64)}

Groups = Mapping[str, Mapping[str, NDArray[Any]]]


class CheckpointSpaceError(disk.OutOfSpaceError):
    """A checkpoint does not fit on the disk; the earlier ones are untouched."""


class DamagedCheckpointError(MuralError, RuntimeError):
    """A checkpoint is not what was written, or there are checkpoints and none of them is good."""


class NewerFormatError(MuralError, RuntimeError):
    """A checkpoint was written by a later version of this package."""


class OlderFormatError(MuralError, RuntimeError):
    """A checkpoint was written by an earlier version of this package, whose arrays this one cannot go on with."""


@dataclass(frozen=True)
class Checkpoint:
    """What was saved, verified."""

    step: int
    groups: dict[str, dict[str, NDArray[Any]]]
    meta: dict[str, Any]
    path: Path
    skipped: tuple[str, ...] = ()  # a sentence for each newer checkpoint that was damaged and passed over


def listing(folder: Path) -> dict[int, Path]:
    """The checkpoints of the run in `folder` by step, oldest first; their content is not looked at."""
    home = _home(folder)
    names = {path.name: path for path in home.iterdir()} if home.is_dir() else {}
    # A save that replaced a step and was killed between its two renames leaves the old one beside its place.
    found = {int(name.removesuffix(REPLACED)): path for name, path in names.items() if _is_step(name, REPLACED)}
    found |= {int(name): path for name, path in names.items() if _is_step(name)}
    return dict(sorted(found.items()))


def save(
    folder: Path, step: int, groups: Groups, meta: Mapping[str, Any], keep: int = 2, *, only: bool = False
) -> Path:
    """Save the run in `folder` at `step`, then remove all but the `keep` latest checkpoints up to this one.

    Each group of arrays becomes a file; `meta` is anything JSON can hold. A checkpoint of the same step is replaced.
    `only`: remove all others, also those of later steps.
    """
    _check(step, groups, meta, keep)
    home = _home(folder)
    final = home / f"{step:010d}"
    temporary, aside = final.with_name(final.name + SAVING), final.with_name(final.name + REPLACED)
    needed = sum(array.nbytes for group in groups.values() for array in group.values())
    earlier = "earlier checkpoints are intact, but that" if listing(folder) else "the first checkpoint,"
    what = f"{earlier} of step {step}"
    with disk.room_for(what, needed, home, CheckpointSpaceError), _alone(home):
        _tidy(home)
        try:
            _write(temporary, step, groups, meta)
            if final.exists():
                os.rename(final, aside)
            os.rename(temporary, final)
            sync_folder(home)
        finally:
            _tidy(home)
        found = listing(folder)
        old = [s for s in found if s != step] if only else [s for s in found if s <= step][:-keep]
        for s in old:
            _remove(found[s])
    return final


def load(path: Path) -> Checkpoint:
    """The checkpoint in the folder `path`, every byte verified."""
    path = Path(path)
    try:
        step, meta, files = _read_manifest(path)
        groups = {name.removesuffix(SUFFIX): _read_arrays(path, name, entry) for name, entry in files.items()}
    except _Damage as damage:
        raise DamagedCheckpointError(f"checkpoint {path} is damaged: {damage}") from damage
    return Checkpoint(step, groups, meta, path)


def load_latest(folder: Path) -> Checkpoint | None:
    """The latest good checkpoint of the run in `folder`; None if it has no checkpoints at all."""
    while found := listing(folder):
        skipped: list[str] = []
        for step, path in reversed(found.items()):
            try:
                checkpoint = load(path)
            except DamagedCheckpointError as damage:
                skipped.append(f"{damage}; it was passed over")
                continue
            if checkpoint.step == step:
                return replace(checkpoint, skipped=tuple(skipped))
            skipped.append(f"checkpoint {path} is of step {checkpoint.step}, so it was renamed; it was passed over")
        if listing(folder) == found:  # else a running process saved and removed some while we read
            raise DamagedCheckpointError(
                f"none of the {len(found)} checkpoints in {_home(folder)} can be used. "
                "Bring one back from a backup, or start the run anew in another folder.\n  " + "\n  ".join(skipped)
            )
    return None


def version_of(folder: Path) -> int | None:
    """The version of the format of the latest checkpoint of the run in `folder`; None if none says it."""
    for path in reversed(listing(folder).values()):
        with suppress(OSError, ValueError, RecursionError, AttributeError):
            version = json.loads((path / MANIFEST).read_bytes()).get("version")
            if isinstance(version, int):
                return version
    return None


class _Damage(MuralError):
    """What is wrong with a file, without saying which checkpoint it belongs to."""


def _check(step: int, groups: Groups, meta: Mapping[str, Any], keep: int) -> None:
    """Complain before anything is written about what could be written and not be read again."""
    if step < 0 or keep < 1:
        raise ArgumentError(f"step must be at least 0 and keep at least 1, got {step} and {keep}")
    for name, group in groups.items():
        if not _is_file(name + SUFFIX):
            raise ArgumentError(f"a group is called {name!r}; use letters, digits, - and _")
        for key, array in group.items():
            if key == "__metadata__" or array.dtype.name not in TYPES:
                raise ArgumentError(f"{name}: {key!r} of type {array.dtype} cannot be stored; convert or rename it")
    json.dumps(meta, allow_nan=False)


def _home(folder: Path) -> Path:
    return Path(folder) / "checkpoints"


def _is_step(name: str, suffix: str = "") -> bool:
    return re.fullmatch(r"[0-9]{10,}" + re.escape(suffix), name) is not None


def _is_file(name: str) -> bool:
    return re.fullmatch(r"[\w-]+" + re.escape(SUFFIX), name, re.ASCII) is not None


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Wait for any other process that saves here; then whatever is unfinished was left by a dead one."""
    if not home.is_dir():
        home.mkdir(parents=True, exist_ok=True)
        sync_folder(home.parent)
    descriptor = os.open(home, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network disks cannot lock folders; one process per run is the rule anyway
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:  # closing releases the lock
        os.close(descriptor)


def _tidy(home: Path) -> None:
    """Remove what saves left unfinished; a checkpoint that was moved aside for one that never came goes back."""
    for path in home.iterdir():
        final = path.with_suffix("")
        if _is_step(path.name, REPLACED) and not final.exists():
            os.rename(path, final)
        elif any(_is_step(path.name, suffix) for suffix in (SAVING, REPLACED, REMOVED)):
            shutil.rmtree(path, ignore_errors=True)


def _remove(path: Path) -> None:
    """Take a checkpoint out of the listing first, so that none is ever seen half removed."""
    going = path.with_name(path.name + REMOVED)
    os.rename(path, going)
    shutil.rmtree(going, ignore_errors=True)


def _write(folder: Path, step: int, groups: Groups, meta: Mapping[str, Any]) -> None:
    folder.mkdir()
    files = {}
    for name, group in groups.items():
        # safetensors copies memory as it lies: anything but C order would be stored scrambled.
        data = safetensors.save({key: np.asarray(array, order="C") for key, array in group.items()})
        files[name + SUFFIX] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        disk.write(folder / (name + SUFFIX), data)
    manifest = {"format": FORMAT, "version": VERSION, "step": step, "meta": meta, "files": files}
    manifest = json.loads(json.dumps(manifest))  # as the reader will see it: tuples are lists, keys are strings
    disk.write(folder / MANIFEST, json.dumps(manifest | {"sha256": _digest(manifest)}, indent=1).encode())
    sync_folder(folder)


def _digest(manifest: Mapping[str, Any]) -> str:
    """The hash of a manifest's content. Later versions keep this rule, so that they can be told from damage."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _read_manifest(folder: Path) -> tuple[int, dict[str, Any], dict[str, Any]]:
    try:
        manifest = json.loads(_read(folder / MANIFEST))
        sound = manifest.pop("sha256") == _digest(manifest)
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError) as error:
        raise _Damage(f"{MANIFEST} is not a manifest") from error
    if not sound:
        raise _Damage(f"{MANIFEST} does not match its hash")
    version = manifest.get("version")
    if manifest.get("format") == FORMAT and version != VERSION:
        told = f"{folder} has format version {version} and this program reads version {VERSION}: "
        if isinstance(version, int) and version < VERSION:
            raise OlderFormatError(told + "resume the run with the mural-rl that wrote it, or train it anew")
        raise NewerFormatError(told + "update mural-rl, or resume the run with the version that wrote it")
    match manifest:
        case {"format": "mural-checkpoint", "step": int(step), "meta": dict(meta), "files": dict(files)}:
            return step, meta, files
    raise _Damage(f"{MANIFEST} lacks entries")


def _read_arrays(folder: Path, name: str, entry: Any) -> dict[str, NDArray[Any]]:
    """The arrays of one file. Its bytes are verified in memory: what is checked is what is used."""
    if not _is_file(name) or not isinstance(entry, dict):
        raise _Damage(f"{MANIFEST} lists {name!r}, which is no file of a checkpoint")
    data = _read(folder / name, entry.get("size"))
    if hashlib.sha256(data).hexdigest() != entry.get("sha256"):
        raise _Damage(f"{name} does not match its hash")
    try:
        return safetensors.load(data)
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise _Damage(f"{name} is not a safetensors file with known types ({error})") from error


def _read(path: Path, size: int | None = None) -> bytes:
    try:
        if size is not None and path.stat().st_size != size:
            raise _Damage(f"{path.name} has {path.stat().st_size} bytes instead of {size}")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise _Damage(f"{path.name} is missing") from error
    except OSError as error:
        raise _Damage(f"{path.name} cannot be read ({error.strerror})") from error

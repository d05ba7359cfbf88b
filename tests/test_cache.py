"""Compiled functions are kept between processes, change no result, and never stop a run when the folder is bad."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mural import cache
from mural.study.processes import environment

# In a process of its own: prints the folder, how often JAX found what it needed, and what was computed.
PROCESS = """
import json, resource, signal, sys, warnings
warnings.simplefilter("error")
import jax
found = {"hits": 0, "misses": 0}
def count(name, **_):
    kind = name.rpartition("cache_")[2]
    found[kind] = found.get(kind, 0) + 1
jax.monitoring.register_event_listener(count)
from mural import cache
if "train" in sys.argv:
    import mural
    from tests.training.small import MURAL, Field, examples
    agent = mural.Agent(Field(), examples=examples(), config=MURAL).learn(120, progress=False)
    computed = [agent.history, agent.reward(examples()).tobytes().hex()]
else:
    import jax.numpy as jnp
    from mural.nml import meta
    from mural.nml.weights import Data
    cache.enable()
    if "full" in sys.argv:  # what a full disk does: a write stops midway and fails
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    data = Data(jnp.arange(8.0).reshape(4, 2), jnp.arange(4) % 2, jnp.ones(4))
    fit = meta.init((2, 8, 2), key=jax.random.key(0))
    fit, _ = meta.epoch(meta.MetaNML(), fit, data, 1.0, 1e-3, key=jax.random.key(1))
    computed = [leaf.tobytes().hex() for leaf in jax.tree.leaves(jax.device_get(fit))]
print(json.dumps({"folder": str(cache.enable()), **found, "computed": json.dumps(computed)}))
"""


def compute(setting: Path | str, *what: str) -> dict:
    env = environment(threads=1)
    env = {name: value for name, value in env.items() if not name.startswith("JAX_")} | {"MURAL_CACHE": str(setting)}
    env["XLA_FLAGS"] = env.get("XLA_FLAGS", "").replace(
        "level=1", "level=0"
    )  # compiles much and computes next to nothing
    done = subprocess.run([sys.executable, "-c", PROCESS, *what], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_a_second_process_finds_what_the_first_compiled_and_trains_to_the_same_bytes(tmp_path):
    setting = tmp_path / "of its own"
    first, second = compute(setting, "train"), compute(setting, "train")
    assert Path(first["folder"]).parent == setting
    assert second["hits"] >= first["misses"] > 0
    assert second["misses"] < first["misses"]
    assert second["computed"] == first["computed"]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    setting = tmp_path_factory.mktemp("cache")
    return setting, compute(setting)


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b"rubbish" * 99, lambda b: b[:-9]])
def test_damaged_entries_are_compiled_again_and_mended(filled, damage):
    setting, first = filled
    (entry,) = Path(first["folder"]).glob("jit_epoch-*-cache")
    size = entry.stat().st_size
    entry.write_bytes(damage(entry.read_bytes()))
    again = compute(setting)
    assert again["misses"] > 0
    assert again["computed"] == first["computed"]
    assert entry.stat().st_size == pytest.approx(size, rel=0.2)


def test_a_disk_that_fills_up_does_not_stop_a_run(tmp_path, filled):
    full = compute(tmp_path, "full")
    assert full["misses"] > 0
    assert full["computed"] == filled[1]["computed"]
    assert all(entry.stat().st_size <= 100 for entry in tmp_path.rglob("*-cache"))


@pytest.fixture
def jax_setting():
    import jax

    names = ("jax_compilation_cache_dir", "jax_enable_compilation_cache", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    jax.config.update("jax_compilation_cache_dir", None)
    yield jax.config
    for name, value in before.items():
        jax.config.update(name, value)


def test_a_folder_that_cannot_be_is_none(tmp_path, monkeypatch, jax_setting):
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "locked").mkdir(mode=0o500)
    places = [tmp_path / "file", "/proc/no/such/place"]
    for place in places if os.geteuid() == 0 else [*places, tmp_path / "locked"]:  # root may write anywhere
        monkeypatch.setenv("MURAL_CACHE", str(place))
        assert cache.enable() is None
    assert jax_setting.jax_compilation_cache_dir is None


def test_one_setting_moves_it_or_turns_it_off(tmp_path, monkeypatch, jax_setting):
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("MURAL_CACHE", str(tmp_path))
    assert cache.enable() == cache.folder() == tmp_path / cache.machine()
    assert cache.enable() == Path(jax_setting.jax_compilation_cache_dir)
    monkeypatch.setenv("MURAL_CACHE", "off")
    assert cache.folder() is cache.enable() is None
    assert not jax_setting.jax_enable_compilation_cache


def test_where_it_is(tmp_path, monkeypatch):
    monkeypatch.delenv("MURAL_CACHE", raising=False)
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "mural" / "jax" / cache.machine()
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "/elsewhere")
    assert cache.folder() == Path("/elsewhere")


def test_without_a_home_there_is_none(monkeypatch, jax_setting):
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("MURAL_CACHE", "~nobody-of-this-name/x")
    assert cache.folder() is cache.enable() is None

    def homeless(*_):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("MURAL_CACHE")
    monkeypatch.setattr(Path, "home", homeless)
    assert cache.folder() is cache.enable() is None


def test_asking_for_the_folder_does_not_load_jax():
    code = "import sys, mural.cache; mural.cache.folder(); sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_longest_unused_entries_go_when_there_are_too_many(tmp_path):
    for age in range(5):
        path = tmp_path / f"{age}-cache"
        path.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(96))
        os.utime(path, (1e9 - age, 1e9 - age))
    (tmp_path / "other").write_bytes(bytes(1000))
    cache.tidy(tmp_path, 350)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0-cache", "1-cache", "2-cache", "checked", "other"]

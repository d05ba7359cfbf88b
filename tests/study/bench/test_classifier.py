"""The benchmark of the classifier: turns, what is charged to naive CNML, and which processes are started."""

import itertools

import jax.numpy as jnp
import pytest

from mural.nml import network
from mural.study.bench import classifier as bench


def ticking(monkeypatch, step=1.0):
    """A clock that goes on by `step` whenever it is read."""
    clock = itertools.count(0.0, step)
    monkeypatch.setattr(bench.time, "perf_counter", lambda: next(clock))


def test_contestants_take_turns_and_the_first_turn_does_not_count(monkeypatch):
    calls = []
    seconds = iter([100.0, 100.0, 1.0, 4.0, 3.0, 5.0, 2.0, 90.0])  # a, b, a, b, …: the first two compile
    now = [0.0]
    monkeypatch.setattr(bench.time, "perf_counter", lambda: now[0])

    def contestant(name):
        def run():
            calls.append(name)
            now[0] += next(seconds)
            return jnp.zeros(1)

        return run

    found = bench.take_turns({name: contestant(name) for name in "ab"}, rounds=3)
    assert calls == ["a", "b"] * 4
    assert found == {"a": 2.0, "b": 5.0}  # medians: a slow moment counts for nothing


def test_widths_and_threads_have_processes_of_their_own(monkeypatch):
    started = []

    def worker(what, width, threads, steps=0):
        started.append((what, width, threads, steps))
        yield {"naive_adam_steps": 700, "hidden": width}

    monkeypatch.setattr(bench, "_worker", worker)
    rows = list(bench.bench_classifier((2048, 512), (1, 2)))
    assert started == [
        ("times", 512, 1, 0), ("times", 2048, 1, 700), ("times", 512, 2, 700), ("times", 2048, 2, 700),
        ("million", 512, 2, 0),
    ]  # fmt: skip
    assert len(rows) == 5


@pytest.mark.parametrize(("known", "charged"), [(700, 350.0), (0, 500.0)])
def test_a_wide_network_is_charged_the_steps_of_a_narrow_one(monkeypatch, known, charged):
    asked = []
    monkeypatch.setattr(network, "log_likelihoods", lambda training, *rest: asked.append(training))
    ticking(monkeypatch)
    seconds, steps = bench.naive_seconds(None, None, None, bench.NARROW + 1, known)
    assert (seconds, steps) == (charged, known or 1000)  # two steps took a second
    assert [training.round_steps for training in asked] == [2, 2]  # once to compile


def test_a_narrow_network_is_run_to_its_end(monkeypatch):
    asked = []
    monkeypatch.setattr(network, "log_likelihoods", lambda training, *rest: asked.append(training.max_rounds))
    monkeypatch.setattr(network, "fit", lambda training, params, data: ("fitted", None, None))
    ticking(monkeypatch)
    seconds, steps = bench.naive_seconds(None, None, None, bench.NARROW, 0)
    assert asked == [1, 10, 1]
    assert (seconds, steps) == (1.0, network.Training().round_steps)


def test_memory_is_in_megabytes():
    assert 50 < bench.peak_mb() < 100_000

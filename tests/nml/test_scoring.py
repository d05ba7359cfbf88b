"""Chunks do not change answers, and a bar is shown only to people who wait."""

import io

import numpy as np
import pytest
from rich.console import Console

from mural.nml import scoring


@pytest.mark.parametrize("n", [1, 7, 8, 9, 100])
@pytest.mark.parametrize("chunk", [1, 6, 8, 64, 1000])
def test_chunks_change_nothing(n, chunk):
    rows, sizes = np.random.default_rng(0).normal(size=(n, 3)), []

    def score(part):
        sizes.append(len(part))
        return np.stack([part.sum(1), part[:, 0]], axis=1)

    np.testing.assert_array_equal(scoring.in_chunks(score, rows, chunk, "scoring"), np.c_[rows.sum(1), rows[:, 0]])
    assert max(sizes) <= chunk
    assert len(set(sizes)) <= 2
    assert all(size in (chunk, 8, 16, 32, 64, 128) for size in sizes)


def test_few_shapes_are_compiled_for_many_sizes():
    seen = set()

    def score(part):
        seen.add(len(part))
        return part

    for n in range(1, 200):
        scoring.in_chunks(score, np.zeros((n, 1)), 128, "scoring")
    assert len(seen) <= 5


@pytest.fixture
def shown(monkeypatch):
    """What a run of five units shows, given whether it is slow and whether there is a terminal."""

    def run(slow, terminal):
        out = io.StringIO()
        monkeypatch.setattr(scoring, "Console", lambda stderr: Console(file=out, force_terminal=terminal))
        monkeypatch.setattr(scoring, "PATIENCE_S", -1.0 if slow else 60.0)
        assert list(scoring.tracked(range(5), "a long job", 5)) == list(range(5))
        return out.getvalue()

    return run


def test_the_bar_needs_patience_and_a_terminal(shown):
    assert "a long job" in shown(slow=True, terminal=True)
    assert shown(slow=False, terminal=True) == ""
    assert shown(slow=True, terminal=False) == ""


def test_the_bar_is_cleared_up_after_an_error(shown, monkeypatch):
    stopped = []
    monkeypatch.setattr(scoring.Progress, "stop", lambda self: stopped.append(True))
    shown(slow=True, terminal=True)
    before = len(stopped)

    def fail():
        with scoring.progress_bar("a long job", 2) as report:
            report(1)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert len(stopped) > before

"""The benchmark of the start runs the real thing, small, and tells a filled cache from an empty one."""

import pytest

from mural.study.bench import start

TINY = [
    "--method", "sac", "--sac.hidden", "8", "8", "--sac.batch-size", "8",
    "--loop.epoch-steps", "100", "--loop.random-steps", "100", "--loop.replay-size", "200",
]  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    return {row["what"]: row for row in start.bench_start(threads=1, rounds=1, arguments=TINY)}


def test_every_moment_has_a_number_and_a_peer(rows):
    assert list(rows) == [*start.COMMANDS, *start.MOMENTS.values()]
    for row in rows.values():
        assert row["ratio"] == pytest.approx(row["ours"] / row["peer"], rel=0.1)
        assert row["ours"] == row["cpu_s"] > 0
        assert row["wall_s"] > 0


def test_moments_come_one_after_the_other(rows):
    seconds = [rows[what]["ours"] for what in start.MOMENTS.values()]
    assert seconds == sorted(seconds)


def test_a_filled_cache_helps(rows):
    assert rows[start.MOMENTS["learned"]]["ratio"] < 0.9
    assert {what for what, row in rows.items() if "met" in row} == {start.MOMENTS[name] for name in start.AT_MOST}


def test_a_command_that_fails_is_an_error(monkeypatch):
    with pytest.raises(RuntimeError, match="ended with code 3"):
        start.whole([start.sys.executable, "-c", "raise SystemExit(3)"], 1)


def test_with_two_threads_the_clock_on_the_wall_counts():
    clocks = {"cpu": 1.0, "wall": 3.0}
    row = start.row("a", clocks, {"cpu": 2.0, "wall": 4.0}, "b", "wall")
    assert (row["ours"], row["peer"], row["ratio"]) == (3.0, 4.0, 0.75)
    assert start.middle([clocks, clocks, {"cpu": 9.0, "wall": 0.0}]) == clocks

"""The measurement of the check knows which rows are wrong."""

from mural.study.bench.doubts import bench_doubts


def test_wrong_rows_are_counted_apart_from_right_ones():
    rows = list(bench_doubts(["zigzag-maze"], shares=(0.0, 0.2), n=100))
    assert rows[0] == {
        "task": "zigzag-maze", "examples": 100, "wrong": 0, "wrong_named": 0, "right_named": 0, "seed": 0,
    }  # fmt: skip
    assert rows[1]["wrong"] == 20
    assert 16 <= rows[1]["wrong_named"] <= 20
    assert rows[1]["right_named"] == 0

"""Result files: what they say of a run, and what is read back from new and old ones."""

import json

import pytest

from mural.study import results
from tests.study.records import record


def test_a_summary_says_what_became_of_a_run(tmp_path):
    lost = results.summary(record(tmp_path / "zigzag-maze-mural-0", [0, 1, 1, 0.5, 0.25]))
    assert (lost["steps"], lost["solved_at"], lost["stopped"]) == (6000, 3000, False)
    assert lost["success_of_last_ten"] == pytest.approx(0.55)
    assert lost["curves"]["eval/distance"][:2] == [[2000, 1], [3000, 0]]
    assert lost["curves"]["coverage"][0] == [1000, 0.1]
    assert (lost["seconds"], lost["seconds_to_solved"], lost["steps_per_second"]) == (12.0, 6.0, 500.0)
    assert (lost["variant"], lost["dirty"], lost["machine"]) == ("", False, None)
    held = results.summary(record(tmp_path / "b", [0, 0.8, 1, 1, 0.9, 0.8] + [0.9] * 10))
    assert (held["solved_at"], held["stopped"]) == (4000, True)
    assert held["success_of_last_ten"] == pytest.approx(0.9)


def test_whether_a_run_stopped_is_judged_by_what_was_asked(tmp_path):
    def ended(name, asked):
        folder = record(tmp_path / name, [0.0] * 5 + [0.8, 0.9, 0.8, 0.9, 0.85])
        config = json.loads((folder / "config.json").read_text()) | {"stop_at_success": asked}
        (folder / "config.json").write_text(json.dumps(config))
        result = results.summary(folder)
        return result["stopped"], result["success_of_last_ten"]

    assert ended("a", 0.8) == (True, pytest.approx(0.425))
    assert ended("b", 1.0) == (False, pytest.approx(0.425))


def test_the_time_of_a_run_whose_timing_was_lost_is_not_known(tmp_path):
    folder = record(tmp_path / "a", [0, 1])
    rows = (folder / "timing.jsonl").read_text().splitlines(keepends=True)
    assert results.seconds(folder)
    (folder / "timing.jsonl").write_text("".join(rows[1:]))
    assert results.seconds(folder) == {}


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("zigzag-maze-mural-3", ""),
        ("zigzag-maze-mural-no-meta-3", "no-meta"),
        ("first-run-with-new-examples", ""),
        ("a", ""),
    ],
)
def test_a_variant_is_told_from_a_name_that_a_sweep_gave(name, variant):
    assert results.told_variant({"task": "zigzag-maze", "method": "mural", "seed": 3, "name": name}) == variant


def test_a_row_that_is_being_written_is_left_out(tmp_path):
    folder = record(tmp_path / "a", [0, 1])
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4000, "eval/suc')
    assert results.summary(folder)["steps"] == 3000


def test_further_curves_are_kept_where_they_were_logged(tmp_path):
    folder = record(tmp_path / "a", [0])
    assert set(results.summary(folder)["curves"]) == set(results.CURVES) - set(results.RARE)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3000, "classifier/kernel_gap": 0.12345, "eval/sampled_success": 0.5}\n')
    curves = results.summary(folder)["curves"]
    assert curves["classifier/kernel_gap"] == [[3000, 0.1235]]
    assert curves["eval/sampled_success"] == [[3000, 0.5]]


def test_the_machine_and_every_commit_are_those_of_the_attempts(tmp_path):
    folder = record(tmp_path / "a", [0])
    tries = [
        {"command": "mural train t", "commit": c, "cpu": cpu, "cores": 4} for c, cpu in (("abc", "X"), ("d+", "Y"))
    ]
    (folder / results.ATTEMPTS).write_text("".join(json.dumps(entry) + "\n" for entry in tries))
    result = results.summary(folder)
    assert result["machine"] == {"cpu": "Y", "cores": 4}
    assert result["commits"] == ["abc", "d+"]
    assert result["dirty"]
    assert result["command"] == "mural train t"
    assert results.machine()["cores"] > 0


def test_results_are_read_back_by_groups(tmp_path):
    for name, seed in (("zigzag-maze-mural-stale-11", 11), ("zigzag-maze-mural-12", 12), ("zigzag-maze-mural-2", 2)):
        results.write(record(tmp_path / "runs" / name, [0, 1], seed=seed), tmp_path / "out")
    groups = results.group(results.load(tmp_path / "out"))
    assert {key: [run["seed"] for run in runs] for key, runs in groups.items()} == {
        ("zigzag-maze", "mural", ""): [2, 12],
        ("zigzag-maze", "mural", "stale"): [11],
    }
    one = tmp_path / "out" / "zigzag-maze-mural-2.json"
    old = {name: value for name, value in json.loads(one.read_text()).items() if name not in (*results.LATER, "dirty")}
    one.write_text(json.dumps(old | {"versions": {"commit": "abc+"}}))
    (read,) = results.load(one)
    assert (read["variant"], read["seconds"], read["machine"], read["dirty"]) == ("", None, None, True)


@pytest.mark.parametrize("text", ["{", "[]", '{"task": "t"}'])
def test_what_is_no_result_is_named(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(results.ResultError, match=r"x\.json"):
        results.load(tmp_path)

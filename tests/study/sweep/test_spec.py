"""What a file of a sweep means: which runs, in which order, with which settings; and what is refused."""

from pathlib import Path

import pytest

from mural.cli.settings import parse as parse_flags
from mural.study.sweep import spec

STUDIES = sorted((Path(__file__).parents[3] / "studies").glob("*.toml"))


def names(tables, **choice):
    return [run.name for run in spec.plan(spec.parse(tables), **choice)]


def sweep(**entries):
    return {
        "sweep": {"tasks": ["zigzag-maze", "spiral-maze"], "methods": ["mural", "vice"], "seeds": [11, 10], **entries}
    }


def test_all_of_one_seed_comes_before_the_next():
    found = names(sweep() | {"variants": {"old": {"set": {"loop.stale": True}, "methods": ["vice"], "seeds": [10]}}})
    assert found[:4] == ["zigzag-maze-mural-10", "spiral-maze-mural-10", "zigzag-maze-vice-10", "spiral-maze-vice-10"]
    assert found[4:6] == ["zigzag-maze-vice-old-10", "spiral-maze-vice-old-10"]
    assert [name[-2:] for name in found[6:]] == ["11"] * 4


def test_blocks_hold_a_whole_study():
    tables = sweep(steps={"spiral-maze": 7000}, preset="paper") | {
        "variants": {"few": {"set": {"num_examples": 5}, "tasks": ["spiral-maze"]}},
        "block": [{"seeds": [1, 2]}, {"methods": ["ddl"], "seeds": [1], "variants": ["", "few"]}, {"seeds": [2]}],
    }
    runs = spec.plan(spec.parse(tables))
    assert len(runs) == 8 + 3
    assert [run.name for run in runs if run.variant] == ["spiral-maze-ddl-few-1"]
    few = runs[[run.variant for run in runs].index("few")].config
    assert (few.num_examples, few.steps, few.preset, few.method, few.seed) == (5, 7000, "paper", "ddl", 1)
    assert {run.config.steps for run in runs if run.task == "zigzag-maze"} == {1_000_000}


def test_names_are_put_into_text():
    runs = spec.plan(spec.parse(sweep(set={"examples": "e/{task}-{seed}.npz"})))
    assert runs[0].config.examples == "e/zigzag-maze-10.npz"
    assert runs[-1].config.examples == "e/spiral-maze-11.npz"
    assert runs[0].words[-2:] == ("--examples", "e/zigzag-maze-10.npz")


def test_a_choice_by_name_and_shares_for_machines():
    assert names(sweep(), only="*vice-1?") == [name for name in names(sweep()) if "vice" in name]
    shares = [names(sweep(), part=f"{i}/3") for i in (1, 2, 3)]
    assert sorted(name for share in shares for name in share) == sorted(names(sweep()))
    assert [len(share) for share in shares] == [3, 3, 2]


def test_the_words_of_the_command_mean_the_settings():
    """What the process will read of them is what was planned."""
    settings = {
        "sac": {"hidden": [16, 16], "layer_norm": False, "motion": True}, "loop.stale": True, "units": "raw",
        "loop.updates_per_step": 0.5,
        "reward.classifier.kernel_width": float("inf"), "reward.classifier.outer_points": "None",
    }  # fmt: skip
    (run,) = spec.plan(spec.parse(sweep(methods=["mural"], set=settings, steps=4000)), only="spiral-maze-mural-10")
    parsed = parse_flags([*run.words, "--out", str(run.folder)])
    assert parsed.config == run.config
    assert parsed.out == run.folder
    assert (run.config.sac.hidden, run.config.sac.layer_norm, run.config.steps) == ((16, 16), False, 4000)
    assert run.config.reward.classifier.outer_points is None
    assert run.result == Path("results/sweep/spiral-maze-mural-10.json")


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        (sweep(tasks=["zigzag-mase"]), "did you mean 'zigzag-maze'"),
        (sweep(methods=["murall"]), "did you mean 'mural'"),
        (sweep(taks=["x"]), "did you mean sweep: sweep.tasks"),
        (sweep(set={"loop.noise_corelation": 0.1}), "did you mean loop.noise_correlation"),
        (sweep(set={"reward.classifier.steps": 3}), "zigzag-maze with mural: there is no setting"),
        (sweep(set={"sac.gamma": "high"}), "sac.gamma is 'high'"),
        (sweep(seeds=["ten"]), "seeds"),
        (sweep(seeds=[-1]), "seed is -1"),
        (sweep(steps={"ziggy": 10}), "there is no task 'ziggy'"),
        (sweep(preset="slow"), "there is no preset 'slow'"),
        (sweep(tasks=[]), "has no runs"),
        (sweep() | {"blocks": []}, "did you mean 'block'"),
        (sweep() | {"block": [{"variants": ["odl"]}], "variants": {"old": {}}}, "did you mean 'old'"),
        (sweep() | {"variants": {"a/b": {}}}, "file names"),
        (sweep(methods=["mural", "mural-no-meta"]) | {"variants": {"no-meta": {}}}, "rename the variant"),
        ({"sweep": 3}, "must be a table"),
        ({"variants": {"old": 3}}, "must be a table"),
        (sweep() | {"variants": {"old": {"set": 3}}}, "must be a table"),
    ],
)
def test_what_is_wrong_is_refused_with_the_nearest_right_name(tables, words):
    with pytest.raises(spec.SpecError) as error:
        spec.plan(spec.parse(tables))
    assert words in str(error.value)


@pytest.mark.parametrize("choice", [{"only": "ant*"}, {"part": "0/2"}, {"part": "3/2"}, {"part": "half"}])
def test_choices_that_choose_nothing(choice):
    with pytest.raises(spec.SpecError, match=r"--only|--part"):
        names(sweep(), **choice)


def test_a_file_that_is_not_there_and_one_that_is_no_toml(tmp_path):
    with pytest.raises(spec.SpecError, match="there is no file"):
        spec.load(tmp_path / "a.toml")
    with pytest.raises(spec.SpecError, match=r"\.toml file"):
        spec.load(tmp_path / "a.json")


@pytest.mark.parametrize("path", STUDIES, ids=[path.stem for path in STUDIES])
def test_the_studies_of_the_repository_can_be_planned(path):
    study = spec.load(path)
    runs = spec.plan(study)
    assert study.results == f"results/{path.stem}"
    assert all(run.seed >= 100 if path.stem == "tuning" else run.seed in range(10, 15) for run in runs)
    for run in {(run.method, run.variant): run for run in runs}.values():
        assert parse_flags(run.words).config == run.config


def test_tasks_that_the_imports_of_a_file_register_may_have_budgets():
    """They are looked at when the runs are planned, not when the file is read."""
    found = spec.parse(
        {"sweep": {"tasks": ["mine/Thing-v0"], "methods": ["sac"], "seeds": [1], "steps": {"mine/Thing-v0": 5000}}}
    )
    with pytest.raises(spec.SpecError, match=r"sweep\.steps: there is no task 'mine/Thing-v0'"):
        spec.plan(found)

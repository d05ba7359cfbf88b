"""The figures: drawn from real data, with the orientation and the numbers that they claim."""

import json
import sys
from collections import Counter

import jax
import numpy as np
import pytest
from matplotlib.figure import Figure

from mural.cli import main
from mural.nml import MetaNMLClassifier, mlp
from mural.storage import checkpoint
from mural.study import figures
from mural.study.figures import FIGURES, find, learning, make, profiles, rules, visits
from mural.study.figures.importance_weighting import BATCH, PASSES, adapt, importance_weighting
from mural.study.figures.maze_axes import draw_map, map_points
from mural.study.figures.picture import COLOURS, Ask, Drawn, colour, tidy
from mural.study.maze_data import zigzag_data
from mural.study.runs import ABLATED, COMPARISON, RULES, MissingRunsError, Where, groups
from tests.study.made_up import result, seeds, write
from tests.study.report.folders import run_folder, with_maps


def test_every_figure_has_a_function_and_a_name_of_its_own():
    names = [name for entry in FIGURES for name in (entry.name, *entry.aliases)]
    assert len(names) == len(set(names))
    for entry in FIGURES:
        module, _, function = entry.function.rpartition(".")
        assert callable(getattr(__import__(f"mural.study.figures.{module}", fromlist=[function]), function))
        assert find(entry.label) is find(entry.name) is entry
    with pytest.raises(figures.UnknownFigureError, match="did you mean 'comparisons'"):
        find("fig:comparison")


def test_a_figure_is_written_as_picture_and_numbers(tmp_path):
    solved, lost = seeds(success=(1.0, 1.0, 0.9)), seeds(method="vice", success=(0.0, 0.1, 0.0))
    write(tmp_path / "mazes", *solved, *lost)
    drawn, paths = make("fig:comparisons", Ask(Where(tmp_path), partial=True), tmp_path / "out")
    assert [path.name for path in paths] == ["comparisons.svg", "comparisons.png", "comparisons.json"]
    assert "commits 0000000" in paths[0].read_text()  # in small print
    assert paths[1].stat().st_size > 10_000
    data = json.loads(paths[2].read_text())["data"]
    curve = data["tasks"]["zigzag-maze"]["mural"]
    assert curve["seeds"] == [10, 11, 12]
    assert curve["final"]["value"] == pytest.approx(0.96667)
    assert curve["value"][0] == 0
    assert curve["value"][-1] > 0.9
    assert "zigzag-maze: mural 0.97, vice 0.03" in drawn.said
    assert len(data["missing"]) == len(COMPARISON) - 2


@pytest.fixture
def everything(tmp_path):
    """A run of every group that the figures of the studies need."""
    needed = {*COMPARISON, *learning.ablation_groups(), *groups("ablations", ABLATED, ["mural"], RULES)}
    needed |= set(groups("shuffled", ["shuffled-maze"], learning.SHUFFLED))
    needed |= set(groups("double", ["double-maze"], learning.DOUBLE))
    hidden = {"eval/env_return": [[5000, 0.0], [50_000, 20.0]]}
    for group in needed:
        curves = hidden if group.study == "double" else {}
        run = result(group.task, group.method, variant=group.variant, success=0.9, curves=curves)
        write(tmp_path / "results" / group.study, run)
    return Where(tmp_path / "results")


def test_whole_studies_are_drawn_without_anything_missing(everything):
    """Every figure that is made of result files alone, with all methods of each task in it."""
    functions = {
        "comparisons": learning.comparisons, "distance-metrics": learning.distances, "ablations": learning.ablations,
        "shuffled": learning.shuffled, "double": learning.double, "profiles": profiles.profiles, "rules": rules.rules,
    }  # fmt: skip
    drawn = {name: function(Ask(everything)) for name, function in functions.items()}
    for one in drawn.values():
        assert one.data["missing"] == []
        assert "missing" not in one.made_by
    tasks = drawn["comparisons"].data["tasks"]
    assert {task: len(methods) for task, methods in tasks.items()} == Counter(group.task for group in COMPARISON)
    assert drawn["comparisons"].data["overall"]["mural"]["tasks"] == 7
    assert drawn["comparisons"].data["overall"]["icm (with-vice)"]["tasks"] == 5  # mazes and arms
    assert drawn["distance-metrics"].data["tasks"]["ant-maze"]["mural"]["value"][-1] == pytest.approx(1.0)
    assert list(drawn["ablations"].data["tasks"]["sawyer-push"]) == ["mural", "mural-no-meta", "mural-negatives"]
    assert drawn["double"].said == "double-maze: mural 20.00, vice 20.00, sac 20.00"
    assert set(drawn["rules"].data["lost"]["zigzag-maze"]) == set(RULES)
    assert set(drawn["rules"].data["steps"]["zigzag-maze"]) == {rules.WHOLE, *RULES}


def test_all_makes_what_can_be_made_and_names_the_rest(everything, tmp_path, capsys, monkeypatch):
    some = [find("shuffled"), find("visitations"), find("zigzag-over-time")]
    monkeypatch.setattr(figures, "FIGURES", some)
    places = ["--results", str(everything.results), "--runs", str(tmp_path / "none"), "--out", str(tmp_path / "out")]
    main(["figure", "all", *places])
    said = capsys.readouterr().out
    assert "1 of 3 figures made" in said
    assert "fig:visitations: fig:visitations draws visits from run folders" in said
    assert (tmp_path / "out" / "shuffled-maze-plots.png").is_file()
    with pytest.raises(SystemExit):
        main(["figure", *places])
    assert "which figure?" in capsys.readouterr().err


def test_a_legend_names_each_method_once(everything):
    drawn = learning.comparisons(Ask(everything))
    (legend,) = drawn.figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert sorted(names) == sorted({group.label for group in COMPARISON})


def test_a_figure_refuses_to_be_drawn_from_nothing(tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        main(["figure", "fig:shuffled-maze-plots", "--results", str(tmp_path), "--out", str(tmp_path)])
    assert left.value.code == 2
    assert "run `mural sweep studies/shuffled.toml`" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    main(["figure", "--list"])
    assert "fig:shuffled-maze-plots" in capsys.readouterr().out


def test_runs_that_kept_no_such_curve_are_named(tmp_path):
    write(tmp_path / "double", *[result("double-maze", method) for method in ("mural", "vice", "sac")])
    with pytest.raises(learning.MissingCurveError, match=r"double-maze-mural-10.* kept no eval/env_return"):
        learning.double(Ask(Where(tmp_path)))
    found = {"eval/env_return": [[5000, 0.0], [50_000, 40.0]]}
    write(tmp_path / "double", *[result("double-maze", m, curves=found) for m in ("mural", "vice", "sac")])
    assert learning.double(Ask(Where(tmp_path))).data["tasks"]["double-maze"]["sac"]["final"]["value"] == 40


def test_a_rule_is_worth_what_is_lost_without_it(tmp_path):
    write(tmp_path / "mazes", *seeds(success=(1.0, 1.0, 1.0)))
    write(tmp_path / "ablations", *seeds(variant="no-counts", success=(0.2, 0.2, 0.2)))
    drawn = rules.rules(Ask(Where(tmp_path), partial=True))
    assert drawn.data["lost"]["zigzag-maze"]["no-counts"]["value"] == pytest.approx(0.8)
    assert drawn.said == "zigzag-maze: no-counts +0.80"


def test_profiles_and_efficiency_over_the_same_tasks(tmp_path):
    for study, task in (("mazes", "zigzag-maze"), ("ant", "ant-maze")):
        write(tmp_path / study, *seeds(task, success=(1.0, 1.0, 0.4)), *seeds(task, "vice", success=(0.0, 0.0, 0.0)))
    write(tmp_path / "mazes", *seeds(method="ddl"))
    drawn = profiles.profiles(Ask(Where(tmp_path), partial=True))
    assert drawn.data["tasks"] == ["ant-maze", "zigzag-maze"]
    assert set(drawn.data["methods"]) == {"mural", "vice"}  # ddl was not run on the ant
    assert drawn.said == "2 tasks; runs with success above a half: mural 67%, vice 0%"
    assert [point["value"] for point in drawn.data["methods"]["mural"]["efficiency"]][:: len(profiles.SHARES) - 1] == [
        0,
        0.85,
    ]


def test_visits_are_counted_where_they_were(tmp_path):
    counts = visits.count(np.array([[3.9, -3.9], [3.9, -3.9], [-3.9, 3.9]]), (-4, -4), (4, 4))
    assert (counts[-1, 0], counts[0, -1], counts.sum()) == (2, 1, 3)  # x before y
    write(tmp_path / "mazes", *seeds(), *seeds(method="vice"))
    ask = Ask(Where(tmp_path), runs=tmp_path / "runs")
    with pytest.raises(MissingRunsError, match=r"zigzag-maze-mural-10.*--runs"):
        visits.visitations(ask)
    drawn = visits.visitations(Ask(Where(tmp_path), runs=tmp_path / "runs", partial=True))
    assert drawn.said == "coverage at the end: mural 0.90, vice 0.90"


def test_visits_come_from_the_replay_of_a_checkpoint(tmp_path):
    write(tmp_path / "mazes", *seeds(), *seeds(method="vice"))
    walk = np.clip(np.cumsum(np.random.default_rng(0).normal(0, 0.2, (400, 1, 2)), axis=0) - 3, -4, 4)
    for name in ("mural", "vice"):
        folder = tmp_path / "runs" / "mazes" / f"zigzag-maze-{name}-10"
        checkpoint.save(folder, 300, {"replay": {"rows.xy": walk.astype(np.float32)}}, {})
        (folder / "config.json").write_text("{}")
    assert np.allclose(visits.places(folder), walk[:300, 0])
    drawn, _ = make("visitations", Ask(Where(tmp_path), runs=tmp_path / "runs"), tmp_path / "out")
    assert [int(np.sum(counts)) for counts in drawn.data["visits"]["mural"].values()] == [30, 75, 150, 300]
    checkpoint.save(folder, 500, {"replay": {"rows.xy": walk.astype(np.float32)}}, {})
    with pytest.raises(visits.ShortReplayError, match="lost its first steps"):
        visits.places(folder)


def test_maps_over_time_are_those_that_runs_kept(tmp_path):
    ask = Ask(runs=tmp_path)
    with pytest.raises(MissingRunsError, match=r"zigzag-maze with mural or vice that kept maps"):
        make("zigzag-over-time", ask, tmp_path / "out")
    for name in ("mural-10", "mural-12", "vice-11", "vice-count-10"):
        folder = with_maps(run_folder(tmp_path / "mazes" / f"zigzag-maze-{name}"), range(1000, 31_000, 1000))
        (folder / "versions.json").write_text('{"commit": "abcdef0123"}')
    drawn, paths = make("zigzag-over-time", ask, tmp_path / "out")
    moments = drawn.data["moments"]
    assert list(moments) == ["zigzag-maze-mural-10", "zigzag-maze-vice-11"]
    assert len(moments["zigzag-maze-mural-10"]) == 4
    last = moments["zigzag-maze-mural-10"][-1]
    assert last["step"] == 30_000
    assert np.shape(last["reward"]) == drawn.figure.axes[0].images[0].get_array().shape
    assert np.sum(last["visits"]) > 0
    assert "zigzag-maze-vice-11 (commit abcdef0)" in drawn.made_by
    assert len([axis for axis in drawn.figure.axes if axis.images]) == 16  # reward and visits, twice, at four moments
    assert paths[1].stat().st_size > 1000


def test_colours_tell_methods_and_variants_apart():
    assert len(set(map(str, COLOURS.values()))) == len(COLOURS)
    labels = dict.fromkeys(["mural", "mural (a)", "mural (b)"])
    assert len({str(colour(label, labels)) for label in labels}) == 3


def test_numbers_become_plain():
    assert tidy({"a": np.array([1.0, np.inf]), 2: (np.int64(3), "x")}) == {"a": [1.0, None], "2": [3, "x"]}


def test_maps_are_drawn_x_to_the_right_and_y_upwards():
    ax = Figure().subplots()
    points = map_points()
    image = draw_map(ax, (points[:, 0] > 3) & (points[:, 1] < -3), "south-east")
    drawn = np.asarray(image.get_array())
    assert drawn[0, -1]  # lower right: rows go up (origin lower), columns to the right
    assert not drawn[-1, 0]


def test_importance_weighting_is_the_picture_of_a_smaller_spread(monkeypatch):
    def small(hidden, **options):
        return MetaNMLClassifier((32, 32), **{**options, "meta_epochs": 15})

    monkeypatch.setattr(sys.modules[importance_weighting.__module__], "MetaNMLClassifier", small)
    drawn = importance_weighting(Ask())
    assert isinstance(drawn, Drawn)
    with_it, without = (float(word) for word in drawn.said.replace(",", "").split() if word[0].isdigit())
    assert with_it < without
    assert len(drawn.data["losses"]) == 2


def test_both_ways_of_adapting_see_the_query():
    """In every batch the query pulls a little; in one batch of a pass it pulls hard, then is forgotten again."""
    params = mlp.init((2, 16, 2), key=jax.random.key(0))
    data = zigzag_data(0)
    count = len(data.x) // BATCH
    steady, lucky = (adapt(params, data, in_every_batch=every, seed=0) for every in (True, False))
    assert len(steady[0]) == len(steady[1]) == len(lucky[1]) == PASSES * count
    falls = 1 + np.flatnonzero(np.diff(lucky[1]) < 0)
    assert (falls // count).tolist() == list(range(PASSES))  # once in each pass; all other batches speak against it
    assert (np.diff(steady[1]) < 0).sum() > 10 * PASSES
    assert np.std(steady[1][count:]) < np.std(lucky[1][count:])


PAPER_LABELS = (
    "ablations", "ant-pic", "classifier-reward-comparisons", "comparisons", "distance-metrics", "door-pic",
    "double-maze-layout", "double-maze-plot", "double-maze-visitations", "envs", "failclassifier", "hand-pic",
    "importance-weighting-plots", "main-fig", "meta-nml", "meta-nml-flow", "mle-cnml-diff", "nml-comparisons-discrete",
    "pnp-pic", "push-pic", "s-maze-pic", "shaping", "shuffled-maze-plots", "spiral-maze-pic", "visitations",
)  # fmt: skip


def test_every_label_of_the_paper_has_a_figure():
    for label in PAPER_LABELS:
        assert not find(f"fig:{label}").ours
    named = {name for entry in FIGURES if not entry.ours for name in (entry.name, *entry.covers)}
    assert named == set(PAPER_LABELS)


def test_a_figure_that_cannot_be_made_does_not_stop_the_others(tmp_path, monkeypatch, capsys):
    def made(name, ask, out):
        if name == "visitations":
            raise visits.ShortReplayError("the replay has lost its first steps")
        return Drawn(Figure(), {}, "drawn"), []

    monkeypatch.setattr(figures, "make", made)
    main(["figure", "all", "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert "fig:visitations: the replay has lost its first steps" in said
    assert f"{len(FIGURES) - 1} of {len(FIGURES)} figures made" in said

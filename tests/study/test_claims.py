"""The ledger: verdicts follow the data, in both directions, and none is given without runs."""

import json

import pytest

from mural.cli import main
from mural.study.claims import CLAIMS, Evidence, judge, page
from mural.study.claims.base import Claim, Finding, above, all_of, between, opposite
from mural.study.runs import COMPARISON, Group, Where
from mural.study.statistics import Estimate
from tests.study.ledger import BAD, BY_NAME, FAILS, GOOD, HOLDS, OPEN, PART, UNDECIDED, everywhere, verdicts
from tests.study.made_up import result, seeds


def test_without_runs_only_the_theorem_is_judged(world):
    judged = {claim.name: world(claim.name).verdict for claim in CLAIMS}
    assert judged.pop("theorem") == HOLDS
    assert set(judged.values()) == {OPEN}
    assert len(BY_NAME) == len(CLAIMS) >= 30


def test_two_runs_conclude_nothing(world):
    world.runs(
        "mazes", *[one for task in ("zigzag-maze", "spiral-maze") for one in seeds(task, "vice", success=(0, 0))]
    )
    assert world("vice-mazes").verdict == OPEN
    world.runs("mazes", *[result(task, "vice", 12, 0.0) for task in ("zigzag-maze", "spiral-maze")])
    assert world("vice-mazes").verdict == HOLDS


def test_runs_are_counted_by_seed_and_only_if_nothing_was_tuned_on_them(world, tmp_path):
    tuned = [result("ant-maze", seed=seed) for seed in (100, 101, 102)]
    half = [result("ant-maze", seed=12) | {"steps": 1000}]
    world.runs("ant", result("ant-maze", seed=10), result("ant-maze", seed=11), *tuned, *half)
    evidence = Evidence(Where(tmp_path / "results"))
    assert evidence.runs(Group("ant", "ant-maze", "mural")) == []
    world.runs("ant", result("ant-maze", seed=12))
    seen = Evidence(Where(tmp_path / "results")).runs(Group("ant", "ant-maze", "mural"))
    assert [run["seed"] for run in seen] == [10, 11, 12]


def compared(task, ours, theirs):
    """Runs of all methods that are compared on a task; `theirs` may be given by method."""
    for group in COMPARISON:
        if group.task == task:
            score = ours if group.method == "mural" else theirs.get(group.method, BAD)
            yield from seeds(task, group.method, success=score, variant=group.variant)


def test_beating_everyone_some_and_nobody(world):
    world.runs("mazes", *compared("zigzag-maze", GOOD, {}))
    found = world("beats-zigzag-maze")
    assert found.verdict == HOLDS
    assert "zigzag-maze mural 0.98 [0.95, 1.00]; minus the success of vice +0.97 [+0.93, +1.00]" in found.measured
    world.runs("mazes", *compared("zigzag-maze", GOOD, {"ddl": GOOD}))
    assert world("beats-zigzag-maze").verdict == PART
    prior = ("vice", "vice-count", "vice-rnd", "ddl", "icm", "vae-density", "sac-sparse")
    world.runs("mazes", *compared("zigzag-maze", BAD, dict.fromkeys(prior, GOOD)))
    assert world("beats-zigzag-maze").verdict == FAILS


def test_a_part_that_is_not_known_leaves_it_open(world):
    world.runs("ant", *seeds("ant-maze", success=GOOD))
    assert world("scales").verdict == OPEN
    world.runs("hand", *seeds("hand-reposition", success=BAD))
    assert world("scales").verdict == PART
    world.runs("hand", *seeds("hand-reposition", success=GOOD))
    assert world("scales").verdict == HOLDS


def ablation(world, method, variant, score):
    world.runs("mazes", *seeds("zigzag-maze")).runs("arms", *seeds("sawyer-push"))
    for task in ("zigzag-maze", "sawyer-push"):
        world.runs("ablations", *seeds(task, method, success=score, variant=variant))


@pytest.mark.parametrize(
    ("claim", "method", "variant"),
    [
        ("no-meta", "mural-no-meta", ""), ("negatives", "mural-negatives", ""), ("kernel", "mural", "no-kernel"),
        ("counts", "mural", "no-counts"), ("current", "mural", "stored-rewards"), ("noise", "mural", "white-noise"),
        ("units", "mural", "raw-units"), ("coreset", "mural", "random-draw"), ("batches", "mural", "uniform-batches"),
        ("relative", "mural", "whole-values"), ("surprise", "mural", "probability"),
        ("no-log-odds", "mural", "log-odds"),
    ],
)  # fmt: skip
def test_ablations_in_both_directions(world, claim, method, variant):
    ablation(world, method, variant, BAD)
    assert world(claim).verdict == HOLDS
    ablation(world, method, variant, GOOD)
    assert world(claim).verdict == FAILS


def test_sooner_is_a_matter_of_steps(world):
    everywhere(world, "mural", solved=10_000)
    everywhere(world, "vice", solved=30_000)
    everywhere(world, "ddl", success=BAD)
    everywhere(world, "sac-distance", solved=20_000)
    assert verdicts(world, "sooner-vice", "sooner-ddl", "sooner-distance") == [HOLDS, HOLDS, HOLDS]
    everywhere(world, "vice", solved=10_000)
    assert world("sooner-vice").verdict == FAILS


def test_nowhere_behind_l2_and_ahead_of_novelty(world):
    everywhere(world, "mural", "sac-distance", success=GOOD)
    everywhere(world, "icm", "vae-density", success=BAD)
    assert verdicts(world, "distance", "novelty") == [HOLDS, HOLDS]
    everywhere(world, "mural", success=BAD)
    assert verdicts(world, "distance", "novelty") == [FAILS, FAILS]


def test_not_behind_is_undecided_where_the_interval_has_the_margin_inside(world):
    everywhere(world, "mural", success=(0.8, 0.9, 0.95))
    everywhere(world, "sac-distance", success=(1.0, 1.0, 1.0))
    assert world("distance").verdict == UNDECIDED


def explored(world, method, coverage):
    for task in ("zigzag-maze", "spiral-maze"):
        world.runs("mazes", *seeds(task, method, curves={"coverage": [[50_000, coverage]]}))


def test_coverage(world):
    explored(world, "mural", 0.7)
    explored(world, "vice", 0.3)
    assert verdicts(world, "coverage", "seventy") == [HOLDS, HOLDS]
    explored(world, "mural", 0.3)
    assert verdicts(world, "coverage", "seventy") == [FAILS, FAILS]


def test_stuck_is_nearer_and_without_success(world):
    prior = ("vice", "vice-count", "vice-rnd", "ddl", "icm", "vae-density", "sac-sparse")
    nearer = {"eval/distance": [[5000, 10.0], [50_000, 5.0]]}
    for task in ("zigzag-maze", "spiral-maze"):
        for method in prior:
            world.runs("mazes", *seeds(task, method, success=BAD, curves=nearer))
        world.runs("mazes", *seeds(task, "icm", success=BAD, curves=nearer, variant="with-vice"))
    assert verdicts(world, "stuck", "sparse", "vice-mazes") == [HOLDS, HOLDS, HOLDS]
    for task in ("zigzag-maze", "spiral-maze"):
        for method in prior:
            world.runs("mazes", *seeds(task, method, success=GOOD))
        world.runs("mazes", *seeds(task, "icm", success=GOOD, variant="with-vice"))
    assert verdicts(world, "stuck", "sparse", "vice-mazes") == [FAILS, FAILS, FAILS]


def test_shuffled_and_hidden(world):
    world.runs("mazes", *seeds("zigzag-maze", solved=10_000))
    world.runs("shuffled", *seeds("shuffled-maze", solved=40_000), *seeds("shuffled-maze", "vice", success=BAD))
    assert verdicts(world, "shuffled", "generalises") == [HOLDS, HOLDS]
    world.runs("shuffled", *seeds("shuffled-maze", success=(1.0, 1.0, 0.0)))
    assert world("shuffled").verdict == PART  # two of three may be luck; that VICE fails is sure
    world.runs("shuffled", *seeds("shuffled-maze", success=BAD), *seeds("shuffled-maze", "vice", success=GOOD))
    assert world("shuffled").verdict == FAILS
    world.runs("mazes", *seeds("zigzag-maze", success=BAD))
    assert world("generalises").verdict == FAILS
    for mural, verdict in ((30.0, HOLDS), (0.0, FAILS)):
        for method, value in (("mural", mural), ("vice", 0.0), ("sac", 1.0)):
            world.runs(
                "double",
                *seeds(
                    "double-maze", method, curves={"eval/env_return": [[k, value + 9 * (k < 2)] for k in range(12)]}
                ),
            )
        assert world("hidden").verdict == verdict


def test_warm_start_asks_for_such_settings(world):
    config = {"steps": 50_000, "reward": {"classifier": {"warm_start": True, "epochs": 1}}}
    for task in ("zigzag-maze", "spiral-maze"):
        world.runs("mazes", *seeds(task))
    assert world("warm-start").verdict == OPEN
    for score, verdict in ((GOOD, HOLDS), (BAD, FAILS)):
        for task in ("zigzag-maze", "spiral-maze"):
            world.runs("mazes", *seeds(task, success=score, config=config))
        assert world("warm-start").verdict == verdict


def test_kernel_counts_alone_are_equal_or_not(world):
    everywhere(world, "mural", "cnml")
    assert world("counts-alone").verdict == HOLDS
    everywhere(world, "cnml", success=BAD)
    assert world("counts-alone").verdict == FAILS


@pytest.mark.parametrize(
    ("claim", "study", "variant"),
    [("five", "examples-count", "examples-5"), ("wrong-20", "wrong-examples", "wrong-20")],
)
def test_other_examples_do_as_well_or_not(world, claim, study, variant):
    tasks = ("zigzag-maze", "sawyer-door")
    everywhere(world, "mural")
    assert world(claim).verdict == OPEN
    for score, verdict in ((GOOD, HOLDS), (BAD, FAILS)):
        world.runs(study, *[one for task in tasks for one in seeds(task, variant=variant, success=score)])
        assert world(claim).verdict == verdict
    world.runs(study, *seeds("sawyer-door", variant=variant, success=GOOD))
    assert world(claim).verdict == PART


def test_all_of_its_parts():
    cases = [[], [True, OPEN], [True, True], [True, False], [False], [True, UNDECIDED], [False, UNDECIDED]]
    assert [all_of(dict(enumerate(parts))) for parts in cases] == [
        OPEN, OPEN, HOLDS, PART, FAILS, PART, UNDECIDED,
    ]  # fmt: skip


def test_an_interval_with_both_sides_inside_decides_nothing(world):
    world.runs("mazes", *seeds("zigzag-maze", "vice", success=(0.0, 0.0, 0.5)))
    world.runs("mazes", *seeds("spiral-maze", "vice", success=(0.0, 0.0, 0.5)))
    assert world("vice-mazes").verdict == UNDECIDED
    world.runs("mazes", *seeds("spiral-maze", "vice", success=(0.5, 0.5, 0.5)))
    assert world("vice-mazes").verdict == UNDECIDED
    world.runs("mazes", *seeds("zigzag-maze", "vice", success=(0.5, 0.5, 0.5)))
    assert world("vice-mazes").verdict == FAILS
    explored(world, "mural", 0.9)
    assert world("seventy").verdict == FAILS
    varied = [result("zigzag-maze", seed=10 + i, curves={"coverage": [[1, c]]}) for i, c in enumerate((0.5, 0.6, 0.9))]
    world.runs("mazes", *varied)
    assert world("seventy").verdict == UNDECIDED


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(0.1, 0.2, HOLDS), (-0.2, -0.1, FAILS), (0.0, 0.0, FAILS), (-0.1, 0.1, UNDECIDED)]
)
def test_above_is_a_matter_of_the_interval(low, high, verdict):
    estimate = Estimate((low + high) / 2, low, high, 6)
    assert above(estimate, 0.0) == verdict
    assert opposite(above(estimate, 0.0)) == {HOLDS: FAILS, FAILS: HOLDS}.get(verdict, verdict)
    assert above(None, 0.0) == OPEN
    assert [between(estimate, -1, 1), between(estimate, 0.5, 1)] == [HOLDS, FAILS]


def test_the_page_has_a_line_for_each(tmp_path, capsys):
    claims = [
        Claim("a", "A | b.", "section 1", "mural x", lambda evidence: Finding("1.00", HOLDS)),
        Claim("b", "Ours.", "ours", "mural y", lambda evidence: Finding("–", OPEN), ours=True),
    ]
    text = page(judge(Evidence(), claims))
    assert "Of 1 claims of the paper: 1 holds." in text
    assert "| A \\| b. | section 1 | 1.00 | **holds** | `mural x` |" in text
    assert text.index("## Ours") < text.index("| Ours. |")
    places = ["--results", str(tmp_path), "--benchmarks", str(tmp_path), "--figures", str(tmp_path)]
    main(["claims", "--out", str(tmp_path / "claims.md"), *places])
    assert (tmp_path / "claims.md").read_text().count("**not yet run**") == len(CLAIMS) - 1
    with pytest.raises(SystemExit):
        main(["claims", "--out", str(tmp_path / "claims.md"), "--results", str(tmp_path / "nope")])
    assert "there is no folder" in capsys.readouterr().err
    main(["claims", "--json", *places])
    assert json.loads(capsys.readouterr().out.splitlines()[0])["claim"] == "theorem"

"""The ledger: claims on the classifier follow benchmarks and figures, in both directions."""

import numpy as np

from mural.study.bench.train import DOMAIN
from tests.study.ledger import FAILS, HOLDS, OPEN, PART, everywhere, verdicts


def fidelity(method, truth, error, tau=0.9, dataset="maze"):
    return {"dataset": dataset, "method": method, "truth": truth, "mean_error": error, "tau": tau, "queries": 9}


def test_fidelity(world):
    steps = fidelity("meta-1", "exact", 0.1), fidelity("meta-20", "exact", 0.01)
    world.rows("fidelity", fidelity("meta-1", "ideal", 0.01), fidelity("mle", "ideal", 0.3, 0.2), *steps)
    assert verdicts(world, "one-step", "more-steps") == [HOLDS, HOLDS]
    worse = fidelity("meta-1", "exact", 0.1, dataset="iris"), fidelity("meta-20", "exact", 0.2, dataset="iris")
    world.rows("fidelity", fidelity("meta-1", "ideal", 0.3, 0.1), fidelity("mle", "ideal", 0.3), *steps, *worse)
    assert verdicts(world, "one-step", "more-steps") == [FAILS, PART]


def test_speed(world):
    def row(hidden, naive):
        times = {"feedforward_s": 0.001, "meta_nml_s": 0.01, "naive_cnml_s_per_state": naive}
        return {"hidden": hidden, "threads": 1, "states": 1, "adapt_points": 63, **times}

    epoch = {"what": DOMAIN, "ours": 3, "peer": 2, "env": "zigzag-maze", "threads": 1}
    world.rows("classifier", row(512, 20), row(2048, 20)).rows("train", epoch)
    assert verdicts(world, "speed", "epochs") == [HOLDS, OPEN]
    everywhere(world, "mural", seconds=150.0)
    everywhere(world, "vice", seconds=100.0)
    assert world("epochs").verdict == HOLDS
    everywhere(world, "mural", seconds=300.0)
    world.rows("classifier", row(512, 1), row(2048, 20))
    assert verdicts(world, "speed", "epochs") == [PART, PART]  # the maze was measured in turn, which counts first
    world.rows("train", epoch | {"ours": 5})
    assert world("epochs").verdict == FAILS


def test_figures_are_evidence(world):
    def reward(middle, straight, visited):
        tau = {"regularised": {"straight": straight, "around": 0.5}}
        maps = {"maximum likelihood": [0.0] * 9 + [middle] * 11}
        world.figure("classifier-reward-comparisons", maps=maps, tau=tau, at_visits=visited, unseen=0.5)
        world.figure("nml-comparisons-discrete", steps=[0, 1, 10], to_the_network=[0, straight, 1.0])
        world.figure("shaping", correlation={"MURAL": straight, "maximum likelihood": 0.3})
        every, one = [0, visited] * 4, [0, 0.5] * 4
        losses = {"in every batch": {"query": every, "batch": every}, "in one batch": {"query": one, "batch": one}}
        world.figure("importance-weighting-plots", losses=losses)

    names = ("sharp", "misleads", "first-step", "shaping", "weighting")
    reward(1.0, 0.8, 0.1)
    assert verdicts(world, *names, "unseen") == [HOLDS] * 6
    reward(0.5, 0.1, 0.9)
    assert verdicts(world, *names, "unseen") == [FAILS] * 5 + [PART]


def test_where_a_map_is_highest_and_where_it_rises(world):
    """The goal is at (3, 3); cells are 0.25 wide."""
    unit = -4 + 0.25 * (np.arange(32) + 0.5)
    x, y = (axis.ravel() for axis in np.meshgrid(unit, unit, indexing="ij"))
    at_goal, in_corner = (np.exp(-np.hypot(x - at, y - at)).tolist() for at in (3, 4))
    flat = [0.5] * len(x)

    def drawn(regularised, ours, counts):
        maps = {"regularised": regularised, "meta-NML, one step": ours, "ideal CNML: counts": counts}
        world.figure("classifier-reward-comparisons", maps=maps, extent=[-4, 4, -4, 4])
        return verdicts(world, "off-goal", "slopes")

    assert drawn(in_corner, at_goal, flat) == [HOLDS, HOLDS]
    assert drawn(at_goal, flat, at_goal) == [FAILS, FAILS]
    assert drawn(at_goal, flat, flat) == [FAILS, FAILS]
    assert (
        "its highest reward is 1.2 away from the goal" in (drawn(in_corner, flat, flat), world("off-goal"))[1].measured
    )


def test_a_warm_start_and_the_kernel(world):
    names = (
        "warm, 1 meta-epoch per epoch",
        "anew, 1 meta-epoch",
        "anew, 9 meta-epochs",
        "anew, 9 meta-epochs, no kernel",
    )

    def measured(*errors):
        rows = [fidelity(name, "ideal", e, dataset="growing-maze") for name, e in zip(names, errors, strict=False)]
        world.rows("fidelity", *rows)
        return verdicts(world, "warm-keeps-up", "kernel-truer")

    assert measured(0.02, 0.2, 0.01, 0.1) == [HOLDS, HOLDS]
    assert measured(0.1, 0.2, 0.1, 0.01) == [PART, FAILS]
    assert measured(0.3, 0.2) == [FAILS, OPEN]

"""Detectors of unknown digits: what is unknown scores higher than what is known."""

import pytest

from mural.study.bench.ood import DETECTORS, bench_ood

QUICK = ["regret, CNML by kernel counts", "IsolationForest", "LocalOutlierFactor"]


def test_detectors_tell_unknown_digits_from_known_ones():
    rows = {row["detector"]: row for row in bench_ood(QUICK, held_out=((0, 1),))}
    assert all(row["auroc"] > 0.6 for row in rows.values())
    assert all(row["held_out"] == ["01"] for row in rows.values())


@pytest.mark.parametrize("name", [name for name in DETECTORS if name not in QUICK])
def test_the_others_run(name, monkeypatch):
    monkeypatch.setattr("mural.study.bench.ood.EPOCHS", 2)
    monkeypatch.setattr("mural.study.bench.ood.HIDDEN", (8,))
    monkeypatch.setattr("mural.study.bench.ood.FEATURES", 4)
    (row,) = bench_ood([name], held_out=((0, 1),), most=40)
    assert 0 <= row["worst"] <= row["auroc"] <= 1

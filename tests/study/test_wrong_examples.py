"""Wrong examples: as many as asked for, and wrong."""

import numpy as np
import pytest

from mural import cli, tasks
from mural.errors import ArgumentError
from mural.study.wrong_examples import wrong_examples


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2, 1.0])
def test_so_many_of_them_are_wrong(share):
    task = tasks.make("zigzag-maze")
    found = wrong_examples(task, 40, share, seed=1)
    right = task.is_success(found)
    assert found.shape == (40, 2)
    assert (~right).sum() == round(40 * share)
    assert np.array_equal(found, wrong_examples(task, 40, share, seed=1))
    if 0 < share < 1:
        assert right[-round(40 * share) :].any()  # they are not all at the end
        assert len(np.unique(found[~right], axis=0)) == round(40 * share)


def test_a_share_is_between_0_and_1():
    with pytest.raises(ArgumentError, match="between 0 and 1"):
        wrong_examples(tasks.make("zigzag-maze"), 40, 1.5, seed=1)


def test_the_command_writes_them(tmp_path, capsys):
    out = tmp_path / "e.npz"
    cli.main(["examples", "zigzag-maze", "--n", "20", "--wrong", "0.2", "--out", str(out)])
    assert "4 of them wrong" in capsys.readouterr().out
    right = tasks.make("zigzag-maze").is_success(np.load(out)["examples"])
    assert right.sum() == 16

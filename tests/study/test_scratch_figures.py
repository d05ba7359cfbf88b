"""Figures that make their own data: what they show is what the package computes."""

import numpy as np
import pytest

from mural.inputs import watching
from mural.nml import MetaNMLClassifier
from mural.study.figures import default, default_agent, meta_nml, picture, scenes, shaping
from mural.study.figures.picture import Ask
from mural.study.figures.reward_classifiers import follows
from mural.study.maze_data import zigzag_data
from mural.tasks.mazes.layouts import ZIGZAG


@pytest.fixture
def small(monkeypatch):
    def tiny(hidden, **more):
        return MetaNMLClassifier((16,), **{**more, "meta_epochs": 2, "train_points": 64, "updates_per_epoch": 4})

    for module in (meta_nml, shaping):
        monkeypatch.setattr(module, "MetaNMLClassifier", tiny)


def test_a_query_by_hand_is_the_classifiers_own_answer(small):
    """One gradient step per label on D and the query, then normalised: what the closed form says too."""
    data = zigzag_data(0)
    model = meta_nml.classifier(0, 2).fit(data.x, data.y)
    for place in meta_nml.QUERIES.values():
        by_hand = meta_nml.answer(model.state_.params, data, place)
        assert by_hand["p"] == pytest.approx(model.predict_proba([place])[0, 1], abs=1e-4)


def test_the_flow_of_a_query_and_meta_training(small, monkeypatch):
    monkeypatch.setattr(meta_nml, "EPOCHS", (1, 3))
    flow = meta_nml.flow(Ask())
    assert set(flow.data["answers"]) == {"visited", "unseen", "goal"}
    assert all(0 < answer["p"] < 1 for answer in flow.data["answers"].values())
    trained = meta_nml.training(Ask())
    assert trained.data["epochs"] == [1, 3]
    assert not np.allclose(trained.data["maps"][1], trained.data["maps"][3])


def test_a_held_ball_moves_with_the_hand():
    example = np.array([0.01, 0.61, 0.21, 0.0, 0.6, 0.2, 0.9])
    (state,) = shaping.held_at(np.array([[0.05, 0.55, 0.1]]), example)
    assert np.allclose(state, [0.06, 0.56, 0.11, 0.05, 0.55, 0.1, 0.9])
    slice_ = shaping.places(0.1, (-1.0, 1.0, 0.0, 4.0))
    assert (slice_[0] < [-0.9, 0.1, 0.11]).all()
    assert np.allclose(slice_.mean(axis=0), [0, 2, 0.1])


def test_correlation_is_of_proportion():
    near = np.linspace(-1, 0, 50)
    assert shaping.correlation(near * 2, near) == pytest.approx(1)
    assert shaping.correlation((near > -0.02).astype(float), near) < 0.5  # in order, and sharp
    assert shaping.correlation(np.zeros(50), near) == 0


def test_slices_of_pick(small, monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.setattr(shaping, "EPISODES", 1)
    monkeypatch.setattr(shaping, "CELLS", 4)
    monkeypatch.setattr(shaping, "EXAMPLES", 8)
    drawn = shaping.shaping(Ask())
    assert drawn.data["visits"] == 100
    assert {name: len(of) for name, of in drawn.data["maps"].items()} == {"MURAL": 4, "maximum likelihood": 4}
    assert all(-1 <= value <= 1 for value in drawn.data["correlation"].values())


def test_scenes():
    frame, about = scenes.scene("zigzag-maze", 0)
    assert frame.shape[2] == 3
    assert about == {"horizon": 100, "threshold": 0.5, "observation": 2, "action": 2}
    layout = scenes.double_layout(Ask())
    assert len(layout.data["examples"]) == len(layout.data["hidden"]) == 5
    assert (layout.data["examples"][:, 0] < 0).all()  # on the left; the hidden rewards are on the right


def test_the_agents_rules_of_the_default():
    from mural.agent.sac import SAC

    pytest.importorskip("mujoco")
    data = default_agent.default_agent(Ask()).data
    assert data["scaled"]["scaled"] > 2 * data["scaled"]["raw"]
    assert data["rest"] == {"success that lasts": 14, "4 epochs of it": None}  # 1 − 0.8ⁿ > 0.95 from n = 14 on
    assert data["waves"]["and waves"] < 0.1 < 0.3 < data["waves"]["places"]
    assert data["motion"]["ant-maze"] > watching.STILL_MOVING > data["motion"]["sawyer-push"]
    value = target = 0.0
    for _ in range(500):  # as SAC's target network does it, one update after the other
        value = default_agent.LEVEL + 0.9 * target
        target += 0.005 * (value - target)
    np.testing.assert_allclose(default_agent.learned_level(SAC(), 0.9, 500)[-1], target, rtol=1e-6)


def test_the_rules_of_the_default():
    """Each panel shows what its rule is for."""
    pytest.importorskip("mujoco")
    data = default.default(Ask()).data
    assert data["noise"]["correlated"] > data["noise"]["white"]
    assert data["units"]["ball z"] == max(data["units"].values())  # nobody has lifted it
    assert data["spared"]["spared"] > data["spared"]["held against it"]
    assert data["coreset"]["bright"] < data["random draw"]["bright"]
    assert data["ranks"]["half by rank"] > data["ranks"]["uniform"]


def test_the_small_print_names_the_commit_and_says_if_files_differ(monkeypatch):
    monkeypatch.setattr(picture, "commit", lambda: {"commit": "0123456789+"})
    assert picture.from_scratch(3, ": ten states") == "made from scratch with seed 3: ten states, commit 0123456+"
    monkeypatch.setattr(picture, "commit", dict)
    assert picture.from_scratch(0).endswith("commit unknown")


def test_the_middle_of_a_frame():
    frame = np.arange(4 * 8 * 3).reshape(4, 8, 3)
    assert np.array_equal(scenes.square(frame), frame[:, 2:6])
    assert np.array_equal(scenes.square(frame.transpose(1, 0, 2)), frame.transpose(1, 0, 2)[2:6])


def test_a_reward_follows_the_straight_line_or_the_way_around():
    points = np.random.default_rng(0).uniform(-4, 4, (400, 2))
    straight = follows(points, -np.linalg.norm(points - np.array(ZIGZAG.goal), axis=1))
    around = follows(points, -ZIGZAG.distance(points))
    assert straight["straight"] == pytest.approx(1) == around["around"]
    assert straight["around"] < 0.9
    assert around["straight"] < 0.9

"""The reward as an object: any method of states, the bits of a training run, and errors that say what to do."""

import json
import re
from pathlib import Path

import gymnasium
import jax
import numpy as np
import pytest
from scipy import stats

import mural
from mural.errors import ArgumentError
from mural.inputs.examples import SuccessExamples
from mural.rewards import METHODS, NotOfStatesError, UnknownMethodError, total
from mural.rewards.base import STATES
from mural.rewards.outcome import NoRegretError, NotUpdatedError
from mural.rewards.states import Memory, StatesError
from mural.settings.config import to_dict
from mural.typed import ConfigError
from tests.rewards.tiny import shrink
from tests.training import small

EXAMPLES = np.random.default_rng(0).uniform(0.8, 1, (30, 2)).astype(np.float32)
VISITED = np.random.default_rng(1).uniform(-1, 0.3, (2, 200, 2)).astype(np.float32)
OF_STATES = ["cnml", "mural", "mural-negatives", "mural-no-meta", "vae-density", "vice", "vice-rnd"]
OTHERS = {
    "ddl": "learns from pairs",
    "icm": "'bonus' depends on obs and action and next_obs",
    "rce": "learns no reward: its critic",
    "sac": "learns no reward: the environment tells",
    "sac-distance": "learns no reward",
    "sac-sparse": "learns no reward",
    "vice-count": "depends on xy",
}


def make(method="cnml", **options):
    return mural.OutcomeReward(EXAMPLES, method, to_dict(shrink(METHODS[method].config())), **options)


@pytest.fixture(scope="module", params=OF_STATES)
def learned(request):
    reward = make(request.param, seed=3)
    for states in VISITED:
        reward.update(states)
    return reward


def test_every_method_is_one_or_the_other():
    ours = {name for name, spec in METHODS.items() if spec.config.__module__.startswith("mural.")}
    assert ours == {*OF_STATES, *OTHERS}


def test_success_is_worth_more_than_what_was_visited(learned):
    rewards = learned(np.concatenate([EXAMPLES, VISITED[1]]))
    assert rewards.shape == (230,)
    assert rewards.dtype == np.float32
    assert np.isfinite(rewards).all()
    assert rewards[:30].mean() > rewards[30:].mean()
    one = learned(EXAMPLES[0])
    assert isinstance(one, float)
    assert one == rewards[0]


def test_a_saved_reward_goes_on_as_if_nothing_had_happened(learned, tmp_path):
    learned.save(tmp_path / "deep" / "reward.npz")
    loaded = mural.OutcomeReward.load(tmp_path / "deep" / "reward.npz")
    assert repr(loaded) == repr(learned)
    assert "2 updates" in repr(loaded)
    np.testing.assert_array_equal(loaded.examples, EXAMPLES)
    again = mural.OutcomeReward.load(tmp_path / "deep" / "reward.npz")
    np.testing.assert_array_equal(loaded(VISITED[0]), learned(VISITED[0]))
    reports = [reward.update(VISITED[1] + 0.1) for reward in (loaded, again)]
    assert json.dumps(reports[0]) == json.dumps(reports[1])
    np.testing.assert_array_equal(loaded(VISITED[0]), again(VISITED[0]))


def test_the_page_about_it_runs(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "outcome-reward.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.S)
    code = code.replace('{"classifier.hidden": (128, 128)}', "SMALL")
    monkeypatch.chdir(tmp_path)
    space = {"SMALL": to_dict(shrink(METHODS["mural"].config()))}
    exec(code, space)
    np.testing.assert_array_equal(space["reward"](space["visited"]), space["r"])
    assert space["unknown"].shape == (200,)


@pytest.mark.parametrize("method", sorted(OTHERS))
def test_methods_that_are_no_reward_of_states(method):
    with pytest.raises(NotOfStatesError, match=OTHERS[method]):
        mural.OutcomeReward(EXAMPLES, method)


def test_the_policy_and_the_environment_are_not_there():
    with pytest.raises(NotOfStatesError, match="learns from next_obs and policy"):
        mural.OutcomeReward(EXAMPLES, "vice", {"classifier.policy_term": True})


@pytest.mark.parametrize(("method", "units"), [("mural", "spread"), ("vice", "raw"), ("cnml", "raw")])
def test_the_bits_of_a_training_run(method, units):
    """The same examples, seed and states, an epoch per update: the reward of the run, and of its own transitions."""
    settings = small.MURAL if method == "mural" else small.SETTINGS
    agent = mural.Agent(small.Field(), small.examples(), method=method, seed=5, config={**settings, "units": units})
    agent.learn(240, progress=False)  # an epoch of random steps, three that learn
    run = agent.run
    rows = jax.tree.map(lambda column: np.asarray(column[:240, 0]), run.replay.rows)
    reward = mural.OutcomeReward(run.world.problem.examples, method, to_dict(agent.config.reward), seed=5, units=units)
    for epoch in range(3):
        reward.update(rows.next_obs[60 * epoch : 60 * (epoch + 1)])
    np.testing.assert_array_equal(reward(rows.next_obs), agent.reward(rows.next_obs))
    np.testing.assert_array_equal(reward(rows.next_obs), run.label(rows))
    assert len(set(reward(rows.next_obs).tolist())) > 4  # not all the same


class Turning(small.Field):
    """Turns as it goes, and looks the right way when it begins."""

    observation_space = gymnasium.spaces.Box(-9, 9, (3,), np.float32)

    def _with_turn(self, obs):
        return np.append(obs, np.float32(self.turn))

    def reset(self, *, seed=None, options=None):
        obs, info = super().reset(seed=seed, options=options)
        self.turn = 0.0
        return self._with_turn(obs), info

    def step(self, action):
        obs, *rest = super().step(action)
        self.turn += 0.1 * float(action[0])
        return self._with_turn(obs), *rest


def test_what_every_start_has_right_is_set_aside_in_a_run_and_in_the_object(tmp_path):
    examples = np.append(small.examples(), np.random.default_rng(0).normal(0, 0.05, (40, 1)), axis=1)
    agent = mural.Agent(Turning(), examples, method="cnml", seed=5, config={**small.SETTINGS, "units": "spread"})
    agent.learn(120, progress=False)
    assert agent.run.parts["metric"].aside.tolist() == [0, 0, 1]
    rows = jax.tree.map(lambda column: np.asarray(column[:120, 0]), agent.run.replay.rows)
    seen, starts = rows.next_obs, rows.obs[:60][rows.step[:60] == 0]

    def told(**where):
        reward = mural.OutcomeReward(agent.run.world.problem.examples, "cnml", to_dict(agent.config.reward), seed=5)
        return reward, reward.update(seen[:60], **where)

    assert "metric/aside" not in told()[1]
    reward, report = told(starts=starts)
    assert report["metric/aside"] == 1
    np.testing.assert_array_equal(reward(seen), agent.reward(seen))
    reward.save(tmp_path / "reward.npz")
    loaded = mural.OutcomeReward.load(tmp_path / "reward.npz")
    assert loaded.update(seen[60:]) == reward.update(seen[60:])  # without starts: it was decided, and is kept
    np.testing.assert_array_equal(loaded(seen), reward(seen))
    agent.save(tmp_path / "run")
    again = mural.Agent.load(tmp_path / "run", Turning())
    assert again.run.parts["metric"].aside.tolist() == [0, 0, 1]
    assert "metric/aside" not in told(starts=[])[1]
    with pytest.raises(ValueError, match=r"starts have shape \(1, 2\); \[n, 3\]"):
        reward.update(seen[:60], starts=[[1.0, 2.0]])


@pytest.mark.parametrize("method", ["mural", "vice"])
def test_on_a_grid_networks_see_waves_in_a_run_and_in_the_object(method, tmp_path):
    settings = small.MURAL if method == "mural" else small.SETTINGS
    config = {**settings, "sac.waves": 2, "loop.epoch_steps": 60}
    agent = mural.Agent(small.Field(), small.examples(), method=method, seed=5, config=config)
    agent.learn(240, progress=False)
    agent.export_reward(tmp_path / "r.npz")
    reward = mural.OutcomeReward.load(tmp_path / "r.npz")
    states = np.asarray(agent.run.replay.rows.next_obs[:240, 0])
    np.testing.assert_array_equal(reward(states), agent.reward(states))
    assert agent.run.parts["classifier"] is not None
    reward.update(states[:50])
    reward.save(tmp_path / "again.npz")
    np.testing.assert_array_equal(mural.OutcomeReward.load(tmp_path / "again.npz")(states), reward(states))
    plain = mural.OutcomeReward(EXAMPLES, method, to_dict(agent.config.reward))
    with pytest.raises(ArgumentError, match="waves is -1"):
        mural.OutcomeReward(EXAMPLES, method, waves=-1)
    widths = [jax.tree.leaves(r._parts["classifier"])[0].shape for r in (plain, reward)]
    assert widths[0] != widths[1]


def test_counts_by_hand():
    cells = {"model": "tabular", "tabular.bins": 2, "tabular.low": -1, "tabular.high": 1}
    reward = mural.OutcomeReward([[0.9, 0.9]], "cnml", cells)
    reward.update([[-0.5, -0.5], [-0.5, -0.4], [-0.5, 0.5]])
    places = [[-0.1, -0.1], [0.1, -0.1], [0.5, 0.5]]  # two visits; nothing; the example, as heavy as the three visits
    np.testing.assert_allclose(reward(places), [1 / 4, 1 / 2, 4 / 5])
    np.testing.assert_allclose(reward.regret(places), np.log([4 / 3, 2, 5 / 4]), rtol=1e-6)
    assert reward.regret(places[1]) == pytest.approx(np.log(2))


def test_regret_is_what_is_not_known(learned):
    if learned.method.startswith("v"):
        with pytest.raises(NoRegretError, match="has no regret"):
            learned.regret(EXAMPLES)
        return
    regret = learned.regret(np.concatenate([VISITED[0], np.full((1, 2), 9.0)]))
    assert (regret[:-1] > -1e-5).all()
    assert (regret < np.log(2) + 1e-5).all()
    assert regret[-1] > np.median(regret[:-1])  # far from everything


def test_examples_of_the_package_and_lists_are_examples():
    wrapped = SuccessExamples(EXAMPLES, None, "here")
    np.testing.assert_array_equal(mural.OutcomeReward(wrapped, "cnml").examples, EXAMPLES)
    assert mural.OutcomeReward([[1, 2, 3]], "vice").examples.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("states", "told"),
    [
        (np.zeros((3, 5)), r"shape \(3, 5\); \[n, 2\] is needed"),
        (np.zeros(3), r"shape \(3,\); \[n, 2\] is needed"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (np.zeros((0, 2)), r"there are no states: their shape is \(0, 2\)"),
        ([], "there are no states"),
        ([[0, 0], [0, np.nan]], r"states\[1, 1\] is nan, which is not finite"),
        ([[1e300, 0]], r"states\[0, 0\] is inf"),
        ("here", "not an array of numbers"),
        ([[1, 2], [3]], "not an array of numbers"),
    ],
)
def test_states_that_cannot_be(states, told):
    reward = mural.OutcomeReward(EXAMPLES, "cnml")
    for use in (reward, reward.update, reward.regret):
        with pytest.raises(StatesError, match=told):
            use(states)
    assert reward.updates == 0


def test_nothing_is_known_before_the_first_update(tmp_path):
    reward = make("vice")
    with pytest.raises(NotUpdatedError, match="call update"):
        reward(EXAMPLES)
    with pytest.raises(NotUpdatedError, match="call update"):
        make("cnml").regret(EXAMPLES)
    reward.save(tmp_path / "reward.npz")
    with pytest.raises(NotUpdatedError, match="call update"):
        mural.OutcomeReward.load(tmp_path / "reward.npz")(EXAMPLES)


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({"examples": []}, StatesError, "there are no examples"),
        ({"examples": [1.0, 2.0]}, StatesError, r"examples have shape \(2,\); \[m, d\] is needed"),
        ({"examples": [[np.inf]]}, StatesError, r"examples\[0, 0\] is inf"),
        ({"examples": [[1.0, 2.0], [3.0]]}, StatesError, "examples are not an array of numbers .*inhomogeneous"),
        ({"examples": [[1j, 2.0]]}, StatesError, "examples are complex numbers"),
        ({"seed": 2**70}, ArgumentError, "seed is 1180591620717411303424; it must be a whole number, at most"),
        ({"memory": 10**15}, ArgumentError, "memory is 1000000000000000; it must be a whole number, at most"),
        ({"waves": 10**9}, ArgumentError, "waves is 1000000000; it must be a whole number, at most 1024"),
        ({"examples": "examples.csv"}, StatesError, "examples are not an array of numbers"),
        ({"method": "murall"}, UnknownMethodError, "did you mean 'mural'"),
        ({"config": {"classifier.hiden": (3,)}}, ConfigError, r"did you mean classifier\.hidden"),
        ({"config": {"classifier.hidden": "wide"}}, ConfigError, r"classifier\.hidden is 'wide'"),
        ({"config": {"classifier.negatives": 0}}, ConfigError, r"classifier\.negatives is 0; it must be positive"),
        ({"units": "metres"}, ConfigError, "units is 'metres'"),
        ({"units": "spred"}, ConfigError, "did you mean 'spread'"),
        ({"seed": -1}, ArgumentError, "seed is -1; it must be a whole number, at least 0"),
        ({"seed": "a"}, ArgumentError, "seed is 'a'; it must be a whole number"),
        ({"seed": None}, ArgumentError, "seed is None; it must be a whole number"),
        ({"seed": 1.5}, ArgumentError, r"seed is 1\.5; it must be a whole number"),
        ({"memory": 0}, ArgumentError, "memory is 0; it must be a whole number, at least 1"),
        ({"memory": "x"}, ArgumentError, "memory is 'x'; it must be a whole number, at least 1"),
        ({"waves": np.nan}, ArgumentError, "waves is nan; it must be a whole number, at least 0"),
        ({"config": 3}, ConfigError, "config is 3; it must be a table of settings by name"),
        ({"config": {3: 4}}, ConfigError, "config is {3: 4}; it must be a table of settings by name"),
        ({"method": 3}, UnknownMethodError, "method is 3; it must be the name of one: cnml"),
        ({"method": []}, UnknownMethodError, r"method is \[\]; it must be the name of one"),
    ],
)
def test_arguments_that_cannot_be(arguments, error, told):
    with pytest.raises(error, match=told):
        mural.OutcomeReward(**({"examples": EXAMPLES} | arguments))


def test_the_memory_is_bounded_and_every_state_has_the_same_chance():
    counts = np.zeros(60)
    for seed in range(400):
        memory, rng = Memory(12, 1), np.random.default_rng(seed)
        for block in np.split(np.arange(60, dtype=np.float32)[:, None], [5, 20, 21]):
            memory.add(block, rng)
        assert (memory.seen, memory.held) == (60, 12)
        kept = memory.states[:, 0].astype(int)
        assert len(set(kept)) == 12  # none twice
        counts[kept] += 1
    assert stats.chisquare(counts).pvalue > 1e-3


def test_a_small_memory_still_stands_for_all_that_was_seen(monkeypatch):
    reward = make("mural", memory=50)
    seen = []
    real = total.learn
    monkeypatch.setattr(total, "learn", lambda *args, key: seen.append(args[3]) or real(*args, key=key))
    for states in VISITED:
        reward.update(states)
    assert seen[-1].size == 400
    drawn = np.asarray(seen[-1].states(64, jax.random.key(0)))
    assert {tuple(row) for row in drawn} <= {tuple(row) for row in VISITED.reshape(-1, 2)}
    assert seen[-1].recent[STATES].shape == (200, 2)
    with pytest.raises(NotOfStatesError, match="learns_from"):
        seen[-1].sample(3, jax.random.key(0), "obs")


@pytest.mark.parametrize("library", ["pandas", "polars", "numpy"])
def test_columns_with_names_are_never_taken_by_position(library):
    swapped = {"velocity": EXAMPLES[:, 1].astype(float), "position": EXAMPLES[:, 0].astype(float)}
    if library == "numpy":
        frame = np.zeros(len(EXAMPLES), dtype=[("velocity", float), ("position", float)])
        frame["velocity"], frame["position"] = swapped.values()
    else:
        frame = pytest.importorskip(library).DataFrame(swapped)
    told = r"examples are a table with the columns velocity, position, .*from_table\(examples, columns=\['velocity"
    with pytest.raises(StatesError, match=told):
        mural.OutcomeReward(frame, "cnml")
    ordered = SuccessExamples.from_table(frame, columns=["position", "velocity"])
    reward = mural.OutcomeReward(ordered, "cnml")
    np.testing.assert_array_equal(reward.examples, EXAMPLES)
    for use in (reward, reward.update, reward.regret):
        with pytest.raises(StatesError, match="states are a table with the columns velocity, position"):
            use(frame)
    reward.update(VISITED[0])
    np.testing.assert_array_equal(reward(ordered), reward(EXAMPLES))


def test_columns_that_are_merely_numbered_have_an_order():
    frame = pytest.importorskip("pandas").DataFrame(EXAMPLES)
    np.testing.assert_array_equal(mural.OutcomeReward(frame, "cnml").examples, EXAMPLES)

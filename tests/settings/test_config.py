"""Settings: read, merged, checked, written, and read again the same."""

import dataclasses
import json
from typing import Annotated

import numpy as np
import pytest

from mural import tasks
from mural.agent.sac import SAC
from mural.limits import Limit, PositiveInt
from mural.rewards import METHODS, UnknownMethodError
from mural.settings.config import ConfigError, RunConfig, from_dict, overlay, read, to_dict, validate
from mural.settings.presets import matching, resolve
from mural.typed import merge


@pytest.mark.parametrize("method", sorted(METHODS))
def test_round_trip(method):
    config = resolve("zigzag-maze", method, overrides={"sac.hidden": [8], "classifier_keys": ["a", "b"]})
    again = from_dict(json.loads(json.dumps(to_dict(config))))
    assert again == config
    assert hash(again.sac) == hash(config.sac)
    assert isinstance(again.reward, METHODS[method].config)


def test_a_method_brings_its_own_settings():
    config = from_dict({"method": "vice"})
    assert isinstance(config.reward, METHODS["vice"].config)


def leaves(values, where=""):
    """Dotted names and values."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{where}{name}.")
        else:
            yield f"{where}{name}", value


@pytest.mark.parametrize("preset", ["fast", "paper", "release"])
@pytest.mark.parametrize("method", sorted(METHODS))
def test_presets_change_what_they_name_and_nothing_else(method, preset):
    """A method's own choices for its parts (no meta-training, no positives) hold where no rule speaks of them."""
    default = to_dict(from_dict({"method": method, "preset": preset}))
    for task in tasks.TASKS:
        rules = [merge({}, rule.values) for rule in matching(task, method, preset)]
        named = {name for rule in rules for name, _ in leaves(rule)} | {"task"}
        resolved = dict(leaves(to_dict(resolve(task, method, preset))))
        for name, value in leaves(default):
            assert name in named or resolved[name] == value, name


def test_the_release_is_the_paper_but_for_its_own_rules():
    paper, release = (dict(leaves(to_dict(resolve("sawyer-push", "mural", preset)))) for preset in ("paper", "release"))
    assert {name: release[name] for name in paper if paper[name] != release[name]} == {
        "preset": "release", "sac.hidden": [256, 256], "sac.batch_size": 256, "loop.replay_size": 1_500_000,
        "loop.stale": True, "reward.classifier.support": "query", "reward.classifier.outer_query_weight": 0.5,
        "reward.classifier.queries": "replay",
    }  # fmt: skip
    assert resolve("sawyer-push", "vice", "release").reward.classifier.policy_term
    assert not resolve("sawyer-push", "vice", "paper").reward.classifier.policy_term


def test_ablations_are_ablations():
    for preset in ("fast", "paper", "release"):
        plain = resolve("zigzag-maze", "mural-no-meta", preset).reward.classifier
        assert not plain.meta_training
        assert (
            dataclasses.replace(plain, meta_training=True) == resolve("zigzag-maze", "mural", preset).reward.classifier
        )
        negatives = resolve("sawyer-door", "mural-negatives", preset).reward
        assert (negatives.novelty.positives, negatives.classifier.reward) == (0, "prob")
        full = resolve("sawyer-door", "mural", preset).reward.classifier
        assert negatives.novelty.reward == "probability"  # beside one of the classifier, as in the paper
        assert dataclasses.replace(negatives.novelty, positives=full.positives, reward=full.reward) == full


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"stepz": 1}, "no setting stepz; did you mean steps?"),
        ({"sac": {"gama": 0.9}}, "no setting sac.gama; did you mean sac.gamma?"),
        ({"reward": {"classifier": {"step_sice": 1}}}, "reward.classifier.step_sice; did you mean"),
        ({"qqq": 1}, "known are"),
        ({"steps": "many"}, "steps is 'many'; it must be a whole number"),
        ({"steps": 1.5}, "it must be a whole number"),
        ({"steps": True}, "it must be a whole number"),
        ({"sac": {"gamma": "high"}}, "sac.gamma"),
        ({"sac": {"hidden": [1.5]}}, "sac.hidden"),
        ({"sac": 3}, "sac is 3; it must be a table of settings by name"),
        ({"reward": 3}, "reward is 3; it must be a table of settings by name"),
        ({"loop": {"stale": 1}}, "loop.stale is 1; it must be True or False"),
        ({"preset": "quick"}, "preset is 'quick'; it must be one of 'fast', 'paper', 'release'"),
        ({"preset": "papr"}, "preset is 'papr'; did you mean 'paper'? it must be one of"),
        ({"preset": 3}, "preset is 3; it must be one of"),
        ({"sac": {"hidden": "wide"}}, "sac.hidden is 'wide'; it must be a list, each of it a whole number"),
        ({"sac": {"gamma": "high"}}, "sac.gamma is 'high'; it must be a number or None"),
    ],
)
def test_what_is_not_a_setting(values, told):
    with pytest.raises(ConfigError, match=told.replace("?", r"\?")):
        from_dict(values)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0), ("num_examples", 0), ("seed", -1), ("sac.batch_size", 0), ("sac.n_step", 0), ("sac.gamma", 1.0),
        ("sac.tau", 0.0), ("sac.tau", 1.1), ("sac.learning_rate", float("nan")), ("sac.initial_temperature", 0.0),
        ("sac.hidden", [8, 0]), ("loop.environments", 3), ("loop.epoch_steps", 120), ("loop.updates_per_step", 0.001),
        ("loop.updates_per_step", -1.0), ("loop.held_out", 1.0), ("loop.pool", 0), ("watch.keep", 0),
        ("sac.temperature", -0.1), ("loop.updates_per_step", float("inf")), ("loop.epoch_steps", 0),
        ("watch.picture_every", -1), ("loop.random_steps", -1),
    ],
)  # fmt: skip
def test_what_cannot_be(name, value):
    with pytest.raises(ConfigError, match=name.split(".")[-1]):
        resolve("zigzag-maze", overrides={name: value})


@pytest.mark.parametrize(
    ("method", "name", "value"),
    [
        ("mural", "classifier.negatives", 0), ("mural", "classifier.kernel_width", 0.0),
        ("mural", "classifier.hidden", [8, 0]), ("mural", "scale", float("nan")),
        ("mural", "classifier.epochs", -1), ("mural", "classifier.outside_share", 1.5), ("vice", "classifier.steps", 0),
        ("vice", "classifier.mixup", -1.0), ("mural", "classifier.adapt_points", 0),
        ("vice-count", "bonus.bins", 0), ("vice-rnd", "bonus.learning_rate", 0.0), ("icm", "bonus.features", 0),
        ("vae-density", "bonus.draws", 0), ("ddl", "distance.batch_size", 0), ("cnml", "logistic.negatives", 0),
    ],
)  # fmt: skip
def test_what_a_reward_cannot_be(method, name, value):
    with pytest.raises(ConfigError, match=rf"^reward\.{name} is .*; it must"):
        resolve("zigzag-maze", method, overrides={f"reward.{name}": value})


def test_what_a_reward_only_just_can_be():
    for name in ("classifier.kernel_width",):
        resolve("zigzag-maze", overrides={f"reward.{name}": float("inf")})
    none = {"positives": 0, "epochs": 0, "first_epochs": 0, "outside_share": 0.0, "kernel_width": None, "hidden": []}
    resolve("zigzag-maze", overrides={f"reward.classifier.{name}": value for name, value in none.items()})
    resolve("zigzag-maze", overrides={"reward.scale": -1.0, "reward.classifier.kernel_width": float("inf")})
    resolve("zigzag-maze", "vice", overrides={"reward.classifier.mixup": 0.0, "reward.classifier.weight_decay": 0.0})


@dataclasses.dataclass(frozen=True)
class Mine:
    """A method of a user's own: one limit is ours, one theirs, and the last setting has none."""

    bins: PositiveInt = 4
    decay: Annotated[float, Limit("be below 1", lambda x: x < 1)] = 0.5
    steps: int = 0


def test_a_method_of_ones_own_may_have_other_limits():
    mine = Mine(bins=3, decay=-7.0, steps=-1)
    assert validate(RunConfig(reward=mine)).reward == mine
    with pytest.raises(ConfigError, match=r"reward\.bins is 0; it must be positive"):
        validate(RunConfig(reward=Mine(bins=0)))
    with pytest.raises(ConfigError, match=r"reward\.decay is 2\.0; it must be below 1"):
        validate(RunConfig(reward=Mine(decay=2.0)))


def test_numbers_of_numpy_become_pythons_own():
    given = {
        "seed": np.int64(3), "steps": 1e3, "sac.gamma": np.float32(0.5), "sac.hidden": (np.int64(8), 16.0),
        "loop.stale": np.bool_(True), "preset": np.str_("fast"), "loop.epoch_steps": np.int32(100),
    }  # fmt: skip
    config = resolve("zigzag-maze", overrides=given)
    values = config.seed, config.steps, config.sac.gamma, *config.sac.hidden, config.loop.stale, config.loop.epoch_steps
    assert values == (3, 1000, 0.5, 8, 16, True, 100)
    assert [type(value) for value in values] == [int, int, float, int, int, bool, int]
    assert from_dict(json.loads(json.dumps(to_dict(config)))) == config
    direct = validate(RunConfig(seed=np.int64(3), sac=SAC(hidden=(np.int64(8),), gamma=np.float64(0.5))))
    assert [type(value) for value in (direct.seed, direct.sac.hidden[0], direct.sac.gamma)] == [int, int, float]


def test_what_only_just_can_be():
    for name, value in {"sac.tau": 1.0, "sac.gamma": 0.0, "loop.updates_per_step": 0.0, "loop.held_out": 0.0}.items():
        validate(resolve("zigzag-maze", overrides={name: value}))


def test_unknown_methods_get_the_nearest():
    with pytest.raises(UnknownMethodError, match="did you mean 'mural'"):
        from_dict({"method": "murale"})


def test_merge_and_overlay():
    assert merge({"a": {"b": 1, "c": 2}, "d": 3}, {"a.b": 5, "d": 4}) == {"a": {"b": 5, "c": 2}, "d": 4}
    config = overlay(RunConfig(), {"sac.gamma": 0.5, "loop": {"pool": 77}})
    assert (config.sac.gamma, config.loop.pool, config.sac.tau) == (0.5, 77, RunConfig().sac.tau)


@pytest.mark.parametrize(
    ("method", "asked", "meaning"),
    [
        ("mural", "auto", "absorb"),
        ("sac", "auto", "stop"),
        ("mural", "bootstrap", "bootstrap"),
        ("sac", "absorb", "absorb"),
    ],
)
def test_terminations(method, asked, meaning):
    config = resolve("zigzag-maze", method, overrides={"loop.terminations": asked})
    assert config.terminations == meaning


def test_files(tmp_path):
    (tmp_path / "a.toml").write_text("steps = 7\n[sac]\nhidden = [3, 4]\nentropy_per_action = -2\n")
    (tmp_path / "a.json").write_text('{"steps": 7, "sac": {"hidden": [3, 4], "entropy_per_action": -2}}')
    one, two = (from_dict(read(tmp_path / name)) for name in ("a.toml", "a.json"))
    assert one == two
    assert (one.steps, one.sac.hidden, one.sac.entropy_per_action) == (7, (3, 4), -2.0)
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "torn.json").write_text('{"steps"')
    for name, told in {"none.json": "no file", "torn.json": "cannot be read", "list.json": "table"}.items():
        with pytest.raises(ConfigError, match=told):
            read(tmp_path / name)

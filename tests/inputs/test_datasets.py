"""Examples out of Minari datasets, data frames and Parquet files; what cannot be taken is refused by name."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces as gs

from mural.inputs.datasets import DatasetError
from mural.inputs.examples import ExamplesError, SuccessExamples, load_examples
from mural.inputs.spaces import Spaces
from tests.inputs.test_spaces import Fake
from tests.training import small

ROWS = np.random.default_rng(0).uniform(-1, 1, (12, 3))
DICT = Spaces.of(Fake(gs.Dict(arm=gs.Box(-1, 1, ()), puck=gs.Box(-1, 1, (2,)))), classifier_keys=["puck"])
NAMES = ["arm", "puck[0]", "puck[1]"]


class Telling(small.Field):
    """Minari wants the same entries in every info, also in the first."""

    def reset(self, *, seed=None, options=None):
        obs, _ = super().reset(seed=seed)
        return obs, {"distance": float(np.linalg.norm(self.place - 1)), "is_success": False}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Three recorded episodes of 15 steps, the last of which goes to the goal and stays there."""
    minari = pytest.importorskip("minari")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(tmp_path_factory.mktemp("minari")))
        gymnasium.register("test/Field-v0", entry_point=f"{__name__}:Telling")
        env = minari.DataCollector(gymnasium.make("test/Field-v0"), record_infos=True, data_format="arrow")
        for seed, push in enumerate((-1.0, 0.0, 1.0)):
            env.reset(seed=seed)
            for _ in range(15):
                env.step(np.full(2, push, np.float32))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Minari would like to know more about us
            made = env.create_dataset("test/field-v0", algorithm_name="by hand")
        yield made
        env.close()
        env._tmp_dir.cleanup()
        del gymnasium.registry["test/Field-v0"]


def test_minari_by_what_the_environment_said(recorded):
    found = SuccessExamples.from_minari(recorded)
    assert (np.linalg.norm(found.states - 1, axis=1) < 0.3).all()
    assert len(found.states) > 5
    assert found.provenance == f"Minari test/field-v0, success: {len(found.states)} states of 1 of 3 episodes"
    spaces = Spaces.of(small.Field())
    np.testing.assert_array_equal(load_examples(found, spaces).states, found.states)


def test_minari_by_name_by_place_and_by_function(recorded):
    last = SuccessExamples.from_minari("test/field-v0", select="last").states
    np.testing.assert_allclose(last[[0, 2]], [[-1, -1], [1, 1]])
    right = SuccessExamples.from_minari(recorded, select=lambda e: e.observations[:, 0] > 0.9)
    assert (right.states[:, 0] > 0.9).all()
    numbers = SuccessExamples.from_minari(recorded, select=lambda e: [0, -1] if e.id == 2 else [])
    np.testing.assert_array_equal(numbers.states[1], last[2])
    assert len(numbers.states) == 2


@pytest.mark.parametrize(
    ("select", "words"),
    [
        ("first", "'last', 'success', or a function"),
        (lambda e: e.observations[:, 0] > 9, "chose nothing from the 3 episodes"),
        (lambda e: [99], "needed is a mask of that length"),
        (lambda e: [True], "for an episode of 16"),
    ],
)
def test_minari_refuses(recorded, select, words):
    with pytest.raises(DatasetError, match=words):
        SuccessExamples.from_minari(recorded, select=select)


def test_what_is_no_dataset():
    pytest.importorskip("minari")
    with pytest.raises(DatasetError, match="no Minari dataset"):
        SuccessExamples.from_minari([1, 2])
    with pytest.raises(DatasetError, match="minari download no/such-v0"):
        SuccessExamples.from_minari("no/such-v0")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables(library):
    frames = pytest.importorskip(library)
    table = frames.DataFrame({"note": ["x"] * 12, **{NAMES[i]: ROWS[:, i] for i in (2, 0, 1)}})
    found = SuccessExamples.from_table(table, columns=NAMES[1:])
    np.testing.assert_allclose(found.states, ROWS[:, 1:], rtol=1e-6)
    assert found.provenance == "table, columns puck[0], puck[1]"
    np.testing.assert_array_equal(load_examples(found, DICT).states, found.states)
    whole = load_examples(table.drop(columns="note") if library == "pandas" else table.drop("note"), DICT)
    np.testing.assert_allclose(whole.observations, ROWS, rtol=1e-6)
    with pytest.raises(DatasetError, match=r"no column 'puck\[2\]'; did you mean"):
        SuccessExamples.from_table(table, columns=["puck[2]"])
    with pytest.raises(DatasetError, match="not all numbers"):
        SuccessExamples.from_table(table)
    with pytest.raises(ExamplesError, match="no rows"):
        SuccessExamples.from_table(table[:0], columns=NAMES)
    with pytest.raises(DatasetError, match="a list is no table"):
        SuccessExamples.from_table([1, 2])


def test_parquet(tmp_path):
    frames = pytest.importorskip("pandas")
    path = tmp_path / "e.parquet"
    frames.DataFrame({NAMES[i]: ROWS[:, i] for i in (2, 0, 1)}, index=range(5, 17)).to_parquet(path)
    loaded = load_examples(path, DICT)
    np.testing.assert_allclose(loaded.observations, ROWS, rtol=1e-6)
    assert loaded.provenance.endswith("columns by name")
    found = SuccessExamples.from_parquet(path, columns=["puck[1]"])
    np.testing.assert_allclose(found.states, ROWS[:, 2:], rtol=1e-6)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DatasetError, match="damaged"):
        load_examples(path, DICT)
    with pytest.raises(ExamplesError, match="cannot read"):
        SuccessExamples.from_parquet(tmp_path / "none.parquet")

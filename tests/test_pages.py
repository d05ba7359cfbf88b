"""The pages: their Python blocks run, what they name is there, and the site builds without a warning."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import mural
from tests.training import small

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

STEPS = re.compile(r"agent\.learn\([\d_]+\)")  # the test takes fewer, with smaller networks


class SmallAgent(mural.Agent):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, config=small.MURAL, **kwargs)


def run(page: str, monkeypatch, tmp_path, **given) -> dict:
    """All blocks of a page, one after the other, as a reader would run them who has what is `given`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mural, "Agent", SmallAgent, raising=False)
    space: dict = {"mural": mural, **given}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mural.inputs.checks.ExamplesWarning)  # 30 examples are few: so the page says
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.S)):
            code = STEPS.sub("agent.learn(240, progress=False)", code).replace("episodes=20", "episodes=1")
            code = code.replace("(64, 64), meta_epochs=20", "(8,), meta_epochs=1")
            exec(compile(code, f"{page}, block {number}", "exec", dont_inherit=True), space)
    return space


def test_the_tutorial_runs(monkeypatch, tmp_path):
    space = run("tutorial.md", monkeypatch, tmp_path)
    assert (tmp_path / "runs" / "car" / "metrics.jsonl").is_file()
    assert (tmp_path / "car.png").stat().st_size > 5_000
    assert (tmp_path / "pendulum.png").stat().st_size > 5_000
    assert all(space["upright"](row) for row in space["examples"])
    assert space["agent"].config.examples == "noted.csv"
    assert mural.load_policy(tmp_path / "car.npz")(np.zeros(2, np.float32)).shape == (1,)


def test_the_quickstart_runs(monkeypatch, tmp_path):
    space = run("index.md", monkeypatch, tmp_path)
    assert space["agent"].steps == 240
    assert space["env"].action_space.contains(space["action"])


@pytest.mark.parametrize("page", ["../README.md", "training.md", "tasks/index.md"])
def test_short_blocks_run(page, monkeypatch, tmp_path):
    np.savez(tmp_path / "mine.npz", examples=small.examples())
    nothing = np.zeros((3, 2), np.float32)
    space = run(page, monkeypatch, tmp_path, env=small.Field(), obs=nothing[0], states=nothing)
    assert "agent" not in space or space["agent"].steps == 240


def test_the_counts_say_what_the_page_says(monkeypatch, tmp_path):
    space = run("how-it-works.md", monkeypatch, tmp_path)
    visited, new, goal = space["counts"].predict_proba([[-1.0], [-4.0], [2.0]])[:, 1]
    assert visited < 0.02 < 0.49 < new < 0.51 < 0.98 < goal
    weights = np.exp(-2.3 * np.abs(space["X"][:, 0] - 0.7) / 0.5)
    failures, successes = weights[space["y"] == 0].sum(), weights[space["y"] == 1].sum()
    expected = (successes + 1) / (failures + successes + 2)
    assert space["counts"].predict_proba([[0.7]])[0, 1] == pytest.approx(expected, rel=1e-4)


def test_files_that_pages_name_are_there():
    named = re.compile(r"`((?:tests|src|studies|results|examples|docs)/[\w./-]*)`")
    missing = {
        (page.name, name)
        for page in sorted(DOCS.glob("*.md"))
        for name in named.findall(page.read_text())
        if "NAME" not in name and not (ROOT / name).exists()
    }
    assert not missing


def test_the_site_builds_without_a_warning(tmp_path):
    mkdocs = pytest.importorskip("mkdocs.commands.build", reason="needs the extra docs")
    from mkdocs.config import load_config

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other people's plugins; those of the pages are errors by `strict`
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path / "site"))
        mkdocs.build(config)
    reference = (tmp_path / "site" / "reference" / "index.html").read_text()
    assert 'id="mural.api.Agent.learn"' in reference
    assert "<p>of everything; None: 0.</p>" in reference  # the words of `seed` are its description, not its type

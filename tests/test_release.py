"""What a release is made of: one version everywhere, a workflow that runs what .ci/run runs, files that parse."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import mural

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def check(*tag):
    return subprocess.run([sys.executable, ROOT / ".ci" / "check_tag.py", *tag], capture_output=True, text=True)


def test_one_version_everywhere():
    done = check()
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(mural.__version__) == 3


@pytest.mark.parametrize("tag", ["v9.9.9", mural.__version__, "vv1"])
def test_another_tag_is_refused(tag):
    assert check(tag).returncode == 1


def test_the_tag_of_this_version_waits_only_for_the_date():
    done = check(f"v{mural.__version__}")
    unreleased = "(unreleased)" in (ROOT / "CHANGELOG.md").read_text().splitlines()[2]
    assert done.returncode == int(unreleased)
    assert ("write the date" in done.stdout) == unreleased


def test_the_workflow_runs_what_we_run_on_every_python_that_we_promise():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    promised = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if "Python :: 3." in text]
    tested = re.search(r"python: \[(.*)\]", workflow)[1].replace('"', "").split(", ")
    assert tested == promised
    assert "run: .ci/run" in workflow
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_yaml_files_parse():
    yaml = pytest.importorskip("yaml")
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert {hook["id"] for hook in hooks} >= {"ruff-check", "ruff-format", "mypy", "lint-imports"}
    assert set(yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]) == {
        "test",
        "wheel",
        "tag",
    }
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert str(cited["version"]) == mural.__version__
    assert "2107.07184" in cited["preferred-citation"]["url"]


def test_run_time_dependencies_bring_no_other_framework():
    names = {re.match(r"[\w-]+", text)[0].lower() for text in PROJECT["dependencies"]}
    assert not names & {"torch", "stable-baselines3", "sbx-rl", "mujoco", "minari", "pandas"}

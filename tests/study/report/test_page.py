"""The page as text: what it says, and that strangers' runs put nothing into it."""

import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser

import pytest

from mural.study.report.page import MissingTemplateEngineError, duration, write
from mural.study.report.reading import ReportError
from tests.study.report.folders import run_folder, with_maps, with_pictures

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>'\"><svg onload=alert(1)>{{7*7}}"


class Tags(HTMLParser):
    """All tags with their attributes, and the text outside of scripts and styles."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.text, self.within = [], "", ""
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.within = tag

    def handle_endtag(self, tag):
        self.within = ""

    def handle_data(self, data):
        self.text += "" if self.within in ("script", "style") else data


def made(paths, out, **options):
    write(paths, out, strips=False, **options)
    return out.read_text(encoding="utf-8")


def test_methods_by_tasks(tmp_path):
    for seed, end in enumerate((1.0, 0.9, 0.8)):
        run_folder(tmp_path / "runs" / f"z-mural-{seed}", [0.0, end], seed=seed)
        run_folder(tmp_path / "runs" / f"z-vice-{seed}", [0.0, end / 4], method="vice", seed=seed)
    run_folder(tmp_path / "runs" / "p-mural-0", [0.5], task="sawyer-push")
    shown = " ".join(Tags(made([tmp_path / "runs"], tmp_path / "r.html")).text.split())
    assert "2 tasks, 2 methods: 7 runs" in shown
    assert "Methods × tasks" in shown
    assert "45% 40%–50%" in shown  # mural on the zigzag maze
    assert "1 seed, no interval" in shown
    assert "3 seeds" in shown


def test_one_run_without_true_success(tmp_path):
    shown = Tags(made([run_folder(tmp_path / "mine", [None, None], task="Mine-v0")], tmp_path / "r.html")).text
    assert "Mine-v0 does not report success" in shown
    assert "learned return" in shown
    assert "Methods × tasks" not in shown
    assert "calibration error" in shown


def test_runs_that_stopped_at_success_are_marked(tmp_path):
    stopped = run_folder(tmp_path / "a", [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0], stop_at_success=0.9)
    config = json.loads((stopped / "config.json").read_text())
    (stopped / "config.json").write_text(json.dumps(config | {"steps": 100_000}))
    broken_off = run_folder(tmp_path / "b", [0.0, 0.0], seed=1, stop_at_success=0.9)
    (broken_off / "config.json").write_text(json.dumps(config | {"steps": 100_000, "seed": 1}))
    shown = Tags(made([stopped, broken_off], tmp_path / "r.html")).text
    assert "7k of 100k, stopped at success" in shown
    assert "2k of 100k\n" in shown
    assert "1 of these runs stopped as soon as they succeeded" in shown


def test_a_damaged_run_gets_a_card_among_whole_ones(tmp_path):
    run_folder(tmp_path / "runs" / "whole")
    broken = run_folder(tmp_path / "runs" / "broken")
    (broken / "config.json").write_text("{")
    (broken / "metrics.jsonl").write_bytes(b"\0\0\n\0\n")
    shown = Tags(made([tmp_path / "runs"], tmp_path / "r.html")).text
    assert "Its settings are unknown" in shown
    assert "Its metrics cannot be read" in shown
    assert "unknown task" in shown


def test_nothing_left_but_a_name(tmp_path):
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "config.json").mkdir()  # not even a file
    shown = Tags(made([tmp_path / "bare"], tmp_path / "r.html")).text
    assert "Its settings are unknown" in shown
    assert "there is nothing to show over time" in shown


@pytest.fixture
def hostile(tmp_path):
    """A run whose every text is an attack."""
    folder = with_pictures(run_folder(tmp_path / "runs" / EVIL.replace("/", "∕"), task=EVIL, method=EVIL, seed=EVIL))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {EVIL: {EVIL: [EVIL, {EVIL: EVIL}]}, "variant": EVIL}))
    (folder / "versions.json").write_text(json.dumps({EVIL: EVIL, "jax": {"x": EVIL}}))
    with (folder / "metrics.jsonl").open("a") as rows:
        rows.write(json.dumps({"step": 9000, EVIL: EVIL, "eval/success": EVIL, "epoch": EVIL}) + "\n")
        rows.write(json.dumps({"step": 9500, EVIL: 3.0, "calibration/table": [[EVIL, 0, 1]], "alarm": 1}) + "\n")
    (folder / "maps").mkdir()
    (folder / "maps" / "0000000001.npz").write_text(EVIL)
    return folder


def test_a_stranger_puts_nothing_into_the_page(hostile, tmp_path):
    other = with_maps(run_folder(tmp_path / "runs" / "other", seed=1))
    result = {"task": EVIL, "method": EVIL, "seed": EVIL, "variant": EVIL, "curves": {EVIL: [[1, EVIL]]}}
    (tmp_path / "runs" / "result.json").write_text(json.dumps(result))
    source = made([tmp_path / "runs"], tmp_path / "r.html", title=EVIL)
    clean = made([other], tmp_path / "clean.html")
    tags, expected = Tags(source), Tags(clean)
    assert {tag for tag, _ in tags.tags} <= {tag for tag, _ in expected.tags} | {"div", "ul", "li", "h4"}
    assert not [name for _, attrs in tags.tags for name in attrs if name.startswith("on")]
    scripts = [attrs for tag, attrs in tags.tags if tag == "script"]
    assert [attrs for attrs in scripts if attrs.get("type") != "application/json"] == [{}]  # ours
    sources = [attrs[name] for _, attrs in tags.tags for name in ("src", "href") if name in attrs]
    assert all(found.startswith(("data:image/", "#")) for found in sources)
    assert EVIL in tags.text
    assert "{{7*7}}" in tags.text  # never taken for a template
    for block in re.findall(r'<script type="application/json">(.*?)</script>', source, re.S):
        assert isinstance(json.loads(block), list)


def test_the_page_allows_its_own_script_alone(tmp_path):
    source = made([run_folder(tmp_path / "r")], tmp_path / "r.html")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', source)
    assert "default-src 'none'" in policy
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", source, re.S)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{rule} '" in policy.replace("&#39;", "'")
        assert f"sha256-{digest}" in policy
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", source)


def test_the_first_seed_of_everything_comes_first(tmp_path):
    for seed in range(3):
        run_folder(tmp_path / "runs" / f"a{seed}", seed=seed)
        run_folder(tmp_path / "runs" / f"b{seed}", method="vice", seed=seed)
    source = made([tmp_path / "runs"], tmp_path / "r.html", details=3)
    assert re.findall(r'id="run-\d+">\s*<h3>(\w+)<', source) == ["a0", "a1", "b0"]
    assert "3 more runs are not shown here" in source
    assert 'id="moments"' not in made([tmp_path / "runs"], tmp_path / "r.html", details=0)


def test_the_same_page_every_time(tmp_path):
    folder = with_maps(run_folder(tmp_path / "r"))
    assert made([folder], tmp_path / "a.html") == made([folder], tmp_path / "b.html")


def test_errors_have_names_and_leave_the_old_page(tmp_path, monkeypatch):
    out = tmp_path / "r.html"
    out.write_text("old")
    with pytest.raises(ReportError, match="no run in"):
        write([tmp_path], out)
    with pytest.raises(ReportError, match="is a folder"):
        write([run_folder(tmp_path / "run")], tmp_path)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingTemplateEngineError, match=r"mural-rl\[report\]"):
        write([tmp_path / "run"], out)
    assert out.read_text() == "old"


@pytest.mark.parametrize(("seconds", "told"), [(None, "–"), (40, "40 s"), (600, "10 min"), (9000, "2.5 h")])
def test_durations(seconds, told):
    assert duration(seconds) == told

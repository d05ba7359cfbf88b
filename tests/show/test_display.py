"""Progress on a terminal and off it."""

import io
import re
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console

from mural.show import display
from mural.show.display import Lively, Plain, clock, line, sparkline, speed, terminal_display


def run_to(steps):
    """As much of a run as a display looks at."""
    config, timing = SimpleNamespace(steps=steps), {"total": 2.0}
    return SimpleNamespace(step=0, random_epochs=1, epoch_steps=100, config=config, timing=timing)


RUN = run_to(1000)


def row(epoch, **more):
    learned = {"sac/critic_loss": 0.5, "eval/success": 0.25, "eval/distance": 3.0, "alarm": 0} if epoch > 1 else {}
    return {"step": 100 * epoch, "epoch": epoch, "coverage": 0.1, **learned, **more}


def test_clock():
    assert [clock(7), clock(750), clock(11100), clock(-3)] == ["0:07", "12:30", "3:05:00", "0:00"]


def test_sparkline_follows_the_values():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([3.0] * 5) == "▁▁▁▁▁"
    assert sparkline([]) == ""
    assert len(sparkline(list(range(1000)), 40)) == 40


def test_speed_leaves_out_what_compiles_and_what_only_collects():
    rows = [row(epoch) for epoch in (1, 2, 3, 4)]
    timings = [{"step": 100 * e, "total": t} for e, t in zip((1, 2, 3, 4), (0.01, 50.0, 2.0, 2.0), strict=True)]
    assert speed(rows[:2], timings) is None
    assert speed(rows[:3], timings) == 50.0
    assert speed(rows, timings) == 50.0


def test_lines_are_aligned():
    lines = [line(row(epoch), 100000, None) for epoch in (1, 2, 900)]
    assert len({text.index("coverage") for text in lines}) == 1
    assert "25%" in lines[1]
    assert [re.search(r"  epoch +(\d+)  ", text)[1] for text in lines] == ["1", "2", "900"]
    assert "–" in lines[0]


def test_off_a_terminal_there_is_a_line_per_epoch(capsys):
    shown = Plain()
    shown.on_start(RUN)
    for epoch in (1, 2, 3):
        shown.progress(100 * epoch)
        shown.on_epoch(RUN, row(epoch))
    shown.on_epoch(RUN, row(4, alarm=1))
    shown.on_epoch(RUN, row(5, alarm=1))
    shown.say("look here")
    shown.on_end(RUN)
    out = capsys.readouterr().out.splitlines()
    assert [text.split("/")[0].strip() for text in out[:3]] == ["100", "200", "300"]
    assert "50 steps/s" in out[2]
    assert "0:14 left" in out[2]
    assert sum("alarm" in text for text in out) == 1  # said once, not with every epoch
    assert out[-1] == "look here"
    assert "\x1b" not in "".join(out)


def test_steps_are_those_of_whole_epochs(capsys):
    shown = Plain()
    shown.on_start(run_to(90))
    shown.on_epoch(RUN, row(1))
    assert "100/100 " in capsys.readouterr().out


def test_on_a_terminal_there_is_a_live_view():
    file = io.StringIO()
    shown = Lively(Console(file=file, force_terminal=True, width=100, height=40))
    shown.on_start(RUN)
    assert shown._note() == "random actions"
    shown.progress(100)
    assert shown._note() == "compiling"
    for epoch in (1, 2, 3):
        shown.on_epoch(RUN, row(epoch))
    assert shown._note() == "0:14 left"
    shown.say("look [here]")
    shown.on_epoch(RUN, row(4, alarm=1))
    shown.on_end(RUN)
    out = file.getvalue()
    for text in ("success", "25%", "look [here]", "400/1000", "steps/s", "alarm: "):
        assert text in out
    assert "\x1b[1;31m" in out  # the alarm is bold and red


@pytest.mark.parametrize(
    ("tty", "term", "kind"), [(True, "xterm", Lively), (True, "dumb", Plain), (False, "xterm", Plain)]
)
def test_which_of_the_two(monkeypatch, tty, term, kind):
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: tty, raising=False)
    monkeypatch.setattr(display, "Console", lambda: Console(force_terminal=tty))
    assert type(terminal_display()) is kind

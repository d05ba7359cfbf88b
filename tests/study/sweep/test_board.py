"""What a sweep shows: a live table on a terminal, and a line per event anywhere."""

import io

from rich.console import Console

from mural.study.sweep import board, state
from tests.study.sweep.tiny import plan


def test_the_live_table_has_the_runs_at_work(tmp_path, monkeypatch):
    (run,) = plan(tmp_path)
    seen = iter([(0, None), (600, 0.5)])
    monkeypatch.setattr(state, "progress", lambda folder: next(seen))
    monkeypatch.setattr(board, "EVERY", 0.0)
    out = io.StringIO()
    with board.Board(3, Console(file=out, force_terminal=True, width=120)) as live:
        live.started(run, "core 1", 2)
        live.refresh(2)
        text = plain(live)
        assert run.name in text
        assert "600" in text
        assert "50%" in text
        assert "0 over, 1 at work, 2 waiting; Ctrl-C saves and stops" in text
        live.ended(run, "done: success 1.0")
        assert run.name not in plain(live)
        assert "1 over, 0 at work" in plain(live)
    drawn = out.getvalue()
    assert f"{run.name}: started on core 1, try 2" in drawn
    assert "(1 of 3 over)" in drawn
    assert "0 over, 1 at work" in drawn  # the table itself was on the screen


def plain(live):
    """The table as text."""
    console = Console(file=io.StringIO(), width=120)
    console.print(live.table())
    return console.file.getvalue()


def test_elsewhere_there_are_lines_only(tmp_path):
    (run,) = plan(tmp_path)
    out = io.StringIO()
    with board.Board(1, Console(file=out)) as lines:
        lines.started(run, "core 0", 1)
        lines.refresh(0)
        lines.ended(run, "exit code 1; to be tried again (1 of 3 tries)")
    assert "started on core 0" in out.getvalue()
    assert "(0 of 1 over)" in out.getvalue()
    assert "at work" not in out.getvalue()

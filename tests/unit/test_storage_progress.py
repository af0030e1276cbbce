"""The progress bar: on a terminal when loading takes long, nowhere else."""

from __future__ import annotations

import io
import time

import pytest

from qengine.storage import from_records, progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def wait_for(text, stream):
    for _ in range(6000):
        if text in stream.getvalue():
            return
        time.sleep(0.01)
    pytest.fail(f"no {text!r} in {stream.getvalue()!r}")


def test_a_long_task_shows_a_bar_on_a_terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    with progress.Progress("Reading", 10) as bar:
        bar.advance(4)
        wait_for("Reading", stream)
        bar.reach(9)
        wait_for("90%", stream)
    assert stream.getvalue().endswith("\r\x1b[K"), "it is gone at the end"


def test_a_short_task_and_one_without_a_terminal_show_nothing(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    from_records([{"id": 1}], [{"type": "R", "start": 1, "end": 1}])
    assert stream.getvalue() == ""
    plain = io.StringIO()
    monkeypatch.setattr("sys.stderr", plain)
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    with progress.Progress("Reading", 10) as bar:
        bar.advance(4)
    assert plain.getvalue() == ""

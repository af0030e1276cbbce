"""Constants of the cost model: how they are fitted, kept and read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from qengine import Graph
from qengine.calibration import SECTIONS, _cost, _graph, calibrate, fitted, queries
from qengine.catalog import costs as module
from qengine.catalog.costs import costs, costs_file, using
from qengine.cli import calibrate as command
from qengine.cli.main import EXIT_INTERRUPTED, main
from qengine.errors import QengineError
from qengine.plan.physical import Search
from qengine.testing.plans import planned

SQUARE = "MATCH (a)--(b)--(c)--(d)--(a) RETURN count(*)"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return where this user's constants are."""
    monkeypatch.setenv("QENGINE_CONFIG_DIR", str(tmp_path))
    module._known.cache_clear()
    path = costs_file("cpu")
    assert path is not None
    yield path
    module._known.cache_clear()


def cost(graph: Graph) -> float:
    return sum(each.cost or 0.0 for each in planned(graph, SQUARE, Search))


def ring() -> Graph:
    edges = [{"type": "R", "start": k, "end": (k + step) % 30} for k in range(30) for step in (1, 2)]
    return Graph.from_records([{"id": k} for k in range(30)], edges)


def test_events_give_back_the_constants_that_times_were_made_of() -> None:
    rng = np.random.default_rng(3)
    events = rng.uniform(0.0, 1e6, (200, 4)) * rng.integers(0, 2, (200, 4))
    events[:, 0] += 1e4
    true = np.array([30.0, 2.0, 9.0, 0.4])
    found = fitted(events @ true, events, [20.0, 4.0, 8.0, 0.5])
    assert found == pytest.approx(true, rel=0.02)


def test_what_nothing_is_measured_of_follows_the_others() -> None:
    events = np.array([[1e6, 0.0], [2e6, 0.0], [5e6, 0.0]])
    assert fitted(events @ [60.0, 0.0], events, [20.0, 4.0]) == pytest.approx([60.0, 12.0], rel=1e-3)
    assert fitted(np.zeros(0), np.zeros((0, 2)), [20.0, 4.0]) == pytest.approx([20.0, 4.0])


@pytest.mark.parametrize("section", SECTIONS)
def test_a_machine_half_as_fast_has_twice_the_constants(section: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = queries(section)
    monkeypatch.setattr("qengine.calibration.queries", lambda section: texts[:: len(texts) // 5])

    def measured(speed: float) -> dict[str, float]:
        now = 0.0

        def clock() -> float:
            nonlocal now
            now += speed  # each query takes as long
            return now

        return dict(calibrate(section, vertices=300, clock=clock).constants)

    slow, fast = measured(0.2), measured(0.1)
    assert slow.keys() == costs("cpu", section).keys()
    assert [slow[name] / fast[name] for name in slow] == pytest.approx([2.0] * len(slow), rel=1e-3)


def test_nearly_all_constants_of_an_elimination_count_in_some_query() -> None:
    graph, base = _graph(500), dict(costs("cpu", "elimination"))
    prepared = [graph.prepare(text) for text in queries("elimination")]

    def counted(name: str) -> bool:
        alone = {each: float(each == name) for each in base}
        return any(_cost(query, "elimination", alone) > 0 for query in prepared)

    assert {name for name in base if not counted(name)} == {"row"}  # no query times only their writing


def test_the_command_keeps_what_it_measures_for_the_planner(own: Path) -> None:
    before = cost(ring())
    constants = {name: 10 * value for name, value in costs("cpu", "search").items()}
    command.write(own, {"search": constants})
    module._known.cache_clear()
    assert costs("cpu", "search") == pytest.approx(constants)
    assert cost(ring()) == pytest.approx(10 * before, rel=0.01)


def test_the_command_shows_and_writes(
    own: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qengine.calibration.queries", lambda section: [])
    assert command.main(["--dry-run"]) == 0
    assert not own.exists()
    assert command.main([]) == 0
    shown = capsys.readouterr().out
    assert "locate" in shown and f"Written to {own}." in shown
    text = own.read_text(encoding="utf-8")
    assert text.startswith("# Written by `qengine calibrate`.\n[search]\nlocate = ") and "[elimination]\n" in text


@pytest.mark.parametrize(
    "text", ["[search]\nlocate = 0.0", "[search]\nread = 'fast'", "[search]\nspeed = 1.0", "[", "search = 1"]
)
def test_damaged_files_are_refused(own: Path, text: str) -> None:
    own.parent.mkdir(parents=True)
    own.write_text(text, encoding="utf-8")
    with pytest.raises(QengineError, match="can't be used"):
        ring().prepare(SQUARE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[serch]\nlocate = 1.0", r"there is no section \[serch\]; did you mean search\?"),
        ("[search]\nlocat = 1.0", r"\[search\] has no constant locat; did you mean locate\?"),
        ("[elimination]\nqqq = 1.0", r"\[elimination\] has no constant qqq, only "),
        ("[join]\nbuild = -1", r"\[join\] has no constant|is not a number above 0"),
    ],
)
def test_what_nobody_knows_is_refused_wherever_it_stands(own: Path, text: str, message: str) -> None:
    own.parent.mkdir(parents=True)
    own.write_text(text, encoding="utf-8")
    with pytest.raises(QengineError, match=message):
        ring().prepare(SQUARE)


def test_a_damaged_file_is_measured_anew(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qengine.calibration.queries", lambda section: ["MATCH (a)-[:R]-(b) RETURN count(*)"])
    own.parent.mkdir(parents=True)
    own.write_text("[search", encoding="utf-8")
    assert command.main([]) == 0
    module._known.cache_clear()
    assert cost(ring()) > 0


def test_what_is_interrupted_leaves_the_file_as_it_was(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("qengine.calibration.calibrate", interrupted)
    own.parent.mkdir(parents=True)
    own.write_text("[search]\nlocate = 7.0", encoding="utf-8")
    assert main(["calibrate"]) == EXIT_INTERRUPTED
    assert own.read_text(encoding="utf-8") == "[search]\nlocate = 7.0" and list(own.parent.iterdir()) == [own]


def test_a_place_that_cannot_be_written_is_told_before_measuring(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qengine.calibration.calibrate", None)
    own.parent.write_text("no folder", encoding="utf-8")
    with pytest.raises(QengineError, match="can't be written"):
        command.main([])
    own.parent.unlink()
    own.mkdir(parents=True)
    with pytest.raises(QengineError, match="can't be written"):
        command.main([])


@pytest.mark.parametrize("text", [b"\xff\xfe", b"[search]\nread = true"])
def test_so_are_those_that_hold_no_text_or_truth_values(own: Path, text: bytes) -> None:
    own.parent.mkdir(parents=True)
    own.write_bytes(text)
    with pytest.raises(QengineError, match="can't be used"):
        ring().prepare(SQUARE)


def test_other_constants_for_a_block() -> None:
    graph = ring()
    doubled = {name: 2 * value for name, value in costs("cpu", "search").items()}
    with using(doubled):
        twice = cost(graph)
    assert twice == pytest.approx(2 * cost(ring()), rel=0.01)

"""Queries that spill give what the reference executor gives, in order where asked for, and leave nothing behind."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph, OutOfMemory, QengineError, QueryInterrupted, QueryTimeout, ResourceError, SemanticError
from qengine.exec.spill import folder
from qengine.exec.spill.rows import SpilledRows
from qengine.testing.compare import difference
from tests.examples import examples

SOME = [{"id": k, "labels": "A", "properties": {"x": k, "s": f"text {k % 7}"}} for k in range(40)]
GRAPH = Graph.from_records(SOME, [{"type": "R", "start": k, "end": (k * 7 + 1) % 40} for k in range(40)])
MIXED = (
    "MATCH (a:A)-[r]->() UNWIND range(1, $n / 40) AS k WITH a, r, 40 * k - a.x AS i "
    "WITH i, a, r, CASE i % 11 WHEN 0 THEN null WHEN 1 THEN i % 5 WHEN 2 THEN toFloat(i % 5) WHEN 3 THEN a.s "
    "WHEN 4 THEN [i % 3, null] WHEN 5 THEN {k: i % 4} WHEN 6 THEN a WHEN 7 THEN r WHEN 8 THEN i % 2 = 0 "
    "WHEN 9 THEN date('2024-01-01') + duration({days: i % 6}) ELSE 0.0 / 0.0 END AS v "
)
SPILLING = [
    MIXED + "RETURN v, i, a, r ORDER BY v DESC, i",
    MIXED + "RETURN a.s AS s, i ORDER BY s",
    MIXED + "RETURN DISTINCT v, a, i % 5000 AS g",
    MIXED + "RETURN v, a.x AS x, count(*) AS c, sum(i) AS s, max(i) AS m, min(v) AS w",
    MIXED + "RETURN i % 900 AS g, collect(i) AS l, collect(DISTINCT v) AS d",
    MIXED + "RETURN count(DISTINCT i) AS c, sum(DISTINCT i) AS s, count(DISTINCT v) AS v",
    MIXED + "RETURN v, count(DISTINCT i) AS c, avg(DISTINCT i) AS s",
]
LIMIT = 1_200_000
PYTHON = [sys.executable, *(["-S"] if sys.flags.no_site else []), "-c"]


def spilled(text: str, parameters: dict[str, int], limit: int = LIMIT) -> bool:
    return " spilled=" in str(GRAPH.query("PROFILE " + text, parameters, memory_limit=limit, device="cpu"))


def rows(text: str, parameters: dict[str, int], **options: object) -> list[tuple[object, ...]]:
    return [tuple(row) for row in GRAPH.query(text, parameters, **options)]


@pytest.mark.parametrize("text", SPILLING)
def test_what_spills_is_right(text: str) -> None:
    parameters = {"n": 6_000}
    found = rows(text, parameters, memory_limit=LIMIT, device="cpu")
    expected = rows(text, parameters, device="reference")
    assert spilled(text, parameters)
    if "ORDER BY" in text:
        assert list(map(repr, found)) == list(map(repr, expected))  # ties in the order in which they came
    else:
        assert difference(expected, found) is None


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(60, 400), st.integers(9, 14), st.integers(1, 50), st.sampled_from(["", "DESC"]))
def test_runs_of_long_rows_are_merged_a_few_at_a_time(count: int, doublings: int, ties: int, order: str) -> None:
    """Blocks of one row each, whose keys are all of it: more than stay in memory."""
    long = f"reduce(s = 'é', i IN range(1, {doublings}) | s + s)"
    text = (
        f"UNWIND range(1, $n) AS i WITH i, {long} + (i * 7919 % {ties}) AS s ORDER BY s {order} RETURN i, right(s, 3)"
    )
    found = list(GRAPH.query(text, {"n": count}, memory_limit=LIMIT, device="cpu"))
    expected = sorted(range(1, count + 1), key=lambda i: str(i * 7919 % ties), reverse=order == "DESC")
    assert [row[0] for row in found] == expected


def test_rows_of_which_no_two_fit_are_refused(tmp_path: Path) -> None:
    text = "UNWIND range(1, 40) AS i WITH reduce(s = 'a', i IN range(1, 18) | s + s) + i AS s ORDER BY s RETURN size(s)"
    with pytest.raises(OutOfMemory, match="Sort needs"):
        list(GRAPH.query(text, memory_limit=LIMIT, spill_directory=tmp_path, device="cpu"))
    assert not folders(tmp_path)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.integers(-(2**63), 2**63 - 1),
    st.text("aä\0", max_size=3), st.lists(st.integers(0, 1), max_size=2), st.dictionaries(st.just("k"), st.booleans()),
)  # fmt: skip


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=12), st.sampled_from(["v", "v DESC", "v, i % 3 DESC"]))
def test_rows_of_any_types(values: list[object], order: str) -> None:
    rising = "UNWIND range(0, 3999) AS i WITH i, $values[i % size($values)] AS v, $values[i % 5 % size($values)] AS w "
    for text in (f"RETURN v, i ORDER BY {order}", "RETURN DISTINCT v, w, i % 700 AS g",
                 "RETURN v, i % 700 AS g, count(*) AS c, count(DISTINCT w) AS d, collect(i) AS l"):  # fmt: skip
        found = rows(rising + text, {"values": values}, memory_limit=400_000, device="cpu")  # type: ignore[dict-item]
        expected = rows(rising + text, {"values": values}, device="reference")  # type: ignore[dict-item]
        if "ORDER BY" in text:
            assert list(map(repr, found)) == list(map(repr, expected))
        else:
            assert difference(expected, found) is None


@pytest.mark.parametrize(("returned", "most"), [("a.x AS a, d.x AS d", 900), ("DISTINCT a.x AS a", 12)])
def test_joins(returned: str, most: int) -> None:
    chance = [(k, (k * 37 + j * j * 11) % 1000) for k in range(1000) for j in range(9)]
    nodes = [{"id": k, "labels": "A", "properties": {"x": k}} for k in range(1000)]
    graph = Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in chance])
    text = f"/*+ join(a, b | b, c, d) */ MATCH (a)-->(b)-->(c)-->(d) WHERE a.x < {most} RETURN {returned}"
    whole = sorted(map(tuple, graph.query(text, device="cpu")))
    assert sorted(map(tuple, graph.query(text, memory_limit=1_000_000, device="cpu"))) == whole
    profile = str(graph.query("PROFILE " + text, memory_limit=1_000_000, device="cpu"))
    assert "spilled=" in next(line for line in profile.splitlines() if "Join on" in line)


# ---------------------------------------------------------------- the folder

SORT = "UNWIND range(1, $n) AS i RETURN i, i * 7919 % 10007 AS k ORDER BY k"


def folders(directory: Path) -> list[str]:
    return [each.name for each in directory.iterdir()]


def begun(directory: Path, **options: object) -> object:
    result = GRAPH.query(
        SORT, {"n": 200_000}, memory_limit=2_000_000, spill_directory=directory, device="cpu", **options
    )
    rows = iter(result)
    next(rows)
    assert len(folders(directory)) == 1
    return rows


def test_the_folder_is_there_while_rows_are_fetched_and_then_gone(tmp_path: Path) -> None:
    for _ in begun(tmp_path):  # type: ignore[attr-defined]
        pass
    assert not folders(tmp_path)


def test_it_goes_with_what_reads_it(tmp_path: Path) -> None:
    held = begun(tmp_path)
    del held
    gc.collect()
    assert not folders(tmp_path)


def test_it_goes_with_an_error(tmp_path: Path) -> None:
    text = "UNWIND range(1, 200000) AS i WITH i, i * 7919 % 10007 AS k ORDER BY k DESC RETURN 1 / (k - 5)"
    with pytest.raises(QengineError, match="zero"):
        list(GRAPH.query(text, memory_limit=2_000_000, spill_directory=tmp_path, device="cpu"))
    assert not folders(tmp_path)


@pytest.mark.parametrize("stop", ["interrupt", "timeout"])
def test_it_goes_with_what_is_stopped(tmp_path: Path, stop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped at the tenth block that is written."""
    write, blocks = SpilledRows.append, []

    def counted(self: SpilledRows, batch: object) -> None:
        blocks.append(1)
        if len(blocks) == 10:
            if stop == "interrupt":
                GRAPH.interrupt()
            else:
                self._context.control.deadline_ns = 1
        write(self, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(SpilledRows, "append", counted)
    with pytest.raises(QueryInterrupted if stop == "interrupt" else QueryTimeout):
        list(GRAPH.query(SORT, {"n": 500_000}, memory_limit=2_000_000, spill_directory=tmp_path, device="cpu"))
    assert len(blocks) == 10
    assert not folders(tmp_path)


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    program = (
        "import resource, sys; from qengine import Graph, ResourceError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
        "g = Graph.from_records([{'id': 1}], [])\n"
        "try: list(g.query(sys.argv[1], {'n': 200000}, memory_limit=2000000, spill_directory=sys.argv[2]))\n"
        "except ResourceError as error: print(error.code, error.message)\n"
    )
    done = subprocess.run([*PYTHON, program, SORT, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("SpillFailed Rows beyond the memory limit can't be kept in"), done.stderr
    assert not folders(tmp_path)


def test_a_directory_that_is_missing_or_no_path_is_said(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="No such file") as caught:
        list(GRAPH.query(SORT, {"n": 200_000}, memory_limit=2_000_000, spill_directory=tmp_path / "none"))
    assert caught.value.code == "SpillFailed"
    with pytest.raises(SemanticError, match="spill_directory"):
        GRAPH.query("RETURN 1", spill_directory=3)  # type: ignore[arg-type]


def test_what_a_killed_process_left_is_removed_and_a_living_ones_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (
        "import sys, time; from qengine import Graph\n"
        "g = Graph.from_records([{'id': 1}], [])\n"
        "rows = iter(g.query(sys.argv[1], {'n': 200000}, memory_limit=2000000, spill_directory=sys.argv[2]))\n"
        "next(rows); print('begun', flush=True); time.sleep(600)\n"
    )
    command = [*PYTHON, program, SORT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "begun\n"
        (its,) = folders(tmp_path)
        monkeypatch.setattr(folder, "_swept", set())
        for _ in GRAPH.query(SORT, {"n": 200_000}, memory_limit=2_000_000, spill_directory=tmp_path):
            pass
        assert folders(tmp_path) == [its]
        os.kill(other.pid, signal.SIGKILL)
    assert folders(tmp_path) == [its]
    monkeypatch.setattr(folder, "_swept", set())
    for _ in GRAPH.query(SORT, {"n": 200_000}, memory_limit=2_000_000, spill_directory=tmp_path):
        pass
    assert not folders(tmp_path)

"""The atlas of small patterns: it holds each pattern once, its counters agree, and its command finds wrong counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.bench.atlas import __main__ as command
from tests.bench.atlas import graphs, listed, quotients, records, suites, verified
from tests.bench.atlas.cells import Cell, Place, run
from tests.bench.atlas.checks import checked
from tests.bench.atlas.contraction import Counter
from tests.bench.atlas.formulas import Formulas
from tests.bench.atlas.graphs import Kind
from tests.bench.atlas.patterns import NAMES, Pattern, Semantics, connected, weakly_connected
from tests.bench.atlas.suites import Query
from tests.bench.atlas.trees import trees
from tests.bench.atlas.verify import found
from tests.bench.cells import Status

LISTED = "rmat5x4"
"""A graph of which all homomorphisms can be listed."""
TINY = "rmat6"
SUITES = tuple(name for name in suites.SUITES if name not in ("six", "labelled12"))


def test_the_atlas_holds_each_pattern_once() -> None:
    assert [len(connected(size)) for size in range(2, 7)] == [1, 2, 6, 21, 112]  # OEIS A001349
    assert [len(weakly_connected(size)) for size in range(2, 5)] == [2, 13, 199]  # OEIS A003085
    for patterns in (connected(6), weakly_connected(4)):
        assert len({pattern.canonical for pattern in patterns}) == len(patterns)
        assert len({pattern.name for pattern in patterns}) == len(patterns)
    assert {pattern.name for size in range(2, 6) for pattern in connected(size)} == set(NAMES)


@pytest.mark.parametrize("kind", Kind)
def test_contraction_counts_what_listing_counts(kind: Kind) -> None:
    graph = graphs.edges("rmat7" if kind.label_count else LISTED, kind)
    homomorphisms = Counter(graph)
    patterns = {query.pattern for name in SUITES for query in suites.queries(name, LISTED) if query.kind is kind}
    counts = {pattern.key: quotients.counts(pattern, homomorphisms) for pattern in patterns}
    assert counts == {pattern.key: listed.counts(graph, pattern) for pattern in patterns}
    assert sum(any(each.values()) for each in counts.values()) > len(counts) / 4


@pytest.mark.parametrize("name", [LISTED, "er5x4"])
def test_formulas_count_what_listing_counts(name: str) -> None:
    graph = graphs.edges(name, Kind.PLAIN)
    formulas = Formulas(graph)
    for pattern in [pattern for size in range(2, 6) for pattern in connected(size)]:
        assert quotients.counts(pattern, formulas) == listed.counts(graph, pattern), pattern.name


def test_contraction_counts_what_listing_counts_of_six_vertices() -> None:
    graph = graphs.edges("er4x2", Kind.PLAIN)
    homomorphisms = Counter(graph)
    for pattern in connected(6):
        assert quotients.counts(pattern, homomorphisms) == listed.counts(graph, pattern), pattern.name


def test_contraction_refuses_numbers_that_floats_do_not_hold() -> None:
    graph = graphs.edges("rmat10", Kind.PLAIN)
    star = Pattern("", 9, tuple((0, leaf) for leaf in range(1, 9)))
    with pytest.raises(OverflowError):
        Counter(graph)._count(star)


def test_the_kept_counts_are_those_of_the_formulas() -> None:
    counts = found("rmat10", Kind.PLAIN, connected(5))["formulas"]
    kept = verified.of("rmat10")
    for key, each in counts.items():
        assert [kept.count(Kind.PLAIN, key, semantics) for semantics in Semantics] == each


def test_what_follows_from_trees_and_a_few_counts_is_right() -> None:
    graph = graphs.edges(LISTED, Kind.PLAIN)
    named = {pattern.name: pattern for size in range(2, 6) for pattern in connected(size)}
    true = {name: listed.counts(graph, pattern) for name, pattern in named.items()}
    known = {named[name].canonical: true[name][Semantics.NODES] for name in ("triangle", "C4", "paw", "house", "K5")}
    homomorphisms = {named[name].canonical: count for name, count in trees(graph).items()}
    followed = set()
    for name, pattern in named.items():
        for semantics, count in quotients.Derived(homomorphisms, known).counts(pattern).items():
            assert count in (None, true[name][semantics]), name
            followed |= {(name, semantics)} if count is not None else set()
    assert {name for name, _ in followed} == {*trees(graph), "triangle", "C4", "paw", "house", "K5"}
    assert {name for name, semantics in followed if semantics is Semantics.REPEATABLE} >= {"P5", "fork", "C4", "K5"}


def test_a_count_that_another_method_contradicts_is_not_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(verified, "FILE", tmp_path / "verified.json")
    assert verified.keep("rmat6", "plain", "one", {"01": [7, None, 7]}) == []
    assert verified.keep("rmat6", "plain", "other", {"01": [7, 7, 8]}) == ["01"]
    assert verified.keep("rmat6", "plain", "other", {"01": [7, 8, 7]}) == []
    assert [verified.of("rmat6").count("plain", "01", semantics) for semantics in Semantics] == [7, 8, 7]


def test_the_engine_counts_the_atlas_of_a_tiny_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "cells.jsonl"
    shared = ["--graph", TINY, "--limit", "600", "--out", str(out)]
    undirected = [name for name in SUITES if name not in ("directed4", "grouped")]
    assert command.main(["--suite", ",".join(undirected), *shared]) == 0
    directed = ["--suite", "directed4", *shared, "--semantics", "relationships", "--resume"]
    assert command.main(directed) == 0
    assert "199 cells beside their bases" in capsys.readouterr().out
    cells = records.read(out)
    assert {cell.status for cell in cells} == {Status.OK}
    queries = {(query.kind, query.text): query for name in SUITES for query in suites.queries(name, TINY)}
    counters = {kind: Counter(graphs.edges(TINY, kind)) for kind in Kind}
    for cell in cells:
        query = queries[cell.key]
        assert cell.count == quotients.counts(query.pattern, counters[query.kind])[query.semantics], cell
    assert len(cells) == 3 * (2 + 6 + 21 + 21 + 21 + 21) + 199
    assert command.main(directed) == 0
    assert capsys.readouterr().err == ""  # nothing ran again
    assert records.read(out) == cells


def test_grouped_queries_find_the_nodes_that_listing_finds(tmp_path: Path) -> None:
    out = tmp_path / "cells.jsonl"
    assert command.main(["--suite", "grouped", "--graph", LISTED, "--limit", "600", "--out", str(out)]) == 0
    cells = {cell.key: cell for cell in records.read(out)}
    graph = graphs.edges(LISTED, Kind.PLAIN)
    for query in suites.queries("grouped", LISTED):
        cell, pattern = cells[query.kind, query.text], query.pattern
        rows = np.concatenate(
            [
                rows[listed.all_differ(listed.relationships(graph, pattern, rows))]
                for rows in listed.homomorphisms(graph, pattern)
            ]
        )
        nodes = len(np.unique(rows[:, query.vertex]))
        found = {"by node": (nodes, len(rows)), "exists": (1, nodes), "distinct": (1, nodes)}
        if query.form in found:
            assert (cell.rows, cell.count) == found[query.form], query.text


def test_walk_queries_are_counted_alike_in_every_way(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--suite", "labelled12", "--graph", "rmat8x4", "--limit", "600", "--hints", "search,extend"]
    assert command.main(arguments) == 0
    assert (
        "24 cells: 24 counted, 0 over the limit of 600 s, 0 refused (over 64 bits), 0 failed; 24 checked, 0 wrong"
        in capsys.readouterr().out
    )


def test_a_wrong_count_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = verified.Verified({"plain": {"by hand": {"01 02 12": [1, 2, 3]}}})
    monkeypatch.setattr(verified, "of", lambda graph: wrong)
    assert command.main(["--suite", "three", "--graph", TINY, "--only", "triangle"]) == 1
    assert "WRONG: verified 2, not" in capsys.readouterr().out


def test_a_count_over_64_bits_must_be_refused_and_no_other() -> None:
    query = Query(connected(3)[0], Semantics.NODES)
    refused = Cell("g", Kind.PLAIN, "cpu", query.text, "", query.pattern.key, "count", query.semantics)
    refused = replace(refused, detail="CountOverflow: A count exceeds 64 bits.")
    for count, check in ((2**63 - 1, "WRONG: verified 9,223,372,036,854,775,807"), (2**63, "verified")):
        known = verified.Verified({"plain": {"by hand": {query.pattern.key: [count, None, None]}}})
        assert checked({refused.key: refused}, known, {})[refused.key].check == check


def test_a_cell_over_the_limit_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--suite", "three", "--graph", TINY, "--limit", "0"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("> 0 s") == 6
    assert "6 cells: 0 counted, 6 over the limit of 0 s" in shown


def test_a_graph_beyond_the_memory_fails_all_its_cells(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--suite", "three", "--graph", TINY, "--memory", "0"]) == 0
    assert "6 cells: 0 counted, 0 over the limit of 20 s, 0 refused (over 64 bits), 6 failed" in capsys.readouterr().out


class Crashing(Query):
    """A query whose result ends the process that counts it: it has no column ``n``."""

    text = "RETURN 1 AS other"


def test_a_process_that_ends_does_not_stop_the_others() -> None:
    pattern = connected(3)[0]
    place = Place(TINY, "cpu", limit=600.0, memory=12 << 30)
    cells = list(run([Crashing(pattern, Semantics.NODES), Query(pattern, Semantics.NODES)], place))
    assert [cell.status for cell in cells] == [Status.FAILED, Status.OK]
    assert "the process ended with status 1" in cells[0].detail


def test_a_graph_must_have_a_known_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--suite", "three", "--graph", "enron"])
    assert "there is no graph 'enron'" in capsys.readouterr().err

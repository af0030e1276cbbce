"""What has changed between two replays is told apart: results, ways, plans."""

from __future__ import annotations

from dataclasses import replace

from tests.replay.cases import Case
from tests.replay.compare import changes
from tests.replay.record import Record, read, record, to_text

RECORDS = [
    Record(f"graph: query {k}", ("Aggregate", " Search · a · b"), ("auto cpu", f"search: cpu a(b{k})"), (f"{k}",))
    for k in range(5)
]
KNOWN = {each.title: each for each in RECORDS}


def test_files_hold_records() -> None:
    assert read(to_text(RECORDS)) == KNOWN
    assert read("") == {}


def test_nothing_has_changed() -> None:
    assert not changes(KNOWN, KNOWN)


def test_results_are_told_apart_from_ways_and_these_from_plans() -> None:
    titles = list(KNOWN)
    after = dict(KNOWN)
    after[titles[0]] = replace(RECORDS[0], plan=("Aggregate",), ways=("auto gpu",), result=("7",))
    after[titles[1]] = replace(RECORDS[1], plan=("Aggregate",), ways=("auto gpu",))
    after[titles[2]] = replace(RECORDS[2], plan=("Aggregate", " Search · b · a"))
    after["graph: another query"] = replace(after.pop(titles[3]), title="graph: another query")
    found = changes(KNOWN, after)
    assert [pair[1].title for pair in found.results] == titles[:1]
    assert [pair[1].title for pair in found.ways] == titles[1:2]
    assert [pair[1].title for pair in found.plans] == titles[2:3]
    assert (found.gone, found.new) == ((titles[3],), ("graph: another query",))
    text = found.text("suite")
    assert text.startswith("suite: 1 RESULTS CHANGED, 1 run another way, 1 planned otherwise")
    assert text.index("ANOTHER RESULT") < text.index("another way:") < text.index("another plan")
    assert "  result - 0\n  result + 7\n" in text


def test_many_changes_are_counted() -> None:
    after = {title: replace(each, result=("none",)) for title, each in KNOWN.items() for _ in range(9)}
    more = {f"{title} {k}": each for title, each in KNOWN.items() for k in range(9)}
    assert not changes(KNOWN, after).plans
    text = changes(more, {title: replace(each, ways=()) for title, each in more.items()}).text("suite")
    assert "another way: 40 more" in text


def test_a_record_has_a_plan_its_ways_and_a_result() -> None:
    found = record(Case("small", "MATCH (a)-[:R]->(b) RETURN count(*) AS n"))
    assert found.title == "small: MATCH (a)-[:R]->(b) RETURN count(*) AS n"
    assert found.plan[0].startswith("Aggregate: count(*) AS n") and found.plan[1].startswith(" Search count")
    assert len(found.ways) == 1 and found.ways[0].startswith("search: cpu ")
    assert found.result == ("3",)


def test_errors_are_results() -> None:
    assert record(Case("small", "MATCH (a) RETURN b")).result == ("SemanticError UndefinedVariable",)
    assert record(Case("small", "MATCH (a) RETURN 1 / 0")).result == ("ExecutionError DivisionByZero",)


def test_elimination_is_told_by_its_kernels_whatever_was_asked_before() -> None:
    case = Case("small", "/*+ eliminate */ MATCH (a)-[:U]-(b)-[:U]-(c) RETURN count(*) AS n")
    first = record(case)
    assert record(case) == first
    assert first.ways[-1].startswith("cpu kernels: ")

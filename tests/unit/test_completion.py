"""Completion in the shell: what may stand before the cursor, without a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from qengine import Graph
from qengine.cli.completion import ShellCompleter
from qengine.cli.session import Session

WORLD = Path(__file__).resolve().parents[2] / "examples" / "world"
COUNTRY = {"area_km2", "capital", "continent", "currency", "id", "independence_year", "iso3", "landlocked", "name",
           "population", "un_member"}  # fmt: skip
LABELS = {"City", "Continent", "Country", "Language", "River"}


@pytest.fixture(scope="module")
def completer() -> ShellCompleter:
    return ShellCompleter(Session(Graph.from_csv(WORLD), parameters={"limit": 1, "least": 2}))


def completions(completer: ShellCompleter, text: str) -> set[str]:
    return {each.text for each in completer.get_completions(Document(text), CompleteEvent())}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MATCH (c:Country) RETURN c.", COUNTRY),
        ("MATCH (c:Country|River) RETURN c.l", {"landlocked", "length_km"}),
        ("MATCH (c:Country)-[b:borders]-() RETURN b.", {"length_km"}),
        ("MATCH ()-[b]-() RETURN b.", {"length_km", "official"}),
        ("MATCH ()-[b:borders*1..2]-(c:River) WHERE c.l", {"length_km"}),
        ("MATCH (c) WHERE c.un", {"un_member"}),
        ("MATCH (c:!Country) WHERE c.un", {"un_member"}),
        ("MATCH (c:Country) WITH c AS land RETURN land.la", {"landlocked"}),
        ("MATCH (c:Country) WITH count(c) AS n RETURN n.of", {"official"}),
        ("MATCH (c:River); MATCH (c:Country) RETURN c.l", {"landlocked"}),
        ("MATCH (c:", LABELS),
        ("MATCH (c:Country|", LABELS),
        ("MATCH (:!(City|", LABELS),
        ("MATCH (c) WHERE c:Cou", {"Country"}),
        ("MATCH (c:`Cou", {"Country"}),
        ("MATCH ()-[:b", {"borders"}),
        ("MATCH ()-[:borders|ca", {"capital"}),
        ("RETURN 'P", set()),
        ('RETURN "P', set()),
        ("RETURN 'it\\'s P", set()),
        ("RETURN 'P'", set()),
        ("RETURN 1", set()),
        ("// MA", set()),
        ("/* MA", set()),
        ("RETURN $l", {"$limit", "$least"}),
        ("MATCH (river)-->(c) RETURN ri", {"river", "right"}),
        ("RETURN [x IN [1] | percentileC", {"percentileCont"}),
        ("MER", {"MERGE"}),
        ("MATCH (c) DET", {"DETACH DELETE"}),
        (":sche", {":schema"}),
        (":format ", {"table", "vertical", "csv", "json", "jsonl", "markdown", "arrow"}),
        (":device g", {"gpu"}),
        (":timing o", {"on", "off"}),
        (":help percentileC", {"percentileCont"}),
        (":profile MATCH (c:Cou", {"Country"}),
        (":schema M", set()),
        ("MATCH (c)\n:sche", {":schema"}),
    ],
)
def test_what_is_offered(completer: ShellCompleter, text: str, expected: set[str]) -> None:
    assert completions(completer, text) == expected


def test_files_are_offered_where_a_command_takes_one(
    completer: ShellCompleter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "questions.cypher").touch()
    for command in (":load", ":save", ":run", ":output"):
        assert completions(completer, f"{command} quest") == {"ions.cypher"}


@given(st.text(st.sampled_from("MATCHcRETURN ()[]{}:.|&!'\"`$;\n/*-<>abc1, ")))
def test_whatever_is_typed_is_completed_or_not(completer: ShellCompleter, text: str) -> None:
    for each in completer.get_completions(Document(text), CompleteEvent()):
        assert -len(text) <= each.start_position <= 0

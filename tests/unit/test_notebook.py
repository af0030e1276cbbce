"""What a notebook shows: values, tables and errors as HTML and short tracebacks."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import qengine
from qengine import Graph, QengineError
from qengine.notebook.display import bundles

WORLD = Path(__file__).resolve().parents[2] / "examples" / "world"


@pytest.fixture(scope="module")
def world() -> Graph:
    return Graph.from_csv(WORLD)


def shown(html: str) -> str:
    return "".join(ET.fromstring(f"<div>{html}</div>").itertext())


def test_a_node_shows_what_tells_it_apart(world: Graph) -> None:
    node = world.query("MATCH (c:Country {name: 'Peru'}) RETURN c").value()
    assert shown(node._repr_html_()) == "(:Country {name: 'Peru', id: 'PE', population: 33846000, …})"
    assert "independence_year: 1821" in node._repr_html_(), "all is in the tooltip"


def test_paths_and_lists_of_nodes_are_short(world: Graph) -> None:
    result = world.query(
        "MATCH p = (:Country {name: 'Peru'})-[:borders]-(:Country {name: 'Chile'})-[:capital]->() "
        "RETURN p, nodes(p) AS ns, {one: 'x', none: null} AS map, true AS yes, 1.5 AS half"
    )
    text = shown(result._repr_html_())
    assert "(:Country {name: 'Peru', …})←[:borders {…}]−(:Country" in text.replace("−[:b", "←[:b").replace("]→", "]−")
    assert "(:City {name: 'Santiago', …})" in text
    assert "{one: 'x', none: null}true1.5" in text and len(result.fetchall()) == 1


def test_a_table_has_pages_and_says_whether_there_are_more_rows(world: Graph) -> None:
    html = world.query("MATCH (c:Country) RETURN c.name")._repr_html_()
    assert html.count("<details") == 10 and html.count('<details open="">') == 1
    text = shown(html)
    assert "rows 1 to 20" in text and "rows 181 to 198" in text and text.endswith("198 rows")
    result = world.query("MATCH (c:City) RETURN c.name")
    assert shown(result._repr_html_()).endswith("the first 200 rows") and len(result.fetchall()) == 1528
    assert "<details" not in world.query("UNWIND range(1, 20) AS x RETURN x")._repr_html_()


def test_columns_have_their_types(world: Graph) -> None:
    result = world.query("UNWIND [1, 'a'] AS x MATCH (c:Country {id: 'PE'}) RETURN x, c, c.name AS name, null AS none")
    assert result.types == {"x": "ANY", "c": "NODE", "name": "STRING", "none": "NULL"}
    html = result._repr_html_()
    assert "INTEGER | STRING" in html and "NODE" in html and "STRING</small>" in html


def test_a_result_shows_its_graph_as_a_picture_above_the_table(world: Graph) -> None:
    html = world.query("MATCH p = (:Country {id: 'PT'})-[:borders]-() RETURN p")._repr_html_()
    ET.fromstring(f"<div>{html}</div>")
    assert html.index("<svg") < html.index("<table") and "<script" not in html


def test_ipython_gets_the_picture_as_an_output_of_its_own(world: Graph) -> None:
    picture, table = bundles(world.query("MATCH p = (:Country {id: 'PT'})-[:borders]-() RETURN p"))
    assert picture["image/svg+xml"].startswith("<svg") and "<svg" not in table["text/html"]
    assert "│ p " in table["text/plain"]
    plan, told = bundles(world.query("PROFILE MATCH (c:Country) RETURN count(*)"))
    assert "<svg" in plan["image/svg+xml"] and "q-error" in plan["text/plain"]
    assert "Runs on the CPU" in told["text/html"] and "Bars are shares of the time" in told["text/html"]
    plan, warnings = bundles(world.query("EXPLAIN MATCH (c:Contry) RETURN c"))
    assert "Did you mean" in warnings["text/html"]
    graph = Graph()
    (changed,) = bundles(graph.query("CREATE (:A)"))
    assert "1 node created" in changed["text/html"]


def test_graphs_and_schemas_are_tables(world: Graph) -> None:
    text = shown(world._repr_html_())
    assert text.startswith("<Graph 2,160 nodes, 3,278 relationships>patterncount")
    assert "(:Country)-[:borders {length_km: FLOAT}]-(:Country)322" in text
    assert shown(Graph.from_records([])._repr_html_()).endswith("patterncount")


def test_an_error_shows_the_line_that_made_it_and_no_engine(world: Graph) -> None:
    for text in ("MATCH (c:Country RETURN c", "RETURN oen", "RETURN 1 / 0 AS x"):
        with pytest.raises(QengineError) as caught:
            world.query(text).fetchall()
        lines = "".join(caught.value._render_traceback_()).splitlines()
        assert "world.query(text)" in "".join(lines) and f"{qengine.__name__}/syntax" not in "".join(lines)
        assert len(lines) < 12 and str(caught.value) in "\n".join(lines)


def test_ipython_prints_the_table(world: Graph) -> None:
    class Printer:
        written = ""

        def text(self, text: str) -> None:
            self.written += text

    printer = Printer()
    result = world.query("MATCH (c:Country {name: 'Peru'}) RETURN c.name")
    result._repr_pretty_(printer, False)
    assert printer.written == str(result) and "│ Peru   │" in printer.written


def test_a_schema_is_a_text_for_a_prompt(world: Graph) -> None:
    nodes, relationships, undirected = world.schema.to_text().split("\n\n")
    assert "\n(:River {id: STRING, name: STRING, length_km: INTEGER})\n" in nodes + "\n"
    assert relationships.startswith("Relationships and their properties:\n(:City)-[:located_in]->(:Country)\n")
    assert undirected.splitlines() == ["Types without a direction, written -[:TYPE]-:", "borders"]
    assert "(:Country)-[:capital]->(:City)  # 198" in world.schema.to_text(counts=True)
    assert Graph().schema.to_text() == "an empty graph"
    ruled = Graph()
    ruled.query("CREATE CONSTRAINT name FOR (a:A) REQUIRE a.name IS UNIQUE")
    ruled.query("CREATE (:A {name: 'x'})-[:R]->({k: 1})")
    assert ruled.schema.to_text().split("\n\n")[-1].startswith("Indexes and constraints:\nCREATE CONSTRAINT")

"""Pictures of graphs: well-formed, the same each time, with everything in its place."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qengine
from qengine import Graph
from qengine.pictures import Edge, Vertex, degrees_svg, draw, schema_svg, values_svg
from qengine.pictures.layout import layout

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def world() -> Graph:
    return qengine.example()


def texts(svg: str | None, tag: str = "text") -> list[str]:
    assert svg is not None
    return [each.text or "" for each in ET.fromstring(svg).iter(SVG + tag)]


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.tuples(*[st.integers(0, n - 1)] * 2)))))
def test_every_vertex_has_a_place_of_its_own_and_always_the_same(graph: tuple[int, list[tuple[int, int]]]) -> None:
    places = layout(*graph)
    assert places.shape == (graph[0], 2) and np.isfinite(places).all() and (places >= 0).all()
    assert all(np.abs(one - other).max() > 0.05 for one, other in itertools.combinations(places, 2))
    assert (layout(*graph) == places).all()


def test_a_ring_becomes_round() -> None:
    places = layout(12, [(i, (i + 1) % 12) for i in range(12)])
    radii = np.hypot(*(places - places.mean(0)).T)
    assert radii.max() / radii.min() < 1.2


def test_neighbours_are_closer_than_others_in_a_long_path() -> None:
    places = layout(40, [(i, i + 1) for i in range(39)])
    steps = np.hypot(*np.diff(places, axis=0).T)
    assert np.hypot(*(places[0] - places[-1])) > 8 * steps.mean()


def test_components_do_not_overlap() -> None:
    places = layout(9, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (6, 7)])
    boxes = [(places[part].min(0), places[part].max(0)) for part in ([0, 1, 2], [3, 4, 5], [6, 7], [8])]
    for (low, high), (other_low, other_high) in itertools.combinations(boxes, 2):
        assert (high < other_low).any() or (other_high < low).any()


def test_a_result_is_drawn_with_captions_arrows_and_a_legend(world: Graph) -> None:
    text = "MATCH p = (:River {name: 'Danube'})-[:flows_through]->(:Country)-[:part_of]->() RETURN p"
    svg = world.query(text).to_svg()
    found = texts(svg)
    assert {"Danube", "Hungary", "Europe", "flows_through", "River 1", "Country 10", "Continent 1"} <= set(found)
    assert svg == world.query(text).to_svg()
    assert sum(title.startswith("[:part_of") for title in texts(svg, "title")) == 10
    assert svg is not None and svg.count('Z" fill=') == 20, "as many arrowheads as relationships"


def test_relationships_without_a_direction_have_no_arrow(world: Graph) -> None:
    svg = world.query("MATCH (:Country {id: 'PT'})-[b:borders]-(c) RETURN b, c").to_svg()
    assert svg is not None and 'Z" fill=' not in svg and "borders" in texts(svg)


def test_drawing_does_not_consume_the_rows(world: Graph) -> None:
    result = world.query("MATCH (a:Country)-[b:borders]-(c) RETURN b")
    assert result.to_svg() is not None and len(result.fetchall()) == 644


def test_what_holds_no_relationship_is_no_picture(world: Graph) -> None:
    assert world.query("MATCH (c:Country) RETURN c").to_svg() is None
    assert world.query("RETURN 1").to_svg() is None
    assert values_svg([1, "a", None]) is None


def test_elements_inside_lists_and_maps_are_drawn_once(world: Graph) -> None:
    text = "MATCH (a:Country {id: 'PT'})-[b:borders]-(c) RETURN {deep: [[b], a]} AS x, [c, c] AS y, b"
    assert len(texts(world.query(text).to_svg(), "title")) == 3


def test_parallel_relationships_and_loops_lie_apart() -> None:
    edges = [Edge(0, 1, "a", ""), Edge(0, 1, "b", ""), Edge(1, 0, "c", ""), Edge(0, 0, "l", ""), Edge(0, 0, "m", "")]
    root = ET.fromstring(draw([Vertex("x", "", ""), Vertex("y", "", "")], edges))
    lines = [each.get("d") for each in root.iter(SVG + "path") if each.get("stroke")]
    assert len(set(lines)) == 5


def test_names_cannot_break_out_of_a_picture() -> None:
    graph = Graph.from_records(
        [{"id": 1, "labels": ["<b>"], "properties": {"name": '</text><script>"'}}, {"id": 2}],
        [{"type": "<i>\x1b", "start": 1, "end": 2}],
    )
    svg = graph.query("MATCH p = ()-[]->() RETURN p").to_svg()
    assert svg is not None and "<script" not in svg and "<b>" not in svg and "\x1b" not in svg
    ET.fromstring(svg)
    ET.fromstring(schema_svg(graph.schema))


def test_two_thousand_elements_are_drawn_and_more_are_told() -> None:
    nodes = [{"id": i} for i in range(1500)]
    graph = Graph.from_records(nodes, [{"type": "T", "start": i, "end": (7 * i) // 9} for i in range(1, 1500)])
    svg = graph.query("MATCH (a)-[r:T]->(b) RETURN a, r, b").to_svg()
    assert "the first 2,000 nodes and relationships" in texts(svg)
    assert svg is not None and svg.count("<circle") >= 900


def test_schemas_and_degrees_are_pictures(world: Graph) -> None:
    found = texts(schema_svg(world.schema))
    assert {"1,528", "flows_through", ":Country 1"} <= set(found)
    assert "198 nodes, 40 of them without" in texts(degrees_svg(world, "borders", label="Country"))[0]
    titles = texts(degrees_svg(world, "flows_through", label="Country", direction="in"), "title")
    assert (
        sum(int(each.split(": ")[1].split()[0].replace(",", "")) for each in titles)
        == world.query("MATCH (c:Country) WHERE EXISTS { (c)<-[:flows_through]-() } RETURN count(*)").value()
    )
    with pytest.raises(ValueError, match="'sideways'"):
        degrees_svg(world, direction="sideways")

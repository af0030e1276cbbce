"""Files that other programs have written: GraphML, GEXF, APOC's JSON, Kùzu's folders."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from qengine import Date, Duration, Graph, LoadingWarning, LocalDateTime, Point, StorageError
from qengine.cli.loading import load
from qengine.formats.jsonl_blocks import Blocks
from qengine.formats.records import Records
from qengine.formats.texts import TYPES, column_values
from qengine.storage.variant import from_python

DATA = Path(__file__).resolve().parents[2] / "data" / "formats"


def rows(graph: Graph, text: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in graph.query(text)]


def test_networkx_graphml_loads_unmodified() -> None:
    graph = Graph.from_graphml(DATA / "networkx.graphml", type="LINK", label="Thing")
    assert rows(graph, "MATCH (n:Thing) RETURN properties(n) ORDER BY n.age") == [
        ({"age": 3, "name": "Ann"},),
        ({"x": 0.5, "ok": True},),
    ]
    assert rows(graph, "MATCH (a)-[r:LINK]->(b) RETURN a.age, r.weight, b.x ORDER BY r.weight") == [
        (3, 2, 0.5), (3, 3, 0.5), (None, None, 0.5),
    ]  # fmt: skip


def test_networkx_gexf_loads_unmodified() -> None:
    graph = Graph.from_gexf(DATA / "networkx.gexf")
    assert rows(graph, "MATCH (n) RETURN n.label, n.age, n.name, n.x, n.ok ORDER BY n.label") == [
        ("a", 3, "Ann", None, None), ("b", None, None, 0.5, True),
    ]  # fmt: skip
    assert rows(graph, "MATCH (a)-[r:E]->(b) RETURN a.label, r.weight, b.label ORDER BY r.weight") == [
        ("a", 2.0, "b"), ("a", 3.0, "b"), ("b", None, "b"),
    ]  # fmt: skip


GRAPHML = """<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="color" attr.type="string"><default>yellow</default></key>
<key id="d1" for="all" attr.name="n" attr.type="int"/>
<key id="d2" for="node" yfiles.type="nodegraphics"/>
<key id="d3" for="node" attr.name="tags" attr.type="string" attr.list="string"/>
<graph edgedefault="undirected">
 <node id="a" labels=":P:`x:y`"><data key="labels">:P:`x:y`</data><data key="d1"> 5 </data>
  <data key="d2"><y:Shape xmlns:y="urn:y"><y:Fill/></y:Shape></data>
  <graph><node id="a::b"><data key="d0">b&lt;&#13;</data><data key="d3">["u", "v"]</data></node></graph>
 </node>
 <node id="c"/>
 <edge source="a" target="c"><data key="d1">7</data></edge>
</graph></graphml>"""


def test_graphml_of_other_programs(tmp_path: Path) -> None:
    path = tmp_path / "g.graphml"
    path.write_text(GRAPHML)
    graph = Graph.from_graphml(path)
    assert rows(graph, "MATCH (n) RETURN labels(n), n.color, n.n, n.tags ORDER BY n.color, n.n") == [
        ([], "b<\r", None, ["u", "v"]), (["P", "x:y"], "yellow", 5, None), ([], "yellow", None, None),
    ]  # fmt: skip
    assert rows(graph, "MATCH (:P)-[r]-(c) RETURN r.n, type(r)") == [(7, "E")]
    assert graph._store.undirected_types == {"E"}


TYPED = (
    '<graphml><key id="k" for="node" attr.name="x" attr.type="{kind}"/><graph><node id="a"><data key="k">{text}</data>'
    "</node></graph></graphml>"
)
MANY = TYPED.replace("<node", "{nodes}<node").replace(
    "{nodes}", "".join(f'<node id="{number}"><data key="k">{{text}}</data></node>' for number in range(100))
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<graphml><graph><node id='a'>", "it is no GraphML: no element found"),
        ("<graphml><graph>\n<node/></graph></graphml>", "line 2: the attribute 'id' is missing"),
        ("<graphml><graph><hyperedge/></graph></graphml>", "there is a hyperedge"),
        ("<!DOCTYPE g [<!ENTITY a 'b'>]><graphml/>", "it declares entities"),
        ("<graphml><graph><edge source='a' target='b'/></graph></graphml>", "'a' is no node's key"),
        ("<graphml><graph><node id='a'/><node id='a'/></graph></graphml>", "the key 'a' is that of two nodes"),
        (GRAPHML.replace(" 5 ", "five"), "line 7: property n has 'five': it is not an integer"),
        (TYPED.format(kind="boolean", text="yes"), "property x has 'yes': it is neither true nor false"),
        (TYPED.format(kind="int", text="1_0"), "property x has '1_0': it is not an integer"),
        (TYPED.format(kind="double", text="1,5"), "property x has '1,5': it is not a number"),
        (MANY.format(kind="int", text="0x1F"), "property x has '0x1F': it is not an integer"),
        (
            "<graphml><graph><node id='a'/><edge source='a' target='a'/>"
            "<edge source='a' target='a' directed='false'/></graph></graphml>",
            "some relationships E have a direction, others none",
        ),
    ],
)
def test_wrong_graphml_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "g.graphml").write_text(text)
    with pytest.raises(StorageError, match=message):
        Graph.from_graphml(tmp_path / "g.graphml")


@pytest.mark.parametrize("kind", ["int", "double", "boolean", "date", "string"])
@pytest.mark.parametrize("form", [TYPED, MANY], ids=["one", "many"])
def test_an_empty_text_of_graphml_is_a_string_or_none(tmp_path: Path, kind: str, form: str) -> None:
    (tmp_path / "g.graphml").write_text(form.format(kind=kind, text=""))
    found = {row[0] for row in rows(Graph.from_graphml(tmp_path / "g.graphml"), "MATCH (n) RETURN n.x")}
    assert found == {"" if kind == "string" else None}


def test_graphml_of_an_undirected_graph_is_read_by_networkx(tmp_path: Path) -> None:
    networkx = pytest.importorskip("networkx")
    graph = Graph.from_records(
        [{"id": 0, "labels": "A", "properties": {"s": "<&>"}}, {"id": 1}], [{"type": "R", "start": 0, "end": 1}]
    )
    for undirected in ([], ["R"]):
        graph = Graph.from_records(
            [{"id": 0, "labels": "A", "properties": {"s": "<&>", "n": 1}}, {"id": 1}],
            [{"type": "R", "start": 0, "end": 1, "properties": {"w": 0.5}}],
            undirected=undirected,
        )
        graph.export(tmp_path / "g.graphml")
        found = networkx.read_graphml(tmp_path / "g.graphml")
        assert found.is_directed() is not bool(undirected)
        assert dict(found.nodes(data=True)) == {"n0": {"labels": ":A", "s": "<&>", "n": 1}, "n1": {}}
        assert next(iter(found.edges(data=True)))[2]["w"] == 0.5


def test_names_that_xml_cannot_hold_are_refused(tmp_path: Path) -> None:
    graph = Graph.from_records([{"labels": "a\x01"}])
    with pytest.raises(StorageError, match="GraphML can't hold the name"):
        graph.export(tmp_path / "g.graphml")


def test_apocs_json_loads_unmodified(tmp_path: Path) -> None:
    text = (DATA / "apoc.json").read_text()
    array = tmp_path / "array.json"
    array.write_text("[" + ",".join(text.splitlines()) + "]")
    lines = text.splitlines()
    whole = tmp_path / "whole.json"
    whole.write_text('{"nodes": [' + ",".join(lines[:3]) + '], "rels": [' + lines[3] + "]}")
    for path in (DATA / "apoc.json", array, whole):
        graph = Graph.from_jsonl(path)
        assert rows(graph, "MATCH (a:User)-[r:KNOWS]->(b) RETURN a.name, a.born, a.place, a.kids, r.since, b.name") == [
            ("Adam", "2015-07-04T19:32:24", Point(13.1, 33.46789, crs="wgs-84"), ["Sam", "Anna", "Grace"], 1993, "Jim")
        ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type": "node", "id": 1}\n{"type": "node"}', "object 2 lacks 'id'"),
        ('{"type": "node", "id": 1}\n{"type": "edge"}', "object 2: 'edge' is neither a node nor a relationship"),
        ('{"type": "node", "id": 1}\n{', "after object 0 it is no JSON"),
        ('{"type": "node", "id": 1, "properties": {"x": "y"}, "types": {"x": "date"}}', "object 1: "),
        ('{"type": "node", "id": 1, "properties": {"p": {"a": 1}}}', "is no point"),
        ('{"type": "node", "id": 1, "properties": {"p": [[1], "a", null, 0.5, true]}}', None),
    ],
)
def test_wrong_json_is_refused_with_its_object(tmp_path: Path, text: str, message: str | None) -> None:
    (tmp_path / "g.jsonl").write_text(text)
    if message is None:
        assert rows(Graph.from_jsonl(tmp_path / "g.jsonl"), "MATCH (n) RETURN n.p") == [([[1], "a", None, 0.5, True],)]
        return
    with pytest.raises(StorageError, match=message):
        Graph.from_jsonl(tmp_path / "g.jsonl")


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_kuzus_export_loads_unmodified(format: str) -> None:
    with pytest.warns(LoadingWarning, match="column address: it is left out") as told:
        graph = Graph.from_kuzu(DATA / f"kuzu_{format}")
    assert Path(told[0].filename) == Path(__file__)
    assert rows(graph, "MATCH (u:User) RETURN properties(u) ORDER BY u.name") == [
        ({
            "name": "Ann", "age": 3, "born": Date(2020, 1, 1), "seen": LocalDateTime("2020-01-01T10:00"),
            "tags": ["a", "b c"], "x": 0.5, "ok": True, "pause": Duration(months=1, days=2, hours=3),
        },),
        ({"name": 'Bob "q"'},),
    ]  # fmt: skip
    assert rows(graph, "MATCH (a)-[r]->(b) RETURN a.name, type(r), r.since, b.name ORDER BY type(r), a.name") == [
        ("Ann", "Follows", 2000, 'Bob "q"'),
        ("Ann", "LivesIn", None, "Oslo"),
        ("Oslo", "LivesIn", None, "Oslo"),
    ]


def test_a_folder_that_is_not_kuzus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"schema.cypher: it can't be read"):
        Graph.from_kuzu(tmp_path)


@pytest.mark.parametrize("name", ["networkx.graphml", "networkx.gexf", "kuzu_csv", "movies", "script.cypher"])
def test_the_command_loads_what_its_path_names(name: str, tmp_path: Path) -> None:
    path = DATA / name
    if name == "script.cypher":
        path = tmp_path / name
        path.write_text("CREATE (:A)-[:R]->(:B)")
    assert load(str(path)).relationship_count > 0


@pytest.mark.parametrize("format", ["graphml", "gexf"])
def test_ids_that_are_names_become_a_property(tmp_path: Path, format: str) -> None:
    networkx = pytest.importorskip("networkx")
    made = networkx.DiGraph([("ann", "bob"), ("bob", "cleo")])
    made.nodes["cleo"]["name"] = "Cleo"
    getattr(networkx, f"write_{format}")(made, tmp_path / "graph")
    load = getattr(Graph, f"from_{format}")
    pairs = load(tmp_path / "graph", key="id").query("MATCH (a)-->(b) RETURN a.id, b.id").fetchall()
    assert sorted(map(tuple, pairs)) == [("ann", "bob"), ("bob", "cleo")]
    assert "id" not in load(tmp_path / "graph").query("MATCH (n)-->() RETURN keys(n)").value()
    with pytest.raises(StorageError, match="a property name of their own"):
        load(tmp_path / "graph", key="name")


def test_elements_that_all_differ_in_form_are_read_as_others(tmp_path: Path) -> None:
    """More forms than are known at a time, with stretches of one form between them."""
    chance = random.Random(1)
    nodes = [
        {
            "id": i,
            "labels": [f"L{i % 7}"],
            "properties": {"k": i, **({f"p{chance.randrange(90)}": i} if i % 500 > 99 else {})},
        }
        for i in range(1_500)
    ]
    links = [
        {"type": f"R{i % 5}", "start": i, "end": i + 1, "properties": {f"q{chance.randrange(90)}": i / 2}}
        for i in range(600)
    ]
    graph = Graph.from_records(nodes, links)
    graph.export(tmp_path / "x.graphml")
    back = Graph.from_graphml(tmp_path / "x.graphml")
    for text in (
        "MATCH (n) RETURN labels(n) AS l, properties(n) AS p ORDER BY n.k",
        "MATCH (a)-[r]->(b) RETURN a.k, type(r), properties(r), b.k ORDER BY a.k",
    ):
        assert back.query(text).fetchall() == graph.query(text).fetchall()


@pytest.mark.parametrize(
    ("type", "texts"),
    [
        ("date", ["2020-01-31", None, "1969-12-31", "0001-01-01"]),
        ("localdatetime", ["2020-01-31T23:59:59", None, "1969-12-31T00:00:00.000001", "0001-01-01T01:02:03.5"]),
        ("localdatetime", ["2020-01-31T23:59:59", "2020-01-31T23:59:59.123456789", "2020-01-31T10:15"]),
        ("datetime", ["2020-01-31T23:59:59Z", None, "1969-12-31T00:00:00.25Z"]),
        ("datetime", ["2020-01-31T23:59:59+02:30", "1969-12-31T00:00:00+02:30"]),
        ("datetime", ["2020-01-31T23:59:59-00:30", "1969-12-31T00:00:00.125-00:30"]),
        ("datetime", ["2020-01-31T23:59:59-11:00", "1969-12-31T00:00:00Z"]),
        ("datetime", ["2020-01-31T23:59:59+00:00", "2020-01-31T23:59:59+00:00"]),
        ("datetime", ["2020-01-31T23:59:59[Europe/Berlin]", "2020-07-31T23:59:59+02:00[Europe/Berlin]"]),
        ("long", ["1", "-9223372036854775808", " 7 ", "+5"]),
        ("double", ["1", "-0.0", "1e300", "NaN", "-inf"]),
    ],
)
def test_texts_mean_the_same_together_as_one_by_one(type: str, texts: list[str | None]) -> None:
    expected = from_python([None if each is None else TYPES[type](each) for each in texts], "")
    found = column_values(pa.array(texts), type, "")
    assert found.type == expected.type
    assert str(found.to_pylist()) == str(expected.to_pylist())


def test_typed_json_lines_are_read_as_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph()
    graph.query(
        "UNWIND range(1, 40) AS i CREATE (n:A {k: i, d: date({year: 1990 + i}), t: localdatetime({year: 1990 + i}), "
        "z: datetime({year: 1990 + i, timezone: '+01:00'}), l: [date({year: 1990 + i}), date('2020-01-01')], "
        "p: point({x: i, y: 2}), e: duration({days: i})}) WITH n, i WHERE i % 3 = 0 "
        "SET n.g = point({longitude: 1, latitude: i}) REMOVE n.d, n.l"
    ).close()
    graph.export(tmp_path / "x.jsonl")
    assert Blocks(Records("")).add((tmp_path / "x.jsonl").read_text())
    together = Graph.from_jsonl(tmp_path / "x.jsonl")
    monkeypatch.setattr(Blocks, "add", lambda *_: False)
    apart = Graph.from_jsonl(tmp_path / "x.jsonl")
    text = "MATCH (n) RETURN properties(n) AS p ORDER BY n.k"
    assert graph.query(text).fetchall() == together.query(text).fetchall() == apart.query(text).fetchall()
    assert str(together.schema) == str(apart.schema) == str(graph.schema)

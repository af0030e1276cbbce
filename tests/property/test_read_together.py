"""Elements of files that are read many at a time are what they are read one by one: JSON, GraphML and GEXF."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.errors import StorageError
from qengine.formats.jsonl_blocks import Blocks
from qengine.formats.xml_forms import Forms
from tests.examples import examples

TEXTS = st.sampled_from(
    ["", "a", "2015-07-04T19:32:24", "2020-01-01", "10:00", 'q"', "\\", "é😀", "\n", "\x1f", '"f": 1}', "1", "null"]
) | st.text(max_size=3)
NUMBERS = st.integers(-3, 3) | st.sampled_from([0.5, 2.0, -0.0, 1e300, 2**53 + 1, 2**63, 2.5])
JSON_VALUES = st.one_of(
    NUMBERS, TEXTS, st.booleans(), st.none(), st.lists(NUMBERS, max_size=2), st.lists(TEXTS | st.none(), max_size=2),
    st.just({"crs": "cartesian", "x": 1, "y": 2}),
)  # fmt: skip
NAMES = st.sampled_from(["f", "name", "ü", 'x"y', "a.b"])
SETTINGS = settings(max_examples=examples(150), deadline=None)


def content(load: Callable[[], Graph]) -> object:
    """Return what a file loads as, or that it doesn't."""
    try:
        graph = load()
    except StorageError as error:
        return type(error)
    nodes = sorted(repr([sorted(n.labels), sorted(n.properties.items())]) for (n,) in graph.query("MATCH (n) RETURN n"))
    links = sorted(
        repr([a.get("key"), r.type, b.get("key"), sorted(r.properties.items())])
        for a, r, b in graph.query("MATCH (a)-[r]->(b) RETURN a, r, b")
    )
    return nodes, links, sorted(graph._store.undirected_types)


def assert_alike(text: str, load: Callable[[Path], Graph], together: type, method: str, apart: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph"
        path.write_text(text, encoding="utf-8")
        found = content(lambda: load(path))
        with pytest.MonkeyPatch.context() as patch:
            for name in method.split():
                patch.setattr(together, name, apart)
            assert content(lambda: load(path)) == found


@st.composite
def json_texts(draw: st.DrawFn) -> str:
    keys = draw(st.lists(st.integers(0, 9) | st.sampled_from(["a", "2020-01-01"]), min_size=1, max_size=4))
    values = draw(st.sampled_from([JSON_VALUES, NUMBERS, TEXTS, st.integers(-2, 2)]))

    def element(members: dict[str, Any]) -> dict[str, Any]:
        if draw(st.integers(0, 5)):
            members["properties"] = {**draw(st.dictionaries(NAMES, values, max_size=3)), **members.pop("own", {})}
        return dict(draw(st.permutations(list(members.items()))))

    labels = st.sampled_from([["A"], [], ["A", "B"]])
    nodes = [element({"type": "node", "id": key, "labels": draw(labels), "own": {"key": str(key)}}) for key in keys]
    ends = st.sampled_from(keys).map(lambda key: {"id": str(key), "labels": ["A"], "properties": {"z": 1}})
    links = [
        element({"type": "relationship", "label": label, "start": draw(ends), "end": draw(ends)})
        for label in draw(st.lists(st.sampled_from("RS"), max_size=3))
    ]
    separators = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    write = lambda each: json.dumps(each, separators=separators, ensure_ascii=draw(st.booleans()))  # noqa: E731
    form = draw(st.sampled_from(["lines", "lines", "array", "object"]))
    if form == "array":
        return write([*nodes, *links])
    if form == "object":
        return write({"nodes": nodes, "rels": links})
    return "\n".join(map(write, draw(st.permutations([*nodes, *links])))) + "\n"


@SETTINGS
@given(json_texts())
def test_json(text: str) -> None:
    assert_alike(text, Graph.from_jsonl, Blocks, "add add_whole", lambda *_: False)


XML_TEXTS = st.sampled_from(["", "a", "3", " 4 ", "0.5", "true", "&<>", '"', "é", "x\ny", "]]>", "\t"])


@st.composite
def graphml_texts(draw: st.DrawFn) -> str:
    space = draw(st.sampled_from(["", "\n", "\n  "]))
    kinds = draw(st.tuples(*[st.sampled_from(["int", "double", "string", "boolean"])] * 3))
    parts = [
        f'<key id="d{place}" for="{entity}" attr.name="p{place}" attr.type="{kind}">'
        + ("<default>1</default>" if draw(st.integers(0, 9)) == 0 else "") + "</key>"
        for place, (entity, kind) in enumerate(zip(("node", "all", "edge"), kinds, strict=True))
    ]  # fmt: skip
    parts.append('<key id="key" for="node" attr.name="key" attr.type="string"/>')
    parts.append(f'<graph edgedefault="{draw(st.sampled_from(["directed", "undirected"]))}">')

    def data(own: str = "") -> str:
        drawn = draw(st.lists(st.sampled_from(["d0", "d1", "d2", "no"]), max_size=3, unique=True))
        texts = [f'<data key="{key}">{escape(draw(XML_TEXTS))}</data>' for key in drawn]
        return space.join([own, *texts, ""])

    count = draw(st.integers(1, 5))
    for key in range(count):
        labels = draw(st.sampled_from(["", ' labels=":A"', ' labels=":B:C"']))
        parts.append(f'<node id="{key}"{labels}>{data(f"""<data key="key">{key}</data>""")}</node>')
        if draw(st.integers(0, 9)) == 0:
            parts.append(draw(st.sampled_from(["<!-- <node id='z'/> -->", "<desc>x</desc>", '<node id="n"/>'])))
    for _ in range(draw(st.integers(0, 4))):
        more = draw(st.sampled_from(["", ' label="T"', ' directed="false"', ' id="e"']))
        ends = f'source="{draw(st.integers(0, count - 1))}" target="{draw(st.integers(0, count - 1))}"'
        parts.append(f"<edge {ends}{more}>{data()}</edge>")
    return f"<?xml version='1.0'?>{space.join(['<graphml>', *parts, '</graph>', '</graphml>'])}"


@SETTINGS
@given(graphml_texts())
def test_graphml(text: str) -> None:
    assert_alike(text, Graph.from_graphml, Forms, "runs", lambda *_: [])


@st.composite
def gexf_texts(draw: st.DrawFn) -> str:
    space = draw(st.sampled_from(["", "\n", "\n  "]))
    kinds = draw(st.tuples(*[st.sampled_from(["integer", "double", "string", "liststring"])] * 2))
    parts = ['<graph defaultedgetype="directed">']
    for entity in ("node", "edge"):
        parts.append(f'<attributes class="{entity}">')
        parts += [f'<attribute id="{place}" title="p{place}" type="{kind}"/>' for place, kind in enumerate(kinds)]
        parts += ['<attribute id="k" title="key" type="string"/>', "</attributes>"]

    def values(key: str = "") -> str:
        drawn = draw(st.lists(st.sampled_from("01k"), max_size=2, unique=True))
        named = draw(st.sampled_from(["for", "id"]))
        texts = [f"<attvalue {named}='{each}' value={quoteattr(draw(XML_TEXTS))}/>".replace("'", '"') for each in drawn]
        own = [f'<attvalue for="k" value="{key}"/>'] if key else []
        return space.join(["<attvalues>", *texts, *own, "</attvalues>"]) if texts or own else ""

    count = draw(st.integers(1, 4))
    parts.append("<nodes>")
    parts += [
        f'<node id="{key}"{draw(st.sampled_from(["", " label=" + quoteattr("x")]))}>{values(str(key))}</node>'
        for key in range(count)
    ]
    parts += ["</nodes>", "<edges>"]
    for place in range(draw(st.integers(0, 3))):
        ends = f'source="{draw(st.integers(0, count - 1))}" target="{draw(st.integers(0, count - 1))}"'
        more = draw(st.sampled_from(["", ' weight="2.5"', ' kind="T"', ' type="undirected"', ' label="l"']))
        parts.append(f'<edge id="{place}" {ends}{more}>{values()}</edge>')
    return f"<?xml version='1.0'?>{space.join(['<gexf>', *parts, '</edges>', '</graph>', '</gexf>'])}"


@SETTINGS
@given(gexf_texts())
def test_gexf(text: str) -> None:
    assert_alike(text, Graph.from_gexf, Forms, "runs", lambda *_: [])


def test_these_are_read_together(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What other programs write is read neither object by object nor by the parser's events."""
    from qengine.formats import jsonl, xml_graphs

    monkeypatch.setattr(jsonl, "_add", None)
    monkeypatch.setattr(jsonl, "_objects", None)
    line = '{{"id": "{0}", "type": "node", "labels": ["A"], "properties": {{"x": {0}, "t": "2020-01-0{0}"}}}}'
    link = '{"type":"relationship","label":"R","start":{"id":"1"},"end":{"id":"2"}}'
    texts = [line.format(1), line.format(2), link]
    for text in ("\n".join(texts), f"[{','.join(texts)}]"):
        (tmp_path / "g.json").write_text(text)
        assert Graph.from_jsonl(tmp_path / "g.json").query("MATCH (a)-->(b) RETURN a.x, b.t").fetchall() == [
            (1, "2020-01-02")
        ]
    taken: list[int] = []
    forms = xml_graphs.Forms.runs

    def runs(*args: Any) -> Any:
        for form, values, end in forms(*args):
            taken.append(len(values))
            yield form, values, end

    monkeypatch.setattr(Forms, "runs", runs)
    nodes = "".join(f'\n  <node id="{key}">\n   <data key="d">{key}</data>\n  </node>' for key in range(40))
    edges = "".join(f'\n  <edge source="{key}" target="0"/>' for key in range(40))
    head = '<graphml><key id="d" for="node" attr.name="x" attr.type="int"/><graph edgedefault="directed">'
    (tmp_path / "g.graphml").write_text(f"{head}{nodes}{edges}</graph></graphml>")
    graph = Graph.from_graphml(tmp_path / "g.graphml")
    assert graph.query("MATCH (n)-->() RETURN sum(n.x) AS x").fetchall() == [(780,)]
    assert taken == [40, 40]

"""``from_cypher`` gives what its statements give one after the other, however many of them are carried out together."""

from __future__ import annotations

import gzip
import io
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qengine import Date, Graph, Point, QengineError, StorageError
from qengine.formats import cypher_creates, cypher_in, cypher_pieces
from qengine.formats.cypher_shapes import ALONE, CREATES, LINKS, ONCE, TOGETHER, shape_of
from qengine.syntax import parse

TEMPLATES = (
    "CREATE (:A {{id: {n}, name: '{s}'}})",
    "CREATE (:B {{id: {n}, x: -{n}.5, l: [{n}, {n}], d: date('2020-01-0{d}')}})",
    "CREATE (a:A {{id: {n}}})-[:R {{w: {n}}}]->(:B:C {{id: {m}}})",
    "CREATE (:A {{id: {n}}}), (:A {{id: {m}}})",
    "MATCH (a:A {{id: {n}}}), (b:B {{id: {m}}}) CREATE (a)-[:R {{w: {n}}}]->(b)",
    "MATCH (a:A {{id: {n}}}) MATCH (b:B) WHERE b.id = {m} CREATE (a)-[r:S]->(b), (b)-[:T]->(a) SET r.x = {n}",
    "MATCH (a:A {{id: {n}}}), (b:B {{id: {m}}}) MERGE (a)-[r:R]->(b) SET r.w = {m}",
    "MATCH (a:A) WHERE a.id = {n} SET a.name = '{s}', a:Seen",
    "MATCH (a:A {{id: {n}}}) SET a.id = {m}",
    "MATCH (a:A {{id: {n}}}) SET a.k = a.id + {m}",
    "MERGE (a:A {{id: {n}}}) SET a.name = '{s}', a.x = {m}",
    "MERGE (a:A {{id: {n}}}) ON CREATE SET a.made = {m} ON MATCH SET a.seen = {m}",
    "MERGE (a:A {{id: {n}}}) MERGE (b:B {{id: {m}}}) MERGE (a)-[:R]->(b)",
    "MERGE (a:A {{id: {n}}}) MERGE (b:A {{id: {m}}}) MERGE (a)-[:S]->(b)",
    "MERGE (a:A {{id: {n}}}) MERGE (b {{id: {m}}}) MERGE (a)-[:S]->(b)",
    "MATCH (a:A {{id: {n}}}) DETACH DELETE a",
    "MATCH (a:A {{id: {n}}})-[:R]->(b) CREATE (b)-[:T]->(:A {{id: {m}}})",
    "UNWIND [{{id: {n}, name: '{s}', p: point({{x: {n}, y: 1}})}}, {{id: {m}}}] AS row "
    "CREATE (n:A {{id: row.id}}) SET n += row",
    "UNWIND [{{a: {n}, b: {m}}}, {{a: {m}, b: {n}}}] AS r "
    "MATCH (a:A {{id: r.a}}), (b:B {{id: r.b}}) CREATE (a)-[:R]->(b)",
    "UNWIND [{{a: {n}}}] AS r MATCH (a:A {{id: r.a}}) SET a.id = {m}",
    "CREATE (:A {{id: {n}, q: 'it\\'s; {s} // no', `odd key`: \"a;b\"}}) // {s}; 'x",
)  # fmt: skip


def script(seed: int) -> list[str]:
    chance = random.Random(f"script {seed}")
    chosen = chance.sample(TEMPLATES, chance.randint(1, 4))
    found = []
    for _ in range(chance.randint(1, 6)):
        template = chance.choice(chosen)
        for _ in range(chance.choice([1, 2, 9])):
            values = {"n": chance.randint(0, 5), "m": chance.randint(0, 5), "d": chance.randint(1, 9)}
            found.append(template.format(**values, s=chance.choice(["", "ä", "b c", "/*"])))
    return found


def content(graph: Graph) -> tuple[Counter[str], Counter[str]]:
    def shown(value: Any) -> str:
        return repr(sorted((key, repr(each)) for key, each in value.properties.items()))

    nodes = Counter(f"{sorted(n.labels)} {shown(n)}" for (n,) in graph.query("MATCH (n) RETURN n"))
    links = Counter(
        f"{shown(a)} {r.type} {shown(r)} {shown(b)}" for a, r, b in graph.query("MATCH (a)-[r]->(b) RETURN a, r, b")
    )
    return nodes, links


@pytest.mark.parametrize("seed", range(60))
def test_a_script_gives_what_its_statements_give(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    statements = script(seed)
    expected = Graph()
    for each in statements:
        expected.query(each).close()
    monkeypatch.setattr(cypher_in, "_LEAST", 2)
    monkeypatch.setattr(cypher_in, "_ROWS", random.Random(seed).choice([3, 1 << 14]))
    monkeypatch.setattr(cypher_pieces, "_READ", random.Random(seed).choice([7, 100, 1 << 20]))
    assert content(Graph.from_cypher("\n;".join(statements) + "\n;\n")) == content(expected)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (TEMPLATES[0], CREATES), (TEMPLATES[1], CREATES), (TEMPLATES[2], CREATES), (TEMPLATES[4], LINKS),
        (TEMPLATES[5], LINKS), (TEMPLATES[6], TOGETHER), (TEMPLATES[7], TOGETHER), (TEMPLATES[8], ALONE),
        (TEMPLATES[9], TOGETHER), (TEMPLATES[10], TOGETHER), (TEMPLATES[11], TOGETHER), (TEMPLATES[12], TOGETHER),
        (TEMPLATES[13], TOGETHER), (TEMPLATES[14], ALONE), (TEMPLATES[15], ALONE), (TEMPLATES[16], ALONE),
        (TEMPLATES[17], CREATES), (TEMPLATES[18], LINKS), (TEMPLATES[19], ALONE),
        ("CREATE (:A {{id: 1, t: timestamp() + 1}})", CREATES), ("CREATE (n:A {{id: 1}}) RETURN n", ALONE),
        ("MATCH (a:A {{id: 1}}) WHERE a.x > 1 SET a.y = 2", ALONE), ("MERGE (a:A {{id: 1}}) SET a.id = 2", ALONE),
        ("MERGE (a:A {{id: 1}}) SET a = {{id: 2}}", ALONE), ("MATCH (a:A {{id: 1}}) SET a:A", ALONE),
        ("CREATE (a:A {{id: 1}}), (b:B {{id: a.id}})", ALONE), ("MATCH (a {{id: 1}}) CREATE (a)-[:R]->(:B)", ALONE),
        ("MATCH (a {{id: 1}}), (b {{id: 2}}) CREATE (a)-[:R]->(b:New)", ALONE),
        ("MATCH (a {{id: 1}}) SET a.x = a.y + 1, a.y = 2", ONCE), ("MATCH (a {{id: 1}}) SET a.x = keys(a)", ALONE),
        ("MATCH (a {{id: 1}}) SET a.x = b.y", ALONE), ("MERGE (a {{id: 1}}) SET a.x = a.x + 1, a.y = 2", ONCE),
        ("MERGE (a {{id: 1}}) ON CREATE SET a.n = 1 ON MATCH SET a.n = a.n + 1", TOGETHER),
        ("MERGE (a {{id: 1}}) ON CREATE SET a.n = 1 SET a.m = a.n", ONCE),
        ("MERGE (a:A {{id: 1}}) MERGE (b:B {{id: 1}}) ON CREATE SET b.n = 1 ON MATCH SET b.n = b.n + 1", ALONE),
        ("MATCH (a {{id: 1}}), (b {{id: 2}}) MERGE (a)-[r:R]->(b) SET r.n = r.m, r.m = 1", ALONE),
    ],
)  # fmt: skip
def test_shapes_are_told(text: str, shape: str) -> None:
    (statement,) = parse(text.format(n=1, m=2, d=3, s="x"))
    assert shape_of(statement) == shape


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 1000])
def test_statements_are_cut_wherever_the_text_is_cut(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cypher_pieces, "_READ", size)
    text = """:begin
    // a comment; with 'quotes
    CREATE (`a;b`:`x'y` {s: 'it\\'s; \\\\', t: "a;\\"", n: -5, m: 1.5e-3, l: ['a;', -2, true]}) /* ; */;
    MATCH p = (a)-[*1..3]->(b) WHERE a.x1 = 12 RETURN p[0] ;
    :commit
    ;; RETURN 'open"""
    found = list(cypher_pieces.pieces(io.StringIO(text).read))
    assert [each.literals for each in found] == [
        ["'it\\'s; \\\\'", '"a;\\""', "-5", "1.5e-3", "['a;', -2, true]"],
        ["12", "[0]"],
        ["'"],
    ]
    assert [each.text.split()[0] for each in found] == ["CREATE", "MATCH", "RETURN"]
    assert "[*1..3]" in found[1].text and "`a;b`:`x'y`" in found[0].text and "/*" not in found[0].text


def test_files_and_packed_files_are_scripts(tmp_path: Path) -> None:
    text = "CREATE (:A {k: 1, d: date('2020-01-01')});\nCREATE (:A {k: 2, p: point({x: 1, y: 2})});"
    (tmp_path / "a.cypher").write_text("\ufeff" + text, encoding="utf-8")
    (tmp_path / "a.cypher.gz").write_bytes(gzip.compress(text.encode()))
    for source in (tmp_path / "a.cypher", str(tmp_path / "a.cypher.gz"), text):
        graph = Graph.from_cypher(source)
        found = [tuple(row) for row in graph.query("MATCH (a:A) RETURN a.k, a.d, a.p ORDER BY a.k")]
        assert found == [(1, Date(2020, 1, 1), None), (2, None, Point(1, 2))]
    with pytest.raises(StorageError, match="there is no such file"):
        Graph.from_cypher(tmp_path / "b.cypher")
    (tmp_path / "c.cypher").write_bytes(b"CREATE (:A {s: '\xff'})")
    with pytest.raises(StorageError, match="it is no UTF-8 text"):
        Graph.from_cypher(tmp_path / "c.cypher")
    assert Graph.from_cypher("").node_count == 0


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("CREATE (:A {k: 1}); CREATE (:A {k: 1}) RETURN", 2),
        ("CREATE (:A {k: 1}); CREATE (:A {k: 2}); CREATE (:A {k: 99999999999999999999});", 3),
        ("CREATE CONSTRAINT FOR (a:A) REQUIRE a.k IS UNIQUE;" + "CREATE (:A {k: 1});" * 5, 3),
        ("UNWIND [{k: 1}] AS row CREATE (:A {k: 1 / 0, j: row.k})", 1),
    ],
)
def test_errors_tell_which_statement_it_was(text: str, number: int) -> None:
    with pytest.raises(QengineError) as raised:
        Graph.from_cypher(text)
    assert raised.value.__notes__[0].startswith(f"in statement {number} of the script: ")


def test_types_without_direction_are_told(tmp_path: Path) -> None:
    graph = Graph.from_cypher("CREATE (:A)-[:KNOWS]->(:B), (:A)-[:LIKES]->(:B)", undirected=["KNOWS"])
    assert [r.type for (r,) in graph.query("MATCH (:B)-[r]->(:A) RETURN r")] == ["KNOWS"]
    graph.export(tmp_path / "g.cypher")
    assert (tmp_path / "g.cypher").read_text().startswith('// undirected: ["KNOWS"]\n')


def test_statements_that_differ_in_literals_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    from qengine.syntax import parser

    original = parser.parse

    def counting(text: str, *rest: Any) -> Any:
        parsed.append(text)
        return original(text, *rest)

    monkeypatch.setattr(parser, "parse", counting)
    graph = Graph.from_cypher("".join(f"CREATE (:A {{k: {k}, s: '{k}'}});\n" for k in range(20_000)))
    assert graph.node_count == 20_000 and len(parsed) == 4  # one for those before it is known that many come


def test_an_export_in_apocs_form_is_read() -> None:
    graph = Graph.from_cypher(
        """:begin
CREATE CONSTRAINT UNIQUE_IMPORT_NAME FOR (node:`UNIQUE IMPORT LABEL`) REQUIRE (node.`UNIQUE IMPORT ID`) IS UNIQUE;
:commit
:begin
UNWIND [{_id:0, properties:{name:"Adam", age:42}}, {_id:1, properties:{name:"Jim"}}] AS row
CREATE (n:`UNIQUE IMPORT LABEL`{`UNIQUE IMPORT ID`: row._id}) SET n += row.properties SET n:User;
:commit
:begin
UNWIND [{start: {_id:0}, end: {_id:1}, properties:{since:1993}}] AS row
MATCH (start:`UNIQUE IMPORT LABEL`{`UNIQUE IMPORT ID`: row.start._id})
MATCH (end:`UNIQUE IMPORT LABEL`{`UNIQUE IMPORT ID`: row.end._id})
CREATE (start)-[r:KNOWS]->(end) SET r += row.properties;
:commit
:begin
MATCH (n:`UNIQUE IMPORT LABEL`) WITH n LIMIT 20000 REMOVE n:`UNIQUE IMPORT LABEL` REMOVE n.`UNIQUE IMPORT ID`;
:commit
:begin
DROP CONSTRAINT UNIQUE_IMPORT_NAME;
:commit
"""
    )
    (row,) = graph.query("MATCH (a:User)-[r:KNOWS]->(b) RETURN labels(a), properties(a), r.since, properties(b)")
    assert tuple(row) == (["User"], {"name": "Adam", "age": 42}, 1993, {"name": "Jim"})


def test_a_name_with_quotes_is_one_name() -> None:
    graph = Graph.from_cypher("UNWIND [{`a':'1','b`: 2, s: 'x'}] AS row CREATE (n) SET n = row;")
    assert graph.query("MATCH (n) RETURN properties(n)").value() == {"a':'1','b": 2, "s": "x"}


def test_a_list_with_null_is_no_statements(tmp_path: Path) -> None:
    graph = Graph.from_records([{"properties": {"x": [1, None]}}])
    with pytest.raises(StorageError, match="which no statement can set"):
        graph.export(tmp_path / "g.cypher")
    assert list(tmp_path.iterdir()) == []


TAKING_TURNS = (
    "MERGE (u:U {{id: {a}}})", "MERGE (u:U {{id: {a}}}) SET u.n = {c}", "MERGE (i:I {{k: '{b}'}})",
    "MATCH (u:U {{id: {a}}}), (i:I {{k: '{b}'}}) MERGE (u)-[:R]->(i)", "MATCH (u:U {{id: {a}}}) SET u.g = {c}",
    "MATCH (u:U {{id: {a}}}), (i:I {{k: '{b}'}}) CREATE (u)-[:S {{w: {c}}}]->(i)", "CREATE (:I {{k: '{b}', q: {c}}})",
    "CREATE (:U {{id: {a}}})", "MERGE (u:U {{id: {a}}}) MERGE (i:I {{k: '{b}'}}) MERGE (u)-[:R]->(i)",
    "MATCH (u:U {{id: {a}}}) SET u.n = {c}", "MERGE (u:U {{id: {a}}}) ON CREATE SET u.m = {c}",
    "MATCH (u:U {{n: {c}}}) SET u.f = {a}", "MERGE (x:V {{id: {a}}}) SET x.w = toUpper('{b}')",
    "MATCH (u:U {{id: {a}}}), (i:I {{k: '{b}'}}) MERGE (u)-[r:R]->(i) SET r.t = {c}", "MERGE (u:U {{id: {a}, z: {c}}})",
)  # fmt: skip


def elements(graph: Graph) -> tuple[list[str], list[str]]:
    nodes = graph.query("MATCH (n) RETURN labels(n), properties(n)")
    links = graph.query("MATCH (a)-[r]->(b) RETURN type(r), properties(r), a.id, b.k")
    return sorted(repr((sorted(labels), sorted(each.items()))) for labels, each in nodes), sorted(map(repr, links))


@pytest.mark.parametrize("block", range(3))
def test_statements_of_several_texts_by_turns(block: int) -> None:
    for seed in [(262, 264, 272)[block], *range(5 * block, 5 * block + 5)]:
        chance = random.Random(seed)
        texts, most = chance.sample(TAKING_TURNS, chance.randint(2, 5)), chance.choice([2, 4, 10])

        def one(chance: random.Random = chance, texts: list[str] = texts, most: int = most) -> str:
            text = chance.choice(texts)
            return text.format(a=chance.randrange(most), b=chance.choice("xyzuvw"[:most]), c=chance.randrange(most))

        statements = [one() for _ in range(chance.randint(5, 40))]
        graph = Graph()
        for statement in statements:
            graph.query(statement)
        assert elements(Graph.from_cypher(";\n".join(statements) + ";\n")) == elements(graph), seed


def test_statements_by_turns_are_carried_out_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that a statement finds may be merged once more before it, and another may come before it, too."""
    ran: list[str] = []
    original = Graph.query

    def query(self: Graph, text: str, *rest: Any) -> Any:
        ran.append(text)
        return original(self, text, *rest)

    monkeypatch.setattr(Graph, "query", query)
    turn = "MERGE (:U {{id: {0}}}); MERGE (:I {{id: {1}}}); "
    turn += "MATCH (u:U {{id: {0}}}), (i:I {{id: {1}}}) MERGE (u)-[:R]->(i);"
    graph = Graph.from_cypher("\n".join(turn.format(k % 50, k % 7) for k in range(500)))
    assert len(ran) == 3
    assert (graph.node_count, graph.relationship_count) == (57, 350)


COMPUTING = (
    "MATCH (n:P {{k: {a}}}) SET n.x = n.x + {b}", "MATCH (n:P {{k: {a}}}) SET n.x = n.x + {b}, n.z = n.x * 2",
    "MERGE (n:P {{k: {a}}}) SET n.x = coalesce(n.x, 0) + {b}", "MATCH (n:P {{k: {a}}}) SET n += {{x: n.z, z: n.x}}",
    "MERGE (n:P {{k: {a}}}) ON CREATE SET n.x = 1 ON MATCH SET n.x = coalesce(n.x, 0) + {b}",
    "MERGE (n:P {{k: {a}}}) ON CREATE SET n.x = 1 SET n.y = n.x + {b}", "MATCH (n:P {{k: {a}}}) SET n.z = {b}",
    "MATCH (n:P) WHERE n.k = {a} SET n.x = n.x + {b}, n.y = n.x", "MATCH (n:P {{k: {a}}}) SET n.y = [n.x, {b}]",
    "MATCH (a:P {{k: {a}}}), (b:P {{k: {b}}}) MERGE (a)-[r:T]->(b) SET r.w = coalesce(r.w, 0) + 1",
    "MATCH (a:P {{k: {a}}}), (b:P {{k: {b}}}) MERGE (a)-[r:T]->(b) ON CREATE SET r.w = 1 ON MATCH SET r.w = r.w + 1",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_what_is_computed_from_what_is_there(seed: int) -> None:
    chance = random.Random(f"computing {seed}")
    texts = chance.sample(COMPUTING, chance.choice([1, 1, 2, 3]))
    statements = [f"CREATE (:P {{k: {k}, x: {k}, z: {k * 2}}})" for k in range(6)]
    statements += [chance.choice(texts).format(a=chance.randrange(8), b=chance.randrange(8)) for _ in range(30)]
    graph = Graph()
    for statement in statements:
        graph.query(statement)
    assert content(Graph.from_cypher(";\n".join(statements) + ";\n")) == content(graph)


def test_statements_that_compute_are_carried_out_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """One node twice begins another table where several properties are set."""
    ran: list[str] = []
    original = Graph.query
    monkeypatch.setattr(Graph, "query", lambda self, text, *rest: ran.append(text) or original(self, text, *rest))
    nodes = ";".join(f"CREATE (:P {{k: {k}, x: {k}}})" for k in range(50))
    changes = ";".join(f"MATCH (n:P {{k: {k % 50}}}) SET n.x = n.x + {k}, n.y = n.x" for k in range(100))
    graph = Graph.from_cypher(f"{nodes};{changes};")
    assert len(ran) == 4  # one asks for constraints
    assert [tuple(row) for row in graph.query("MATCH (n:P) RETURN sum(n.x) AS x, sum(n.y) AS y")] == [(6175, 6175)]


def creating(seed: int) -> list[str]:
    """Return statements that only create, each written in its own way."""
    chance = random.Random(f"creating {seed}")
    labels = ["A", "B", "`odd one`", "A:B", "B : A", "C"]
    values = ["1", "-2", "'a'", "'it\\'s'", "2.5", "-0.5", "true", "NULL", "[1, 2]", "-12", "1e3", "date('2020-01-02')"]

    def spaces() -> str:
        return chance.choice(["", "", " ", "  ", "\n", " /* so */ "])

    def properties() -> str:
        keys = chance.sample(["k", "s", "`a b`", "z", "k2"], chance.choice([0, 1, 1, 2, 3]))
        given = ",".join(f"{spaces()}{key}{spaces()}: {chance.choice(values)}{spaces()}" for key in keys)
        return chance.choice([f"{{{given}}}", f" {{{given}}}"]) if keys or chance.random() < 0.1 else ""

    found = []
    for _ in range(chance.randint(1, 30)):
        names: list[str] = []
        paths = []
        for place in range(chance.choice([1, 1, 2, 5, 12])):

            def node(place: int, part: int, names: list[str]) -> str:
                if names and chance.random() < 0.5:
                    return f"({spaces()}{chance.choice(names)}{spaces()})"
                name = chance.choice(["", f"n{place}_{part}", f"`n {place} {part}`"])
                own = chance.choice(["", *(f":{each}" for each in labels)])
                text = f"({spaces()}{name}{own}{properties()}{spaces()})"
                if name:
                    names.append(name)
                return text

            before = len(names)
            path = node(place, 0, names)
            known = before and len(names) == before and "n" in path.split(":")[0].split("{")[0]
            for part in range(chance.choice([1, 3] if known else [0, 0, 1, 1, 3])):
                name = chance.choice(["", "", f"r{place}_{part}"])
                arrow = chance.choice(["-{}->", "<-{}-"])
                path += arrow.format(f"[{name}{spaces()}:{chance.choice(['R', 'S', '`T t`'])}{properties()}]")
                path += node(place, part + 1, names)
            paths.append(path)
        text = f"{chance.choice(['CREATE', 'create', ' CREATE '])} {paths[0]}"
        for path in paths[1:]:
            text += f"{spaces()}{chance.choice([',', ' CREATE '])}{spaces()}{path}"
        found.append(text + (f" RETURN {names[0]}" if names and chance.random() < 0.2 else ""))
    return found


@pytest.mark.parametrize("seed", range(16))
def test_statements_that_only_create(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    statements = creating(seed)
    expected = Graph()
    for each in statements:
        expected.query(each)
    monkeypatch.setattr(cypher_creates, "_LEAST", random.Random(seed).choice([1, 3, 100]))
    monkeypatch.setattr(cypher_creates, "_ROWS", random.Random(seed).choice([2, 1 << 15]))
    monkeypatch.setattr(cypher_in, "_OFTEN", random.Random(seed).choice([2, 64]))
    monkeypatch.setattr(cypher_in, "_ELEMENTS", random.Random(seed).choice([3, 1 << 16]))
    assert content(Graph.from_cypher(";\n".join(statements) + ";")) == content(expected)


def test_one_statement_of_many_nodes_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have more clauses than a statement that is run, and what takes turns goes into few queries."""
    asked = []
    original = Graph.query
    monkeypatch.setattr(Graph, "query", lambda graph, text, *rest: asked.append(text) or original(graph, text, *rest))
    nodes = [f"CREATE (n{k}:L{k % 300}:A {{k{k % 7}: {k}}})" for k in range(11_000)]
    links = [f"CREATE (n{k})-[:T{k % 200} {{w: {k}}}]->(n{k * 7 % 11_000})" for k in range(11_000)]
    graph = Graph.from_cypher("\n".join([*nodes, *links]))
    assert (graph.node_count, graph.relationship_count) == (11_000, 11_000)
    assert len(asked) < 10
    ((right,),) = original(
        graph,
        "MATCH (a)-[r]->(b) WITH r.w AS w, coalesce(a.k0, a.k1, a.k2, a.k3, a.k4, a.k5, a.k6) AS k, "
        "coalesce(b.k0, b.k1, b.k2, b.k3, b.k4, b.k5, b.k6) AS l WHERE k = w AND l = w * 7 % 11000 RETURN count(*)",
    )
    assert right == 11_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CREATE (a:A {k: 1}) CREATE (a:B {k: 2});", "`a` is already"),
        ("CREATE (a:A {k: 1})-[a:R]->(:B);", "`a`"),
        ("CREATE (:A {k: 1})-[:R]-(:B);", "one direction"),
        ("CREATE (:A {k: 99999999999999999999});", "64-bit"),
        ("CREATE (:A {k: 1}) RETURN b;", "`b` is not defined"),
        ("CREATE CONSTRAINT FOR (n:A) REQUIRE n.k IS UNIQUE; CREATE (:A {k: 1}), (:A {k: 2}), (:A {k: 1});", "A"),
    ],
)
def test_what_only_creates_and_is_wrong_is_told(text: str, said: str) -> None:
    with pytest.raises(QengineError) as caught:
        Graph.from_cypher(f"CREATE (:Z {{k: 1}});\n{text}\nCREATE (:Z {{k: 2}})")
    assert said in str(caught.value) and any("of the script" in note for note in caught.value.__notes__)


BODIES = (
    "MERGE (a:A {{id: {a}}}) WITH a MERGE (b:B {{id: {b}}}) MERGE (a)-[r:R]->(b) SET r.w = {c}",
    "MERGE (a:A {{id: {a}}}) WITH a MERGE (b:A {{id: {b}}}) MERGE (a)-[:R]->(b)",
    "MERGE (a:A {{id: {a}}}) MERGE (b:B {{id: {b}}}) MERGE (a)-[r:R]->(b) ON CREATE SET r.c = 1 "
    "ON MATCH SET r.c = coalesce(r.c, 0) + {c}",
    "MERGE (a:A {{id: {a}}}) ON MATCH SET a.c = coalesce(a.c, 0) + 1, a.d = a.c WITH a SET a.e = a.c + {c}",
    "MATCH (a:A {{id: {a}}}) DETACH DELETE a", "MATCH (a:A {{id: {a}}}) DELETE a",
    "MATCH (a:A {{id: {a}}})-[r]->(b) DELETE r", "MATCH (a:A {{id: {a}}}) OPTIONAL MATCH (a)-[r]-() DELETE r, a",
    "MERGE (a:A {{id: {a}}}) FOREACH (t IN ['{c}', '{b}'] | MERGE (x:T {{name: t}}) MERGE (a)-[:HAS]->(x))",
    "MATCH (a:A {{id: {a}}}) FOREACH (x IN CASE WHEN a.c > {c} THEN [1] ELSE [] END | SET a.f = true)",
    "MERGE (a:A {{id: {a}}}) WITH a UNWIND [{b}, {c}] AS t MERGE (x:B {{id: t}}) MERGE (a)-[:R]->(x)",
    "MATCH (a:A {{id: {a}}}) REMOVE a.c", "MATCH (a:A {{id: {a}}}) SET a:New REMOVE a:A", "MERGE (a:B {{id: {a}}})",
    "MATCH (a:A {{id: {a}}}) SET a = {{id: {b}, c: {c}}}", "MATCH (a:A {{id: {a}}}) SET a.id = {b} RETURN a.id AS x",
    "MATCH (a:A) WHERE a.id IN [{a}, {b}] SET a.c = {c}", "MERGE (a:A {{id: {a}}})-[:R]->(b:B {{id: {b}}})",
    "MATCH (a:A {{id: {a}}}) WITH a WHERE a.c > {c} CREATE (a)-[:R]->(:B {{id: {b}}}) RETURN count(*)",
    "MATCH (a:A {{id: {a}}})-[r:R]->(b) SET r.w = {c}, b.c = a.c", "CREATE (:A {{id: {a}, u: {b}}})",
    "MATCH (a:A {{id: {a}}}) SET a.u = {b}", "MATCH (a:A {{id: {a}}}) SET a.x = {b} / (a.c - {c})",
    "MATCH (a:A {{id: {a}}}) MATCH (b:B {{id: {b}}}) WITH a, b LIMIT {c} CREATE (a)-[:S]->(b)",
    "MATCH (a:A {{id: {a}}}) WITH a, count(*) AS n SET a.n = n + {c}", "MERGE (a:A {{id: {a}}}) SET a.c = {c}, a.d = 1",
)  # fmt: skip


def carried_out(run: Callable[[Graph], None]) -> tuple[object, str]:
    """Return the graph that is made, or the kind of the error."""
    graph = Graph()
    try:
        run(graph)
    except QengineError as error:
        return None, type(error).__name__
    return content(graph), ""


def one_by_one(graph: Graph, statements: list[str]) -> None:
    for each in statements:
        graph.query(each).close()


@pytest.mark.parametrize("seed", [763, *range(40)])
def test_statements_are_bodies_in_their_order(seed: int) -> None:
    """Also where they fail, or where a constraint is violated that a later one would satisfy."""
    chance = random.Random(f"bodies {seed}")
    texts, most = chance.sample(BODIES, chance.choice([1, 1, 2, 3])), chance.choice([2, 5, 12])
    statements = ["CREATE CONSTRAINT FOR (a:A) REQUIRE a.u IS UNIQUE"] if chance.random() < 0.3 else []
    statements += [f"CREATE (:A {{id: {k}, c: {k}}})" for k in range(chance.choice([0, 3]))]
    statements += ["MATCH (a:A), (b:A) CREATE (a)-[:R {w: 1}]->(b)"] if chance.random() < 0.3 else []
    text = chance.choice(texts)
    for _ in range(30):
        text = chance.choice(texts) if chance.random() < 0.3 else text
        statements.append(text.format(**{name: chance.randrange(most) for name in "abc"}))
    text = ";\n".join(statements) + ";\n"
    expected = carried_out(lambda graph: one_by_one(graph, statements))
    assert carried_out(lambda graph: cypher_in.run_script(graph, text)) == expected


def test_bodies_are_carried_out_together(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    original = Graph.query
    monkeypatch.setattr(Graph, "query", lambda self, text, *rest: ran.append(text) or original(self, text, *rest))
    one = "MERGE (a:A {{id: {0}}}) WITH a MERGE (b:B {{id: {1}}}) MERGE (a)-[:R]->(b)"
    tag = "MATCH (a:A {{id: {0}}}) FOREACH (t IN ['x', 'y{1}'] | MERGE (b:T {{name: t}}) MERGE (a)-[:HAS]->(b))"
    drop = "MATCH (a:A {{id: {0}}}) DETACH DELETE a"
    graph = Graph.from_cypher(";\n".join(each.format(k, k % 7) for each in (one, tag, drop) for k in range(100)))
    assert (graph.node_count, graph.relationship_count) == (15, 0)
    assert len(ran) <= 8

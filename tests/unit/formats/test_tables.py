"""Files of tables: neo4j-admin's headers, other separators, columns that the caller names."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from qengine import Date, DateTime, Graph, LocalDateTime, Point, StorageError

DATA = Path(__file__).resolve().parents[2] / "data" / "formats"


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def rows(graph: Graph, text: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in graph.query(text)]


def test_neo4j_admins_sample_loads_unmodified() -> None:
    graph = Graph.from_csv(DATA / "movies")
    assert rows(graph, "MATCH (m:Movie) RETURN m.movieId, m.year, labels(m) ORDER BY m.movieId") == [
        ("tt0133093", 1999, ["Movie"]),
        ("tt0234215", 2003, ["Movie", "Sequel"]),
        ("tt0242653", 2003, ["Movie", "Sequel"]),
    ]
    assert rows(graph, "MATCH (a:Actor) RETURN a.name, a.born, a.scores, a.home, keys(a) ORDER BY a.name") == [
        ("Keanu Reeves", Date(1964, 9, 2), [1.5, 2.0], Point(-79.4, 43.7, crs="wgs-84"),
         ["personId", "name", "born", "scores", "home"]),
        ("Laurence Fishburne", None, None, None, ["personId", "name"]),
    ]  # fmt: skip
    found = rows(graph, "MATCH (a)-[r:ACTED_IN]->(m) RETURN a.name, r.role, m.year ORDER BY a.name, m.year")
    assert found == [
        ("Keanu Reeves", "Neo", 1999),
        ("Keanu Reeves", "Neo", 2003),
        ("Laurence Fishburne", "Morpheus", 1999),
    ]


def test_headers_may_be_given_before_their_files() -> None:
    files = [DATA / "movies" / f"movies-{part}.csv" for part in ("header", "part1", "part2")]
    graph = Graph.from_csv(nodes={"Film": files}, relationships=None)
    assert rows(graph, "MATCH (m:Film:Movie) RETURN count(*)") == [(3,)]


def test_separators_quotes_null_and_types_are_the_callers(tmp_path: Path) -> None:
    write(
        tmp_path,
        nodes_P="id:ID;name:string[];n:int;t:datetime{timezone:+02:00}\n1;'a|b';-;2020-01-01T00:00\n2;'';7;-\n",
        rels_R=":START_ID;:END_ID;d\n1;2;2020-01-01\n",
    )
    graph = Graph.from_csv(
        tmp_path, delimiter=";", quote="'", array_delimiter="|", null="-", types={"d": "date", "n": "double"}
    )
    assert rows(graph, "MATCH (a)-[r:R]->(b:P) RETURN a.name, a.n, a.t, b.name, b.n, b.t, r.d") == [
        (["a", "b"], None, DateTime("2020-01-01T00:00+02:00"), [], 7.0, None, Date(2020, 1, 1))
    ]


def test_a_key_of_several_columns_and_spaces(tmp_path: Path) -> None:
    write(
        tmp_path,
        nodes_A=":ID(A),name\n1,one\n",
        nodes_B=":ID(B),name\n1,uno\n",
        rels_R=":START_ID(A),:END_ID(B)\n1,1\n",
    )
    assert rows(Graph.from_csv(tmp_path), "MATCH (a:A)-[:R]->(b:B) RETURN a.name, b.name") == [("one", "uno")]


def test_columns_are_mapped_by_the_caller(tmp_path: Path) -> None:
    write(
        tmp_path,
        people="pid,kind,born\n7,Person;Actor,2020-01-01\n8,Person,\n",
        knows="who,whom,how,since\n7,8,LIKES,3\n8,8,HATES,\n",
    )
    graph = Graph.from_csv(
        nodes=tmp_path / "people.csv", relationships=tmp_path / "knows.csv", id="pid", labels="kind", start="who",
        end="whom", type="how",
    )  # fmt: skip
    assert rows(graph, "MATCH (a:Actor)-[r:LIKES]->(b:Person) RETURN a.pid, a.born, r.since, b.pid") == [
        (7, Date(2020, 1, 1), 3, 8)
    ]
    assert rows(graph, "MATCH (a)-[:HATES]->(a) RETURN labels(a)") == [(["Person"],)]


@pytest.mark.parametrize("format", ["parquet", "jsonl"])
def test_typed_tables_are_mapped_alike(tmp_path: Path, format: str) -> None:
    people, links = {"pid": [7, 8], "name": ["a", "b"]}, {"who": [7], "whom": [8], "w": [0.5]}
    if format == "parquet":
        pq.write_table(pa.table(people), tmp_path / "p")
        pq.write_table(pa.table(links), tmp_path / "l")
        load = Graph.from_parquet
    else:
        (tmp_path / "p").write_text('{"pid": 7, "name": "a"}\n{"pid": 8, "name": "b"}\n')
        (tmp_path / "l").write_text('{"who": 7, "whom": 8, "w": 0.5}\n')
        load = Graph.from_jsonl
    graph = load(nodes={"P": tmp_path / "p"}, relationships={"R": [tmp_path / "l"]}, id="pid", start="who", end="whom")
    assert rows(graph, "MATCH (a:P)-[r:R]->(b:P) RETURN a.pid, a.name, r.w, b.name") == [(7, "a", 0.5, "b")]


def test_parquet_may_have_the_columns_of_the_import(tmp_path: Path) -> None:
    pq.write_table(pa.table({":ID": ["a", "b"], ":LABEL": ["X;Y", None], "n:1": [1, 2]}), tmp_path / "nodes.parquet")
    pq.write_table(pa.table({":START_ID": ["a"], ":END_ID": ["b"], ":TYPE": ["R"]}), tmp_path / "links.parquet")
    graph = Graph.from_parquet(tmp_path)
    assert rows(graph, "MATCH (a:X:Y)-[:R]->(b) RETURN a.`n:1`, b.`n:1`") == [(1, 2)]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (":ID,n:int\n1,x\n", "column n: row 0 has 'x'"),
        (":ID,n:int[]\n1,1;x\n", "column n, items of its lists: row 1 has 'x'"),
        (":ID,n:boolean\n1,maybe\n", "neither true nor false"),
        (":ID,n:integer\n1,1\n", "has the type integer, which is none"),
        (":ID,n:point\n1,5\n", "points are written like"),
        (":ID,n\n1,1,2\n", "a row has 3 fields, not 2: 1,1,2"),
        (":ID\n1\n1\n", "row 1 has the key '1' that row 0 has"),
        (":ID,n:date,n:int\n1,2020-01-01,1\n", "several columns are called n"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(tmp_path: Path, nodes: str, message: str) -> None:
    write(tmp_path, nodes_A=nodes)
    with pytest.raises(StorageError, match=message):
        Graph.from_csv(tmp_path)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (":START_ID,:END_ID,:TYPE\n1,5,R\n", "row 0 has the key '5', which is no node's"),
        (":START_ID,:TYPE\n1,R\n", "it has only one of :START_ID and :END_ID"),
        (":START_ID,:END_ID,:TYPE\n1,1,\n", "some rows have no type"),
    ],
)
def test_wrong_relationships_are_refused(tmp_path: Path, links: str, message: str) -> None:
    write(tmp_path, nodes_A=":ID\n1\n", links=links)
    with pytest.raises(StorageError, match=message):
        Graph.from_csv(tmp_path)


def test_options_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="not one character"):
        Graph.from_csv(tmp_path, delimiter="ab")
    with pytest.raises(StorageError, match="No files are given"):
        Graph.from_csv()
    with pytest.raises(TypeError, match="Did you mean 'delimiter'"):
        Graph.from_csv(tmp_path, delimeter=";")
    write(tmp_path, people="a,b\n1,2\n")
    with pytest.raises(StorageError, match="there is no column pid"):
        Graph.from_csv(nodes=tmp_path / "people.csv", id="pid")
    with pytest.raises(StorageError, match="nothing says whether it holds nodes"):
        Graph.from_csv([tmp_path / "people.csv"], id="a")


def test_exports_replace_nothing_but_files(tmp_path: Path) -> None:
    graph = Graph.from_records([{"properties": {"at": LocalDateTime("2020-01-01T10:00")}}])
    (tmp_path / "x").mkdir()
    graph.export(tmp_path / "x", "csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x"]
    with pytest.raises(StorageError, match="isn't empty"):
        graph.export(tmp_path / "x", "parquet")
    with pytest.raises(StorageError, match="its name doesn't tell the format"):
        graph.export(tmp_path / "y")
    with pytest.raises(StorageError, match="There is no format 'xls'"):
        graph.export(tmp_path / "y", "xls")
    with pytest.raises(StorageError, match="this is a folder"):
        graph.export(tmp_path / "x", "jsonl")
    graph.export(tmp_path / "y.jsonl")
    graph.export(tmp_path / "y.jsonl")
    assert rows(Graph.from_jsonl(tmp_path / "y.jsonl"), "MATCH (n) RETURN n.at") == [
        (LocalDateTime("2020-01-01T10:00"),)
    ]


def test_exported_csv_has_neo4j_admins_headers(tmp_path: Path) -> None:
    graph = Graph.from_records(
        [{"id": 0, "labels": ["A", "B"], "properties": {"s": "x", "l": [1, 2], "d": Date(2020, 1, 1)}}],
        [{"type": "R", "start": 0, "end": 0, "properties": {"w": 0.5}}],
        undirected=["R"],
    )
    graph.export(tmp_path / "g", "csv")
    assert {path.name: path.read_text() for path in (tmp_path / "g").iterdir()} == {
        "nodes_A:B.csv": '":ID",":LABEL","s:string","l:long[]","d:date"\n0,"A;B","x","1;2","2020-01-01"\n',
        "rels_R.csv": '":START_ID",":END_ID",":TYPE","w:double"\n0,0,"R","0.5"\n',
        "graph.toml": '[relationships."R"]\nundirected = true\n',
    }


def test_texts_of_json_are_days_or_moments_only_where_all_are_written_so(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"id": 1, "day": "2020-01-31", "at": "2020-01-31T10:00:00", "zoned": "2020-01-31T10:00:00Z",'
        ' "mixed": "2020-01-31"}\n'
        '{"id": 2, "day": null, "at": "2020-02-01 11:30:00", "zoned": null, "mixed": "2020-01-31T10:00:00"}\n'
    )
    graph = Graph.from_jsonl(nodes={"A": tmp_path / "a.jsonl"})
    assert graph.query("MATCH (n {id: 1}) RETURN n.day, n.at, n.zoned, n.mixed").fetchone() == (
        Date(2020, 1, 31), LocalDateTime("2020-01-31T10:00"), "2020-01-31T10:00:00Z", "2020-01-31",
    )  # fmt: skip


def test_relationships_without_nodes_and_arrays_of_rows_are_told(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target,weight\na,b,1\n")
    (tmp_path / "rows.json").write_text('[{"id": 1}, {"id": 2}]')
    with pytest.raises(StorageError, match=r"edges.csv, column source: there are no nodes\n.*from_edge_list"):
        Graph.from_csv(relationships={"R": tmp_path / "edges.csv"})
    with pytest.raises(StorageError, match=r"no readable file of JSON lines.*\n.*Graph.from_records"):
        Graph.from_jsonl(nodes={"A": tmp_path / "rows.json"})

"""Whatever is given to a public function, it works, is refused by an error of ours, or the argument is named."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import qengine
from qengine import Graph, InternalError, QengineError, cluster, dbapi, pictures
from qengine.estimate import Estimate
from qengine.learning import NeighbourSampler

TEXT = "MATCH (a:A)-[:R]->(b) RETURN a.name AS name"
NODES = [{"id": 1, "labels": "A", "properties": {"name": "x"}}, {"id": 2}]
ENDS = [{"type": "R", "start": 1, "end": 2}]
TABLE, ENDS_TABLE = pa.table({"id": [1, 2]}), pa.table({"start": [1], "end": [2]})
INDEX = np.array([[0, 1], [1, 2]])

QUERY = {"text": TEXT, "params": {}, "device": "cpu", "timeout": 9.0, "memory_limit": "1G", "gpu_memory_limit": None,
         "spill_directory": None, "threads": 1}  # fmt: skip
ESTIMATE = {"params": {}, "method": "wanderjoin", "rel_error": 0.5, "confidence": 0.9, "budget_ms": 5, "samples": 10,
            "seed": 1, "device": "cpu", "inheritance": False, "timeout": 9.0, "threads": 1}  # fmt: skip
TABLES = {"key": None, "label_column": None, "type_column": None, "undirected": ()}
FILES = {"id": "id", "labels": None, "type": None, "start": "start", "end": "end", "key": None, "undirected": ()}
TEXTS = {**FILES, "delimiter": ",", "quote": '"', "array_delimiter": ";", "null": None, "types": {}}
NAMING = {"type": "E", "label": "A", "types": None, "labels": None, "key": "id"}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph.from_records(NODES, ENDS)


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory, graph: Graph) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("graphs")
    (folder / "nodes_A.csv").write_text("id,name\n1,x\n2,y\n")
    (folder / "rels_A_R_A.csv").write_text("start,end\n1,2\n")
    graph.save(folder / "saved")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


def wrong() -> list[Any]:
    """Return values of which each is wrong almost everywhere."""
    return [None, 5, -1, float("nan"), True, "x", "", b"x", [], [1], {1: 2}, {"x": 2}, {1}, object(), len, Estimate,
            "a\0b", "\ud800", np.arange(3), np.float32(2), 10**30, TABLE, iter([1])]  # fmt: skip


def of_networkx(**naming: Any) -> Graph:
    networkx = pytest.importorskip("networkx")
    return Graph.from_networkx(networkx.path_graph(3), **naming)


def of_matrix(**given: Any) -> Graph:
    scipy = pytest.importorskip("scipy.sparse")
    return Graph.from_scipy(scipy.csr_array(np.eye(2)), **given)


Call = Callable[..., Any]
CASES: dict[str, tuple[Callable[[Graph], Call], dict[str, Any]]] = {
    "query": (lambda g: lambda **a: g.query(**a).fetchall(), {**QUERY, "cardinalities": None}),
    "prepare": (lambda g: lambda **a: g.prepare(**a).run(), {"text": TEXT, "cardinalities": None}),
    "run": (lambda g: lambda **a: g.prepare(TEXT).run(**a), {key: QUERY[key] for key in QUERY if key != "text"}),
    "script": (lambda g: lambda **a: list(g.script(**a)), QUERY),
    "explain": (lambda g: lambda **a: str(g.explain(**a)), {"text": TEXT, "device": "cpu", "cardinalities": None}),
    "estimate": (lambda g: g.estimate, {"text": "MATCH (a)-->(b)", **ESTIMATE}),
    "estimate_many": (lambda g: g.estimate_many, {"texts": ["MATCH (a)-->(b)"], **ESTIMATE}),
    "estimate_all": (
        lambda g: g.estimate_all,
        {"text": "MATCH (a)-->(b)", "params": {}, "samples": 10, "confidence": 0.9, "seed": 1, "budget_ms": 5},
    ),
    "transaction": (lambda g: lambda **a: g.transaction(**a).rollback(), {"timeout": 9.0, "threads": 1}),
    "refresh": (lambda g: g.refresh, {"timeout": 9.0, "memory_limit": None}),
    "import_directory": (lambda g: lambda directory: Graph(import_directory=directory), {"directory": None}),
    "import_urls": (lambda g: lambda urls: setattr(g, "import_urls", urls), {"urls": {}}),
    "from_records": (lambda g: Graph.from_records, {"nodes": NODES, "relationships": ENDS, "undirected": ()}),
    "from_arrow": (lambda g: Graph.from_arrow, {"nodes": {"A": TABLE}, "relationships": {"R": ENDS_TABLE}, **TABLES}),
    "append_arrow": (
        lambda g: lambda **a: Graph().append_arrow(**a),
        {"nodes": {"A": TABLE}, "relationships": {"R": ENDS_TABLE}, "upsert": False, "memory_limit": None, **TABLES},
    ),
    "from_edge_list": (
        lambda g: Graph.from_edge_list,
        {"source": ([1], [2]), "type": "E", "label": None, "undirected": False},
    ),
    "from_edge_index": (
        lambda g: Graph.from_edge_index,
        {"index": INDEX, "nodes": 3, "properties": {"x": [1, 2]}, "type": "E", "label": None, "undirected": False},
    ),
    "a column": (lambda g: lambda x: Graph.from_edge_index(INDEX, properties={"x": x}), {"x": [1, 2]}),
    "from_networkx": (lambda g: of_networkx, NAMING),
    "from_scipy": (lambda g: of_matrix, {"type": "E", "label": None, "weight": "w", "undirected": False}),
    "open": (
        lambda g: lambda **a: qengine.open(**a).close(),
        {"path": "saved", "durability": "full", "read_only": True, "verify": "lazy", "create": False},
    ),
    "save": (lambda g: g.save, {"path": "saved too"}),
    "export": (lambda g: g.export, {"path": "out.jsonl", "format": "jsonl"}),
    "from_csv": (
        lambda g: Graph.from_csv,
        {"nodes": {"A": "nodes_A.csv"}, "relationships": {"R": "rels_A_R_A.csv"}, "source": None, **TEXTS},
    ),
    "a file": (lambda g: lambda file: Graph.from_csv(nodes={"A": file}), {"file": "nodes_A.csv"}),
    "a type": (lambda g: lambda types: Graph.from_csv(".", types={"name": types}), {"types": "string"}),
    "from_parquet": (lambda g: Graph.from_parquet, {"source": None, "nodes": None, "relationships": None, **FILES}),
    "from_jsonl": (lambda g: Graph.from_jsonl, {"source": "out.jsonl", "undirected": ()}),
    "from_cypher": (lambda g: Graph.from_cypher, {"source": "CREATE (:A)", "undirected": ()}),
    "from_graphml": (lambda g: Graph.from_graphml, {"source": "x", "type": "E", "label": None, "undirected": ()}),
    "from_kuzu": (lambda g: Graph.from_kuzu, {"source": "x"}),
    "from_graph_file": (lambda g: Graph.from_graph_file, {"path": "x"}),
    "example": (lambda g: qengine.example, {"name": "world"}),
    "fetchmany": (lambda g: lambda size: g.query(TEXT).fetchmany(size), {"size": 2}),
    "preview": (lambda g: lambda rows: g.query(TEXT).preview(rows), {"rows": 2}),
    "register_function": (
        lambda g: lambda **a: Graph().register_function(**a),
        {"signature": "a.b(x :: INTEGER) :: INTEGER", "function": len, "vectorized": False, "deterministic": True},
    ),
    "register_procedure": (
        lambda g: lambda **a: Graph().register_procedure(**a),
        {"signature": "a.b() :: (x :: INTEGER)", "function": len, "reads_graph": False},
    ),
    "dbapi.connect": (lambda g: dbapi.connect, {"graph": "saved", "autocommit": False}),
    "execute": (
        lambda g: lambda **a: dbapi.connect(g).cursor().execute(**a),
        {"operation": TEXT, "parameters": {}},
    ),
    "executemany": (
        lambda g: lambda **a: dbapi.connect(Graph()).cursor().executemany(**a),
        {"operation": "CREATE (:X)", "parameters": [{}]},
    ),
    "NeighbourSampler": (
        lambda g: NeighbourSampler,
        {"graph": None, "pattern": "MATCH (n)-->(m)", "fanout": (2,), "seed": 1},
    ),
    "sample": (lambda g: NeighbourSampler(g, "MATCH (n)-->(m)", (2,)).sample, {"seeds": [0], "number": 1}),
    "batches": (lambda g: NeighbourSampler(g, "MATCH (n)-->(m)", (2,)).batches, {"seeds": [0], "size": 1, "epoch": 1}),
    "degrees_svg": (
        lambda g: pictures.degrees_svg,
        {"graph": None, "type": "R", "label": "A", "direction": "both"},
    ),
    "schema_svg": (lambda g: pictures.schema_svg, {"schema": None}),
    "values_svg": (lambda g: pictures.values_svg, {"values": ()}),
    "to_text": (lambda g: g.schema.to_text, {"counts": False}),
    "cluster.open": (lambda g: cluster.open, {"path": "none", "engine": "none", "workers": 1, "threads": 1}),
    "Date": (lambda g: qengine.Date, {"year": 2020, "month": 1, "day": 31}),
    "Point": (lambda g: qengine.Point, {"x": 1.0, "y": 2.0, "z": 3.0, "crs": None}),
}
VALUES = ("negative", "in range")  # what errors of Python's say of a number that is an integer, and too large or small


@pytest.mark.filterwarnings("ignore::qengine.LoadingWarning")
@pytest.mark.parametrize("name", CASES)
def test_an_argument_of_a_wrong_type_is_told(graph: Graph, name: str) -> None:
    made, right = CASES[name]
    call = made(graph)
    right = {each: graph if each == "graph" and value is None else value for each, value in right.items()}
    for argument in right:
        for value in wrong():
            try:
                call(**{**right, argument: value})
            except (QengineError, dbapi.Error) as error:
                assert not isinstance(error, InternalError), (argument, value)
            except (TypeError, ValueError) as error:
                named = f"`{argument}" in str(error) or f"{argument} is" in str(error)
                assert named or any(each in str(error) for each in VALUES), (argument, value, error)


def test_every_public_method_has_a_case() -> None:
    elsewhere = {"from_gexf", "from_igraph", "from_rustworkx", "from_pyg", "checkpoint", "register_aggregate", "Graph"}
    known = {name.rpartition(".")[2] for name in CASES} | {"open"} | elsewhere
    for name, member in inspect.getmembers(Graph):
        if not name.startswith("_") and callable(member) and inspect.signature(member).parameters.keys() - {"self"}:
            assert name in known, name


def test_what_it_takes_is_told_in_words(graph: Graph) -> None:
    for call, told in (
        (lambda: graph.query(TEXT, device=["cpu"]), "query() takes a str as `device`, not a list."),
        (lambda: graph.query(TEXT).fetchmany("3"), "fetchmany() takes an integer as `size`, not '3'."),
        (lambda: graph.append_arrow(upsert="no"), "append_arrow() takes True or False as `upsert`, not 'no'."),
        (
            lambda: NeighbourSampler("world", "MATCH (n)-->(m)", (1,)),
            "NeighbourSampler() takes a Graph as `graph`, not 'world'.",
        ),
        (
            lambda: Graph.from_csv(".", nodes=5),
            "5 is no path",
        ),
        (lambda: Graph.from_csv(Path("a\0")), "'a\\x00' is no path"),
        (lambda: Graph.from_csv("x" * 5000), f"'{'x' * 80}…' can't be read: File name too long"),
        (lambda: Graph.from_csv(".", null=["-", 5]), "null: a word is 5, not a name"),
    ):
        with pytest.raises((TypeError, qengine.StorageError)) as raised:
            call()
        assert told in str(raised.value)


def test_errors_of_functions_that_are_called_stay_theirs(graph: Graph) -> None:
    def broken(text: str) -> str:
        return text.nothing  # type: ignore[attr-defined,no-any-return]

    graph.register_function("broken.one(x :: STRING) :: STRING", broken)
    with pytest.raises(qengine.ExecutionError, match="nothing"):
        graph.query("RETURN broken.one('x')").fetchall()
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'text'"):
        graph.query()  # type: ignore[call-arg]

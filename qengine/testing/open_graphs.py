"""The open graphs with true counts as ``Graph``s, and their queries as texts of the language."""

from __future__ import annotations

import csv
import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

from qengine._frozen import frozen
from qengine.graph import Graph
from qengine.testing.data import data_set

DIFFERENT_NODES = "DIFFERENT NODES"
DIFFERENT_RELATIONSHIPS = "DIFFERENT RELATIONSHIPS"
REPEATABLE_ELEMENTS = "REPEATABLE ELEMENTS"


@frozen
class Truth:
    """A counting query with its true answer; ``name`` tells where it comes from."""

    name: str
    query: str
    count: int


def labelled(name: str) -> Graph:
    """Load an undirected graph with one label a vertex (``:L7``) and one type ``E``: hprd, yeast, ca-GrQc, …"""
    nodes, edges = _tables(name)
    return Graph.from_arrow(_by_label(nodes, "L"), [("E", edges)], undirected=["E"])


def simplified(name: str) -> Graph:
    """Load a directed graph as an undirected simple one, free of labels: wiki-Vote, cnr-2000."""
    import numpy as np

    _, edges = _tables(name)
    ends = np.sort(np.stack([edges["src"].to_numpy(), edges["dst"].to_numpy()]), axis=0)
    ends = np.unique(ends[:, ends[0] != ends[1]], axis=1)
    return Graph.from_edge_list((ends[0], ends[1]), undirected=True)


def typed(name: str) -> Graph:
    """Load a directed graph with vertex labels ``V3`` and relationship types ``T7``: fb15k-237, wn18rr."""
    import pyarrow.compute as pc

    nodes, edges = _tables(name)
    kinds = sorted(set(edges["label"].to_pylist()))
    relationships = [
        (f"T{kind}", edges.filter(pc.equal(edges["label"], kind)).select(["src", "dst"])) for kind in kinds
    ]
    return Graph.from_arrow(_by_label(nodes, "V"), relationships)


def property_graph(name: str) -> Graph:
    """Load a graph of node and relationship files: air-routes, ldbc-snb-sf01, lsqb-sfexample.

    Places also get the label that their column ``label`` names (City, Country, Continent).
    """
    import pyarrow.parquet as pq

    folder = data_set(name)
    nodes: list[tuple[Any, Any]] = []
    for path in sorted(folder.glob("nodes_*.parquet")):
        label, table = path.stem.removeprefix("nodes_"), pq.read_table(path)
        if label == "Place":
            nodes += [((label, kind), part) for kind, part in _split(table, "label")]
        else:
            nodes.append((label, table))
    relationships = []
    for path in sorted(folder.glob("rels_*.parquet")):
        start, kind, end = path.stem.removeprefix("rels_").split("_")
        relationships.append((kind, start, end, pq.read_table(path)))
    return Graph.from_arrow(nodes, relationships, key="gid")


def pattern_query(labels: Sequence[str | None], edges: Sequence[tuple[int, str, int]], mode: str) -> str:
    """Return the text that counts a pattern: ``edges`` are (vertex, relationship as written, vertex)."""
    nodes = [f"(v{i}:{label})" if label else f"(v{i})" for i, label in enumerate(labels)]
    paths = [f"(v{one}){between}(v{other})" for one, between, other in edges]
    return f"MATCH {mode} {', '.join([*nodes, *paths])} RETURN count(*) AS count"


def query_graphs(name: str) -> dict[str, tuple[list[int], list[tuple[int, int]]]]:
    """Return the ``t/v/e`` query graphs of a data set's ``queries.zip``: labels and edges by name."""
    found = {}
    with zipfile.ZipFile(data_set(name) / "queries.zip") as archive:
        for entry in archive.namelist():
            found[entry.removesuffix(".graph")] = read_query_graph(archive.read(entry).decode())
    return found


def read_query_graph(text: str) -> tuple[list[int], list[tuple[int, int]]]:
    """Return labels and edges of a ``t/v/e`` text."""
    lines = [line.split() for line in text.splitlines()]
    labels = [int(line[2]) for line in lines if line and line[0] == "v"]
    return labels, [(int(line[1]), int(line[2])) for line in lines if line and line[0] == "e"]


def labelled_truths(name: str) -> Iterator[Truth]:
    """Yield the counts of hprd or yeast: published ones for different nodes, ours for the other two modes."""
    graphs = query_graphs(name)
    for row in _rows(name, "truth_published.csv"):
        yield _labelled(row["query"], graphs, DIFFERENT_NODES, row["embeddings"])
    for row in _rows(name, "truth_ours.csv"):
        if row["count_edge_injective"]:
            yield _labelled(row["query"], graphs, DIFFERENT_RELATIONSHIPS, row["count_edge_injective"])
        if row["count_homomorphism"]:
            yield _labelled(row["query"], graphs, REPEATABLE_ELEMENTS, row["count_homomorphism"])


def motif_truths(name: str) -> Iterator[Truth]:
    """Yield the motif counts of ca-GrQc and wiki-Vote in all three modes."""
    with zipfile.ZipFile(data_set("motifs.zip")) as archive:
        graphs = {
            entry.removesuffix(".graph"): read_query_graph(archive.read(entry).decode()) for entry in archive.namelist()
        }
    modes = {
        "count_embeddings": DIFFERENT_NODES,
        "count_edge_injective": DIFFERENT_RELATIONSHIPS,
        "count_homomorphism": REPEATABLE_ELEMENTS,
    }
    for row in _rows(name, "truth_motifs_ours.csv"):
        labels, edges = graphs[row["query"]]
        for column, mode in modes.items():
            if row.get(column):
                text = pattern_query([None] * len(labels), [(a, "-[:E]-", b) for a, b in edges], mode)
                yield Truth(f"{row['query']} {mode}", text, int(row[column]))


def workload_truths(name: str) -> Iterator[Truth]:
    """Yield the workload of fb15k-237 or wn18rr, counted as homomorphisms and with different relationships."""
    for line in (data_set(name) / "workload.jsonl").read_text().splitlines():
        entry = json.loads(line)
        edges = [(one, f"-[:T{kind}]->", other) for one, other, kind in entry["edges"]]
        size = 1 + max(max(one, other) for one, _, other in edges)
        wanted = {int(vertex): f"V{label}" for vertex, label in entry["vertex_labels"].items()}
        labels = [wanted.get(vertex) for vertex in range(size)]
        for column, mode in (
            ("count_hom", REPEATABLE_ELEMENTS),
            ("count_edge_injective", DIFFERENT_RELATIONSHIPS),
        ):
            if entry.get(column) is not None:
                yield Truth(f"{entry['id']} {mode}", pattern_query(labels, edges, mode), entry[column])


def cypher_truths(name: str) -> Iterator[tuple[str, str, list[list[Any]]]]:
    """Yield name, text and rows of the questions of air-routes or ldbc-snb-sf01."""
    for line in (data_set(name) / "cypher_open.jsonl").read_text().splitlines():
        entry = json.loads(line)
        yield entry["id"], entry["cypher"], entry["rows"]


def lsqb_truths(name: str, table: str, queries: str) -> Iterator[Truth]:
    """Yield the LSQB counts of ``table`` for the query texts of data set ``queries``, in the files' names."""
    for row in _rows(name, table):
        path = data_set(queries) / "queries" / f"{row['query']}.cypher"
        yield Truth(row["query"], lsqb_text(path.read_text()), int(row["count"]))


def lsqb_text(text: str) -> str:
    """Translate an LSQB query: types in camel case, ``Message`` as ``Post|Comment``."""

    def camel(match: re.Match[str]) -> str:
        first, *rest = match.group(1).lower().split("_")
        return "[:" + first + "".join(word.title() for word in rest)

    return re.sub(r"\[:([A-Z_]+)", camel, text).replace(":Message", ":Post|Comment")


def _labelled(name: str, graphs: dict[str, Any], mode: str, count: str) -> Truth:
    labels, edges = graphs[name]
    text = pattern_query([f"L{label}" for label in labels], [(a, "-[:E]-", b) for a, b in edges], mode)
    return Truth(f"{name} {mode}", text, int(count))


def _tables(name: str) -> tuple[Any, Any]:
    import pyarrow.parquet as pq

    folder = data_set(name)
    return pq.read_table(folder / "vertices.parquet"), pq.read_table(folder / "edges.parquet")


def _by_label(nodes: Any, prefix: str) -> list[tuple[str, Any]]:
    return [(f"{prefix}{kind}", part.select(["id"])) for kind, part in _split(nodes, "label")]


def _split(table: Any, column: str) -> list[tuple[Any, Any]]:
    import pyarrow.compute as pc

    kinds = sorted(set(table[column].to_pylist()))
    return [(kind, table.filter(pc.equal(table[column], kind))) for kind in kinds]


def _rows(name: str, table: str) -> list[dict[str, str]]:
    with (data_set(name) / table).open(newline="") as file:
        return list(csv.DictReader(file))

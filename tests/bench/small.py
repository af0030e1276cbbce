"""Small labelled queries of the literature on small graphs: what one query costs us, from its text and prepared.

Run as ``python -m tests.bench.small NAME DATA`` it prints the two medians, in seconds, and fails on a wrong count.
"""

from __future__ import annotations

import csv
import sys
import time
import zipfile
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow.parquet as pq

from qengine.testing import data as shared
from tests.bench.datasets import write_graph_file
from tests.bench.dialects import cypher_for_qengine
from tests.bench.patterns import Pattern

# With more embeddings than this, counting them costs more than what is measured here.
_MOST_EMBEDDINGS = 1_000_000
_RUNS = 3


def queries(name: str) -> list[tuple[Pattern, int]]:
    """Return the labelled queries of a data set that are small, with the published number of embeddings."""
    folder = shared.data_set(name)
    with (folder / "truth_published.csv").open() as file:
        truth = {row["query"]: int(row["embeddings"]) for row in csv.DictReader(file)}
    with zipfile.ZipFile(folder / "queries.zip") as archive:
        return [
            (parse(query, archive.read(f"{query}.graph").decode()), embeddings)
            for query, embeddings in truth.items()
            if embeddings <= _MOST_EMBEDDINGS
        ]


def parse(name: str, text: str) -> Pattern:
    """Read the ``t/v/e`` text of one query; an edge's label, where it has one, is not told apart."""
    lines = [line.split() for line in text.splitlines()]
    labels = tuple(int(line[2]) for line in lines if line[0] == "v")
    edges = tuple((int(line[1]), int(line[2])) for line in lines if line[0] == "e")
    return Pattern(name, edges, labels)


def write_graph(name: str, path: Path) -> None:
    """Write the data graph as ``t/v/e`` text."""
    vertices = pq.read_table(shared.data_set(f"{name}/vertices.parquet")).sort_by("id")
    edges = pq.read_table(shared.data_set(f"{name}/edges.parquet"))
    source, target = edges["src"].to_numpy(), edges["dst"].to_numpy()
    degrees = np.bincount(np.concatenate([source, target]), minlength=vertices.num_rows)
    write_graph_file(path, vertices["label"].to_numpy(), degrees, source, target)


def main(name: str, data: str) -> None:
    import qengine

    path = Path(data) / f"{name}.graph"
    if not path.exists():
        write_graph(name, path)
    graph = qengine.Graph.from_graph_file(path)
    from_text, prepared = [], []
    for pattern, embeddings in queries(name):
        text = cypher_for_qengine(pattern)
        started = time.perf_counter()
        counts = [graph.query(text).fetchone()[0]]
        from_text.append(time.perf_counter() - started)
        statement = graph.prepare(text)
        runs = []
        for _ in range(_RUNS):
            started = time.perf_counter()
            counts.append(statement.run().fetchone()[0])
            runs.append(time.perf_counter() - started)
        prepared.append(min(runs))
        if set(counts) != {embeddings}:
            raise SystemExit(f"{name}, {pattern.name}: counted {set(counts)}, published {embeddings}")
    print(median(from_text), median(prepared))


if __name__ == "__main__":
    main(*sys.argv[1:])

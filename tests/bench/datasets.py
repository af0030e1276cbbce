"""The graphs that the benchmarks run on, generated once into a folder in every form that an engine may want."""

from __future__ import annotations

import shutil
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from qengine.testing import generate
from qengine.testing.data import data_set


@dataclass(frozen=True)
class PatternGraph:
    """A simple undirected R-MAT graph, perhaps with vertex labels, below the folder ``root``.

    Files, below ``folder``: ``graph.txt`` is the plain graph (``t/v/e`` text, ids as generated). The other files hold
    ids by ascending degree, which peers profit from: ``oriented.txt`` and ``oriented.parquet`` (src, dst) each edge
    once from low to high degree, ``symmetric.parquet`` each edge both ways with the labels of its ends
    (src, dst, src_label, dst_label), ``vertices.parquet`` (id, label).
    """

    root: Path
    scale: int
    label_count: int = 1
    seed: int = 42

    @property
    def folder(self) -> Path:
        return self.root / f"rmat-{self.scale}-{self.label_count}-{self.seed}"

    def plain(self) -> tuple[generate.Csr, NDArray[np.int32]]:
        """Generate the graph and its labels anew."""
        graph = generate.to_csr(generate.rmat(self.scale, 16, self.seed))
        return graph, generate.vertex_labels(graph.vertex_count, self.label_count, self.seed)

    def arrays(self) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of vertices and the two columns of ``oriented.parquet``."""
        table = pq.read_table(self.folder / "oriented.parquet")
        size = pq.read_metadata(self.folder / "vertices.parquet").num_rows
        return size, table["src"].to_numpy(), table["dst"].to_numpy()

    def ranked_labels(self) -> NDArray[np.int32]:
        """Return the labels by the ids of ``oriented.parquet``."""
        labels: NDArray[np.int32] = pq.read_table(self.folder / "vertices.parquet")["label"].to_numpy()
        return labels

    def build(self, folder: Path) -> None:
        graph, labels = self.plain()
        source, target = graph.edges()
        write_graph_file(folder / "graph.txt", labels, graph.degrees(), source, target)

        rank = np.empty(graph.vertex_count, np.int64)
        rank[np.argsort(graph.degrees(), kind="stable")] = np.arange(graph.vertex_count)
        ranked_labels = np.empty_like(labels)
        ranked_labels[rank] = labels
        low = np.minimum(rank[source], rank[target])
        high = np.maximum(rank[source], rank[target])
        order = np.lexsort((high, low))
        low, high = low[order], high[order]
        both = np.concatenate([low, high]), np.concatenate([high, low])
        write_table(folder / "vertices.parquet", id=np.arange(graph.vertex_count), label=ranked_labels)
        write_table(folder / "oriented.parquet", src=low, dst=high)
        write_table(
            folder / "symmetric.parquet",
            src=both[0],
            dst=both[1],
            src_label=ranked_labels[both[0]],
            dst_label=ranked_labels[both[1]],
        )
        np.savetxt(folder / "oriented.txt", np.column_stack([low, high]), fmt="%d")


@dataclass(frozen=True)
class OpenGraph(PatternGraph):
    """One of the open graphs, directions and self-loops left out, in the same files."""

    scale: int = 0
    name: str = ""

    @property
    def folder(self) -> Path:
        return self.root / self.name

    def plain(self) -> tuple[generate.Csr, NDArray[np.int32]]:
        """Read the graph; all vertices have one label."""
        source = data_set(self.name)
        size = pq.read_metadata(source / "vertices.parquet").num_rows
        edges = pq.read_table(source / "edges.parquet", columns=["src", "dst"])
        ends = (edges[end].to_numpy().astype(np.int64) for end in ("src", "dst"))
        graph = generate.to_csr(generate.EdgeDraws(size, *ends))
        return graph, np.zeros(size, np.int32)


@dataclass(frozen=True)
class SocialGraph:
    """The social property graph, as the folder of Parquet files that `generate.write_social` makes."""

    root: Path
    size: generate.SocialSize

    @property
    def folder(self) -> Path:
        return self.root / f"social-{'-'.join(str(count) for count in astuple(self.size))}"

    def build(self, folder: Path) -> None:
        generate.write_social(folder, generate.social(self.size))


Dataset = PatternGraph | SocialGraph


def prepare(dataset: Dataset) -> None:
    """Build the files of a data set where they are absent; an interrupted build leaves none."""
    if dataset.folder.is_dir():
        return
    partial = dataset.folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    dataset.build(partial)
    partial.rename(dataset.folder)


def write_table(path: Path, **columns: NDArray[np.int64] | NDArray[np.int32]) -> None:
    pq.write_table(pa.table(columns), path)


def write_graph_file(
    path: Path,
    labels: NDArray[np.int32],
    degrees: NDArray[np.int64],
    source: NDArray[np.int32],
    target: NDArray[np.int32],
) -> None:
    """Write the ``t/v/e`` text of the subgraph-matching literature."""
    with path.open("w") as file:
        file.write(f"t {len(labels)} {len(source)}\n")
        for vertex, (label, degree) in enumerate(zip(labels.tolist(), degrees.tolist(), strict=True)):
            file.write(f"v {vertex} {label} {degree}\n")
        file.writelines(f"e {a} {b}\n" for a, b in zip(source.tolist(), target.tolist(), strict=True))

"""Graphs from the ``t/v/e`` text files of the subgraph-matching literature."""

from __future__ import annotations

import re
from itertools import pairwise
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa

from qengine.errors import LoadingWarning, StorageError
from qengine.storage.assemble import NodeBlock, RelationshipBlock, assemble
from qengine.storage.edgelist import bad_line, blank_mark
from qengine.storage.files import warn_of
from qengine.storage.given import given_path
from qengine.storage.kernels import NO_NUMBER, edge_list
from qengine.storage.keys import KeyIndex
from qengine.storage.memory import within_memory
from qengine.storage.store import GraphStore

_FORM = "The lines are: t <vertices> <edges>, v <id> <label> [degree], e <id> <id> [label]."
_CUT_OFF = "It may be cut off: compare it with where it comes from."
_COUNTS = re.compile(rb"^[ \t]*t[ \t]+(\d+)[ \t]+(\d+)", re.MULTILINE)


@within_memory
def from_graph_file(path: str | PathLike[str]) -> GraphStore:
    """Load a ``t/v/e`` graph file, as ``Graph.from_graph_file`` says."""
    source = given_path(path, _FORM)
    try:
        data = bytearray(source.read_bytes())
    except OSError as error:
        raise StorageError(f"{source}: it can't be read: {error.strerror}", hint=_FORM) from None
    blank_mark(data)
    vertices, edges = edge_list(data, len(data), "v"), edge_list(data, len(data), "e", third=True)
    bad = [lines.bad for lines in (vertices, edges) if lines.bad is not None]
    if bad:
        raise bad_line(source, 0, data, min(bad), _FORM)
    assert edges.third is not None
    _compare_counts(source, data, {"vertices": len(vertices.first), "edges": len(edges.first)})
    # Sorting by label makes one block a label; vertices of one label keep their order.
    order = np.argsort(vertices.second, kind="stable")
    ids, labels = pa.array(vertices.first[order]), vertices.second[order]
    index = KeyIndex(ids, np.arange(len(ids), dtype=np.uint32), f"{source}, vertices")
    start = index.find(pa.array(edges.first), f"{source}, edges")
    end = index.find(pa.array(edges.second), f"{source}, edges")
    names, firsts = np.unique(labels, return_index=True)
    nodes = [
        NodeBlock((f"L{name}",), last - first, {"id": ids.slice(first, last - first)})
        for name, (first, last) in zip(names.tolist(), pairwise([*firsts.tolist(), len(ids)]), strict=True)
    ]
    relationships = []
    for label in np.unique(edges.third).tolist():  # files without edge labels have none, or 0 in each line
        own = edges.third == label
        name = "E" if label in (NO_NUMBER, 0) else f"E{label}"
        relationships.append(RelationshipBlock(name, start[own], end[own]))
    return assemble(nodes, relationships, [block.type for block in relationships])


def _compare_counts(path: Path, data: bytearray, found: dict[str, int]) -> None:
    """Warn where a file's head tells other numbers of vertices and edges than it has lines of them."""
    head = _COUNTS.search(data)
    told = dict(zip(found, map(int, head.groups()), strict=True)) if head is not None else found
    if told != found:
        texts = [" and ".join(f"{count:,} {what}" for what, count in each.items()) for each in (told, found)]
        warn_of([LoadingWarning(f"{path}: its head tells {texts[0]}, it has {texts[1]}", hint=_CUT_OFF)])

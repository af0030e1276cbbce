"""Graphs of other libraries as graphs here: networkx, igraph, rustworkx, sparse matrices, edge indices, PyG's data.

None of the libraries is imported: what is given has come from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from qengine._frozen import record
from qengine._notices import log
from qengine.errors import Notice, StorageError
from qengine.formats.parts import Builder
from qengine.formats.records import Records
from qengine.storage.arrays import Array
from qengine.storage.assemble import MAX_VERTICES
from qengine.storage.given import name_of
from qengine.storage.memory import within_memory
from qengine.storage.normal import normal_array
from qengine.storage.store import GraphStore
from qengine.storage.variant import from_python

_ENDS = ("edge_index", "adj_t", "edge_label_index")


@record
class Naming:
    """What a foreign graph leaves open, and where it says it.

    ``type``, ``label``: for what has none. ``types``, ``labels``: attributes that hold them. ``key``: the property that
    a node's key becomes, None for none.
    """

    type: str = "E"
    label: str | None = None
    types: str | None = "type"
    labels: str | None = "labels"
    key: str | None = "id"

    def __post_init__(self) -> None:
        name_of(self.type, "type", "Give the name of a relationship type.")
        for option in ("label", "types", "labels", "key"):
            if getattr(self, option) is not None:
                name_of(getattr(self, option), option, "Give a name, or None.")

    def node(self, key: Any, attributes: Mapping[str, Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Return the labels and properties of a node."""
        properties = {str(name): each for name, each in attributes.items() if each is not None}
        labels = () if self.label is None else (self.label,)
        found = None if self.labels is None else properties.get(self.labels)
        if isinstance(found, list | tuple | set | frozenset) and all(isinstance(each, str) for each in found):
            labels = tuple(sorted(found) if isinstance(found, set | frozenset) else found) or labels
            properties.pop(self.labels or "")
        if self.key is not None and key is not None:
            properties.setdefault(self.key, key)
        return labels, properties

    def link(self, attributes: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the type and properties of a relationship."""
        properties = {str(name): each for name, each in attributes.items() if each is not None}
        found = None if self.types is None else properties.get(self.types)
        if isinstance(found, str) and found:
            properties.pop(self.types or "")
            return found, properties
        return self.type, properties


@within_memory
def from_networkx(graph: Any, naming: Naming) -> GraphStore:
    """Load a graph of networkx, as ``Graph.from_networkx`` says."""
    _check(graph, "networkx graph", "is_directed", "nodes", "edges")
    records = Records("networkx graph")
    undirected = not graph.is_directed()
    lost = []
    for key, attributes in graph.nodes(data=True):
        value = key if isinstance(key, int | str | np.integer) else _value_of(key)
        if value is None and naming.key is not None and naming.key not in attributes:
            lost.append(key)
        records.node(key, *naming.node(value, attributes))
    if lost:
        some = f"Some nodes' keys ({len(lost):,}, such as {lost[0]!r:.80}) can't be properties"
        hint = "Relabel the nodes, or give key=None to load them without."
        log((Notice("KeysNotLoaded", f"{some}, and are left out.", None, hint),))
    for start, end, attributes in graph.edges(data=True):
        type, properties = naming.link(attributes)
        records.relationship(type, start, end, properties, undirected=undirected)
    return records.store()


def _value_of(key: Any) -> Any:
    """Return a node's key as a property's value, a tuple as a list; None for what can't be one."""
    value = _listed(key)
    try:
        from_python([value], "")
    except StorageError:
        return None
    return value


def _listed(value: Any) -> Any:
    return [_listed(each) for each in value] if isinstance(value, tuple) else value


@within_memory
def from_igraph(graph: Any, naming: Naming) -> GraphStore:
    """Load a graph of igraph, as ``Graph.from_igraph`` says."""
    _check(graph, "igraph graph", "is_directed", "vs", "es")
    records = Records("igraph graph")
    undirected = not graph.is_directed()
    names, columns = graph.vs.attributes(), [graph.vs[name] for name in graph.vs.attributes()]
    for key, row in enumerate(zip(*columns, strict=True) if columns else [()] * graph.vcount()):
        records.node(key, *naming.node(key, dict(zip(names, row, strict=True))))
    names, columns = graph.es.attributes(), [graph.es[name] for name in graph.es.attributes()]
    rows: Iterable[Any] = zip(*columns, strict=True) if columns else [()] * graph.ecount()
    for (start, end), row in zip(graph.get_edgelist(), rows, strict=True):
        type, properties = naming.link(dict(zip(names, row, strict=True)))
        records.relationship(type, start, end, properties, undirected=undirected)
    return records.store()


@within_memory
def from_rustworkx(graph: Any, naming: Naming) -> GraphStore:
    """Load a graph of rustworkx, as ``Graph.from_rustworkx`` says."""
    _check(graph, "rustworkx graph", "node_indices", "weighted_edge_list")
    records = Records("rustworkx graph")
    undirected = not hasattr(graph, "successors")
    for key in graph.node_indices():
        records.node(key, *naming.node(key, _payload(graph[key], "value")))
    for start, end, payload in graph.weighted_edge_list():
        type, properties = naming.link(_payload(payload, "weight"))
        records.relationship(type, start, end, properties, undirected=undirected)
    return records.store()


@within_memory
def from_scipy(matrix: Any, naming: Naming, weight: str | None, *, undirected: bool) -> GraphStore:
    """Load a sparse matrix, as ``Graph.from_scipy`` says."""
    _check(matrix, "sparse matrix", "tocoo", "shape")
    found = matrix.tocoo()
    if found.shape[0] != found.shape[1]:
        raise StorageError(
            f"A matrix of {found.shape[0]:,} by {found.shape[1]:,} is no graph's", hint="Give a square one."
        )
    rows, columns, values = np.asarray(found.row), np.asarray(found.col), np.asarray(found.data)
    if undirected:
        kept = rows <= columns
        rows, columns, values = rows[kept], columns[kept], values[kept]
    properties = {} if weight is None else {name_of(weight, "weight", "Give a name, or None."): pa.array(values)}
    return _of_index(np.stack([rows, columns]), found.shape[0], naming, ({}, properties), undirected=undirected)


@within_memory
def from_edge_index(
    index: Any,
    naming: Naming,
    nodes: int | Mapping[str, Any] | None,
    properties: Mapping[str, Any] | None,
    *,
    undirected: bool,
) -> GraphStore:
    """Load an array of ends, as ``Graph.from_edge_index`` says."""
    ends = _numpy(index)
    if ends.ndim != 2 or ends.shape[0] != 2 or (ends.size and ends.dtype.kind not in "iu"):
        raise StorageError(
            f"An edge index of {ends.dtype} and shape {ends.shape} has no two rows of integers",
            hint="Give an array of shape (2, edges).",
        )
    own = {} if nodes is None or isinstance(nodes, int) else {name: _column(each) for name, each in nodes.items()}
    least = int(ends.max()) + 1 if ends.size else 0
    count = nodes if isinstance(nodes, int) else max((len(each) for each in own.values()), default=least)
    links = {name: _column(each) for name, each in (properties or {}).items()}
    return _of_index(ends, count, naming, (own, links), undirected=undirected)


@within_memory
def from_pyg(data: Any, naming: Naming) -> GraphStore:
    """Load PyTorch Geometric's data, as ``Graph.from_pyg`` says."""
    builder = Builder()
    if hasattr(data, "node_types"):
        for name in data.node_types:
            store = data[name]
            _add_nodes(builder, (name,), int(store.num_nodes), _features(store, int(store.num_nodes)), naming)
        for start, type, end in data.edge_types:
            store = data[start, type, end]
            ends = _numpy(store.edge_index)
            _add_links(builder, type, (ends, start, end), _features(store, ends.shape[1]))
        return builder.store()
    _check(data, "PyTorch Geometric data", "edge_index", "num_nodes")
    ends, count = _numpy(data.edge_index), int(data.num_nodes)
    given = dict(data.items()) if hasattr(data, "items") else dict(data.to_dict())
    on_edges = {key: each for key, each in given.items() if key.startswith("edge_") and key != "edge_index"}
    own = {key: each for key, each in given.items() if key not in on_edges}
    label = naming.label or ""
    _add_nodes(builder, (label,), count, _features(own, count), naming)
    _add_links(builder, naming.type, (ends, label, label), _features(on_edges, ends.shape[1]))
    return builder.store()


def _of_index(
    ends: Array,
    count: int,
    naming: Naming,
    properties: tuple[Mapping[str, Any], Mapping[str, Any]],
    *,
    undirected: bool,
) -> GraphStore:
    builder = Builder()
    label = naming.label or ""
    _add_nodes(builder, (label,), count, properties[0], naming)
    _add_links(builder, naming.type, (ends, label, label), properties[1])
    return builder.store([naming.type] if undirected else ())


def _add_nodes(
    builder: Builder, labels: tuple[str, ...], count: int, properties: Mapping[str, Any], naming: Naming
) -> None:
    """Add nodes whose keys are 0, 1, …, in the space of their label."""
    if count > MAX_VERTICES:
        raise StorageError(f"{count:,} nodes are more than the {MAX_VERTICES:,} that a graph can hold")
    keys = pa.array(np.arange(count, dtype=np.int64))
    columns = {name: normal_array(each, f"nodes {labels[0]}, {name}") for name, each in properties.items()}
    for name, column in columns.items():
        if len(column) != count:
            raise StorageError(f"nodes {labels[0]}, {name}: there are {len(column):,} values for {count:,} nodes")
    if naming.key is not None:
        columns.setdefault(naming.key, keys)
    builder.nodes([each for each in labels if each], columns, keys, count, labels[0])


def _add_links(builder: Builder, type: str, ends: tuple[Array, str, str], properties: Mapping[str, Any]) -> None:
    index, start, end = ends
    place = f"relationships {type}"
    columns = {name: normal_array(each, f"{place}, {name}") for name, each in properties.items()}
    for name, column in columns.items():
        if len(column) != index.shape[1]:
            raise StorageError(
                f"{place}, {name}: there are {len(column):,} values for {index.shape[1]:,} relationships"
            )
    first, second = (pa.array(np.ascontiguousarray(each).astype(np.int64)) for each in index)
    builder.relationships(type, (first, start, place), (second, end, place), columns)


def _features(store: Any, count: int) -> dict[str, Any]:
    """Return what a store of PyG holds for each of ``count`` elements as columns."""
    found = {}
    for name, value in store.items():
        if name in _ENDS or value is None or isinstance(value, int | str):
            continue
        if len(value) == count and not isinstance(value, Mapping):
            found[name] = _column(value)
    return found


def _column(values: Any) -> Any:
    """Return a tensor, an array or a list as an Arrow array: one of two dimensions as lists."""
    if isinstance(values, list | tuple | pa.Array | pa.ChunkedArray):
        return pa.array(values) if isinstance(values, list | tuple) else values
    array = _numpy(values)
    if not array.ndim or array.dtype == object:
        raise StorageError(f"A {type(values).__name__} is no column", hint="Give an array or a list, one value each.")
    if array.ndim == 1:
        return pa.array(array)
    flat = pa.array(np.ascontiguousarray(array.reshape(len(array), -1)).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, max(1, int(np.prod(array.shape[1:])))).cast(pa.list_(flat.type))


def _numpy(values: Any) -> Array:
    """Return an array or a tensor, wherever it is, as NumPy's."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.asarray(values)


def _payload(payload: Any, name: str) -> Mapping[str, Any]:
    """Return what a node or an edge of rustworkx carries as properties."""
    return payload if isinstance(payload, Mapping) else {} if payload is None else {name: payload}


def _check(given: Any, what: str, *members: str) -> None:
    if not all(hasattr(given, each) for each in members):
        raise StorageError(
            f"A {type(given).__name__} is no {what}",
            hint="Pairs of nodes are Graph.from_edge_list's.",
        )

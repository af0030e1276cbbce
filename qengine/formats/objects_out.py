"""The nodes and relationships of a result as graphs of other libraries, which are imported when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from importlib import import_module
from typing import Any

from qengine._frozen import record
from qengine._notices import log
from qengine.errors import Notice, Unsupported
from qengine.types import Node, Path, Relationship

_EXTRA = "graphs"


@record
class Elements:
    """The different nodes and relationships of some rows, by id; ends that no row holds are None."""

    nodes: dict[int, Node | None] = field(default_factory=dict)
    relationships: dict[int, Relationship] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Any]) -> Elements:
        """Gather what the rows that are left hold, in lists, maps and paths, too."""
        found, some = cls(), False
        for row in rows:
            found.add(row)
            some = True
        if some and not found.nodes and not found.relationships:
            log([Notice("NoElements", "The rows hold no nodes or relationships.", hint="Return them: RETURN p, a, r.")])
        for link in found.relationships.values():
            found.nodes.setdefault(link.start, None)
            found.nodes.setdefault(link.end, None)
        return found

    def add(self, value: Any) -> None:
        """Add what a value holds."""
        match value:
            case Node():
                self.nodes[value.id] = value
            case Relationship():
                self.relationships[value.id] = value
            case Path():
                self.add(value.nodes)
                self.add(value.relationships)
            case list() | tuple():
                for each in value:
                    self.add(each)
            case Mapping():
                self.add(list(value.values()))

    def places(self) -> dict[int, int]:
        """Return the place of each node's id."""
        return {id: place for place, id in enumerate(self.nodes)}


def to_networkx(rows: Iterable[Any]) -> Any:
    """Return a ``networkx.MultiDiGraph``, as ``Result.to_networkx`` says."""
    networkx = _imported("networkx")
    found = Elements.of(rows)
    graph = networkx.MultiDiGraph()
    graph.add_nodes_from((id, _node(node)) for id, node in found.nodes.items())
    graph.add_edges_from((each.start, each.end, id, _link(each)) for id, each in found.relationships.items())
    return graph


def to_igraph(rows: Iterable[Any]) -> Any:
    """Return an ``igraph.Graph``, as ``Result.to_igraph`` says."""
    igraph = _imported("igraph")
    found = Elements.of(rows)
    places = found.places()
    links = list(found.relationships.values())
    graph = igraph.Graph(len(places), [(places[each.start], places[each.end]) for each in links], directed=True)
    nodes = [{"id": id, **_node(node)} for id, node in found.nodes.items()]
    for attributes, owner in ((nodes, graph.vs), ([_link(each) for each in links], graph.es)):
        for key in dict.fromkeys(key for each in attributes for key in each):
            owner[key] = [each.get(key) for each in attributes]
    return graph


def to_rustworkx(rows: Iterable[Any]) -> Any:
    """Return a ``rustworkx.PyDiGraph``, as ``Result.to_rustworkx`` says."""
    rustworkx = _imported("rustworkx")
    found = Elements.of(rows)
    places = found.places()
    graph = rustworkx.PyDiGraph(multigraph=True)
    graph.add_nodes_from([{"id": id, **_node(node)} for id, node in found.nodes.items()])
    links = found.relationships.values()
    graph.add_edges_from([(places[each.start], places[each.end], _link(each)) for each in links])
    return graph


def to_scipy(rows: Iterable[Any], weight: str | None) -> tuple[Any, Any]:
    """Return a sparse matrix and the nodes' ids, as ``Result.to_scipy`` says."""
    import numpy as np

    sparse = _imported("scipy.sparse", "scipy")
    found = Elements.of(rows)
    places = found.places()
    links = list(found.relationships.values())
    starts, ends = ([places[getattr(each, end)] for each in links] for end in ("start", "end"))
    if weight is None:
        values = np.ones(len(links), np.int64)
    else:
        given = [each.get(weight) for each in links]
        if wrong := [each for each in given if isinstance(each, bool) or not isinstance(each, int | float)]:
            raise Unsupported(f"A relationship's {weight} is {wrong[0]!r:.40}, no number, so there is no matrix of it.")
        values = np.array(given, np.float64)
    size = len(places)
    entries = (np.array(starts, np.int64), np.array(ends, np.int64))
    matrix = sparse.coo_array((values, entries), shape=(size, size)).tocsr()
    return matrix, np.array(list(places), np.int64)


def to_pyg(rows: Iterable[Any]) -> Any:
    """Return a ``torch_geometric.data.HeteroData``, as ``Result.to_pyg`` says."""
    data, torch = _imported("torch_geometric.data", "torch-geometric"), _imported("torch")
    found = Elements.of(rows)
    graph = data.HeteroData()
    kinds: dict[str, list[int]] = {}
    for id, node in found.nodes.items():
        kinds.setdefault(":".join(node.labels) if node is not None and node.labels else "node", []).append(id)
    place_of: dict[int, tuple[str, int]] = {}
    for kind, ids in kinds.items():
        place_of.update((id, (kind, place)) for place, id in enumerate(ids))
        graph[kind].node_id = torch.tensor(ids)
        graph[kind].num_nodes = len(ids)
        nodes = [found.nodes[id] for id in ids]
        for key, values in _numbers([{} if node is None else node.properties for node in nodes]):
            graph[kind][key] = torch.tensor(values)
    links: dict[tuple[str, str, str], list[Relationship]] = {}
    for each in found.relationships.values():
        links.setdefault((place_of[each.start][0], each.type, place_of[each.end][0]), []).append(each)
    for kinds_of_ends, own in links.items():
        ends = [[place_of[each.start][1] for each in own], [place_of[each.end][1] for each in own]]
        graph[kinds_of_ends].edge_index = torch.tensor(ends, dtype=torch.long)
        for key, values in _numbers([each.properties for each in own]):
            graph[kinds_of_ends][key] = torch.tensor(values)
    return graph


def _numbers(rows: list[Mapping[str, Any]]) -> Iterable[tuple[str, list[Any]]]:
    """Yield the properties that are numbers, booleans or lists of them of one length in all rows."""
    for key in rows[0] if rows else ():
        values = [row.get(key) for row in rows]
        if all(isinstance(each, int | float) for each in values):
            yield key, values
        elif all(isinstance(each, list) and each for each in values):
            lists = [each for each in values if isinstance(each, list)]
            if len({len(each) for each in lists}) == 1 and all(
                isinstance(x, int | float) for one in lists for x in one
            ):
                yield key, values


def _node(node: Node | None) -> dict[str, Any]:
    return {} if node is None else {**node.properties, "labels": list(node.labels)}


def _link(link: Relationship) -> dict[str, Any]:
    return {**link.properties, "type": link.type}


def _imported(module: str, package: str | None = None) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        name = package or module
        raise Unsupported(
            f"{name} is not installed, or can't be imported: {error}",
            hint=f"Install it: pip install {name}. The extra {_EXTRA} brings networkx, igraph, rustworkx and SciPy.",
        ) from None

"""Tables of random graphs, and what moves their rows without processes."""

import pyarrow as pa

from qengine import Graph, cluster
from qengine.cluster.engine import Event
from qengine.cluster.hypercube.local import LocalExchange, answer


class InlineTasks:
    """Workers of this process: tasks are answered where they are waited for, the last one first."""

    name = "inline"

    def __init__(self, workers=2):
        self.workers, self._given = workers, {}

    def submit(self, worker, task):
        self._given[worker] = task

    def wait(self, seconds):
        given, self._given = self._given, {}
        return [Event(worker, answer(task)) for worker, task in sorted(given.items(), reverse=True)]

    def kill(self, worker):
        self._given.pop(worker, None)

    def close(self):
        pass


def inline(nodes=(), relationships=(), cells=8, **options):
    """Open tables with cells that run in this process."""
    return cluster.tables(nodes, relationships, engine=LocalExchange(InlineTasks()), cells=cells, **options)


def tables_of(graph):
    """Return a random graph's nodes and relationships as tables, one for each label set and each pair of them.

    Left out is the property of mixed types, which no column holds.
    """
    nodes, of, relationships = {}, {}, {}
    for node in graph.nodes:
        of[node["id"]] = labels = ":".join(node["labels"])
        nodes.setdefault(labels, []).append({key: value for key, value in node["properties"].items() if key != "m"})
    for each in graph.relationships:
        name = each["type"], of[each["start"]], of[each["end"]]
        ends = {"start": each["start"], "end": each["end"]}
        relationships.setdefault(name, []).append({**ends, **each["properties"]})
    return (
        {labels: _table(rows) for labels, rows in nodes.items()},
        [(*name, _table(rows)) for name, rows in relationships.items()],
    )


def both_ways(graph, cells):
    """Return a random graph whole, and in tables."""
    nodes, relationships = tables_of(graph)
    undirected = [name for name in graph.undirected if name in graph.types]
    whole = Graph.from_arrow(
        nodes, [(name, table) for name, _, _, table in relationships], key="k", undirected=undirected
    )
    return whole, inline(nodes, relationships, cells, key="k", undirected=undirected)


def _table(rows):
    keys = sorted({key for row in rows for key in row})
    return pa.Table.from_pylist([{key: row.get(key) for key in keys} for row in rows])

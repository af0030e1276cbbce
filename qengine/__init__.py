"""qengine: an embedded, Cypher-style graph pattern query engine on Apache Arrow.

>>> import qengine
>>> graph = qengine.Graph.from_records(
...     nodes=[{"id": 1, "labels": ["Person"], "properties": {"name": "Ada"}},
...            {"id": 2, "labels": ["Person"], "properties": {"name": "Bob"}}],
...     relationships=[{"type": "knows", "start": 1, "end": 2}])
>>> graph.query("MATCH (a:Person)-[:knows]->(b) RETURN a.name, b.name").fetchall()
[Row(a.name='Ada', b.name='Bob')]
"""

from __future__ import annotations

from os import PathLike

from qengine.errors import (
    DeviceError,
    ExecutionError,
    InternalError,
    Notice,
    OutOfMemory,
    QengineError,
    QueryInterrupted,
    QuerySyntaxError,
    QueryTimeout,
    ResourceError,
    SemanticError,
    StorageError,
    Unsupported,
)
from qengine.graph import Graph, Prepared
from qengine.result import Result, ResultStats, Row
from qengine.types import Node, Path, Relationship

__all__ = [
    "DeviceError",
    "ExecutionError",
    "Graph",
    "InternalError",
    "Node",
    "Notice",
    "OutOfMemory",
    "Path",
    "Prepared",
    "QengineError",
    "QueryInterrupted",
    "QuerySyntaxError",
    "QueryTimeout",
    "Relationship",
    "ResourceError",
    "Result",
    "ResultStats",
    "Row",
    "SemanticError",
    "StorageError",
    "Unsupported",
    "open",
]

__version__ = "0.1.0"


def open(path: str | PathLike[str]) -> Graph:
    """Open a saved graph: its files are mapped, not read; see ``Graph.open``."""
    return Graph.open(path)

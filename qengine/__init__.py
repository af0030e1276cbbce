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
from typing import TYPE_CHECKING, Any, Literal

from qengine._arguments import tells_arguments
from qengine.errors import (
    DeviceError,
    ExecutionError,
    InternalError,
    LoadingWarning,
    Notice,
    OutOfMemory,
    QengineError,
    QueryInterrupted,
    QuerySyntaxError,
    QueryTimeout,
    ResourceError,
    SemanticError,
    StorageError,
    StorageWarning,
    TransactionError,
    Unsupported,
)
from qengine.functions import aggregate, function
from qengine.graph import Graph
from qengine.prepared import Prepared
from qengine.procedures import Snapshot, procedure
from qengine.remote import RemotePath
from qengine.result import Result, ResultStats, Row
from qengine.transaction import Transaction
from qengine.types import Node, Path, Relationship

if TYPE_CHECKING:
    from qengine.spatial import Point
    from qengine.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Time

__all__ = [
    "Date",
    "DateTime",
    "DeviceError",
    "Duration",
    "ExecutionError",
    "Graph",
    "InternalError",
    "LoadingWarning",
    "LocalDateTime",
    "LocalTime",
    "Node",
    "Notice",
    "OutOfMemory",
    "Path",
    "Point",
    "Prepared",
    "QengineError",
    "QueryInterrupted",
    "QuerySyntaxError",
    "QueryTimeout",
    "Relationship",
    "RemotePath",
    "ResourceError",
    "Result",
    "ResultStats",
    "Row",
    "SemanticError",
    "Snapshot",
    "StorageError",
    "StorageWarning",
    "Time",
    "Transaction",
    "TransactionError",
    "Unsupported",
    "aggregate",
    "example",
    "function",
    "open",
    "procedure",
]

_TEMPORAL = frozenset({"Date", "DateTime", "Duration", "LocalDateTime", "LocalTime", "Time"})
_SPATIAL = "Point"
_MODULES = frozenset({"cluster", "dbapi", "duckdb", "estimate", "learning", "pictures"})
_EXAMPLES = ("world",)

__version__ = "0.1.0"


@tells_arguments
def open(
    path: str | PathLike[str] | RemotePath,
    *,
    durability: Literal["full", "batched", "none"] = "full",
    read_only: bool = False,
    verify: Literal["lazy", "full", "never"] = "lazy",
    create: bool = False,
) -> Graph:
    """Open a saved graph, to read and to change it: its files are mapped, not read; see ``Graph.open``.

    ``create``: where there is no folder, or an empty one, begin with an empty graph.
    """
    return Graph.open(path, durability=durability, read_only=read_only, verify=verify, create=create)


@tells_arguments
def example(name: str = "world") -> Graph:
    """Load a graph that comes with qengine, to try queries on.

    "world": countries with their borders, cities, languages and rivers, 2,160 nodes and 3,278 relationships.

    Raises
    ------
    StorageError
        For another name.
    """
    if name not in _EXAMPLES:
        raise StorageError(f"There is no example {name!r}.", hint=f"There is {', '.join(map(repr, _EXAMPLES))}.")
    from qengine._assets import asset

    return Graph.from_csv(asset("examples", name))


def load_ipython_extension(shell: Any) -> None:
    """Let IPython have ``%cypher`` and ``%%cypher``: what ``%load_ext qengine`` calls; see ``qengine.notebook``."""
    from qengine.notebook.magics import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take them away again: what ``%unload_ext qengine`` calls."""
    from qengine.notebook.magics import unload

    unload(shell)


def __getattr__(name: str) -> Any:
    """Load the temporal values, points and modules of their own when first asked for."""
    if name == _SPATIAL:
        from qengine import spatial

        return spatial.Point
    if name in _TEMPORAL:
        from qengine import temporal

        return getattr(temporal, name)
    if name in _MODULES:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    from qengine._elsewhere import no_attribute

    raise no_attribute("qengine", name, __all__)


def __dir__() -> list[str]:
    return sorted({*globals(), *_TEMPORAL, _SPATIAL, *_MODULES})

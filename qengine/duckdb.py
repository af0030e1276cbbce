"""Cypher inside DuckDB: statements whose rows are tables of a DuckDB connection.

>>> import duckdb, qengine
>>> import qengine.duckdb
>>> graph = qengine.Graph.from_records([{"id": 1, "labels": ["P"], "properties": {"age": 36}}])
>>> attached = qengine.duckdb.attach(duckdb.connect(), graph)
>>> attached.sql("SELECT sum(age) AS total FROM cypher('MATCH (p:P) RETURN p.age AS age')").fetchall()
[(36,)]
>>> attached.view("ages", "MATCH (p:P) RETURN p.age AS age")
>>> attached.connection.sql("SELECT max(age) FROM ages").fetchall()
[(36,)]

A statement runs when its table is read, on the graph as it is then: DuckDB asks for the columns before it reads rows,
so it is begun several times, but its rows are pulled once for each time that the table stands in a query. DuckDB can't
push conditions into it. Rows go over as Arrow batches, without being copied; columns of several types become unions.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from qengine._arguments import tells_arguments
from qengine.errors import Unsupported
from qengine.graph import Graph
from qengine.planning import may_update

if TYPE_CHECKING:
    import duckdb

__all__ = ["Attached", "attach"]

_CALL = re.compile(
    r"""--[^\n]* | /\*.*?\*/ | "(?:[^"]|"")*"
    | \bcypher\s*\(\s*(?: '(?P<quoted>(?:[^']|'')*)' | \$(?P<tag>\w*)\$(?P<dollars>.*?)\$(?P=tag)\$ )\s*\)
    | '(?:[^']|'')*' | \$(?P<other>\w*)\$.*?\$(?P=other)\$""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
"""What SQL may hold ``cypher('…')`` in, and that itself."""

_numbers = itertools.count(1)


@tells_arguments
def attach(connection: duckdb.DuckDBPyConnection, graph: Graph) -> Attached:
    """Return what brings a graph's rows into a DuckDB connection."""
    return Attached(connection, graph)


@tells_arguments
class Attached:
    """A graph beside a DuckDB connection, which stays usable by itself.

    Attributes
    ----------
    connection, graph
        The two.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, graph: Graph) -> None:
        self.connection, self.graph = connection, graph
        self._views: dict[str, _Rows] = {}
        self._names: dict[str, str] = {}

    def view(self, name: str, statement: str, parameters: Mapping[str, Any] | None = None) -> None:
        """Make the rows of a statement a table of the connection; one of the same name is replaced.

        Raises
        ------
        Unsupported
            For a statement that may change the graph: nobody knows how often a table is read.
        QengineError
            As ``Graph.query``, if the statement fails at once; what fails later is DuckDB's error.
        """
        if may_update(statement):
            raise Unsupported(
                "A statement that changes the graph can't be a table.", hint="Run it by Graph.query before."
            )
        rows = _Rows(self.graph, statement, dict(parameters or {}))
        rows.reader()
        self._views[name] = rows
        self.connection.register(name, rows)

    def sql(self, text: str, parameters: Mapping[str, Any] | None = None) -> duckdb.DuckDBPyRelation:
        """Return a query's relation, in which ``cypher('MATCH …')`` is the table of the rows of a statement.

        Quotation marks in a statement are doubled, as in all of SQL; ``cypher($$MATCH …$$)`` leaves them as they are.

        Parameters
        ----------
        parameters
            Those of the statements, by name.

        Raises
        ------
        Unsupported
            As ``view``.
        """

        def table(found: re.Match[str]) -> str:
            quoted, dollars = found["quoted"], found["dollars"]
            if quoted is None and dollars is None:
                return found[0]
            statement = dollars if quoted is None else quoted.replace("''", "'")
            name = None if parameters else self._names.get(statement)
            if name is None:
                name = f"cypher_{next(_numbers)}"
                self.view(name, statement, parameters)
                if not parameters:
                    self._names[statement] = name
            return f'"{name}"'

        return self.connection.sql(_CALL.sub(table, text))

    def detach(self) -> None:
        """Take all tables of statements out of the connection."""
        for name in self._views:
            self.connection.unregister(name)
        self._views.clear()
        self._names.clear()


def _is_mixed(type: Any) -> bool:
    """Tell whether values of an Arrow type may be of several types."""
    import pyarrow as pa

    parts = [type.field(i).type for i in range(type.num_fields)]
    return bool(pa.types.is_union(type)) or any(map(_is_mixed, parts))


class _Rows:
    """A statement's rows as Arrow, run anew for whoever reads them."""

    def __init__(self, graph: Graph, statement: str, parameters: dict[str, Any]) -> None:
        self._graph, self._statement, self._parameters = graph, statement, parameters

    def reader(self) -> Any:
        """Return a reader of the rows."""
        found = self._graph.query(self._statement, self._parameters).to_reader()
        if not any(map(_is_mixed, found.schema.types)):
            return found
        from qengine.exec.arrow_out import sparse_batches  # DuckDB takes no dense unions

        return sparse_batches(found)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.reader().__arrow_c_stream__(requested_schema)

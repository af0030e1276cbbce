"""The Neo4j driver for Python: no server was run, so all but what the package itself is comes from documentation."""

from __future__ import annotations

from typing import Any, ClassVar

import neo4j

from tests.bench.capabilities.table import ROWS


class Neo4j:
    """The driver without a server."""

    told: ClassVar[dict[str, str]] = {
        "schema_first": "no",
        "pandas_in": "rows as parameters",
        "polars_in": "rows as parameters",
        "arrow_in": "no",
        "arrow_out": "no",
        "parquet_in": "by a procedure library",
        "parameters": "yes",
        "python_functions": "no: Java",
        "picture": "in Browser",
        "plan": "text; pictures in Browser",
        "stopped_by_time": "yes",
        "stopped_by_thread": "by terminating a transaction",
        "stopped_by_memory": "yes",
        "rollback": "yes",
        "durable": "yes",
        "unique": "by a constraint",
        "different_relationships": "relationships differ; anything",
        "shortest_path": "yes",
        "triangle": "yes",
        "window_functions": "no",
        "algorithms": "by a library",
        "search": "yes",
        "estimates": "no",
        "typo": "warning",
    }

    def notebook_cells(self) -> bool:
        return hasattr(neo4j, "load_ipython_extension")


assert set(Neo4j.told) < set(ROWS)
_: Any = neo4j.GraphDatabase  # the driver is there, without a server to talk to

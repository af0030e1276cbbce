"""Data frames in, Arrow out: a graph from pandas, polars or DuckDB tables, with no schema written and no copy made."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

import qengine

PEOPLE = {"id": [1, 2, 3, 4], "name": ["Ada", "Charles", "Mary", "Augustus"], "born": [1815, 1791, 1780, 1806]}
TEACHES = {"source": [3, 4, 2], "target": [1, 1, 1], "subject": ["astronomy", "mathematics", "engines"]}

QUESTION = """
MATCH (teacher:Person)-[t:TEACHES]->(pupil:Person)
RETURN teacher.name AS teacher, t.subject AS subject, pupil.born - teacher.born AS years
ORDER BY years DESC
"""


def tables() -> dict[str, tuple[Any, Any]]:
    """Return the same two tables from every library that is installed."""
    found: dict[str, tuple[Any, Any]] = {"pyarrow": (pa.table(PEOPLE), pa.table(TEACHES))}
    if find_spec("pandas"):
        import pandas

        found["pandas"] = (pandas.DataFrame(PEOPLE), pandas.DataFrame(TEACHES))
    if find_spec("polars"):
        import polars

        found["polars"] = (polars.DataFrame(PEOPLE), polars.DataFrame(TEACHES))
    if find_spec("duckdb"):
        import duckdb

        people, teaches = found["pyarrow"]
        connection = duckdb.connect()
        connection.register("people", people).register("teaches", teaches)
        found["duckdb"] = (connection.sql("FROM people"), connection.sql("FROM teaches"))
    return found


def main() -> int:
    """Load the graph from each library and compare the answers; return the exit code."""
    answers = []
    for library, (people, teaches) in tables().items():
        graph = qengine.Graph.from_arrow({"Person": people}, [("TEACHES", "Person", "Person", teaches)])
        answers.append(graph.query(QUESTION).to_arrow())
        print(f"{library:8} {graph!r}")
    first = answers[0]
    print(f"\n{first.schema}\n")
    for row in first.to_pylist():
        print(f"{row['teacher']:9} taught {row['subject']:12} and was {row['years']} years older")
    return 0 if all(answer.equals(first) for answer in answers) else 1


if __name__ == "__main__":
    sys.exit(main())

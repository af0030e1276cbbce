"""What an expression takes a row, on columns and row by row: ``python -m tests.bench.expressions [--rows 60000]``.

Each is returned of every node, as Arrow. Nanoseconds of processor time a row, the least of three turns, the reading of
the properties and the rest of the statement included; both ways must give the same rows, else the command ends with 1.
``--least``: only those that take at least so many on columns.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from qengine import Graph
from qengine.exec.common.expressions import compiler
from qengine.plan import expr as x
from tests.bench.timing import timed

FAMILIES = {
    "numbers": "a.i + 1; a.f * a.i; a.i % 7; round(a.f); round(a.f, 1); log(abs(a.i) + 1); sin(a.f); atan2(a.f, a.i); "
    "toInteger(a.s); toString(a.f); nullIf(a.i, 0); coalesce(a.i, 0); CASE WHEN a.i > 0 THEN 'p' ELSE 'n' END",
    "texts": "a.s + 'x'; a.s + a.i; toUpper(a.s); trim(a.s); left(a.s, 3); right(a.s, 3); replace(a.s, 'a', 'b'); "
    "split(a.s, ' '); a.s CONTAINS '3'; a.s =~ '.*3.*'; normalize(a.s + 'é')",
    "lists": "[v IN a.l | v + 1]; [v IN a.l WHERE v > 1]; any(v IN a.l WHERE v > 1); reduce(s = 0, v IN a.l | s + v); "
    "a.l + a.l; a.l + 1; tail(a.l); 1 IN a.l; range(0, abs(a.i) % 4); size(a.l); [a.i, a.s]; "
    "[v IN a.l | [w IN a.l WHERE w > v | w * v]]",
    "maps and nodes": "{x: a.i, y: a.s}; a {.i, .s}; a {.*}; properties(a); keys(a); elementId(a); labels(a); a; [a]",
    "dates and times": "a.d.year; a.d + duration('P1M'); a.t + duration('PT1H'); date(a.t); "
    "date.truncate('month', a.d); duration.between(a.d, a.t); duration.inDays(a.d, a.t).days; "
    "date({year: 2000, month: 1, day: abs(a.i) % 28 + 1}); "
    "datetime({epochSeconds: a.i}); toString(a.d); a.d > date('2000-01-01'); duration({days: a.i})",
}
_AS_THEY_ARE = (x.Literal, x.Parameter, x.Variable, x.ConstantList)


def graph_of(rows: int) -> Graph:
    """Return nodes with a property of each kind."""
    random = np.random.default_rng(1)
    table = {
        "id": np.arange(rows),
        "i": random.integers(-1000, 1000, rows),
        "f": random.normal(size=rows) * 100,
        "s": [f"name {k % 977} Ab" for k in range(rows)],
        "l": pa.array([list(range(k % 5)) for k in range(rows)], pa.list_(pa.int64())),
        "d": pa.array(random.integers(0, 20_000, rows).astype("int32"), pa.date32()),
        "t": pa.array(random.integers(0, 2 * 10**9, rows), pa.timestamp("s")),
    }
    graph = Graph()
    graph.append_arrow(nodes={"P": pa.table(table)})
    return graph


def measured(graph: Graph, text: str, turns: int) -> tuple[float, Any]:
    """Return nanoseconds a row, and the rows."""
    taken = [timed(lambda: graph.query(text).to_arrow()) for _ in range(turns)]
    table = taken[-1][1]
    return min(spent for spent, _ in taken) / table.num_rows * 1e9, table


def main() -> int:
    """Print a table of all expressions."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.expressions", description=main.__doc__)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--least", type=float, default=0.0)
    options = parser.parse_args()
    graph, wrong = graph_of(options.rows), 0
    row_wise = {kind: form for kind, form in compiler._FORMS.items() if kind in _AS_THEY_ARE}
    print("| | on columns, ns a row | row by row | times |")
    print("| --- | --- | --- | --- |")
    for family, expressions in FAMILIES.items():
        print(f"| **{family}** | | | |")
        for each in expressions.split("; "):
            text = f"MATCH (a:P) RETURN {each} AS v"
            columns, found = measured(graph, text, 3)
            if columns < options.least:
                continue
            with patch.object(compiler, "_FORMS", row_wise):
                rows, expected = measured(graph, text, 1)
            same = list(map(repr, found["v"].to_pylist())) == list(map(repr, expected["v"].to_pylist()))
            wrong += not same
            print(
                f"| `{each}` | {columns:.0f} | {rows:,.0f} | {rows / columns:.0f}{'' if same else ' WRONG'} |",
                flush=True,
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

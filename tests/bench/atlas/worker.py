"""The process that holds one graph: ``python -m tests.bench.atlas.worker GRAPH KIND DEVICE``.

It loads the graph, then reads a query and its timeout from each line of standard input, as JSON, and runs it once. For
the load and for every run it writes a line of JSON: the seconds, the number of rows, the sum of their counts and the
way that was chosen; or ``timeout``, ``memory`` or ``failed`` with a reason.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from qengine import Graph, OutOfMemory, QengineError, QueryTimeout, Result
from qengine.plan.physical import Eliminate, HashJoin, Search
from qengine.plan.traverse import operators
from tests.bench.atlas import graphs


def main(name: str, kind: str, device: str) -> None:
    out = os.fdopen(os.dup(1), "w", buffering=1)  # the engine must not write into the protocol
    os.dup2(2, 1)
    begin = time.perf_counter()
    graph = graphs.edges(name, graphs.Kind(kind)).load()
    graph.query("MATCH ()-[:E]-() RETURN count(*)", device=device).fetchall()  # starts the device
    out.write(json.dumps({"seconds": time.perf_counter() - begin, "answer": graph.relationship_count}) + "\n")
    for line in sys.stdin:
        out.write(json.dumps(_run(graph, device, **json.loads(line))) + "\n")


def _run(graph: Graph, device: str, text: str, timeout: float) -> dict[str, Any]:
    begin = time.perf_counter()
    result = None
    reply: dict[str, Any]
    try:
        result = graph.query(text, device=device, timeout=timeout)
        table = result.to_arrow()
        seconds = time.perf_counter() - begin
        reply = {"seconds": seconds, "answer": [table.num_rows, sum(table["n"].to_pylist())]}
    except QueryTimeout:
        reply = {"timeout": f"> {timeout:g} s"}
    except OutOfMemory as error:
        reply = {"memory": str(error)}
    except QengineError as error:
        reply = {"failed": f"{error.code}: {error}".splitlines()[0]}
    return reply | {"way": "" if result is None else _way(graph, result)}


def _way(graph: Graph, result: Result) -> str:
    """Return the operators that matched; the search that an elimination stands for is named only where it ran."""
    assert result.stats.plan is not None
    names: list[str] = []
    replaced: set[int] = set()
    for operator in operators(result.stats.plan.root):  # what an operator reads comes after it
        if isinstance(operator, Eliminate) and operator.schedule(result.stats.device):
            names.append("eliminate")
            replaced.add(id(operator.search))
        elif isinstance(operator, HashJoin):
            names.append("join")
        elif isinstance(operator, Search) and id(operator) not in replaced:
            names.append(operator.strategy)
    return "+".join(dict.fromkeys(names))


if __name__ == "__main__":
    main(*sys.argv[1:])

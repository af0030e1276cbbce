"""Finds cliffs: all queries on graphs of odd shapes, as these grow.

``python -m tests.bench.cliffs [--size N ...] [--shape NAME ...] [--kind KIND ...] [--only TEXT]`` prints the
processor's milliseconds, on one thread, of what takes long or grows faster than the graph and the rows that are
returned. ``--all`` prints the rest, too; ``--check`` compares with the reference executor instead, which graphs of some
dozen nodes allow.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import nullcontext

from qengine import Graph, QengineError, QueryTimeout, Row
from qengine.testing.compare import difference
from tests.bench.cliffs.graphs import SHAPES, make
from tests.bench.cliffs.queries import CHANGES, PARAMETERS, READS, WRITES

_TIMEOUT = 8.0
_MEMORY = 2 << 30
_LONG = 150.0
_GROWTH = 1.5
_LEAST = 2.0
"""What a query takes at least where growth is told, in milliseconds."""


_KINDS = READS | {"writes": WRITES}
_FEWER = PARAMETERS | {"many": PARAMETERS["many"][:500]}
"""For the reference, which compares each of a list."""


def _measured(graph: Graph, text: str, timeout: float) -> tuple[float, float, str]:
    """Return the milliseconds of a query's second run, how much it counted or returned, and an error's name.

    What a statement changes is undone, unless it commits by itself.
    """
    spent, size = 0.0, 0.0
    read = {name: value for name, value in PARAMETERS.items() if f"${name}" in text}
    inside = text in WRITES and "IN TRANSACTIONS" not in text
    for _ in range(2):
        started = time.process_time()
        try:
            with graph.transaction() if inside else nullcontext(graph) as asked:
                rows = asked.query(text, read, threads=1, timeout=timeout, memory_limit=_MEMORY).fetchall()
                if inside:
                    asked.rollback()
        except QueryTimeout:
            return 1000 * (time.process_time() - started), 0.0, "timeout"
        except QengineError as error:
            return 1000 * (time.process_time() - started), 0.0, type(error).__name__
        spent = 1000 * (time.process_time() - started)
        size = float(len(rows))
        if spent > 1000:
            break
    return spent, size, ""


def _texts(kinds: list[str], only: str) -> Iterator[str]:
    for kind in kinds:
        yield from (text for text in _KINDS[kind] if only in text)


def _scan(shape: str, sizes: list[int], texts: list[str], chosen: argparse.Namespace) -> None:
    graphs = [make(shape, n) for n in sizes]
    for graph in graphs:
        graph.query("MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)").fetchall()  # statistics are gathered
    if chosen.changed:
        for graph in graphs:
            for text in CHANGES:
                graph.query(text).fetchall()
    for text in texts:
        cells = []
        for graph in graphs:
            cells.append(_measured(graph, text, chosen.timeout))
            if cells[-1][2]:
                break  # larger ones would take longer
        times = [f"{spent:9.1f}{'!' if error else ' '}" for spent, _, error in cells]
        larger = max(sizes[len(cells) - 1] / sizes[0], cells[-1][1] / max(1.0, cells[0][1]))
        growth = cells[-1][0] / max(_LEAST, cells[0][0]) / larger
        if chosen.all or cells[-1][2] or cells[-1][0] > _LONG or (len(cells) > 1 and growth > _GROWTH):
            print(f"{shape:17} {''.join(times):33} {growth:5.2f} {cells[-1][2]:12} {text}", flush=True)


def _check(shape: str, n: int, texts: list[str], timeout: float) -> int:
    """Print what differs from the reference's rows; return how much was compared."""
    graph, compared = make(shape, n), 0
    for change in (None, *CHANGES[-1:]):
        if change:
            for statement in CHANGES:
                graph.query(statement).fetchall()
        for text in texts:
            if text in WRITES:
                continue
            try:
                expected = graph.query(text, _FEWER, device="reference", timeout=timeout).fetchall()
            except QueryTimeout:
                continue
            found = graph.query(text, _FEWER).fetchall()
            compared += 1
            if "LIMIT" in text and "ORDER BY" not in text:  # any rows
                expected, found = [(len(expected),)], [(len(found),)]
            differing = difference(expected, found)
            if differing:
                print(f"{shape}, {n}{', changed' if change else ''}: {text}\n{differing}", flush=True)
    for text in WRITES:
        if text in texts:
            found, expected = (_changed(make(shape, n), text, device) for device in ("cpu", "reference"))
            compared += 1
            differing = [difference(*each) for each in zip(expected, found, strict=True)]
            if any(differing):
                print(f"{shape}, {n}: {text}\n{differing}", flush=True)
    return compared


def _changed(graph: Graph, text: str, device: str) -> list[list[Row]]:
    """Return the rows of a statement that changes a graph, and what is in this afterwards."""
    everything = (
        "MATCH (a) RETURN labels(a), properties(a)",
        "MATCH (a)-[r]->(b) RETURN a.id, b.id, type(r), properties(r)",
    )
    rows = graph.query(text, _FEWER, device=device).fetchall()
    return [rows, *(graph.query(each, device="reference").fetchall() for each in everything)]


def main() -> None:
    """Print a line for each cell that takes long, or what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, nargs="*", default=[2500, 10000, 160000])
    parser.add_argument("--shape", nargs="*", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--kind", nargs="*", choices=_KINDS, default=list(_KINDS))
    parser.add_argument("--only", default="")
    parser.add_argument("--timeout", type=float, default=_TIMEOUT)
    parser.add_argument("--changed", action="store_true", help="after statements that change the graph")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--check", action="store_true")
    chosen = parser.parse_args()
    texts = list(_texts(chosen.kind, chosen.only))
    for shape in chosen.shape:
        if chosen.check:
            print(shape, sum(_check(shape, n, texts, chosen.timeout) for n in chosen.size), "compared", flush=True)
        else:
            _scan(shape, chosen.size, texts, chosen)


if __name__ == "__main__":
    main()

"""Counts patterns without the engine into ``verified.json``: ``python -m tests.bench.atlas.verify --graph rmat10,…``.

Plain patterns of at most five vertices are counted by ``formulas``, others by ``contraction``; the tests compare both
with ``listed``. ``--peers``, for larger graphs, keeps what follows from the counts on which other codes agree
(``tests.bench.gpu``) and from ``trees``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable

from tests.bench.atlas import graphs, quotients, suites, verified
from tests.bench.atlas.contraction import Counter
from tests.bench.atlas.formulas import Formulas
from tests.bench.atlas.graphs import Edges, Kind
from tests.bench.atlas.patterns import Pattern, Semantics, connected
from tests.bench.atlas.trees import trees

_METHODS: dict[str, Callable[[Edges], Callable[[Pattern], int]]] = {"formulas": Formulas, "contraction": Counter}
_FORMULAS_UP_TO = 5  # vertices


def main(arguments: list[str] | None = None) -> int:
    """Count the patterns of suites and keep the counts; return 1 where they differ from those that are kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.atlas.verify", description=main.__doc__)
    parser.add_argument("--graph", required=True, help="a,b")
    parser.add_argument("--suite", default="three,four,five", help="a,b; default: three,four,five")
    parser.add_argument("--peers", action="store_true", help="take the counts from other codes")
    options = parser.parse_args(arguments)
    wrong = []
    for graph in options.graph.split(","):
        if options.peers:
            wrong += verified.keep(graph, Kind.PLAIN, "peers", from_peers(graph))
            continue
        queries = [query for suite in options.suite.split(",") for query in suites.queries(suite, graph)]
        for kind in dict.fromkeys(query.kind for query in queries):
            patterns = dict.fromkeys(query.pattern for query in queries if query.kind is kind)
            begin = time.perf_counter()
            for method, counts in found(graph, kind, patterns).items():
                wrong += verified.keep(graph, kind, method, counts)
                told = f"{graph}, {kind}: {len(counts)} by {method}, {time.perf_counter() - begin:.1f} s so far"
                print(told, file=sys.stderr, flush=True)
    for key in wrong:
        print(f"WRONG: {key}", file=sys.stderr)
    return 1 if wrong else 0


def from_peers(graph: str) -> verified.Counts:
    """Return by key what follows from the counts of other codes and of trees."""
    from tests.bench.gpu import COUNTS, PATTERNS

    named = {pattern.name: pattern for size in range(2, 6) for pattern in connected(size)}
    homomorphisms = {named[name].canonical: count for name, count in trees(graphs.edges(graph, Kind.PLAIN)).items()}
    injective = {}
    for name, theirs in PATTERNS.items():
        if (graph, name) in COUNTS:
            pattern = Pattern(name, theirs.size, theirs.edges)
            injective[pattern.canonical] = COUNTS[graph, name] * len(theirs.automorphisms)
    derived = quotients.Derived(homomorphisms, injective)
    counts = {pattern.key: list(derived.counts(pattern).values()) for pattern in named.values()}
    return {key: each for key, each in counts.items() if any(count is not None for count in each)}


def found(graph: str, kind: Kind, patterns: Iterable[Pattern]) -> dict[str, verified.Counts]:
    """Return by method and key the counts of patterns in the three semantics."""
    by_method: dict[str, list[Pattern]] = {}
    for pattern in patterns:
        plain = kind is Kind.PLAIN and pattern.size <= _FORMULAS_UP_TO
        by_method.setdefault("formulas" if plain else "contraction", []).append(pattern)
    made: dict[str, verified.Counts] = {}
    for method, mine in by_method.items():
        homomorphisms = _METHODS[method](graphs.edges(graph, kind))
        counts = ((pattern, quotients.counts(pattern, homomorphisms)) for pattern in mine)
        made[method] = {pattern.key: [each[semantics] for semantics in Semantics] for pattern, each in counts}
    return made


if __name__ == "__main__":
    sys.exit(main())

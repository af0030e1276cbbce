"""Queries that stand elsewhere in the project: of benchmarks, golden files, examples and tests of limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.bench import gpu, gpu_elimination, gpu_homomorphisms, gpu_latency, gpu_stops
from tests.bench.dialects import cypher_for_qengine
from tests.bench.orders import _SHAPES
from tests.bench.patterns import CYCLIC, SUMMABLE
from tests.bench.workloads import property_queries
from tests.golden.conftest import read
from tests.limits.kinds import KINDS
from tests.replay.cases import Case
from tests.replay.foreign import read_statements

_TESTS = Path(__file__).resolve().parents[1]
_EXAMPLES = _TESTS.parent / "examples" / "queries"
_LONG = 400  # characters
_UNSURE = re.compile(
    r"\b(LIMIT|SKIP|OFFSET|SHORTEST|ANY|shortestPath)\b"
    r"|\b(rand|randomUUID|timestamp|date|time|datetime|localtime|localdatetime)(\.\w+)?\(\)"
    r"|\bcollect\b.*(\[|\bhead\b|\blast\b|\breduce\b)|(\bhead\b|\blast\b).*\bcollect\b",
    re.IGNORECASE | re.DOTALL,
)
"""What may give several results: rows in no order, any of some paths, chance, the clock, places in unordered lists."""


def _case(graph: str, text: str, *, run: bool = True) -> Case:
    """Return a case of a query that was not made for the replay."""
    parameters = dict.fromkeys(re.findall(r"\$(\w+)", text), 2)
    return Case(graph, text, parameters, lists_ordered=False, sure=_UNSURE.search(text) is None, run=run)


def benchmarks() -> Iterator[Case]:
    """Yield the patterns that are counted in benchmarks, on the skewed graph and on the directed one."""
    for pattern in dict.fromkeys((*CYCLIC, *SUMMABLE, *_SHAPES, *gpu.PATTERNS.values())):
        text = cypher_for_qengine(pattern)
        yield Case("sparse" if pattern.oriented else "skewed", text)
    for text in gpu_latency.TEXTS.values():
        yield Case("labelled", text)
    for text in gpu_stops.QUERIES.values():
        yield Case("skewed", text, run=False)


def elimination_benchmarks() -> Iterator[Case]:
    """Yield what the GPU's benchmarks eliminate: patterns by a hint, and homomorphisms of trees."""
    for name in (*gpu_elimination.PATTERNS, *gpu_elimination.GROUPED):
        yield Case("skewed", gpu_elimination.text_of(name))
    for seed, (name, parents) in enumerate(gpu_homomorphisms.shapes()):
        yield Case("skewed", gpu_homomorphisms.undirected(name, parents).text)
        text = gpu_homomorphisms.mixed(name, parents, seed).text
        yield Case("typed", text.replace("[:E]", "[:R]").replace("[:F]", "[:S]"))


def social_benchmarks() -> Iterator[Case]:
    """Yield the benchmarks' property queries."""
    for query in property_queries():
        yield Case("persons", query.texts["qengine"], ordered=query.rows, sure=not query.any_rows)


def golden() -> Iterator[Case]:
    """Yield the queries of golden files, on a graph that has what their catalogue names."""
    for path in sorted((_TESTS / "golden").glob("logical_plans/*.txt")) + sorted(
        (_TESTS / "golden").glob("rules/*.txt")
    ):
        for case in read(path):
            if not case.query.startswith(("EXPLAIN", "PROFILE")):
                yield _case("society", case.query)


def examples() -> Iterator[Case]:
    """Yield the example queries."""
    for path in sorted(_EXAMPLES.glob("*.cypher")):
        yield _case("world", path.read_text())


def heavy() -> Iterator[Case]:
    """Yield the kinds of queries that are stopped in tests of limits, without those of a very long text."""
    for kind in KINDS:
        if kind.by == "fetchall" and not kind.options and len(kind.text) < _LONG:
            yield _case(f"limits {kind.graph}", kind.text, run=False)


def foreign(source: str) -> Iterator[Case]:
    """Yield statements that others wrote, of ``corpus`` or ``tck``."""
    for name, text, made in read_statements(source):
        sure = _UNSURE.search(text) is None
        yield Case(name, text, made.parameters, lists_ordered=False, sure=sure, foreign=True)

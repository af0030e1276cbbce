"""The suites of the atlas: lists of counting queries, each with the plainer query that its time is set beside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from qengine.testing import generate
from qengine.testing.generate.queries import Density
from qengine.testing.generate.raw import RawStream
from tests.bench.atlas import graphs
from tests.bench.atlas.graphs import Kind
from tests.bench.atlas.patterns import Pattern, Semantics, connected, weakly_connected

_WALK_STREAM = 4_000_003
_QUERIES, _VERTICES = 24, 12
COUNT = "count"


@dataclass(frozen=True)
class Query:
    """One counting query on one kind of a graph.

    Attributes
    ----------
    form
        What is returned: ``count`` (``count(*)``), or one of the forms of the grouped suite.
    vertex
        The vertex that a form of the grouped suite is about.
    base
        The plainer query whose time is the measure, None where there is none.
    most
        How many times as long as the base it may take.
    """

    pattern: Pattern
    semantics: Semantics
    kind: Kind = Kind.PLAIN
    form: str = COUNT
    vertex: int = 0
    base: Query | None = None
    most: float = 3.0

    @property
    def name(self) -> str:
        """As in the tables."""
        return self.pattern.name if self.form == COUNT else f"{self.pattern.name}, {self.form_by}"

    @property
    def form_by(self) -> str:
        """The form, and the vertex that it is about."""
        return self.form if self.form == COUNT else f"{self.form} v{self.vertex}"

    @property
    def text(self) -> str:
        """The statement."""
        match, node = self.pattern.match(self.semantics), f"v{self.vertex}"
        if self.form == "exists":
            return f"MATCH ({node}) WHERE EXISTS {{ {match} }} RETURN count(*) AS n"
        returned = {
            COUNT: "count(*) AS n",
            "by node": f"{node}, count(*) AS n",
            "by property": f"{node}.p, count(*) AS n",
            "distinct": f"count(DISTINCT {node}) AS n",
        }
        return f"{match} RETURN {returned[self.form]}"


GROUPED = ("by node", "by property", "exists", "distinct")
_GROUPED_MOST = 5.0


def _plain(size: int) -> Callable[[str], Iterable[Query]]:
    return lambda graph: [Query(pattern, each) for pattern in connected(size) for each in Semantics]


def _directed(graph: str) -> Iterable[Query]:
    for pattern in weakly_connected(4):
        for each in Semantics:
            yield Query(pattern, each, Kind.DIRECTED, base=Query(pattern.undirected(), each))


def _changed(kind: Kind, change: Callable[[Pattern], Pattern]) -> Callable[[str], Iterable[Query]]:
    return lambda graph: [
        Query(change(pattern), each, kind, base=Query(pattern, each)) for pattern in connected(5) for each in Semantics
    ]


def _grouped(graph: str) -> Iterable[Query]:
    for pattern in connected(5):
        plain = Query(pattern, Semantics.RELATIONSHIPS)
        for vertex, form in product(pattern.vertices_apart(), GROUPED):
            yield Query(pattern, plain.semantics, form=form, vertex=vertex, base=plain, most=_GROUPED_MOST)


def _labelled12(graph: str) -> Iterable[Query]:
    """Draw queries from the graph itself by random walks, sparse and dense by turns."""
    csr = generate.to_csr(graphs.draws(graph))
    labels = generate.vertex_labels(csr.vertex_count, Kind.LABELLED16.label_count, graphs.SEED)
    stream = RawStream(graphs.SEED + _WALK_STREAM)
    for number in range(_QUERIES):
        density: Density = "dense" if number % 2 else "sparse"
        drawn = generate.walk_query(csr, labels, _VERTICES, stream, density=density)
        if drawn is not None:
            pattern = Pattern(f"{density}{number // 2}", _VERTICES, drawn.edges, labels=drawn.labels)
            yield Query(pattern, Semantics.NODES, Kind.LABELLED16)


SUITES: dict[str, Callable[[str], Iterable[Query]]] = {
    "three": _plain(3),
    "four": _plain(4),
    "five": _plain(5),
    "six": _plain(6),
    "directed4": _directed,
    "labelled4": _changed(Kind.LABELLED4, lambda pattern: pattern.with_labels(4)),
    "labelled16": _changed(Kind.LABELLED16, lambda pattern: pattern.with_labels(16)),
    "types2": _changed(Kind.TYPES2, Pattern.with_types),
    "grouped": _grouped,
    "labelled12": _labelled12,
}


def queries(suite: str, graph: str, only: Sequence[str] = ()) -> list[Query]:
    """Return the queries of a suite on a graph; with ``only`` those of patterns with these names."""
    return [query for query in SUITES[suite](graph) if not only or query.pattern.name in only]

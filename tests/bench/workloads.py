"""What is run: counting patterns and property queries, grouped in suites with the truth and the thresholds."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from qengine.testing import generate
from qengine.testing.generate.raw import RawStream
from tests.bench.datasets import Dataset, OpenGraph, PatternGraph, SocialGraph
from tests.bench.patterns import CYCLIC, PATHS, SUMMABLE, Pattern
from tests.bench.thresholds import AtMost, BestOf, Rate, Scaled, Threshold, Times

Answer = int | list[list[int]]


@dataclass(frozen=True)
class PropertyQuery:
    """A query on the social graph.

    ``texts`` has one text for each dialect. The answer is one integer, or with ``rows`` a list of rows, or with
    ``any_rows`` just their number, since the query leaves open which rows it gives.
    """

    name: str
    texts: Mapping[str, str]
    rows: bool = False
    any_rows: bool = False

    def answer(self, rows: list[list[object]]) -> Answer:
        """Bring the rows of an engine into the comparable form."""
        if self.any_rows:
            return len(rows)
        numbers = [[int(str(value)) for value in row] for row in rows]
        return numbers if self.rows else numbers[0][0]


@dataclass(frozen=True)
class Load:
    """Loading the data set itself, the answer being the number of ``knows`` relationships loaded."""

    name: str = "load"


Workload = Pattern | PropertyQuery | Load


@dataclass(frozen=True)
class Suite:
    """Workloads on one data set.

    Attributes
    ----------
    expected
        Known true answers by the workload's name: every engine is held to them.
    thresholds
        What our engine must show here.
    """

    name: str
    dataset: Dataset
    workloads: tuple[Workload, ...]
    expected: Mapping[str, Answer] = field(default_factory=dict)
    thresholds: tuple[Threshold, ...] = ()

    def only(self, names: Collection[str]) -> Suite:
        """Return the suite with only the workloads of these names."""
        return replace(self, workloads=tuple(work for work in self.workloads if work.name in names))

    def workload(self, name: str) -> Workload:
        return next(workload for workload in self.workloads if workload.name == name)


RMAT16_TRUTH = {
    "triangle": 15_633_803,
    "4-clique": 290_547_372,
    "5-clique": 4_583_361_842,
    "4-cycle": 5_537_200_641,
    "house": 4_700_306_470_933,
    "diamond": 5_241_833_540,
}
# By a plain backtracking counter that also gave the known counts of 13 queries on email-Enron.
LABELLED_TRUTH = {
    "d8_0": 1_858_366_433,
    "d8_1": 465_637_333,
    "d8_2": 887_017_125,
    "d8_3": 3_363_133_546,
    "d8_4": 787_153_469,
    "d8_5": 3_370_114_832,
}
RMAT18_TRUTH = {"4-cycle": 51_319_338_289}

TRIANGLE_THRESHOLDS = (
    Times("triangle", "duckdb", 15),
    Times("triangle", "kuzu", 25),
    Times("triangle", "graphblas", 3),
)
RMAT16_THRESHOLDS = (
    *TRIANGLE_THRESHOLDS,
    Scaled("4-clique", 2.2 / 2.5, "2.5× GraphMiner's 2.2 s"),
    Scaled("diamond", 0.86 / 3, "3× Peregrine's .86 s"),
)
SOCIAL_THRESHOLDS = (
    *(BestOf((f"q{number}",), ("kuzu", "duckdb"), 1) for number in range(1, 9)),
    BestOf(tuple(f"q{number}" for number in range(1, 9)), ("kuzu", "duckdb"), 2),
)


def suite(name: str, data: Path) -> Suite:
    """Build a suite by its name; ``data`` is the folder that holds (or will hold) the generated graphs."""
    return SUITES[name](data)


def property_queries() -> tuple[PropertyQuery, ...]:
    text = (Path(__file__).parent / "property_queries.toml").read_text()
    return tuple(
        PropertyQuery(
            name,
            {dialect: entry[dialect].strip() for dialect in ("qengine", "kuzu", "duckdb")},
            entry.get("rows", False),
            entry.get("any_rows", False),
        )
        for name, entry in tomllib.loads(text).items()
    )


def labelled_patterns(dataset: PatternGraph, count: int, size: int, least_edges: int) -> tuple[Pattern, ...]:
    """Draw dense labelled queries with at least ``least_edges`` edges from the data graph itself."""
    graph, labels = dataset.plain()
    stream = RawStream(dataset.seed)
    patterns: list[Pattern] = []
    while len(patterns) < count:
        query = generate.walk_query(graph, labels, size, stream, density="dense")
        if query is not None and len(query.edges) >= least_edges:
            patterns.append(Pattern(f"d{size}_{len(patterns)}", query.edges, query.labels))
    return tuple(patterns)


def _rmat16(data: Path) -> Suite:
    return Suite("rmat16", PatternGraph(data, 16), CYCLIC + PATHS, RMAT16_TRUTH, RMAT16_THRESHOLDS)


def _rmat14(data: Path) -> Suite:
    return Suite("rmat14", PatternGraph(data, 14), CYCLIC + PATHS)


def _rmat18(data: Path) -> Suite:
    return Suite("rmat18", PatternGraph(data, 18), CYCLIC[:4] + PATHS, RMAT18_TRUTH, TRIANGLE_THRESHOLDS)


def _elimination(data: Path) -> Suite:
    truth = RMAT16_TRUTH | {"tailed-triangle": 65_478_962_709, "3-star": 557_948_923_325}
    return Suite("elimination", PatternGraph(data, 16), SUMMABLE, truth)


def _elimination18(data: Path) -> Suite:
    return Suite("elimination18", PatternGraph(data, 18), SUMMABLE, RMAT18_TRUTH)


def _elimination_cnr(data: Path) -> Suite:
    return Suite("elimination-cnr", OpenGraph(data, name="cnr-2000"), SUMMABLE)


def _labelled(data: Path) -> Suite:
    dataset = PatternGraph(data, 16, label_count=16)
    queries = labelled_patterns(dataset, count=6, size=8, least_edges=19)
    return Suite("labelled", dataset, queries, LABELLED_TRUTH, thresholds=(Rate(1e9),))


def _social(data: Path) -> Suite:
    dataset = SocialGraph(data, generate.SocialSize())
    return Suite("social", dataset, property_queries(), thresholds=SOCIAL_THRESHOLDS)


def _social400k(data: Path) -> Suite:
    size = generate.SocialSize(20_000, 400_000, 500, 60_000, 2_000, 200_000)
    return Suite("social400k", SocialGraph(data, size), (Load(), *property_queries()), {"load": size.knows})


def _load(data: Path) -> Suite:
    dataset = SocialGraph(data, generate.SocialSize())
    return Suite("load", dataset, (Load(),), {"load": dataset.size.knows}, (AtMost("load", 1.0),))


def _tiny(data: Path) -> Suite:
    return Suite("tiny", PatternGraph(data, 4), tuple(dict.fromkeys(CYCLIC + SUMMABLE)))


def _tiny_labelled(data: Path) -> Suite:
    dataset = PatternGraph(data, 4, label_count=3)
    return Suite("tiny-labelled", dataset, labelled_patterns(dataset, count=3, size=4, least_edges=5))


def _tiny_social(data: Path) -> Suite:
    size = generate.SocialSize(persons=1_000, knows=8_000, cities=10, posts=100, tags=30, likes=100)
    return Suite("tiny-social", SocialGraph(data, size), (*property_queries(), Load()))


SUITES = {
    "rmat14": _rmat14,
    "rmat16": _rmat16,
    "rmat18": _rmat18,
    "elimination": _elimination,
    "elimination18": _elimination18,
    "elimination-cnr": _elimination_cnr,
    "labelled": _labelled,
    "social": _social,
    "social400k": _social400k,
    "load": _load,
    "tiny": _tiny,
    "tiny-labelled": _tiny_labelled,
    "tiny-social": _tiny_social,
}

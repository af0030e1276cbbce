"""``CALL db.index.fulltext.queryNodes(index, query, options)``: the elements whose texts a query finds, best first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from qengine.errors import ExecutionError
from qengine.fulltext.analyzers import ANALYZERS, Analyzer, analyzer_named
from qengine.fulltext.index import TextIndex, made
from qengine.fulltext.scores import Search
from qengine.fulltext.syntax import read_query

if TYPE_CHECKING:
    from qengine.catalog.rules import Rule
    from qengine.exec.context import ExecutionContext
    from qengine.storage.store import GraphStore
    from qengine.types import Node, Relationship

__all__ = ["NODES", "RELATIONSHIPS", "found_nodes", "found_relationships"]

_INPUTS = "(indexName :: STRING, queryString :: STRING, options = null :: MAP?)"
NODES = f"db.index.fulltext.queryNodes{_INPUTS} :: (node :: NODE, score :: FLOAT)"
RELATIONSHIPS = f"db.index.fulltext.queryRelationships{_INPUTS} :: (relationship :: RELATIONSHIP, score :: FLOAT)"

_ROWS = 1024
"""Elements that are made at a time."""


def found_nodes(
    store: GraphStore, context: ExecutionContext, index: str, query: str, options: Mapping[str, Any] | None
) -> Iterator[tuple[Node, float]]:
    """Give the nodes that a query finds with their scores, best first; of equal ones as the graph has them.

    Parameters
    ----------
    store
        The version of the graph.
    context
        The execution's limits.
    index
        The name of a FULLTEXT index of nodes.
    query
        As ``syntax`` explains it.
    options
        ``skip`` and ``limit``: how many at most, and without how many first ones; ``analyzer``: of the query's words, where
        it isn't the index's.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` where there is no such index, and for options that there aren't;
        ``InvalidFullTextQuery`` for a query that isn't written as it should be.
    OutOfMemory
        Where the index takes more than the memory limit.
    """
    places, scores = _best(store, context, "NODE", index, query, options)
    for begin in range(0, len(places), _ROWS):
        some = slice(begin, begin + _ROWS)
        for node, score in zip(store.nodes(places[some]), scores[some].tolist(), strict=True):
            assert node is not None
            yield node, score


def found_relationships(
    store: GraphStore, context: ExecutionContext, index: str, query: str, options: Mapping[str, Any] | None
) -> Iterator[tuple[Relationship, float]]:
    """Give the relationships that a query finds, as ``found_nodes`` does nodes."""
    places, scores = _best(store, context, "RELATIONSHIP", index, query, options)
    for begin in range(0, len(places), _ROWS):
        some = slice(begin, begin + _ROWS)
        for relationship, score in zip(store.relationships(places[some]), scores[some].tolist(), strict=True):
            assert relationship is not None
            yield relationship, score


def _best(
    store: GraphStore, context: ExecutionContext, entity: str, name: str, query: str, options: Mapping[str, Any] | None
) -> tuple[Any, Any]:
    """Return the ids of the elements that are found (int64), and their scores, best first."""
    rule = store.rules.named(name)
    if rule is None or rule.kind != "FULLTEXT" or rule.entity != entity:
        kinds = "nodes" if entity == "NODE" else "relationships"
        hint = (
            "SHOW FULLTEXT INDEXES lists those that there are; CREATE FULLTEXT INDEX name FOR (n:Label) ON EACH [n.key] "
            "makes one."
        )
        raise ExecutionError(f"There is no FULLTEXT index {name!r} of {kinds}.", code="InvalidArgumentValue", hint=hint)
    skip, limit, analyzer = _options(options or {}, rule)
    wanted = read_query(query)
    index = _index(store, context, rule)
    numbers, scores = Search(index, rule.keys, analyzer, query, context.check).run(wanted)
    places = np.asarray((store.node_numbers if entity == "NODE" else store.relationship_numbers).places(numbers))
    most = None if limit is None else skip + limit
    if most is not None and most < len(scores):
        kept = np.argpartition(-scores, most)[: most + 1]  # whose scores are the best, and the next
        kept = np.flatnonzero(scores >= scores[kept].min())
        places, scores = places[kept], scores[kept]
    order = np.lexsort((places, -scores))[skip:most]
    return places[order], scores[order]


def _index(store: GraphStore, context: ExecutionContext, rule: Rule) -> TextIndex:
    """Return the index of a version, made if it isn't there."""
    analyzer = analyzer_named(rule.analyzer)
    assert analyzer is not None

    def make(before: TextIndex | None, touched: Any) -> TextIndex:
        with context.memory.holding(f"The FULLTEXT index {rule.name}") as holding:
            if before is None:
                return made(store, rule, analyzer, holding, context.check)
            return before.following(store, rule, analyzer, touched, holding, context.check)

    found: TextIndex = store.kept.get(rule.meaning, make)
    return found


def _options(options: Mapping[str, Any], rule: Rule) -> tuple[int, int | None, Analyzer]:
    """Return what is skipped, how many are wanted, and what reads the query."""
    unknown = sorted(options.keys() - {"skip", "limit", "analyzer"})
    if unknown:
        hint = "The options are skip, limit and analyzer."
        raise ExecutionError(
            f"A full-text search has no option {unknown[0]!r}.", code="InvalidArgumentValue", hint=hint
        )
    counts = []
    for name in ("skip", "limit"):
        value = options.get(name)
        if value is not None and (type(value) is not int or value < 0):
            raise ExecutionError(
                f"The option {name} is an integer that isn't negative, not {value!r}.", code="InvalidArgumentValue"
            )
        counts.append(value)
    name = options.get("analyzer") or rule.analyzer
    analyzer = analyzer_named(name) if type(name) is str else None
    if analyzer is None:
        hint = f"There are {', '.join(each.name for each in ANALYZERS)}."
        raise ExecutionError(f"There is no analyzer {name!r}.", code="InvalidArgumentValue", hint=hint)
    return counts[0] or 0, counts[1], analyzer

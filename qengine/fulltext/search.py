"""``CALL db.index.fulltext.queryNodes(index, query, options)``: the elements whose texts a query finds, best first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from qengine.errors import ExecutionError
from qengine.exec.scalar.scored import ScoredElements
from qengine.fulltext.analyzers import ANALYZERS, Analyzer, analyzer_named
from qengine.fulltext.index import TextIndex, made
from qengine.fulltext.scores import Search
from qengine.fulltext.syntax import read_query

if TYPE_CHECKING:
    from qengine.catalog.rules import Rule
    from qengine.exec.context import ExecutionContext
    from qengine.storage.store import GraphStore


def found_elements(
    store: GraphStore, context: ExecutionContext, entity: str, name: str, query: str, options: Mapping[str, Any] | None
) -> ScoredElements:
    """Return what a query finds with the scores, best first; of equal ones as the graph has them.

    Parameters
    ----------
    store
        The version of the graph.
    context
        The execution's limits.
    entity, name
        "NODE" or "RELATIONSHIP", and the name of a FULLTEXT index of such.
    query
        As ``syntax`` explains it.
    options
        ``skip`` and ``limit``: how many at most, and without how many first ones; ``analyzer``: of the query's words,
        where it isn't the index's.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` where there is no such index, and for options that there aren't;
        ``InvalidFullTextQuery`` for a query that isn't written as it should be.
    OutOfMemory
        Where the index takes more than the memory limit.
    """
    rule = store.rules.named(name)
    if rule is None or rule.kind != "FULLTEXT" or rule.entity != entity:
        kinds = "nodes" if entity == "NODE" else "relationships"
        hint = (
            "SHOW FULLTEXT INDEXES lists those that there are; CREATE FULLTEXT INDEX name FOR (n:Label) ON EACH "
            "[n.key] makes one."
        )
        raise ExecutionError(f"There is no FULLTEXT index {name!r} of {kinds}.", code="InvalidArgumentValue", hint=hint)
    skip, limit, analyzer = _options(options or {}, rule)
    wanted = read_query(query)
    index = _index(store, context, rule)
    numbers, scores = Search(index, rule.keys, analyzer, query, context.check).run(wanted)
    ids = np.asarray((store.node_numbers if rule.of_nodes else store.relationship_numbers).places(numbers))
    most = None if limit is None else skip + limit
    if most is not None and most < len(scores):
        kept = np.argpartition(-scores, most)[: most + 1]  # whose scores are the best, and the next
        kept = np.flatnonzero(scores >= scores[kept].min())
        ids, numbers, scores = ids[kept], numbers[kept], scores[kept]
    order = np.lexsort((ids, -scores))[skip:most]
    return ScoredElements(rule.of_nodes, numbers[order], scores[order])


def _index(store: GraphStore, context: ExecutionContext, rule: Rule) -> TextIndex:
    """Return the index of a version, made if it isn't there."""
    analyzer = analyzer_named(rule.analyzer)
    assert analyzer is not None

    def make(before: TextIndex | None, touched: Any) -> TextIndex:
        with context.memory.holding(f"The FULLTEXT index {rule.name}") as holding:
            if before is None:
                return made(store, rule, analyzer, holding, context.check)
            return before.following(store, rule, analyzer, touched, holding, context.check)

    found: TextIndex = store.kept.get((rule.meaning,), make)
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

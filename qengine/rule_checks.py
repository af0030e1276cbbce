"""Checks that a graph satisfies a constraint that is made anew: queries find an element that doesn't."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from qengine import optimizer
from qengine.binder import bind
from qengine.catalog.rules import TYPE, Rule
from qengine.exec.common.pipeline import batches
from qengine.exec.context import ExecutionContext
from qengine.plan.expr_text import name_text
from qengine.planning import one_statement
from qengine.storage.store import GraphStore
from qengine.write.violations import has_type, violation


def check_graph(
    rule: Rule, store: GraphStore, context: ExecutionContext, code: str = "ConstraintCreationFailed"
) -> None:
    """Check that all elements are as a constraint requires.

    Raises
    ------
    ExecutionError
        With ``code`` and an element that isn't.
    """
    if (rule.label not in (store.labels if rule.of_nodes else store.relationship_types)) or not rule.is_constraint:
        return
    label, keys = name_text(rule.label), [f"e.{name_text(key)}" for key in rule.keys]
    match = f"MATCH (e:{label})" if rule.of_nodes else f"MATCH ()-[e:{label}]->()"
    graph = _Graph(store, context, code)
    if rule.needs_values:
        _check_values(graph, match, keys, rule)
    if rule.is_unique:
        _check_unique(graph, match, keys, rule)
    elif rule.kind == TYPE:
        (key,) = keys
        for number, value in graph.rows(f"{match} WHERE {key} IS NOT NULL RETURN id(e), {key}"):
            if not has_type(value, rule.type):
                raise violation(rule, number, rule.keys[0], value, code=graph.code)


def _check_values(graph: _Graph, match: str, keys: list[str], rule: Rule) -> None:
    for key, name in zip(keys, rule.keys, strict=True):
        for (number,) in graph.rows(f"{match} WHERE {key} IS NULL RETURN id(e) LIMIT 1"):
            raise violation(rule, number, name, None, code=graph.code)


def _check_unique(graph: _Graph, match: str, keys: list[str], rule: Rule) -> None:
    names = [f"k{place}" for place in range(len(keys))]
    grouped = ", ".join(f"{key} AS {name}" for key, name in zip(keys, names, strict=True))
    equal = " AND ".join(f"{name} = {name}" for name in names)  # neither null nor NaN, which equal nothing
    text = (
        f"{match} WITH {grouped}, min(id(e)) AS one, max(id(e)) AS other "
        f"WHERE one <> other AND {equal} RETURN one, other, {', '.join(names)} LIMIT 1"
    )
    for one, other, *values in graph.rows(text):
        raise violation(rule, one, rule.keys[0], values, other=other, code=graph.code)


class _Graph:
    """What queries are asked of."""

    def __init__(self, store: GraphStore, context: ExecutionContext, code: str) -> None:
        self._store = store
        self._context = context
        self.code = code  # of the error

    def rows(self, text: str) -> Iterator[tuple[Any, ...]]:
        plan = optimizer.plan(bind(one_statement(text), text, self._store).plan, self._store)
        for batch in batches(plan, self._store, self._context):
            yield from zip(*(column.values() for column in batch.columns.values()), strict=True)

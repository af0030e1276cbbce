"""Rules of a graph as text: what one is about, what it requires, and the statement that makes it."""

from __future__ import annotations

from typing import Any

from qengine.catalog.rules import DEFAULT_ANALYZER, EXISTENCE, TYPE, UNIQUE, Rule
from qengine.plan.expr_text import name_text

_PROVIDERS = {
    "RANGE": "range-1.0",
    "TEXT": "text-2.0",
    "LOOKUP": "token-lookup-1.0",
    "POINT": "point-1.0",
    "FULLTEXT": "fulltext-1.0",
    "VECTOR": "vector-2.0",
}
_REQUIRED = {UNIQUE: "IS UNIQUE", EXISTENCE: "IS NOT NULL"}


def rule_statement(rule: Rule) -> str:
    """Return the statement that makes a rule."""
    name = f" {name_text(rule.name)}" if rule.name else ""
    if rule.is_constraint:
        return f"CREATE CONSTRAINT{name} FOR {_pattern(rule)} REQUIRE {requirement(rule)}"
    if rule.kind == "LOOKUP":
        return f"CREATE LOOKUP INDEX{name} FOR {_pattern(rule)} ON EACH {'labels(n)' if rule.of_nodes else 'type(r)'}"
    listed = f"EACH [{_properties(rule)}]" if rule.kind == "FULLTEXT" else f"({_properties(rule)})"
    options = ""
    if rule.kind == "VECTOR" and rule.type:
        options = f" OPTIONS {{indexConfig: {{`vector.similarity_function`: '{rule.type.lower()}'}}}}"
    if rule.kind == "FULLTEXT" and rule.analyzer != DEFAULT_ANALYZER:
        options = f" OPTIONS {{indexConfig: {{`fulltext.analyzer`: '{rule.analyzer}'}}}}"
    return f"CREATE {rule.kind} INDEX{name} FOR {_pattern(rule)} ON {listed}{options}"


def index_options(rule: Rule) -> dict[str, Any]:
    """Return the OPTIONS of a rule's index, with what holds where none were given; its provider as Neo4j names it."""
    kind = "RANGE" if rule.is_constraint else rule.kind
    config = {}
    if kind == "VECTOR":
        config["vector.similarity_function"] = rule.type or "COSINE"
    if kind == "FULLTEXT":
        config["fulltext.analyzer"] = rule.analyzer
    return {"indexProvider": _PROVIDERS[kind], "indexConfig": config}


def requirement(rule: Rule) -> str:
    """Return what a constraint requires, as ``n.name IS UNIQUE``."""
    properties = _properties(rule) if len(rule.keys) == 1 else f"({_properties(rule)})"
    if rule.kind == TYPE:
        return f"{properties} IS :: {rule.type}"
    return f"{properties} {_REQUIRED.get(rule.kind) or f'IS {rule.entity} KEY'}"


def _pattern(rule: Rule) -> str:
    label = f":{'|'.join(map(name_text, rule.labels))}" if rule.labels else ""
    return f"(n{label})" if rule.of_nodes else f"()-[r{label}]-()"


def _properties(rule: Rule) -> str:
    return ", ".join(f"{'n' if rule.of_nodes else 'r'}.{name_text(key)}" for key in rule.keys)

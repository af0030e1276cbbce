"""What a match must not repeat, where walks are part of it: conditions on the nodes that they pass.

A walk itself repeats nothing (``Walk.mode``); what it shares with the rest of the match is compared on the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from qengine.optimizer.lower.walks import WalkPart
from qengine.optimizer.pattern_edges import given_name
from qengine.plan.expr import Call, Comparison, Expr, ListOf, Literal, PathOf, Quantifier, Variable
from qengine.plan.pattern import MatchMode, PathMode, PatternPath, QueryGraph
from qengine.types import BOOLEAN, INTEGER, LIST, NODE, list_of

_END = 2**63 - 1


def walk_mode(graph: QueryGraph, walk: WalkPart) -> PathMode:
    """Return what a walk must not repeat, by the mode of its match and of its path."""
    if walk.selected and walk.chain is None:  # only one that ends where it starts can repeat anything
        return PathMode.WALK if graph.mode is MatchMode.REPEATABLE_ELEMENTS else PathMode.TRAIL
    path = next((path for path in graph.paths if path.mode is not None and walk.hop in path.elements), None)
    acyclic = path is not None and path.mode is PathMode.ACYCLIC
    if graph.mode is MatchMode.DIFFERENT_NODES:
        return PathMode.SIMPLE if walk.start == walk.end and not acyclic else PathMode.ACYCLIC
    if path is not None and path.mode is PathMode.SIMPLE:
        return PathMode.SIMPLE if _may_be_whole(graph, walk, path) else PathMode.ACYCLIC
    if path is not None and path.mode is not None:
        return path.mode
    return PathMode.WALK if graph.mode is MatchMode.REPEATABLE_ELEMENTS else PathMode.TRAIL


def _may_be_whole(graph: QueryGraph, walk: WalkPart, path: PatternPath) -> bool:
    """Tell whether a walk's ends may be those of its path: all other relationships may be of length 0."""
    lengths = {given_name(edge.name): edge.hops for edge in graph.relationships}
    others = (lengths.get(name) for name in path.elements[1::2] if name != walk.hop)
    return all(hops is not None and hops[0] == 0 for hops in others)


def repetition_conditions(graph: QueryGraph, walks: Sequence[WalkPart]) -> list[Expr]:
    """Return the conditions that what a walk passes is nothing else of the match, and those of path modes."""
    conditions: list[Expr] = []
    walked = {walk.hop for walk in walks}
    for path in graph.paths:
        if path.mode is None or len(path.elements) == 3:
            continue
        if path.mode is PathMode.TRAIL or walked & set(path.elements):  # else nodes differ: see ``differences``
            conditions += _path_conditions(path, path.mode)
    if graph.mode is not MatchMode.DIFFERENT_NODES:
        return conditions
    passing = [walk for walk in walks if walk.maximum is None or walk.maximum > 1 or walk.repetition is not None]
    for place, walk in enumerate(passing):
        named = [Variable(node.name, type=NODE) for node in graph.nodes if node.name not in (walk.start, walk.end)]
        others: list[Expr] = [ListOf(tuple(named), type=list_of(NODE))] if named else []
        others += map(_inner, passing[place + 1 :])
        conditions += [_disjoint(_inner(walk), other, f"@inner{place}") for other in others]
    return conditions


def _path_conditions(path: PatternPath, mode: PathMode) -> list[Expr]:
    whole = PathOf(path.elements)
    if mode is PathMode.TRAIL:
        return [_all_different(Call("relationships", (whole,), type=LIST))]
    nodes = Call("nodes", (whole,), type=list_of(NODE))
    if mode is PathMode.ACYCLIC:
        return [_all_different(nodes)]
    if mode is PathMode.SIMPLE:
        return [_all_different(_slice(nodes, 1, _END)), _all_different(_slice(nodes, 0, -1))]
    return []


def _inner(walk: WalkPart) -> Expr:
    """Return the nodes that a walk passes between its ends."""
    nodes = Call("nodes", (PathOf((walk.start, walk.name, walk.end)),), type=list_of(NODE))
    return _slice(nodes, 1, -1)


def _slice(items: Expr, begin: int, end: int) -> Expr:
    bounds = (Literal(begin, type=INTEGER), Literal(end, type=INTEGER))
    return Call("[..]", (items, *bounds), type=items.type)


def _disjoint(items: Expr, others: Expr, variable: str) -> Expr:
    inside = Call("IN", (Variable(variable, type=NODE), others), type=BOOLEAN)
    return Quantifier("none", variable, items, inside)


def _all_different(items: Expr) -> Expr:
    one, other = Variable("@one"), Variable("@other")
    once = Quantifier("single", other.name, items, Comparison(("=",), (one, other)))
    return Quantifier("all", one.name, items, once)

"""From the parts of a search to an order of its vertices, by name: states the problem that order.py solves.

Symmetric patterns may be counted one embedding an orbit, by constraints on the order of ids, either way round. The
constraints cut lists, but they also tie vertices together that would else be counted apart: the cost model decides.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from qengine._frozen import frozen
from qengine.optimizer.cardinality import Cardinality
from qengine.optimizer.cost import CostModel, Problem, mask_of
from qengine.optimizer.difference import Differences
from qengine.optimizer.labels import may_coincide
from qengine.optimizer.order import best_order, order_cost
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.optimizer.search import NamedCondition
from qengine.optimizer.symmetry import NO_SYMMETRY, Symmetry, break_symmetry

_SMALL = 6  # vertices up to which each way to break a symmetry gets an order of its own


@frozen
class MatchingOrder:
    """Names of vertices in the order of binding, how many embeddings are expected, and the cost in nanoseconds."""

    names: tuple[str, ...]
    rows: float
    cost: float
    symmetry: Symmetry = NO_SYMMETRY


@frozen
class Matching:
    """What is to be matched: ``names`` given that ``bound`` are bound already, over ``edges`` between them.

    ``wanted``: the vertices that are emitted or that emitted relationships join. With ``counted`` the others are only
    counted. ``symmetric``: a symmetric pattern may be counted by orbits.
    """

    names: Sequence[str]
    edges: Sequence[PatternEdge]
    bound: Sequence[str]
    difference: Differences
    conditions: Sequence[NamedCondition] = ()
    wanted: Collection[str] = ()
    counted: bool = False
    symmetric: bool = False


def matching_order(matching: Matching, cardinality: Cardinality) -> MatchingOrder:
    """Return the cheapest order of a matching's vertices, and which symmetric embeddings to leave out."""
    names = (*matching.bound, *sorted(matching.names, key=cardinality.candidates))
    number = {name: place for place, name in enumerate(names)}
    problem = _problem(matching, names, number, cardinality)
    found = best_order(problem)
    symmetry = NO_SYMMETRY
    if matching.symmetric:
        plain = tuple(names[vertex] for vertex in found.vertices)
        broken = break_symmetry(plain, cardinality.nodes, matching.edges, matching.difference)
        for each in (broken, broken.turned()) if broken.orbits > 1 else ():
            less = tuple((number[small], number[big]) for big, small in each.greater)
            constrained = replace(problem, less=less)
            if len(names) <= _SMALL:
                ordered = best_order(constrained)
            else:
                ordered = replace(found, cost=order_cost(constrained, found.vertices))
            if ordered.cost < found.cost:
                found, symmetry = ordered, each
    rows = CostModel(problem).rows((1 << len(names)) - 1)
    return MatchingOrder(tuple(names[vertex] for vertex in found.vertices), rows, found.cost, symmetry)


def _problem(matching: Matching, names: Sequence[str], number: dict[str, int], cardinality: Cardinality) -> Problem:
    nodes = cardinality.nodes
    difference = matching.difference
    different = []
    for pair in difference.vertices:
        one, other = sorted(pair)
        if one in number and other in number and not _apart(one, other, matching.edges, cardinality):
            different.append((number[one], number[other]))
    by_name = {edge.name: edge for edge in matching.edges}
    compared = [{name for same in pair for name in same} for pair in difference.pairs]
    compared += [{each.left, each.right} for each in matching.conditions]
    compared += [
        {end for name in pair for end in by_name[name].ends} for pair in difference.edges if pair <= by_name.keys()
    ]
    entangled = [frozenset(number[name] for name in group) for group in compared if group <= number.keys()]
    filtered = {number[name] for name in names if nodes[name].predicates}
    filtered.update(vertex for group in entangled for vertex in group)
    return Problem(
        candidates=[cardinality.candidates(name) for name in names],
        labelled=[cardinality.labelled(name) for name in names],
        filtered=frozenset(filtered),
        links=[cardinality.link(edge, number) for edge in matching.edges if edge.ends[0] != edge.ends[1]],
        different=different,
        entangled=entangled,
        bound=mask_of(range(len(matching.bound))),
        wanted=mask_of(number[name] for name in matching.wanted),
        counted=matching.counted,
        kinds=[name if nodes[name].predicates else (nodes[name].labels,) for name in names],
    )


def _apart(one: str, other: str, edges: Sequence[PatternEdge], cardinality: Cardinality) -> bool:
    """Tell whether two vertices can't be equal anyway: joined by a relationship, or without a common label set."""
    joined = any(set(edge.ends) == {one, other} and not edge.loops for edge in edges)
    nodes = cardinality.nodes
    return joined or not may_coincide(cardinality.catalog, nodes[one].labels, nodes[other].labels)

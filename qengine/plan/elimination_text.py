"""The program of an ``Eliminate`` as lines: what each step sums out, the terms of the count, the kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from qengine.plan import elimination
from qengine.plan.expr import Expr, Property, Variable
from qengine.plan.expr_text import ExprText, labels_text, name_text
from qengine.plan.kernels import kernel
from qengine.plan.pattern import Direction
from qengine.plan.physical import Eliminate
from qengine.plan.schedule import Among, Call, KernelCall, Schedule
from qengine.plan.traverse import substitute


def elimination_lines(operator: Eliminate, expr: ExprText) -> Iterator[str]:
    """Yield a line for each step, numbered, one for the terms, and one for each device's kernels.

    A ``Clique`` is named where a kernel counts by it.
    """
    names = [
        f"{'M' if elimination.is_matrix(operator.steps, place) else 'v'}{place}" for place in range(len(operator.steps))
    ]
    counted_by = {place for each in operator.schedules for place in _cliques(each)}
    for place, step in enumerate(operator.steps):
        if not isinstance(step, elimination.Clique):
            yield f"{names[place]} = {_step(step, names, expr)}"
        elif place in counted_by:
            yield _step(step, names, expr)
    yield "count = " + (" ".join(_term(term, names) for term in operator.terms) or "0")
    for schedule in operator.schedules:
        where = "GPU" if schedule.device == "gpu" else "CPU"
        calls = [*_calls(schedule.calls, names), *(["searches"] if operator.searches else [])]
        yield f"on the {where}, ~{milliseconds(schedule.cost)}: {', '.join(calls)}"


def _cliques(schedule: Schedule) -> Iterator[int]:
    """Yield the places of the cliques by which sums are found."""
    for call in schedule.every:
        if kernel(schedule.device, call.kernel).step is elimination.Clique:
            yield from call.results


def _calls(calls: Sequence[Call], names: list[str]) -> Iterator[str]:
    """Yield each kernel with what it gives and what that takes; calls of one kernel after the other are one."""
    for among, same in groupby(calls, lambda call: isinstance(call, Among)):
        if among:
            for each in same:
                assert isinstance(each, Among)
                yield f"for some roots after the other ({', '.join(_calls(each.all, names))})"
            continue
        for name, run in groupby(same, lambda call: call.kernel if isinstance(call, KernelCall) else ""):
            of = [call for call in run if isinstance(call, KernelCall)]
            given = " ".join(names[place] for call in of for place in call.places)
            yield f"{name} {given} ~{milliseconds(sum(call.cost for call in of))}"


def milliseconds(nanoseconds: float) -> str:
    """Return a time as text, in three digits."""
    return f"{nanoseconds / 1e6:,.3g} ms"


def _step(step: elimination.Step, names: list[str], expr: ExprText) -> str:
    def of(place: int | None) -> str:
        return "" if place is None else f" {names[place]}"

    match step:
        case elimination.NodeIndicator(nodes=(), loops=()):
            return "1"
        case elimination.NodeIndicator(nodes=nodes, loops=loops):
            parts = []
            for name, labels, predicates in nodes:
                where = f" WHERE {expr.joined(predicates, ' AND ')}" if predicates else ""
                parts.append(f"({name_text(name) if name else ''}{f':{labels_text(labels)}' if labels else ''}{where})")
            return " ".join(parts + [f"loops {_relation(each, expr)}" for each in loops])
        case elimination.NodeValues():
            return "values"
        case elimination.Matrix(relations=relations, once=once):
            return " × ".join(_relation(each, expr) for each in relations) + " by pair" * once
        case elimination.Product(factors=factors):
            return " × ".join(names[place] for place in factors)
        case elimination.MatVec(matrix=matrix, vector=vector):
            return f"sum over rows of {names[matrix]}{of(vector)}"
        case elimination.MaskedProduct(across=across, left=left, right=right, vector=vector):
            return f"across {names[across]}: sum over{of(left)}{of(vector)}{of(right)}"
        case elimination.RootedForest(nodes=nodes, tops=tops, vector=vector):
            shown = " and ".join(_forest_node(nodes, top, names) for top in tops)
            return f"around each root{of(vector)}: sum over {shown}"
        case elimination.MaskedForest(across=across, nodes=nodes, right=right):
            return f"across {names[across]}: sum over {_forest_node(nodes, len(nodes) - 1, names)}{of(right)}"
        case elimination.AtPairs(pairs=pairs, vector=vector):
            return f"{names[vector]} at the pairs of {names[pairs]}"
        case elimination.Turned(matrix=matrix):
            return f"{names[matrix]} from the other ends"
        case elimination.Neighbourhoods(first=first, second=second, by=by):
            return f"neighbours in {names[first]} and {names[second]} of one root, where {names[by]} links them"
        case elimination.AtEnds(pairs=pairs, vector=vector):
            return f"{names[vector]} at the ends of {names[pairs]}"
        case elimination.OfPairs(pairs=pairs, matrix=matrix):
            return f"numbers of {names[matrix]} at {names[pairs]}"
        case elimination.EndRows(pairs=pairs, by=by):
            return f"rows of {names[by]} of the ends of {names[pairs]}"
        case elimination.ByRoot(pairs=pairs, vector=vector):
            return f"sum by root of {names[pairs]} {names[vector]}"
        case elimination.Clique(total=total, pairs=pairs, vectors=vectors, by=by):
            parts = [names[place] for place in (*pairs, *vectors) if place is not None]
            given = f"Σ{names[total]}" if by is None else names[total]
            return f"{given} by cliques of {len(vectors)}: {' '.join(parts)}"
        case elimination.Pairs(nodes=(), vector=vector):
            return f"each root{of(vector)} with itself"
        case elimination.Pairs(nodes=nodes, vector=vector):
            return f"each root{of(vector)} with {_forest_node(nodes, len(nodes) - 1, names)}"


def _forest_node(nodes: tuple[elimination.ForestNode, ...], place: int, names: list[str]) -> str:
    node = nodes[place]
    below = node.nodes
    parts = [] if node.start is None else [names[node.start]]
    parts += [] if node.vector is None else [names[node.vector]]
    for each in dict.fromkeys(below):
        count = below.count(each)
        link = f"{_forest_node(nodes, each, names)} → {names[nodes[each].link or 0]}"
        parts.append(f"({link})" + (f"^{count}" if count > 1 else ""))
    return " ".join(parts)


def _relation(relation: elimination.Relation, expr: ExprText) -> str:
    match relation.value:
        case elimination.ArcEnds(arcs=arcs, at=at):
            ends = {"start": "starts", "end": "ends", "loop": "loops"}[at]
            found = f"{ends} of {_relation(arcs, expr)}"
            return found if relation.direction is Direction.OUT else f"nodes by {found}"
        case elimination.Shared() as value:
            one, several = _shared(value, expr)
            return one if relation.direction is Direction.OUT else f"{several[0]} by {several[1]}"
    types = f":{'|'.join(map(name_text, relation.types))}" if relation.types else ""
    where = "".join(f" WHERE {expr.joined(predicates, ' AND ')}" for _, predicates in relation.conditions)
    left, right = "<" * (relation.direction is Direction.IN), ">" * (relation.direction is Direction.OUT)
    return f"{left}-[{types}{where}]-{right}"


def _shared(value: elimination.Shared, expr: ExprText) -> tuple[str, tuple[str, str]]:
    """Return what an element is linked with, and what elements are called, and that behind "by"."""
    lower, upper = (_values(each, expr) for each in (value.lower, value.upper))
    if value.op == "=":
        linked = _values(value.linked, expr)
        found, by = f"value of {linked}", linked
    else:
        found = f"ranges {'below' if value.op == '<' else 'up to'} {upper}" if value.above else f"ranges with {lower}"
        by = found
    where = "" if value.within is None else f" at its {value.within[value.above]}"
    arcs = value.linked.arcs
    return found + where, ("nodes" if arcs is None else _relation(arcs, expr), by + where)


def _values(values: elimination.Values, expr: ExprText) -> str:
    """Return an expression of an element's values, properties by their keys."""

    def bare(part: Expr) -> Expr | None:
        own = isinstance(part, Property) and part.subject == Variable(elimination.VALUED, type=part.subject.type)
        return Variable(part.key) if own and isinstance(part, Property) else None

    return expr(substitute(values.expr, bare))


def _term(term: elimination.Term, names: list[str]) -> str:
    sign = "-" if term.factor < 0 else "+"
    factor = f"{abs(term.factor)} " if abs(term.factor) != 1 else ""
    sums = [f"Σ{names[place]}" for place in term.totals]
    sums += [] if term.search is None else [f"s{term.search}"]
    return f"{sign} {factor}" + " ".join(sums + ([] if term.output is None else [names[term.output]]))

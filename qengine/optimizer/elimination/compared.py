"""Values of two elements that are compared, as what a pattern's elements share: codes of values, or ranges of them.

Each comparison is a vertex more of the pattern. Relationships whose values are compared are vertices, too: arcs, which
their ends are linked with. What two arcs that meet share is shared at that vertex alone, so that only one of them need
be linked with it: a path of relationships each of which is later than the one before is a path still.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from qengine._frozen import frozen, record
from qengine.optimizer.elimination.quotients import Bundle, Quotient
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.plan.elimination import VALUED
from qengine.plan.expr import Call, Comparison, Expr, Variable
from qengine.plan.pattern import LabelAnd, LabelExpr
from qengine.plan.traverse import substitute
from qengine.types import BOOLEAN


@frozen
class Value:
    """An expression that reads ``VALUED``. ``labels``: of the nodes for which it doesn't fail, None for all.

    ``nan``: it may give NaN, which isn't equal to itself.
    """

    expr: Expr
    labels: LabelExpr | None = None
    nan: bool = False


@frozen
class Compared:
    """What must be true of a value of one element, and of one of another: ``op`` is "=", "<>", "<" or "<="."""

    one: str
    other: str
    left: Value
    right: Value
    op: str


def valued(expr: Expr, name: str) -> Expr:
    """Return an expression of an element with ``VALUED`` in its place."""

    def renamed(part: Expr) -> Expr | None:
        return Variable(VALUED, type=part.type) if isinstance(part, Variable) and part.name == name else None

    return substitute(expr, renamed)


@frozen
class Side:
    """A value of a node, or, ``of_edge``, of a relationship of a pattern, or of a class or a bundle of a quotient."""

    of_edge: bool
    place: int
    value: Value


@frozen
class Told:
    """What is asked of two values: ``op`` is "=", "<", "<=", or "any", where there need only be both.

    ``met``: the class at which what they share is shared, which is ``within`` both as of ``plan.elimination.Shared``.
    """

    sides: tuple[Side, Side]
    op: str
    met: int | None = None
    within: tuple[str, str] | None = None


@record
class SharedValues:
    """What is told of values in one quotient.

    ``shared``: of two different elements. ``of_vertices``, ``of_bundles``: conditions on one, with labels of vertices
    for which they don't fail. ``arcs``: for each bundle that is a vertex the classes that it is linked with, and at
    which end.
    """

    shared: list[Told] = field(default_factory=list)
    of_vertices: list[tuple[int, LabelExpr | None, Expr]] = field(default_factory=list)
    of_bundles: list[tuple[int, Expr]] = field(default_factory=list)
    arcs: dict[int, dict[int, str]] = field(default_factory=dict)


def ways(
    names: Sequence[str], edges: Sequence[PatternEdge], compared: Sequence[Compared]
) -> list[tuple[int, tuple[Told, ...]]]:
    """Return what is asked of values as signed patterns: those that differ are all but those that are equal."""
    places = {name: (False, place) for place, name in enumerate(names)}
    places |= {edge.name: (True, place) for place, edge in enumerate(edges)}
    found: list[tuple[int, tuple[Told, ...]]] = [(1, ())]
    for each in compared:
        sides = Side(*places[each.one], each.left), Side(*places[each.other], each.right)
        if each.op in ("=", "<>") and (sides[1].of_edge, sides[1].place) < (sides[0].of_edge, sides[0].place):
            sides = sides[::-1]
        signed = [(-1, "="), (1, "any")] if each.op == "<>" else [(1, each.op)]
        found = [(factor * sign, (*told, Told(sides, op))) for factor, op in reversed(signed) for sign, told in found]
    return found


def shared_values(quotient: Quotient, told: Sequence[Told]) -> SharedValues | None:
    """Return what is told of the values of a quotient's elements; None where it is never true."""
    found = SharedValues()
    here = [(_in_quotient(each.sides[0], quotient), _in_quotient(each.sides[1], quotient), each.op) for each in told]
    if _contradicts(here):
        return None
    for one, other, op in here:
        same = (one.of_edge, one.place) == (other.of_edge, other.place)
        if op == "any" or (same and one.value == other.value and not one.value.nan):
            for side in (one, other):
                _ask(found, Call("IS NOT NULL", (side.value.expr,), type=BOOLEAN), side)
        elif same:
            sides = one.value.expr, other.value.expr
            _ask(found, Comparison((op,), sides, type=BOOLEAN), one, other)
        else:
            found.shared.append(_shared(one, other, op, quotient))
    _link(found, quotient)
    return found


def _contradicts(told: Sequence[tuple[Side, Side, str]]) -> bool:
    """Tell whether values would be less than themselves."""
    after: dict[Side, set[Side]] = {}
    for one, other, op in told:
        if op != "any":
            after.setdefault(one, set()).add(other)
        if op == "=":
            after.setdefault(other, set()).add(one)
    for one, other, op in told:
        reached, waiting = {other}, [other] if op == "<" else []
        while waiting:
            new = after.get(waiting.pop(), set()) - reached
            reached |= new
            waiting += new
        if op == "<" and one in reached:
            return True
    return False


def _in_quotient(side: Side, quotient: Quotient) -> Side:
    if not side.of_edge:
        return Side(False, quotient.classes[side.place], side.value)
    return Side(True, next(k for k, each in enumerate(quotient.bundles) if side.place in each.members), side.value)


def _ask(found: SharedValues, condition: Expr, *sides: Side) -> None:
    """Ask what is one element in a quotient for a condition."""
    side = sides[0]
    if side.of_edge:
        found.of_bundles.append((side.place, condition))
        return
    labels = tuple(dict.fromkeys(each.value.labels for each in sides if each.value.labels is not None))
    every = LabelAnd(labels) if len(labels) > 1 else labels[0] if labels else None
    found.of_vertices.append((side.place, every, condition))


def _shared(one: Side, other: Side, op: str, quotient: Quotient) -> Told:
    """Return what two elements share, at the vertex where they meet if one at least is an arc."""
    ends = [_ends(quotient.bundles[each.place]) if each.of_edge else {each.place: "self"} for each in (one, other)]
    met = next((vertex for vertex in ends[0] if vertex in ends[1]), None)
    if met is None:
        return Told((one, other), op)
    at = ("start" if each[met] == "loop" else each[met] for each in ends)
    return Told((one, other), op, met, (next(at), next(at)))


def _ends(bundle: Bundle) -> dict[int, str]:
    return {bundle.start: "loop"} if bundle.start == bundle.end else {bundle.start: "start", bundle.end: "end"}


def _link(found: SharedValues, quotient: Quotient) -> None:
    """Link arcs with their ends: of those that share something there, with each other or with the vertex, one is."""
    every = [side for told in found.shared for side in told.sides]
    for side in every:
        if side.of_edge:
            found.arcs[side.place] = _ends(quotient.bundles[side.place])
    for vertex in dict.fromkeys(told.met for told in found.shared if told.met is not None):
        groups: list[set[int | None]] = []  # None: the vertex itself
        for told in found.shared:
            if told.met == vertex:
                pair = {side.place if side.of_edge else None for side in told.sides}
                meeting = [group for group in groups if group & pair]
                groups = [group for group in groups if group not in meeting]
                groups.append(pair.union(*meeting))
        for group in groups:
            arcs = sorted(each for each in group if each is not None)
            arcs.sort(key=lambda place: found.arcs[place][vertex] != "loop")
            for place in arcs[None not in group :]:
                if found.arcs[place][vertex] != "loop":
                    del found.arcs[place][vertex]

"""Bushy plans: a pattern cut into two that share vertices, matched apart, and joined by them.

A search that binds one vertex at a time walks all ways out of one end before it comes to the other. Where both ends are
selective, or two dense parts meet in one vertex, two searches whose rows are joined touch far fewer: the sum of the two
and not their product. Cuts are the sets of up to three vertices whose removal takes the pattern apart; the two sides
are ordered, and may be cut again, like patterns of their own. (Moerkotte and Neumann 2006; a search beats joins on
cycles, so it is left only by a margin.)

Rows that earlier clauses give are one side of a cut, alone or with what is searched from them; the other side is
matched once for all of them. So is a pattern that is only asked for its existence, row by row: a semi-join.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

from qengine._frozen import frozen, replace
from qengine.catalog.costs import costs
from qengine.optimizer.cardinality import Cardinality
from qengine.optimizer.difference import Differences
from qengine.optimizer.intervals import Interval
from qengine.optimizer.labels import may_coincide
from qengine.optimizer.matching import Matching, MatchingOrder, matching_order, order_problem
from qengine.optimizer.order import CostModel
from qengine.optimizer.order_problem import mask_of, members
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.optimizer.search_levels import NamedCondition

_MARGIN = 3.0  # so much cheaper a join must be: searches use all cores, and are never surprised by their rows
_MOST_NAMES = 10  # of a pattern whose cuts into two parts are looked at
_WORTH = 5e6  # nanoseconds of a search that is worth looking for a join
_MOST_HELD = 5e7  # rows
_CUT = 3  # vertices that two sides share, at most
_TIMES = 3.0  # as many rows as are expected may well come: then what is done with them is told when they are there
_MOST_TOLD = 16_384.0  # rows that are held until it is known whether there are more
_LEAST_SHARE = 0.5  # of what rows are expected to cost, that they surely do
_SURPRISE = 1.5  # so much cheaper a join must be that is chosen when the rows are there
_LOOKED_AT = 3  # cuts whose sides are ordered
_ROWS_AT_ONCE = 65_536  # rows that ask together whether something exists for them, each different one once
_COMPONENTS = 4  # what a cut leaves may fall into so many parts

Equations = tuple[tuple[str, str], ...]


@frozen
class JoinSide:
    """One of the two patterns: its vertices, and what holds between them."""

    names: tuple[str, ...]
    edges: tuple[PatternEdge, ...]
    difference: Differences
    conditions: tuple[NamedCondition, ...]

    @property
    def compares(self) -> bool:
        """Whether its vertices, or relationships, are compared with each other."""
        found = self.difference
        return bool(self.conditions or found.vertices or found.pairs or found.edges)


@frozen
class Join:
    """Two sides, and what holds across them.

    ``keys``: the vertices of both. ``apart``: equations that must not all hold, between variables of either side.
    ``conditions``: numeric columns compared across. ``rows``: the expected result. ``cost``: nanoseconds that are
    expected, 0 where it isn't compared. ``most``: rows up to which searches from them cost less, where it isn't known
    whether there are more; else 0.
    """

    probe: JoinSide
    build: JoinSide
    keys: tuple[str, ...]
    apart: tuple[Equations, ...]
    conditions: tuple[NamedCondition, ...]
    rows: float
    reason: str
    cost: float = 0.0
    most: int = 0

    def compared(self) -> frozenset[str]:
        """Return the variables that the two sides are compared by."""
        names = {name for equations in self.apart for equation in equations for name in equation}
        return frozenset(names | {name for each in self.conditions for name in (each.left, each.right)})


def better_join(matching: Matching, order: MatchingOrder, cardinality: Cardinality, given: Interval) -> Join | None:
    """Return a join that is expected to cost much less than a search in this order, or that the hints ask for.

    ``given``: for how many rows, at the least and as expected, the pattern is matched; they give its bound vertices.
    """
    hints = matching.hints
    if hints.join is not None:
        return _hinted(matching, cardinality, order)
    if matching.bound:
        return _with_given_rows(matching, order, cardinality, given)
    if not _is_free(matching) or order.cost < _WORTH or not 3 <= len(matching.names) <= _MOST_NAMES:
        return None
    names, problem = order_problem(matching, cardinality)
    model = CostModel(problem)
    limit = order.cost / _MARGIN
    promising = []
    for keys, left, right in _cuts(model):
        if min(model.rows(left), model.rows(right)) <= _MOST_HELD:
            join = _joined(matching, cardinality, *(_named(names, each) for each in (keys, left, right)))
            least = _cost_of_rows(matching, model, names, join)
            if least <= limit:
                promising.append((least, join))
    promising.sort(key=lambda each: each[0])
    best, best_cost = None, limit
    for least, join in promising[:_LOOKED_AT]:
        cost = least
        for side in (join.probe, join.build):
            cost += matching_order(_side_matching(matching, join, side), cardinality).cost
        if cost <= best_cost:
            best, best_cost = join, cost
    if best is None:
        return None
    reason = f"{_milliseconds(best_cost)} in two parts, {_milliseconds(order.cost)} in one"
    return replace(best, rows=order.rows, cost=best_cost, reason=reason)


def cut_in_two(matching: Matching, cardinality: Cardinality) -> Iterator[tuple[Join, float, float]]:
    """Yield the cuts of a pattern in two, with the nanoseconds of matching both, and the rows that both have."""
    if not 3 <= len(matching.names) <= _MOST_NAMES:
        return
    names, problem = order_problem(matching, cardinality)
    model = CostModel(problem)
    for keys, left, right in _cuts(model):
        rows = model.rows(left) + model.rows(right)
        if rows <= _MOST_HELD:
            join = _joined(matching, cardinality, *(_named(names, each) for each in (keys, left, right)))
            sides = (_side_matching(matching, join, side) for side in (join.probe, join.build))
            yield join, sum(matching_order(side, cardinality).cost for side in sides), rows


def beside_rows(matching: Matching, cardinality: Cardinality) -> Iterator[tuple[Join, float, float]]:
    """Yield the cut of rows that give the bound vertices from all that is searched, with its nanoseconds and rows."""
    ends = {end for edge in matching.edges for end in edge.ends}
    keys = tuple(name for name in matching.bound if name in ends)
    if keys and matching.names and len(matching.names) + len(matching.bound) <= _MOST_NAMES:
        join = _joined(matching, cardinality, keys, matching.bound, (*keys, *matching.names))
        found = matching_order(_side_matching(matching, join, join.build), cardinality)
        if found.rows <= _MOST_HELD and not (join.probe.edges or join.probe.compares):
            yield join, found.cost, found.rows


def _with_given_rows(
    matching: Matching, order: MatchingOrder, cardinality: Cardinality, given: Interval
) -> Join | None:
    """Return a join of the rows that give the bound vertices, and what is searched from them, with the rest.

    The rest is matched without the rows, once: that must pay where they are as few as they may well be. Where it pays
    only if they are about as many as is expected, or some times more, it is told from how many on it does.
    """
    times, cost = _TIMES * given.high, _TIMES * given.high * order.cost
    size = len(matching.names) + len(matching.bound)
    if cost < _WORTH or not _is_free(matching) or not matching.names or size > _MOST_NAMES:
        return None
    names, problem = order_problem(matching, cardinality)
    model = CostModel(replace(problem, bound=0))
    bound = problem.bound
    sides = [(bound, bound, model.all)] if len(_parts(model, model.all)) == 1 else []
    for vertex in members(bound):  # a row joins all that it gives
        model.adjacent[vertex] |= bound & ~(1 << vertex)
    for keys, left, right in _cuts(model):
        sides += [(keys, one, other) for one, other in ((left, right), (right, left)) if bound & ~one == 0]
    best, limit, once_more = None, cost / _SURPRISE, 0.0
    search = costs("cpu", "search")
    a_row = _LEAST_SHARE * (search["bind"] + search["row"] + costs("cpu", "join")["probe"])
    for keys, left, right in sides:
        if left != bound:  # what is searched from the rows first, and probed with
            nearly = min(model.rows(left), model.rows(bound | keys)) / model.rows(bound)
            if a_row * times * nearly >= limit:
                continue
        found = model.rows(right)
        join = _joined(matching, cardinality, *(_named(names, each) for each in (keys, left, right)))
        once = _side_matching(matching, join, join.build)
        held = min(found, model.rows(mask_of(names.index(each) for each in once.wanted))) if once.counted else found
        pairs = times * order.rows
        if once.counted and left == bound:  # what is held comes with how often
            shared = 1.0
            for key in members(keys):
                shared *= max(model.problem.candidates[key], 1.0)
            pairs = min(pairs, times * held / shared)
        if held > _MOST_HELD or joining_cost(0.0, held, pairs) >= limit:
            continue
        probed, searched = times, 0.0
        if left != bound:
            near = replace(_side_matching(matching, join, join.probe), names=_named(names, left & ~bound))
            first = matching_order(replace(near, bound=matching.bound), cardinality)
            probed, searched = times * first.rows, times * first.cost
        took = searched + joining_cost(probed, held, pairs)
        if took < limit:
            before = matching_order(once, cardinality).cost
            took += before
        if took < limit:
            best, limit = join, took
            once_more = before + joining_cost(0.0, held, 0.0)  # however many rows there are
    if best is None:
        return None
    each = (limit - once_more) / times  # of a row that is joined
    expected = once_more + each * given.high
    reason = f"{_milliseconds(expected)} for all rows, {_milliseconds(given.high * order.cost)} one by one"
    sure = expected < given.low * order.cost / _MARGIN
    most = 0.0 if sure else _SURPRISE * once_more / max(order.cost - _SURPRISE * each, 1e-3)
    return (
        replace(best, rows=order.rows, cost=expected, reason=reason, most=int(most))
        if most < min(times, _MOST_TOLD)
        else None
    )


def joining_cost(probed: float, held: float, pairs: float) -> float:
    """Return what it costs in nanoseconds to hold rows, look others up in them, and emit the pairs that join."""
    take = costs("cpu", "join")
    return take["probe"] * probed + take["build"] * held + take["pair"] * pairs


def _milliseconds(nanoseconds: float) -> str:
    return f"~{nanoseconds / 1e6:,.0f} ms"


def enumerated_instead(matching: Matching, order: MatchingOrder, cardinality: Cardinality) -> Matching | None:
    """Return a matching whose rows are all enumerated, where that is cheaper than to find each wanted vertex but once.

    For rows that count once however often they come: from the selective end of a pattern it may be a short way to the
    vertices that are wanted, which else must be bound first.
    """
    if order.cost < _WORTH or not _is_free(matching):
        return None
    enumerated = replace(matching, counted=False, wanted=matching.names)
    return enumerated if matching_order(enumerated, cardinality).cost * _MARGIN <= order.cost else None


def reversed_semi_join(matching: Matching, order: MatchingOrder, cardinality: Cardinality, times: float) -> Join | None:
    """Return a join that matches a pattern once for all of the ``times`` rows that ask whether it exists for them.

    The rows give the bound vertices; the pattern is matched without them, and each row looks its vertices up.
    """
    candidates = 1.0
    for name in matching.bound:
        candidates *= max(cardinality.candidates(name), 1.0)
    asked = min(times, max(candidates, times * candidates / _ROWS_AT_ONCE))
    cost = asked * order.cost
    if not matching.bound or cost < _WORTH or not _is_free(matching):
        return None
    keys = tuple(matching.bound)
    names = (*keys, *matching.names)
    everything = replace(matching, names=names, bound=(), counted=False, wanted=names)
    found = matching_order(everything, cardinality)
    once = found.cost + joining_cost(times, found.rows, 0.0)
    if once * _MARGIN > cost or found.rows > _MOST_HELD:
        return None
    rows = JoinSide(keys, (), Differences(), ())
    pattern = JoinSide(names, tuple(matching.edges), matching.difference, tuple(matching.conditions))
    reason = f"{_milliseconds(once)} for all rows, {_milliseconds(cost)} one by one"
    return Join(rows, pattern, keys, (), (), times, reason)


def _is_free(matching: Matching) -> bool:
    """Tell whether no hint says how to match."""
    hints = matching.hints
    return hints.strategy is None and hints.rule is None and not hints.order and not hints.as_written


# ------------------------------------------------------------ cuts


def _cuts(model: CostModel) -> Iterator[tuple[int, int, int]]:
    """Yield sets of vertices whose removal takes a pattern apart, and the two connected sides with these vertices."""
    for size in range(1, min(_CUT, model.count - 2) + 1):
        for chosen in combinations(range(model.count), size):
            keys = mask_of(chosen)
            parts = _parts(model, model.all & ~keys)
            if not 2 <= len(parts) <= _COMPONENTS:
                continue
            for number in range(1, 1 << (len(parts) - 1)):
                left = keys | mask_of(v for k, part in enumerate(parts) if number >> k & 1 for v in members(part))
                right = model.all & ~left | keys
                if len(_parts(model, left)) == 1 and len(_parts(model, right)) == 1:
                    yield keys, left, right


def _parts(model: CostModel, rest: int) -> list[int]:
    """Return the connected parts of a set of vertices."""
    found = []
    while rest:
        part = news = rest & -rest
        while news:
            least = news & -news
            more = model.adjacent[least.bit_length() - 1] & rest & ~part
            part |= more
            news = news ^ least | more
        found.append(part)
        rest &= ~part
    return found


def _named(names: Sequence[str], mask: int) -> tuple[str, ...]:
    return tuple(names[vertex] for vertex in members(mask))


def _cost_of_rows(matching: Matching, model: CostModel, names: Sequence[str], join: Join) -> float:
    """Return what joining costs beside the two searches, and turn over fewer rows than that where rows are counted."""
    number = {name: place for place, name in enumerate(names)}
    sides = (join.probe, join.build)
    sizes, masks = [], [mask_of(number[name] for name in side.names) for side in sides]
    pairs, tests = model.rows(model.all), 0
    for part, share in model.problem.pairs:  # conditions across both sides are checked on the pairs
        if not any(part & mask == part for mask in masks):
            pairs, tests = pairs / share, tests + 1
    met = pairs
    for side, mask in zip(sides, masks, strict=True):
        rows = every = model.rows(mask)
        if matching.counted:
            wanted = _side_matching(matching, join, side).wanted
            rows = min(rows, model.rows(mask_of(number[name] for name in wanted)))
            met *= rows / max(every, 1e-9)
        sizes.append(rows)
    if matching.counted and any({*side.names}.difference(join.keys).isdisjoint(matching.wanted) for side in sides):
        shared = 1.0  # whether it is there is asked of each key
        for name in join.keys:
            shared *= max(model.problem.candidates[number[name]], 1.0)
        met = min(pairs, sizes[0] * sizes[1] / shared)
    return joining_cost(max(sizes), min(sizes), met) + costs("cpu", "join")["test"] * tests * met


# ------------------------------------------------------------ sides


def _joined(
    matching: Matching,
    cardinality: Cardinality,
    keys: Collection[str],
    left: Collection[str],
    right: Collection[str],
) -> Join:
    """Share a matching out between two sides; the one of fewer candidates is held."""
    nodes, catalog = cardinality.nodes, cardinality.catalog
    sides = (frozenset(left), frozenset(right))

    def place(*names: str) -> int | None:
        return next((k for k, side in enumerate(sides) if side.issuperset(names)), None)

    where = {edge.name: place(*edge.ends) for edge in matching.edges}
    within = sides[0] | sides[1]
    found = [Differences(), Differences()]
    apart: list[Equations] = []
    bound = frozenset(matching.bound)  # their labels are only likely
    for pair in sorted((pair for pair in matching.difference.vertices if pair <= within), key=sorted):
        one, other = sorted(pair)
        at = place(one, other)
        if at is not None:
            found[at].vertices.add(frozenset((one, other)))
        elif bound & pair or may_coincide(catalog, nodes[one].labels, nodes[other].labels):
            apart.append(((one, other),))
    for same in matching.difference.pairs:
        ends = {name for equation in same for name in equation}
        at = place(*ends)
        if at is not None:
            found[at].pairs.append(same)
        elif ends <= within:
            apart.append(same)
    for one, other in sorted(tuple(sorted(pair)) for pair in matching.difference.edges if pair <= where.keys()):
        at = where[one]
        if at is not None and at == where[other]:
            found[at].edges.add(frozenset((one, other)))
        else:
            apart.append(((one, other),))
    conditions: list[list[NamedCondition]] = [[], [], []]
    for condition in matching.conditions:
        at = place(condition.left, condition.right)
        if {condition.left, condition.right} <= within:
            conditions[2 if at is None else at].append(condition)
    made = [
        JoinSide(
            tuple(name for name in (*matching.bound, *matching.names) if name in side),
            tuple(edge for edge in matching.edges if where[edge.name] == k),
            found[k],
            tuple(conditions[k]),
        )
        for k, side in enumerate(sides)
    ]
    if not matching.bound and _held_better(made[0], made[1], keys, matching, cardinality):
        made.reverse()
    return Join(made[0], made[1], tuple(keys), tuple(apart), tuple(conditions[2]), 0.0, "")


def _held_better(
    one: JoinSide, other: JoinSide, keys: Collection[str], matching: Matching, cardinality: Cardinality
) -> bool:
    """Tell whether to hold the first of two sides: it has fewer rows, or alone gives nothing to the result."""
    if matching.counted:
        unused, used = ({*side.names}.difference(keys).isdisjoint(matching.wanted) for side in (one, other))
        if unused != used:
            return unused
    return _candidates(one, cardinality) < _candidates(other, cardinality)


def _candidates(side: JoinSide, cardinality: Cardinality) -> float:
    """Return about how many rows a side has, as if edges were independent."""
    rows = 1.0
    for name in side.names:
        rows *= cardinality.candidates(name)
    for edge in side.edges:
        rows *= cardinality.probability(edge)
    return rows


def _side_matching(matching: Matching, join: Join, side: JoinSide) -> Matching:
    """Return a side as a matching of its own."""
    needed = {*matching.wanted, *join.keys, *join.compared()}
    needed |= {end for edge in side.edges if edge.name in join.compared() for end in edge.ends}
    return replace(
        matching,
        names=side.names,
        edges=side.edges,
        bound=(),
        difference=side.difference,
        conditions=side.conditions,
        wanted=needed & set(side.names),
        symmetric=False,
    )


# ------------------------------------------------------------ hints


def _hinted(matching: Matching, cardinality: Cardinality, order: MatchingOrder) -> Join | None:
    """Return the join that a hint names; nodes that it doesn't name go with the side that they hang on.

    None where the hint speaks of another match.
    """
    assert matching.hints.join is not None
    everything = (*matching.bound, *matching.names)
    asked = [frozenset(side) for side in matching.hints.join]
    if not (asked[0] | asked[1]).issubset(everything):
        return None
    keys = asked[0] & asked[1]
    sides = [set(keys), set(keys)]
    for part in _parts_without(keys, everything, matching.edges):
        places = [k for k, side in enumerate(asked) if side & part]
        if len(places) != 1:
            raise matching.hints.unfollowed(
                "join",
                f"The hint join(…) can't be followed: {', '.join(sorted(part))} "
                + ("would be on both sides." if places else "belongs to neither side."),
                hint="Name on both sides the nodes that they share, and at least one more on each.",
            )
        sides[places[0]] |= part
    if not keys or keys in (sides[0], sides[1]):
        raise matching.hints.unfollowed(
            "join",
            "The hint join(…) can't be followed: the sides need nodes of their own and at least one that both name.",
            hint="Write join(a, b | b, c).",
        )
    bound = set(matching.bound)
    if not bound <= sides[0]:
        sides.reverse()
    if not bound <= sides[0]:
        raise matching.hints.unfollowed(
            "join",
            "The hint join(…) can't be followed: nodes that are bound before the match are on both sides.",
            hint="Leave the hint out.",
        )
    join = _joined(matching, cardinality, sorted(keys, key=everything.index), *sides)
    return replace(join, rows=order.rows, reason="as hinted")


def _parts_without(keys: frozenset[str], names: Sequence[str], edges: Sequence[PatternEdge]) -> list[set[str]]:
    """Return the connected parts that are left of a pattern without ``keys``."""
    parts: list[set[str]] = []
    for name in names:
        if name in keys:
            continue
        linked = {name}.union(*(edge.ends for edge in edges if name in edge.ends)) - keys
        touching = [part for part in parts if part & linked]
        parts = [part for part in parts if not part & linked]
        parts.append(linked.union(*touching))
    return parts

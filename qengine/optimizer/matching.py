"""From the parts of a search to an order of its vertices, by name: states the problem that order.py solves.

Symmetric patterns may be counted or listed one embedding an orbit, by constraints on the order of ids, either way
round. The constraints cut lists, but they also tie vertices together that would else be counted apart: the cost model
decides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import field
from itertools import combinations, product

from qengine._frozen import frozen, record, replace
from qengine.catalog.costs import costs
from qengine.catalog.view import Incidence, TriangleSide
from qengine.optimizer.cardinality import Cardinality, cardinality_of
from qengine.optimizer.difference import Differences, joined_by
from qengine.optimizer.label_chains import chains
from qengine.optimizer.labels import may_coincide
from qengine.optimizer.larger_parts import with_larger_parts
from qengine.optimizer.learned_rows import is_for_other_values, learned_rows
from qengine.optimizer.meetings import corrections
from qengine.optimizer.memory import Lasting
from qengine.optimizer.named_orders import RULES
from qengine.optimizer.noted_orders import NotedOrder, note_order
from qengine.optimizer.order import CostModel, Ordered
from qengine.optimizer.order_problem import Link, Problem, mask_of
from qengine.optimizer.pattern_edges import PatternEdge, known_edge
from qengine.optimizer.peeking import as_known, counting_rare, counts_rare
from qengine.optimizer.same_edges import Edges, left_out, repeated
from qengine.optimizer.search_levels import NamedCondition, as_filter
from qengine.optimizer.squares import squares
from qengine.optimizer.symmetry import NO_SYMMETRY, Symmetry, break_symmetry
from qengine.optimizer.target import is_for_gpu
from qengine.plan.expr import Expr, Literal
from qengine.plan.pattern import NO_HINTS, CardinalitySource, Hints

_COMPARED = 1e6
"""Nanoseconds of one core from which on it is worth knowing what a GPU takes."""

_LONG = 5e6
"""Nanoseconds from which on it is worth looking at what few elements satisfy, for the values at hand alone."""

_MARGIN = 3.0
"""How many times less an order must cost a GPU than the host's to be taken instead: costs are only estimated."""

_MOST_EDGES = 12  # of a pattern whose parts of four nodes and more are looked at
_FEWEST = 1e-3  # rows that a part is taken to have
_OUTCOMES = {"<": {"<"}, "<=": {"<", "="}, "=": {"="}, "<>": {"<", ">"}, ">=": {">", "="}, ">": {">"}}
_TURNED = {"<": ">", ">": "<"}
_LEAST_SHARE = 1e-9  # of pairs that satisfy a condition


@frozen
class MatchingOrder:
    """Names of vertices in the order of binding, how many embeddings are expected, the cost in nanoseconds of one core.

    ``on_gpu``: nanoseconds that a GPU takes to count in this order, None where that isn't asked for, or is little.
    ``reason``: which hint the order comes from, "" for none. ``known``: what was told of cardinalities, "" for nothing.
    """

    names: tuple[str, ...]
    rows: float
    cost: float
    symmetry: Symmetry = NO_SYMMETRY
    reason: str = ""
    known: str = ""
    on_gpu: float | None = None

    def told(self) -> str:
        """Return what EXPLAIN says of it."""
        text = "order " + " → ".join(self.names) if self.names else "check only"
        text += f" {self.reason}" if self.reason and self.names else ""
        if self.symmetry.orbits > 1:
            done = "found" if self.symmetry.images else "counted"
            text += f"; each of {self.symmetry.orbits} symmetric embeddings {done} once"
        return f"{text}; {self.known}" if self.known else text


@frozen
class Matching:
    """What is to be matched: ``names`` given that ``bound`` are bound already, over ``edges`` between them.

    ``wanted``: the vertices that are emitted or that emitted relationships join. With ``counted`` the others are only
    counted. ``symmetric``: a symmetric pattern may be counted by orbits, for all that is emitted, or listed where it is
    ``listed``. ``hints``
    may say an order.
    """

    names: Sequence[str]
    edges: Sequence[PatternEdge]
    bound: Sequence[str]
    difference: Differences
    conditions: Sequence[NamedCondition] = ()
    wanted: Collection[str] = ()
    counted: bool = False
    symmetric: bool = False
    listed: bool = False
    hints: Hints = NO_HINTS


def matching_order(matching: Matching, cardinality: Cardinality) -> MatchingOrder:
    """Return the cheapest order of a matching's vertices, and which symmetric embeddings to leave out."""
    parts = _parts(matching, cardinality)
    if note_order() is not None:
        return _matching_order(matching, cardinality, parts)
    asked = frozenset(matching.wanted), matching.counted, matching.symmetric, matching.listed
    found = parts.orders.get(asked)
    if found is None:
        found = parts.orders[asked] = _matching_order(matching, cardinality, parts)
    return found


@record
class _Parts:
    """What is known of all matchings of the same parts: the problem, and orders by what is wanted of them.

    It outlives the statement that asked first: nothing of it says where in a text something stands. ``given``: what
    its key names by identity.
    """

    given: tuple[object, ...]
    stated: tuple[tuple[str, ...], Problem, str] | None = None
    orders: dict[object, MatchingOrder] = field(default_factory=dict)


_matchings = Lasting()


def _parts(matching: Matching, cardinality: Cardinality) -> _Parts:
    """Return what is known of a matching's parts, whichever statement has asked."""
    catalog, nodes = cardinality.catalog, cardinality.nodes
    names = (*matching.bound, *matching.names)
    given = learned_rows(catalog), matching.hints, costs("cpu", "search"), costs("gpu", "depth_first")
    key = (
        (counts_rare(), is_for_gpu(), is_for_other_values(catalog), len(matching.bound), *map(id, given)),
        names,
        as_known(tuple([nodes[name] for name in names])),
        tuple([known_edge(edge) for edge in matching.edges]),
        tuple(matching.conditions),
        matching.difference.content(),
    )
    kept = _matchings.of(catalog)
    found = kept.find(key)
    if found is None:
        size = len(names) + len(matching.edges)
        found = kept.get(key, lambda: (_Parts(given), size))
    else:
        for name in names:  # what is known of these is noted for this statement, too
            cardinality.candidates(name)
        for edge in matching.edges:
            cardinality.admitted(edge)
    parts: _Parts = found[0]
    return parts


def _matching_order(matching: Matching, cardinality: Cardinality, parts: _Parts) -> MatchingOrder:
    if (alone := _of_one(matching, cardinality)) is not None:
        return alone
    found = _ordered(matching, cardinality, parts)
    if found.cost < _LONG or counts_rare() or not _has_conditions(matching, cardinality):
        return found
    with counting_rare():
        if not counts_rare():
            return found
        again = cardinality_of(cardinality.catalog, cardinality.nodes)
        return _ordered(matching, again, _parts(matching, again))


def _has_conditions(matching: Matching, cardinality: Cardinality) -> bool:
    """Tell whether anything is asked of some node but its labels."""
    return any(cardinality.nodes[name].predicates for name in (*matching.names, *matching.bound))


def _ordered(matching: Matching, cardinality: Cardinality, parts: _Parts) -> MatchingOrder:
    names, problem, known = _told_problem(matching, cardinality, parts)
    model = CostModel(problem)
    hinted, reason = _hinted(matching, cardinality)
    if reason:
        number = {name: place for place, name in enumerate(names)}
        order = (*hinted, *(name for name in _numbered(matching, cardinality) if name not in hinted))
        vertices = tuple(number[name] for name in order)
        found = Ordered(vertices, model.cost(vertices))
    else:
        found = model.best_order()
    found, symmetry, used = _without_symmetric(matching, cardinality, names, model, found)
    if (notes := note_order()) is not None and not matching.bound:
        notes.append(_noted(matching, cardinality, names, model))
    compared = matching.counted and found.cost > _COMPARED
    each, on_gpu, on_host = _multiplicities(matching, cardinality)
    return MatchingOrder(
        tuple(names[vertex] for vertex in found.vertices),
        model.rows(model.all) * (1.0 if known else each),
        found.cost * on_host,
        symmetry,
        reason,
        known,
        used.on("gpu").cost(found.vertices) * on_gpu if compared else None,
    )


def _multiplicities(matching: Matching, cardinality: Cardinality) -> tuple[float, float, float]:
    """Return how many embeddings are expected of the same vertices, and how many of these a GPU and the host find.

    Relationships are found one by one where they are compared or have conditions; those of the last one are counted at
    once. On the host one stands for those that are alike, unless they are emitted, as they may be between such ends.
    """
    compared = matching.difference.edges.members()
    wanted = set(matching.wanted)
    all_of, apart, most = 1.0, {"gpu": 1.0, "cpu": 1.0}, {"gpu": 1.0, "cpu": 1.0}
    for edge in matching.edges:
        times = cardinality.multiplicity(edge)
        all_of *= times
        conditions = bool(edge.relationship.predicates)
        emitted = not matching.counted or wanted.issuperset(edge.ends)
        for device, each in (("gpu", edge.name in compared), ("cpu", edge.name in compared and emitted)):
            if each or conditions:
                apart[device] *= times
                most[device] = max(most[device], times)
    return all_of, apart["gpu"] / most["gpu"], apart["cpu"] / most["cpu"]


def _of_one(matching: Matching, cardinality: Cardinality) -> MatchingOrder | None:
    """Return the order of a single vertex without hints, at the cost that the model gives it; None for others."""
    if len(matching.names) != 1 or matching.bound or matching.edges or matching.hints is not NO_HINTS:
        return None
    if note_order() is not None or learned_rows(cardinality.catalog) is not None:
        return None
    (name,) = matching.names
    candidates = cardinality.candidates(name)

    def cost(constants: Mapping[str, float]) -> float:
        if matching.counted and name not in matching.wanted:
            return constants["locate"]
        return constants["locate"] + constants["bind"] * candidates + constants["row"] * candidates

    host = cost(costs("cpu", "search"))
    compared = matching.counted and host > _COMPARED
    return MatchingOrder((name,), candidates, host, on_gpu=cost(costs("gpu", "depth_first")) if compared else None)


def order_on_gpu(matching: Matching, order: MatchingOrder, cardinality: Cardinality) -> MatchingOrder:
    """Return the order that costs a GPU least, where that is far less than this one does; else this one."""
    if order.reason or order.on_gpu is None:
        return order
    names, problem = order_problem(matching, cardinality)
    model = CostModel(problem, device="gpu")
    found, symmetry, _ = _without_symmetric(matching, cardinality, names, model, model.best_order())
    if _MARGIN * found.cost > order.on_gpu:
        return order
    return replace(order, names=tuple(names[vertex] for vertex in found.vertices), symmetry=symmetry, on_gpu=found.cost)


def _without_symmetric(
    matching: Matching, cardinality: Cardinality, names: Sequence[str], model: CostModel, found: Ordered
) -> tuple[Ordered, Symmetry, CostModel]:
    """Leave symmetric embeddings out where that costs less; return what the order costs then, and the model of that."""
    symmetry, used = NO_SYMMETRY, model
    if matching.symmetric and (matching.listed or names[found.vertices[-1]] not in matching.wanted):
        number = {name: place for place, name in enumerate(names)}
        plain = tuple(names[vertex] for vertex in found.vertices)
        fixed = () if matching.listed else matching.wanted
        broken = break_symmetry(plain, cardinality.nodes, matching.edges, matching.difference, matching.listed, fixed)
        for each in (broken, broken.turned()) if broken.orbits > 1 else ():
            less = tuple((number[small], number[big]) for big, small in each.greater)
            constrained = model.constrained(less)
            cost = constrained.cost(found.vertices)
            if cost < found.cost:
                found, symmetry, used = replace(found, cost=cost), each, constrained
    return found, symmetry, used


def _counted(parts: int, source: CardinalitySource) -> str:
    if not parts:
        return ""
    return f"{parts} {'cardinality' if parts == 1 else 'cardinalities'} {source.reason}"


def order_problem(matching: Matching, cardinality: Cardinality) -> tuple[tuple[str, ...], Problem]:
    """Return the names of a matching's vertices by their numbers, and the problem of ordering these."""
    names, problem, _ = _told_problem(matching, cardinality, _parts(matching, cardinality))
    return names, problem


def _told_problem(matching: Matching, cardinality: Cardinality, parts: _Parts) -> tuple[tuple[str, ...], Problem, str]:
    """Return what ``order_problem`` does, and what EXPLAIN says of cardinalities that are better known."""
    if parts.stated is None:
        parts.stated = _stated(matching, cardinality)
    names, problem, told = parts.stated
    wanted = mask_of(place for place, name in enumerate(names) if name in matching.wanted)
    if problem.wanted != wanted or problem.counted != matching.counted:
        problem = replace(problem, wanted=wanted, counted=matching.counted)
    return names, problem, told


def _stated(matching: Matching, cardinality: Cardinality) -> tuple[tuple[str, ...], Problem, str]:
    names = (*matching.bound, *_numbered(matching, cardinality))
    number = {name: place for place, name in enumerate(names)}
    problem = _problem(matching, names, number, cardinality)
    found: Mapping[frozenset[str], float] = {}
    source = matching.hints.known or learned_rows(cardinality.catalog)
    if source is not None:
        nodes = {name: cardinality.nodes[name] for name in number}
        conditions = tuple(map(as_filter, matching.conditions))
        found = source.known(nodes, [edge.relationship for edge in matching.edges], conditions)
    known = found if matching.hints.known is not None else {**_mutual_rows(matching, cardinality), **found}
    told = "" if source is None else _counted(sum(part.isdisjoint(matching.bound) for part in found), source)
    problem = _with_known_rows(problem, known, number) if known else problem
    if counts_rare():
        problem = _with_meetings(matching, problem, number, cardinality)
    edges = _free(matching)
    if 2 < len(edges) <= _MOST_EDGES:
        parts = (*squares(edges, matching.difference, cardinality), *chains(edges, matching.difference, cardinality))
        problem = with_larger_parts(problem, parts, number)
    return names, problem, told


def _noted(matching: Matching, cardinality: Cardinality, names: Sequence[str], model: CostModel) -> NotedOrder:
    return NotedOrder(
        {name: cardinality.nodes[name] for name in names},
        tuple(edge.relationship for edge in matching.edges),
        tuple(map(as_filter, matching.conditions)),
        {name: place for place, name in enumerate(names)},
        model,
    )


def _mutual_rows(matching: Matching, cardinality: Cardinality) -> dict[frozenset[str], float]:
    """Return the rows of pairs that relationships of one type join both ways: many more than chance would have."""
    if len(matching.edges) < 2:
        return {}
    between: dict[frozenset[str], list[PatternEdge]] = {}
    for edge in matching.edges:
        between.setdefault(frozenset(edge.ends), []).append(edge)
    found = {}
    for pair, edges in between.items():
        if len(pair) != 2 or len(edges) != 2 or any(edge.symmetric or edge.relationship.predicates for edge in edges):
            continue
        one, other = edges
        if one.ends != other.ends[::-1] or one.types != other.types or len(one.types) != 1:
            continue
        every = cardinality.catalog.mutual_pairs(one.types[0].name)
        if every is not None:
            found[frozenset(pair)] = every * cardinality.share(one)
    return found


def _with_known_rows(problem: Problem, known: Mapping[frozenset[str], float], number: Mapping[str, int]) -> Problem:
    """Return a problem that knows the rows of some parts, but for those that the input rows give."""
    rows = {mask_of(number[name] for name in part): max(found, _FEWEST) for part, found in known.items()}
    rows = {part: found for part, found in rows.items() if not part & problem.bound}
    single = {part.bit_length() - 1: found for part, found in rows.items() if part & (part - 1) == 0}
    candidates = [single.get(vertex, found) for vertex, found in enumerate(problem.candidates)]
    problem = replace(problem, candidates=candidates)
    model = CostModel(replace(problem, pairs=()))  # which aren't asked of what has a known part with both nodes
    parts = sorted(rows, key=lambda part: (-part.bit_count(), part))
    return replace(problem, known=[(part, rows[part] / model.rows(part)) for part in parts])


def _hinted(matching: Matching, cardinality: Cardinality) -> tuple[tuple[str, ...], str]:
    """Return the order that the hints say, perhaps only of the first vertices, and how they say it ("": not at all)."""
    hints = matching.hints
    if hints.rule is not None:
        return RULES[hints.rule](matching.names, matching.edges, cardinality), f"by {hints.rule}"
    if hints.as_written and not hints.order:
        return tuple(matching.names), "as written"
    found = tuple(name for name in hints.order if name in matching.names)
    return found, "as hinted" if found else ""


def _numbered(matching: Matching, cardinality: Cardinality) -> list[str]:
    """Return the names so that each, where it can be, is linked to one before it; those of few candidates first."""
    if len(matching.names) == 1:
        return list(matching.names)
    near: dict[str, set[str]] = {name: set() for name in (*matching.names, *matching.bound)}
    for edge in matching.edges:
        start, end = edge.ends
        near[start].add(end)
        near[end].add(start)
    linked = set().union(*(near[name] for name in matching.bound))
    left = sorted(matching.names, key=cardinality.candidates)
    found = []
    while left:
        name = next((each for each in left if each in linked), left[0])
        left.remove(name)
        found.append(name)
        linked |= near[name]
    return found


def _problem(matching: Matching, names: Sequence[str], number: dict[str, int], cardinality: Cardinality) -> Problem:
    nodes = cardinality.nodes
    different = _different(matching, number, cardinality)
    walked = {number[name] for edge in matching.edges if edge.relationship.predicates for name in edge.ends}
    entangled = _entangled(matching, number)
    filtered = walked | {number[name] for name in names if nodes[name].predicates}
    filtered.update(vertex for vertex, others in enumerate(entangled) if others)  # what is compared is, too
    for one, other in different:
        if one in walked or other in walked:  # whose relationships are looked at one by one: there is no formula
            entangled[one] |= 1 << other
            entangled[other] |= 1 << one
    edges = [edge for edge in matching.edges if edge.ends[0] != edge.ends[1]]
    links = [cardinality.link(edge, number) for edge in edges]
    sorts: list[tuple[int, int]] = []
    meetings: list[tuple[int, int, int]] = []
    together: list[float] = []
    if len(links) > 1:
        at: list[dict[Incidence, list[PatternEdge]]] = [{} for _ in names]
        for edge, link in zip(edges, links, strict=True):
            at[link.one].setdefault(link.kinds[0], []).append(edge)
            at[link.other].setdefault(link.kinds[1], []).append(edge)
        joined = joined_by(edges)
        again = [repeated(found, name, matching.difference, joined) for name, found in zip(names, at, strict=True)]
        links = [_conditioned(link, names, at, again, cardinality) for link in links]
        sorts, meetings, together = _sorts(links, names, at, matching.difference, joined, cardinality)
    candidates = [cardinality.candidates(name) for name in names]
    if len(edges) < len(matching.edges):
        looping = {edge.ends[0]: cardinality.looping(edge) for edge in matching.edges if edge.ends[0] == edge.ends[1]}
        for name, share in looping.items():
            candidates[number[name]] = max(candidates[number[name]] * share, _FEWEST)
    return Problem(
        candidates=candidates,
        labelled=[cardinality.labelled(name) for name in names],
        filtered=frozenset(filtered),
        walked=frozenset(walked),
        links=links,
        different=different,
        entangled=entangled,
        triangles=_triangles(links, names, cardinality) if len(links) > 2 else [],
        bound=mask_of(range(len(matching.bound))),
        wanted=mask_of(number[name] for name in matching.wanted),
        counted=matching.counted,
        sorts=sorts,
        meetings=meetings,
        together=together,
        pairs=_joined_pairs(edges, matching, number, cardinality) + _apart(matching, number, cardinality),
        kinds=[name if nodes[name].predicates else (nodes[name].labels,) for name in names],
    )


def _different(matching: Matching, number: Mapping[str, int], cardinality: Cardinality) -> list[tuple[int, int]]:
    """Return the pairs of vertices that must differ, but for those that no relationship or label lets coincide."""
    if not (vertices := matching.difference.vertices):
        return []
    labels = {name: cardinality.nodes[name].labels for name in number}
    return [
        (number[one], number[other])
        for one, other in map(tuple, vertices - joined_by(matching.edges))
        if one in number and other in number and may_coincide(cardinality.catalog, labels[one], labels[other])
    ]


def _conditioned(
    link: Link, names: Sequence[str], at: Sequence[Edges], again: Sequence[Set[Incidence]], cardinality: Cardinality
) -> Link:
    """Return a link with the degrees of what conditions admit, at ends with several edges, where these multiply.

    ``again``: at each vertex the kinds of which two edges may be the same relationship.
    """
    degrees = [link.there, link.back]
    for side, vertex in enumerate((link.one, link.other)):
        if len(at[vertex]) > 1 or len(at[vertex][link.kinds[side]]) > 1:
            kind = link.kinds[side]
            degrees[side] = cardinality.unequal(names[vertex], kind, degrees[side], kind in again[vertex])
    there, back = degrees
    return link if there is link.there and back is link.back else replace(link, there=there, back=back)


def _joined_pairs(
    edges: Sequence[PatternEdge], matching: Matching, number: Mapping[str, int], cardinality: Cardinality
) -> list[tuple[int, float]]:
    """Return the pairs of nodes that edges join, and how many times as many matches as by degrees conditions leave.

    Those are conditions on the ends, which may go together, on the relationship, and on both ends: the first edge's
    that joins them. The lists that a search reads are as long with them as without.
    """
    across = _across(matching)
    factors: dict[int, float] = {}
    for edge in edges:
        factor = cardinality.joined(edge, across.pop(frozenset(edge.ends), ()))
        if factor != 1.0:
            pair = mask_of(number[name] for name in edge.ends)
            factors[pair] = max(factors.get(pair, 1.0) * factor, _LEAST_SHARE)
    return list(factors.items())


def _across(matching: Matching) -> dict[frozenset[str], list[Expr]]:
    """Return the conditions on two nodes by the names of both, those that compare the same as one condition.

    What no two values satisfy, as ``a.x = b.x AND a.x > b.x``, is ``false``.
    """
    outcomes: dict[tuple[str, str, str, str], set[str]] = {}
    for each in matching.conditions:
        sides, found = (each.left, each.left_key, each.right, each.right_key), _OUTCOMES[each.op]
        if sides[:2] > sides[2:]:
            sides, found = (*sides[2:], *sides[:2]), {_TURNED.get(outcome, outcome) for outcome in found}
        outcomes.setdefault(sides, {"<", "=", ">"}).intersection_update(found)
    found_of: dict[frozenset[str], list[Expr]] = {}
    for (left, left_key, right, right_key), left_over in outcomes.items():
        op = next((op for op, each in _OUTCOMES.items() if each == left_over), None)
        condition = Literal(False) if op is None else as_filter(NamedCondition(op, left, left_key, right, right_key))
        found_of.setdefault(frozenset((left, right)), []).append(condition)
    return found_of


def _apart(matching: Matching, number: Mapping[str, int], cardinality: Cardinality) -> list[tuple[int, float]]:
    """Return the pairs of nodes that have conditions and no edge, and which share of them satisfies these."""
    joined = {frozenset(edge.ends) for edge in matching.edges}
    found: list[tuple[int, float]] = []
    if not matching.conditions:
        return found
    across = _across(matching)
    differ = "relationships" if matching.difference.edges else ""
    for pair, conditions in across.items():
        if pair not in joined and len(pair) == 2 and all(name in number for name in pair):
            given = [each for names, others in across.items() if names != pair for each in others]
            apart = "nodes" if pair in matching.difference.vertices else differ
            share = cardinality.apart(conditions, matching.edges, given, apart)
            found.append((mask_of(number[name] for name in pair), max(share, _LEAST_SHARE)))
    return found


def _with_meetings(
    matching: Matching, problem: Problem, number: Mapping[str, int], cardinality: Cardinality
) -> Problem:
    """Return a problem that knows what conditions on two relationships that meet, and their nodes, are worth."""
    differ = "relationships" if matching.difference.edges else ""
    across = [each for conditions in _across(matching).values() for each in conditions]

    def apart(outer: frozenset[str]) -> str:
        return "nodes" if outer in matching.difference.vertices else differ

    model: CostModel | None = None

    def rows(part: int) -> float:
        nonlocal model
        model = CostModel(problem) if model is None else model
        return model.rows(part)

    three = corrections(_free(matching), problem, number, across, apart, rows, cardinality)
    return replace(problem, pairs=[*three, *problem.pairs]) if three else problem


def _free(matching: Matching) -> list[PatternEdge]:
    """Return the edges between nodes that no rows give."""
    return [edge for edge in matching.edges if not {*edge.ends} & {*matching.bound}]


def _entangled(matching: Matching, number: Mapping[str, int]) -> list[int]:
    """Return for each vertex that is compared with some others, but for being the same, the set of these and itself."""
    difference = matching.difference
    if not (matching.conditions or difference.pairs or difference.edges.names):
        return [0] * len(number)
    bit = {name: 1 << place for name, place in number.items()}
    found = dict.fromkeys(number, 0)
    for (a, b), (c, d) in difference.pairs:
        if a in bit and b in bit and c in bit and d in bit:
            mask = bit[a] | bit[b] | bit[c] | bit[d]
            for name in (a, b, c, d):
                found[name] |= mask
    for each in matching.conditions:
        if each.left in bit and each.right in bit:
            for name in (each.left, each.right):
                found[name] |= bit[each.left] | bit[each.right]
    ends = {edge.name: edge.ends for edge in matching.edges}
    pairs = difference.edges
    masks = {name: bit[one] | bit[other] for name, (one, other) in ends.items()}
    for edge, others in pairs.gathered([masks.get(name, 0) for name in pairs.names]):
        if others and edge in ends:
            for name in ends[edge]:
                found[name] |= masks[edge] | others
    return list(found.values())


def _sorts(
    links: Sequence[Link],
    names: Sequence[str],
    at: Sequence[Edges],
    difference: Differences,
    joined: Collection[frozenset[str]],
    cardinality: Cardinality,
) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]], list[float]]:
    """Return what ``Problem`` knows of the sorts of relationships at each vertex: nothing where there is one sort."""
    numbers = [{kind: number for number, kind in enumerate(found)} for found in at]
    sorts = [(numbers[link.one][link.kinds[0]], numbers[link.other][link.kinds[1]]) for link in links]
    meetings: list[tuple[int, int, int]] = []
    together: list[float] = []
    for vertex, found in enumerate(at):
        if len(found) > 1:
            meetings += [(vertex, one, other) for one, other in combinations(range(len(found)), 2)]
            common = list(left_out(found, names[vertex], difference, joined))
            together += cardinality.together(names[vertex], tuple(found), common)
    return (sorts, meetings, together) if meetings else ([], [], [])


def _triangles(
    links: Sequence[Link], names: Sequence[str], cardinality: Cardinality
) -> list[tuple[tuple[int, int, int], tuple[float, float, float]]]:
    """Return the triangles that relationships make, with how much more likely each side is where the others are."""
    near = [0] * len(names)
    for link in links:
        near[link.one] |= 1 << link.other
        near[link.other] |= 1 << link.one
    if not any(near[link.one] & near[link.other] for link in links):
        return []
    between: dict[tuple[int, int], list[TriangleSide]] = {}
    after: dict[int, set[int]] = {}
    for link in links:
        one, other, side = link.one, link.other, link.kinds
        if one > other:
            one, other, side = other, one, (side[1], side[0])
        found = between.setdefault((one, other), [])
        if side not in found:
            found.append(side)
        after.setdefault(one, set()).add(other)
    triangles = []
    for one, others in sorted(after.items()):
        for other in sorted(others):
            for third in sorted(others.intersection(after.get(other, ()))):
                of = names[one], names[other], names[third]
                ways = product(between[one, other], between[other, third], between[one, third])
                triangles += [((one, other, third), cardinality.closing(of, three)) for three in ways]
    return triangles

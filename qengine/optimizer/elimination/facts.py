"""What rows of the kernel table go by (``plan.kernels.row.Facts``): what a catalogue settles, and estimates.

Estimates are from whole types, labels left aside: matrices are read whole, so that their entries and the squares of
their rows' lengths say what a step takes. Only forests leave out vertices that a vector of labels doesn't have.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial, wraps
from math import exp, inf, log, sqrt
from types import MappingProxyType
from typing import Any, TypeVar, cast

from qengine.catalog.costs import costs
from qengine.catalog.view import CatalogView, EdgeStatistics, RelationshipTypeInfo
from qengine.optimizer.labels import vertex_count
from qengine.optimizer.selectivity import selectivity
from qengine.optimizer.unjoined import Element, share_of_one
from qengine.plan.elimination import (
    VALUED,
    ArcEnds,
    AtPairs,
    EndRows,
    MaskedForest,
    MaskedProduct,
    Matrix,
    Neighbourhoods,
    NodeIndicator,
    Pairs,
    Product,
    Relation,
    RootedForest,
    Shared,
    Step,
    Term,
    Turned,
    Values,
    arcs_in,
    domain_of,
    is_symmetric,
    operands,
)
from qengine.plan.expr import Comparison, Expr, Property, Variable
from qengine.plan.pattern import Direction, LabelExpr, LabelIs, LabelOr
from qengine.plan.traverse import substitute

_UNEVEN = 8.0
"""Times the square of the average degree among neighbours, the average of its square."""


_NOT_ASKED = object()
Method = TypeVar("Method", bound=Callable[..., Any])


def _once(method: Method) -> Method:
    """Have a method find each answer once for all devices: it stays the same while a program grows."""
    name = method.__name__

    @wraps(method)
    def known(self: ProgramFacts, *asked: Hashable) -> Any:
        key = name, *asked
        answers = self.answers
        found = answers.get(key, _NOT_ASKED)
        if found is _NOT_ASKED:
            found = answers[key] = method(self, *asked)
        return found

    return cast("Method", known)


class ProgramFacts:
    """Facts of one program on one graph, for one device; steps may be added to the program at any time.

    Parameters
    ----------
    terms
        What is asked for; None while a program grows: then each step that nothing reads is only summed, unless there
        are ``outputs``.

    ``given``: totals that are found by reading others than their own steps, and for each what is read. ``answers``:
    what was found by now.
    """

    def __init__(
        self,
        catalog: CatalogView,
        steps: Sequence[Step],
        device: str,
        terms: Sequence[Term] | None = None,
        *,
        outputs: bool = False,
    ) -> None:
        self.catalog = catalog
        self.steps = steps
        self.device = device
        self.take: Mapping[str, float] = costs(device, "elimination")
        self._vertices = float(max(catalog.vertex_count, 1))
        self.totals = None if terms is None else {place for term in terms for place in term.totals}
        self.outputs = None if terms is None else {term.output for term in terms}
        self._any_output = outputs
        self._ends = {place for term in terms or () for place in (*term.totals, term.output) if place is not None}
        self.given: Mapping[int, Sequence[int]] = {}
        self._readers: list[list[int]] = []
        self._seen, self._has_arcs = 0, False
        self.answers: dict[tuple[Any, ...], Any] = {}

    def on(self, device: str) -> ProgramFacts:
        """Return the facts for another device; they share what was found."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.device = device
        other.take = costs(device, "elimination")
        other.given = {}
        return other

    # ------------------------------------------------------------ what is settled

    @property
    def vertices(self) -> float:
        """How many numbers a vector has: one for each vertex, or for each arc of some relation."""
        self._look_for_arcs()
        return self._vertices

    @property
    def has_arcs(self) -> bool:
        """Whether vectors have numbers for arcs, too, so that what the graph keeps by vertices isn't taken."""
        self._look_for_arcs()
        return self._has_arcs

    def _look_for_arcs(self) -> None:
        """Take note of the arcs that steps link which were added since."""
        if self._seen < len(self.steps):
            found, self._seen = arcs_in(self.steps[self._seen :]), len(self.steps)
            self._has_arcs = self._has_arcs or bool(found)
            self._vertices = max([self._vertices, *map(self.relation_entries, found)])

    def readers(self, place: int) -> Sequence[int]:
        """Return the steps that read a step."""
        while (reader := len(self._readers)) < len(self.steps):
            self._readers.append([])
            for each in dict.fromkeys(operands(self.steps[reader])):
                self._readers[each].append(reader)
        return self._readers[place]

    def is_output(self, place: int) -> bool:
        """Tell whether the numbers of a step are asked for, not only their sum."""
        return self._any_output if self.outputs is None else place in self.outputs

    def only_summed(self, place: int) -> bool:
        """Tell whether nothing but the sum of a step's numbers is asked for."""
        asked = self.totals is None or place in self.totals
        return asked and not self.is_output(place) and not self.readers(place)

    def needed(
        self, given: Mapping[int, Sequence[int]], supplied: Mapping[int, Sequence[int]] = MappingProxyType({})
    ) -> frozenset[int]:
        """Return the steps that are run where some totals are found by reading others than their own steps.

        ``supplied``: of steps whose numbers are found so, what is read.
        """
        given = {**self.given, **given}
        ends = [*(self._ends - given.keys()), *(place for places in given.values() for place in places)]
        if not supplied:
            return frozenset[int]().union(*map(self._needs, ends))
        found: set[int] = set()
        known: set[int] = set()
        while ends:
            place = ends.pop()
            if place not in known:
                known.add(place)
                ends += supplied.get(place) or operands(self.steps[place])
                if place not in supplied:
                    found.add(place)
        return frozenset(found)

    @_once
    def _needs(self, place: int) -> frozenset[int]:
        """Return a step and those that it needs."""
        return frozenset((place,)).union(*map(self._needs, operands(self.steps[place])))

    def form(self, place: int) -> str:
        """Return how the lists of a matrix are stored; all graphs have them whole by now."""
        return "whole"

    @_once
    def is_stored(self, place: int) -> bool:
        """Tell whether a matrix is one of the graph's own, with a row for each vertex."""
        step = self.steps[place]
        if not isinstance(step, Matrix) or len(step.relations) != 1 or not self._is_single_type(step.relations[0]):
            return False
        known = bool(self._infos(step.relations[0])) and self.has_rows(step.relations[0])
        known = known and self.form(place) == "whole"
        return known and not (step.once and not self.links_once(place))

    @_once
    def links_once(self, place: int) -> bool | None:
        """Tell whether a matrix links each pair at most once, and has no numbers but 1; None where running tells."""
        match self.steps[place]:
            case Matrix(relations=relations):
                simple = [self._is_simple_relation(each) for each in relations]
                return False if False in simple else None if None in simple else True
            case Neighbourhoods(by=by) | EndRows(by=by):
                return self.links_once(by)
        return False

    @_once
    def is_simple(self, place: int) -> bool | None:
        """Tell whether a matrix is that of a simple graph; None where only running tells."""
        match self.steps[place]:
            case Matrix(relations=relations):
                if _of_values(relations) or not (is_symmetric(relations) or all(map(self._is_undirected, relations))):
                    return False
                if any(info.loops for each in relations for info in self._infos(each)):
                    return None if len(relations) == 1 and relations[0].conditions else False
                return self.links_once(place)
            case Neighbourhoods(first=first, second=second, by=by):
                return self.is_simple(by) if first == second else False
        return False

    @_once
    def is_plain(self, place: int) -> bool | None:
        """Tell whether a matrix links pairs once and no vertex with itself, without numbers; None: running tells."""
        step = self.steps[place]
        if not isinstance(step, Matrix) or _of_values(step.relations):
            return False
        if all(any(info.loops for info in self._infos(each)) for each in step.relations):
            return None if any(each.conditions for each in step.relations) else False
        return self.links_once(place)

    @_once
    def most_entries(self, place: int) -> float:
        """Return how many pairs a matrix of relationships links at the most."""
        step = self.steps[place]
        assert isinstance(step, Matrix)
        if _of_values(step.relations):
            return self.vertices
        return min(2.0 * sum(info.count for info in self._infos(each)) for each in step.relations)

    def _is_simple_relation(self, relation: Relation) -> bool | None:
        """Tell whether a relation joins two vertices at most once, seen from its direction."""
        infos = self._infos(relation)
        both = relation.direction is Direction.BOTH
        repeats = any(info.parallel for info in infos)
        unknown = len(infos) > 1 or any(
            both and not info.undirected and self.catalog.antiparallel(info.name) for info in infos
        )
        if repeats:
            return None if relation.conditions else False
        return None if unknown else True

    def _infos(self, relation: Relation) -> list[RelationshipTypeInfo]:
        return [info for name in relation.types if (info := self.catalog.relationship_type(name)) is not None]

    # ------------------------------------------------------------ estimates

    @_once
    def size(self, place: int) -> float:
        """Return how many elements a vector, or a matrix's rows, have numbers of."""
        domain = domain_of(self.steps, place)
        return self.vertices if domain is None else self.entries(domain)

    def has_rows(self, relation: Relation) -> bool:
        """Tell whether all lists of a relation stand in order of the vertices."""
        infos = self._infos(relation)
        ways = {Direction.OUT: (0,), Direction.IN: (1,)}.get(relation.direction, (0, 1))
        return all(info.dense[way] for info in infos for way in ways)

    def _is_single_type(self, relation: Relation) -> bool:
        return not relation.conditions and len(relation.types) == 1 and not self._is_union(relation)

    @_once
    def lists_with_lengths(self, place: int) -> int | None:
        """Return of how many lists the lengths tell each sum of a matrix's rows; None where lists must be read.

        A self-loop stands in both lists of its vertex and counts once.
        """
        step = self.steps[place]
        if not isinstance(step, Matrix) or len(step.relations) > 1 or step.relations[0].conditions:
            return None
        if _of_values(step.relations):
            return None
        relation = step.relations[0]
        infos = self._infos(relation)
        if relation.direction is Direction.BOTH and any(info.loops and not info.undirected for info in infos):
            return None
        return sum(2 if relation.direction is Direction.BOTH and not info.undirected else 1 for info in infos)

    @_once
    def first_rank(self, place: int) -> float:
        """Return the average rank of the first end of a pair of a matrix, where vertices go by degree.

        Degrees are taken to be lognormal of the spread s that their squares say: then it is the vertices times the
        chance that three normal variables are Z - s > X, Y, for which 1/3 exp(-0.81 s - 0.265 s^2) is close.
        """
        step = self.steps[place]
        assert isinstance(step, Matrix)
        relation = step.relations[0]
        vertices = max(1.0, sum(float(found.sources) for found in self._statistics(relation)))
        mean = self.entries(place) / vertices
        spread = sqrt(max(0.0, log(self._squares(place, False) / vertices / mean**2)))
        return vertices / 3 * exp(-0.81 * spread - 0.265 * spread**2)

    @_once
    def share(self, place: int) -> float:
        """Return about which share of a vector's numbers aren't 0, as far as labels say."""
        return self._share(place, False)

    @_once
    def _share(self, place: int, asked: bool) -> float:
        """Return such a share, with ``asked`` as far as predicates say, too."""
        match self.steps[place]:
            case NodeIndicator(nodes=nodes):
                return min((self._share_of(labels, each if asked else ()) for _, labels, each in nodes), default=1.0)
            case Product(factors=factors):
                return min(self._share(each, asked) for each in factors)
        return 1.0

    def _share_of(self, labels: LabelExpr | None, predicates: tuple[Expr, ...]) -> float:
        share = selectivity(predicates, self.catalog, "node", labels) if predicates else 1.0
        return share * vertex_count(self.catalog, labels) / self.vertices

    def forest(self, forest: RootedForest | MaskedForest | Pairs) -> tuple[float, float, float]:
        """Return how many numbers the nodes of a forest add to sparse vectors, over all roots, and how many are read.

        The third is how many the last node's vectors hold.
        """
        nodes, tops = forest.nodes, forest.tops if isinstance(forest, RootedForest) else ()
        vector = None if isinstance(forest, MaskedForest) else forest.vector
        roots = self.vertices * (1.0 if vector is None else self._share(vector, True))  # the others are left out
        shares = [1.0 if node.vector is None else self.share(node.vector) for node in nodes]
        scattered = read = 0.0
        reach: list[float] = []  # of each node: what its sparse vectors hold, over all roots
        for place, node in enumerate(nodes):
            held = roots * self.vertices
            below = list(dict.fromkeys(node.nodes))
            last = len(node.nodes) == len(below) == 2 and place in tops and node.start is None and node.vector is None
            for child in below:
                under = nodes[child]
                assert under.link is not None
                if under.start is not None and not under.nodes:
                    pushed = self.meetings(under.start, under.link) * self._part(under.start, roots)
                    pushed *= self._part(under.link, shares[child] * self.vertices)
                else:
                    pushed = reach[child] * self.entries(under.link) / self._filled(under.link)
                pushed = min(pushed, roots * self.entries(under.link))
                if last and child == below[-1]:
                    read += pushed
                else:
                    scattered += pushed
                held = min(held, pushed)
            if node.start is not None:
                held = min(held, self.entries(node.start) * self._part(node.start, roots))
            into = node.start if not below else nodes[below[0]].link
            ends = self.vertices if into is None else self._filled(into, back=True)
            reach.append(held * min(1.0, shares[place] * self.vertices / ends))
        return scattered, read, reach[-1] if reach else roots

    def _part(self, matrix: int, rows: float) -> float:
        """Return about which part of a matrix so many of its rows hold, as if those were rather not empty."""
        return min(1.0, rows / self._filled(matrix))

    def _filled(self, matrix: int, back: bool = False) -> float:
        """Return how many rows of a matrix are not empty, or columns, as far as its relations say: few, where types
        join few labels.
        """
        step = self.steps[matrix]
        if not isinstance(step, Matrix):
            return self.vertices
        return max(1.0, min(float(self._ends_of(each, back)) for each in step.relations))

    def _ends_of(self, relation: Relation, back: bool) -> int:
        into = back == (relation.direction is not Direction.IN)
        return sum(found.targets if into else found.sources for found in self._statistics(relation))

    def look_up(self) -> float:
        """Return the nanoseconds that finding a vertex's list takes where it isn't at a known place."""
        return costs("cpu", "search")["locate"]

    # ------------------------------------------------------------ matrices

    @_once
    def symmetric(self, place: int) -> bool:
        """Tell whether a matrix is the same from both ends."""
        match self.steps[place]:
            case Matrix(relations=relations):
                return is_symmetric(relations)
            case MaskedProduct(across=across, left=left, right=right):
                return left == right and self.symmetric(across)
            case Product(factors=factors):
                return all(map(self.symmetric, factors))
            case Neighbourhoods(first=first, second=second, by=by):
                return first == second and self.symmetric(by)
        return False

    @_once
    def entries(self, place: int) -> float:
        """Return about how many pairs a matrix links."""
        match self.steps[place]:
            case Matrix(relations=relations):
                return min(*map(self.relation_entries, relations), self._mutual(relations))
            case (
                MaskedProduct(across=across) | MaskedForest(across=across) | AtPairs(pairs=across) | Turned(back=across)
            ):
                return self.entries(across)
            case Product(factors=factors):
                return self.entries(factors[0])
            case Neighbourhoods(first=first, second=second, by=by):
                return self._linked_neighbours(first, second, by)
            case EndRows(pairs=pairs, by=by):
                return self.meetings(pairs, by)
        return self.vertices

    def _mutual(self, relations: Sequence[Relation]) -> float:
        """Return how many pairs relationships of one type join both ways, where they are to; else infinity."""
        found = [
            self.catalog.mutual_pairs(each.types[0])
            for each in relations
            if len(each.types) == 1 and each.direction is not Direction.BOTH and each.reversed() in relations
        ]
        return max(1.0, min((each for each in found if each is not None), default=inf))

    def _linked_neighbours(self, first: int, second: int, by: int) -> float:
        """Return about how many pairs of neighbours of one root are linked.

        Among relationships of one type as many as are closed in a sample; else those that unrelated ones would be.
        """
        step = self.steps[first]
        wedges = self.meetings(first, second)
        if first == second == by and isinstance(step, Matrix) and len(step.relations) == 1:
            closed = [self.catalog.closed_wedges(name) for name in step.relations[0].types]
            return max(1.0, sum(closed))
        size = max(1.0, self.size(by))
        odds = self.meetings(by, by) ** 2 / max(1.0, self.entries(by)) ** 3  # by degrees, which neighbours have more of
        return max(1.0, wedges * min(1.0, max(odds, self.entries(by) / size**2)))

    @_once
    def meetings(self, one: int, other: int) -> float:
        """Return about how many pairs of entries meet: (a, b) of one matrix, (b, c) of the other."""
        return sqrt(self._squares(one, True) * self._squares(other, False))

    @_once
    def _squares(self, place: int, back: bool) -> float:
        match self.steps[place]:
            case Matrix(relations=relations):
                squares = min(self._squares_of(each.reversed() if back else each) for each in relations)
                mutual = self._mutual(relations) / min(map(self.relation_entries, relations))
                return squares * min(1.0, mutual)  # most pairs that are joined both ways are between hubs
            case (
                MaskedProduct(across=across) | MaskedForest(across=across) | AtPairs(pairs=across) | Turned(back=across)
            ):
                return self._squares(across, back)
            case Product(factors=factors):
                return self._squares(factors[0], back)
            case Neighbourhoods(first=first):
                entries = self.entries(place)
                return _UNEVEN * entries * entries / max(1.0, self.entries(first))
            case EndRows(pairs=pairs):
                entries = self.entries(place)
                return entries * max(1.0, entries / max(1.0, self.entries(pairs)))
        return self.vertices

    def relation_entries(self, relation: Relation) -> float:
        """Return how many pairs a relation links, each as often as it does."""
        return max(1.0, sum(found.edges for found in self._statistics(relation)))

    def _squares_of(self, relation: Relation) -> float:
        """Return the sum of the squares of a relation's degrees."""
        root = 0.0
        found_all = self._statistics(relation)
        for place, found in enumerate(found_all):
            turned = self._is_union(relation) and 2 * place >= len(found_all)
            inward = turned or relation.direction is Direction.IN
            squares = (found.in_pairs if inward else found.out_pairs) + found.edges
            least = 0.0 if relation.value is not None else found.edges * found.edges / self.vertices
            root += sqrt(max(squares, least))
        return max(1.0, root * root)

    @_once
    def _statistics(self, relation: Relation) -> list[EdgeStatistics]:
        if relation.value is not None:
            value = relation.value
            return [self._of_ends(value) if isinstance(value, ArcEnds) else self._of_shared(value)]
        found = [self.catalog.edge_statistics(None, name, None) for name in relation.types]
        return found * (2 if self._is_union(relation) else 1)  # as they lead, and turned

    def _of_ends(self, value: ArcEnds) -> EdgeStatistics:
        """Return statistics of the links between vertices and the arcs that begin, or end, there."""
        arcs = value.arcs if value.at == "start" else value.arcs.reversed()
        count = self.relation_entries(arcs)
        loops = self.catalog.vertex_count if value.at == "loop" else count
        owners = max(1.0, min(float(self._ends_of(arcs, False)), count))
        pairs = max(0.0, self._squares_of(arcs) - count)
        return EdgeStatistics(int(min(count, loops)), int(owners), int(count), max_in=1, out_pairs=pairs)

    def _of_shared(self, value: Shared) -> EdgeStatistics:
        """Return statistics of the links between elements and the numbers that they share.

        Of each size there are half as many ranges as values fit into: each bit of a number is set half the time. At one
        vertex there are as many values as it has arcs.
        """
        known = self._of_values(value.lower)
        found = self._of_values(value.linked).edges
        squares, different = found * (known.in_pairs + found) / max(1, known.edges), float(known.targets)
        if value.within is not None:
            sides = zip((value.lower, value.upper), value.within, strict=True)
            arcs, at = next((each.arcs, at) for each, at in sides if each.arcs is not None)
            seen = arcs if at == "start" else arcs.reversed()
            squares = min(found * max(1.0, self._squares_of(seen) / self.relation_entries(arcs)), float(found) ** 2)
            different = min(squares / max(1.0, found), different)
        if value.op == "=":
            targets = max(1, min(found, int(found * found / max(1.0, squares))))
            return EdgeStatistics(found, found, targets, max_out=1, max_in=found, in_pairs=max(0.0, squares - found))
        sizes = max(1, int(different)).bit_length()
        each = (1 + sizes) / 2
        targets = known.targets if value.within is None else known.edges
        if value.within is None:
            pairs = float(found) ** 2 * (2.0**sizes - 1) / (2 * max(1.0, different))
        else:
            pairs = squares
        return EdgeStatistics(
            int(found * each), found, targets, max_out=sizes, max_in=found, out_pairs=found * each * (each - 0.5),
            in_pairs=pairs,
        )  # fmt: skip

    def _of_values(self, values: Values) -> EdgeStatistics:
        """Return statistics of the links between elements and their values, from left to right."""
        if values.arcs is not None:
            labels: Any = _types(values.arcs)
            entity, elements = "relationship", self.relation_entries(values.arcs)
        else:
            labels, entity, elements = None, "node", float(self.catalog.vertex_count)
        sides = [substitute(values.expr, partial(_named, name)) for name in "ab"]
        equal = Comparison(("=",), (sides[0], sides[1]))
        share = share_of_one(equal, {name: Element(labels, (), 1.0, entity) for name in "ab"}, self.catalog)
        key = values.expr.key if isinstance(values.expr, Property) else ""
        summaries = (self.catalog.value_summaries(entity, key, labels) if key else None) or ()
        known = sum(each.count for each in summaries)
        there = sum(each.count - each.nulls for each in summaries) / known if known else 1.0
        found = max(1, int(elements * there))
        pairs = max(0.0, share * elements**2 - found)
        different = max(1, min(found, int(found**2 / (pairs + found))))
        return EdgeStatistics(found, found, different, max_out=1, max_in=found, in_pairs=pairs)

    def _is_union(self, relation: Relation) -> bool:
        return relation.direction is Direction.BOTH and not self._is_undirected(relation)

    def _is_undirected(self, relation: Relation) -> bool:
        """Tell whether all types are undirected."""
        infos = (self.catalog.relationship_type(name) for name in relation.types)
        return all(info is not None and info.undirected for info in infos)


def _of_values(relations: Sequence[Relation]) -> bool:
    """Tell whether a matrix links vertices with values of theirs."""
    return any(each.value is not None for each in relations)


def _types(relation: Relation) -> LabelExpr | None:
    """Return the types of a relation as an expression."""
    names = tuple(LabelIs(name) for name in relation.types)
    return names[0] if len(names) == 1 else LabelOr(names) if names else None


def _named(name: str, part: Expr) -> Expr | None:
    """Return the variable of an element in the place of that which stands for any."""
    return Variable(name, type=part.type) if isinstance(part, Variable) and part.name == VALUED else None

"""From a pattern in which nothing must differ to steps that count its homomorphisms by eliminating vertex after vertex.

A vertex with one neighbour sends it a message. A vertex whose two neighbours are linked leaves a matrix between them. A
tree that hangs together at one vertex only, by several edges, is summed out for each value of that vertex (cutset
conditioning). So is any other part that hangs at one vertex only, the root, if its vertices next to the root hang
together among themselves: they become pairs (root, neighbour), linked where neighbours of one root are, and the part
is eliminated among those. Where a vertex must stay, what hangs at two linked vertices leaves a matrix between them, in
the same ways: the one is the root, the other an end. A pattern of which something is left is not eliminated. What is
counted by two vertices is a tree around the one, in which the other stays. Equal steps are one step. (Dechter 1999,
bucket elimination; Abo Khamis et al. 2016, FAQ; Ortmann and Brandes 2017 count within neighbourhoods.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from qengine.optimizer.elimination.cost import StepCosts
from qengine.optimizer.elimination.program import StepBuilder, reached
from qengine.plan.elimination import (
    AtEnds,
    AtPairs,
    ByRoot,
    Clique,
    EndRows,
    ForestNode,
    MaskedForest,
    MaskedProduct,
    Matrix,
    MatVec,
    Neighbourhoods,
    NodeIndicator,
    NodeValues,
    OfPairs,
    Pairs,
    Relation,
    RootedForest,
    among_pairs,
)

_MOST_LEFT = 12
"""Vertices that may be left when trees have been summed out: the ways to go on are too many for more."""

_MOST_NEAR = 7
"""Vertices of a part that is eliminated among the neighbours of a root."""

_MOST_AT_PAIRS = 8
"""Vertices left of a pattern whose parts may become matrices: the ways to go on are too many for more."""

_FEWER = 2.0
"""How many times cheaper a part must be as a matrix than at a root, where all is done with it."""

_LEAST_CLIQUE, _MOST_CLIQUE = 3, 7
"""Vertices of cliques that are counted as such."""

_DEEPEST = 3
"""Roots whose neighbourhoods lie in one another."""


class Elimination:
    """One pattern as it shrinks: ``vectors`` of its vertices, and ``matrices`` of its pairs (a, b), a < b.

    A pair's matrices are seen from a, or from b where it is in ``turned``: then they can't be seen from a.
    ``outputs``: the vertices that stay, up to two, which may be one vertex. ``depth``: roots in whose neighbourhoods
    this is. ``clique``: once it was run, the step that says which cliques the only sum is over, or that by the output,
    if it is.
    """

    def __init__(self, program: StepBuilder, costs: StepCosts, outputs: tuple[int, ...], depth: int = 0) -> None:
        self.program = program
        self.costs = costs
        self.outputs = outputs
        self.depth = depth
        self.vectors: dict[int, list[int]] = {}
        self.matrices: dict[tuple[int, int], list[int]] = {}
        self.turned: set[tuple[int, int]] = set()
        self._linked: dict[int, list[int]] = {}
        self.clique: int | None = None

    def vertex(self, vertex: int, own: NodeIndicator) -> None:
        """Add a vertex."""
        trivial = not own.loops and all(labels is None and not predicates for _, labels, predicates in own.nodes)
        self._add_vertex(vertex, [] if trivial else [self.program.add(own)])

    def multiply(self, vertex: int, own: NodeValues) -> None:
        """Multiply what counts at a vertex by values of its own."""
        self.vectors[vertex].append(self.program.add(own))

    def pair(self, one: int, other: int, relations: Sequence[Relation], simple: bool, once: bool) -> None:
        """Add all relations of a pair, seen from ``one``, which is less. For the rest see ``StepBuilder.matrix``."""
        self._add_pair(one, other, [self.program.matrix(relations, simple, once)])

    def _add_vertex(self, vertex: int, vectors: list[int]) -> None:
        self.vectors[vertex] = vectors
        self._linked[vertex] = []

    def _add_pair(self, one: int, other: int, factors: list[int]) -> None:
        """Add matrices of a pair, seen from ``one``."""
        pair = min(one, other), max(one, other)
        self.matrices[pair] = factors
        if one > other:
            self.turned.add(pair)
        self._linked[one].append(other)
        self._linked[other].append(one)

    def run(self) -> tuple[list[int], int | None] | None:
        """Eliminate all vertices that can be: return the vectors whose sums multiply, and that of the output.

        None where some part can't be eliminated.
        """
        while self._sum_out():
            pass
        if len(self.vectors) > _MOST_LEFT:
            return None
        clique = self._clique()
        at_pairs = bool(self.outputs) and self.depth == 0 and clique is None
        while self._sum_out() or self._close() or self._take_part(at_pairs):
            pass
        if len(self.outputs) == 2:
            return self._pairs()
        if self.matrices:
            return None
        found = self._left()
        by_vertex = found.pop(self.outputs[0]) if self.outputs else None
        totals = [self._summed(place) for _, place in sorted(found.items())]
        if clique is not None:
            self.clique = self.program.add(Clique(totals[0] if by_vertex is None else by_vertex, *clique))
        return totals, by_vertex

    def _clique(self) -> tuple[tuple[int, ...], tuple[int | None, ...], int | None] | None:
        """Return the matrices and vectors of a pattern that is a clique, and the role by which it is summed."""
        roles = sorted(self.vectors)
        if len(self.outputs) > 1 or self.depth > 0 or (pairs := self._pairs_of_clique(roles)) is None:
            return None
        by = roles.index(self.outputs[0]) if self.outputs else None
        return pairs, tuple(map(self._vector, roles)), by

    def _clique_at(self, root: int, part: frozenset[int], step: int) -> int | None:
        """Return what says that a step sums a part by a root with which it is a clique, None where it isn't."""
        roles = [root, *sorted(part)]
        if self.depth > 0 or (pairs := self._pairs_of_clique(roles)) is None:
            return None
        return self.program.add(Clique(step, pairs, (None, *map(self._vector, roles[1:])), by=0))

    def _pairs_of_clique(self, roles: Sequence[int]) -> tuple[int, ...] | None:
        """Return the matrices of all pairs of vertices that are a clique, each seen from the first."""
        if not _LEAST_CLIQUE <= len(roles) <= _MOST_CLIQUE:
            return None
        found: list[int] = []
        for one, other in combinations(roles, 2):
            linked = (min(one, other), max(one, other)) in self.matrices
            matrix = self._matrix(one, other) if linked else None
            if matrix is None or not isinstance(self.program.steps[matrix], Matrix):
                return None
            found.append(matrix)
        return tuple(found)

    def _summed(self, place: int) -> int:
        """Return a vector that has the same sum, and takes no sums by root."""
        step = self.program.steps[place]
        return self._summed(step.vector) if isinstance(step, ByRoot) else place

    def _left(self) -> dict[int, int]:
        """Return the vector of each vertex that is left."""
        every = {vertex: self.program.product(vectors) for vertex, vectors in self.vectors.items()}
        return {
            vertex: self.program.add(NodeIndicator()) if place is None else place for vertex, place in every.items()
        }

    def _pairs(self) -> tuple[list[int], int | None] | None:
        root, end = self.outputs
        nodes: list[ForestNode] = []
        vector = self._vector(root)
        if root != end:
            part = next((part for part in self._apart(root) if end in part), None)
            if part is None or not self._is_tree(part) or self._add_forest_node(nodes, root, part, end, None) is None:
                return None
            for vertex in part:
                self._remove(vertex)
        if self.matrices:
            return None
        del self.vectors[root]
        pairs = self.program.add(Pairs(tuple(nodes), vector))
        return [place for _, place in sorted(self._left().items())], pairs

    # ------------------------------------------------------------ steps

    def _sum_out(self) -> bool:
        """Let a vertex with one neighbour send it a message: first one that costs least."""
        leaves = [vertex for vertex in self.vectors if vertex not in self.outputs and len(self._near(vertex)) == 1]
        leaves.sort(key=lambda each: (len(self.vectors[each]), len(self._between(each, *self._near(each)))))
        for leaf in leaves:
            (into,) = self._near(leaf)
            if (matrix := self._matrix(into, leaf)) is not None:
                self.vectors[into].append(self.program.add(MatVec(matrix, self._vector(leaf))))
                self._remove(leaf)
                return True
        return False

    def _close(self) -> bool:
        """Sum out a vertex between two that are linked: the cheapest."""
        found: list[tuple[float, int, int, tuple[int, int]]] = []
        for vertex in self.vectors:
            near = self._near(vertex)
            if vertex in self.outputs or len(near) != 2:
                continue
            pair = min(near), max(near)
            if pair in self.matrices:
                one, other = reversed(pair) if pair in self.turned else pair
                left, right = self._matrix(one, vertex), self._matrix(other, vertex)
                if left is not None and right is not None:
                    step = self.program.add(MaskedProduct(self.matrices[pair][0], left, right, self._vector(vertex)))
                    found.append((self.costs.of(step), vertex, step, pair))
        if not found:
            return False
        _, vertex, step, pair = min(found)
        self.matrices[pair].append(step)
        self._remove(vertex)
        return True

    def _take_part(self, at_pairs: bool) -> bool:
        """Sum out a part that hangs at one vertex, or at two linked ones where ``at_pairs``: the cheapest."""
        root = self._cheapest_at_root()
        pair = self._cheapest_at_pair() if at_pairs and len(self.vectors) <= _MOST_AT_PAIRS else None
        if pair is not None and (root is None or _FEWER * pair[0] < root[0]):
            _, ends, place, part = pair
            self.matrices[ends].append(place)
        elif root is not None:
            _, vertex, place, part = root
            if isinstance(self.program.steps[place], RootedForest):
                self.vectors[vertex] = []  # it says which roots there are, and is multiplied in there
            self.vectors[vertex].append(place)
        else:
            return False
        for vertex in part:
            self._remove(vertex)
        return True

    def _cheapest_at_root(self) -> tuple[float, int, int, frozenset[int]] | None:
        """Return what it costs to sum out a part that hangs at one vertex, that vertex, the step, and the part."""
        best: tuple[float, int, int, frozenset[int]] | None = None
        known: set[object] = set()
        for root in self.vectors:
            kind = self._kind(root)
            if kind in known and root not in self.outputs:
                continue
            known.add(kind)
            for part in self._apart(root):
                if part.intersection(self.outputs):
                    continue
                for cost, place in (*self._ways_around(root, part), *self._ways_near(root, part)):
                    if best is None or cost < best[0]:
                        best = cost, root, place, part
        return best

    def _cheapest_at_pair(self) -> tuple[float, tuple[int, int], int, frozenset[int]] | None:
        """Return the same of a part that hangs at two linked vertices, which leaves a matrix between them."""
        best: tuple[float, tuple[int, int], int, frozenset[int]] | None = None
        for pair in self.matrices:
            for root, end in (pair, pair[::-1]):
                for part in self._apart(root, end):
                    if part.intersection(self.outputs) or not all(part.intersection(self._near(each)) for each in pair):
                        continue
                    for cost, place in (*self._ways_across(root, end, part), *self._ways_to(root, end, part)):
                        seen = place if (root > end) == (pair in self.turned) else self.program.turned(place)
                        if seen is not None and (best is None or cost < best[0]):
                            best = cost, pair, seen, part
        return best

    def _ways_across(self, root: int, end: int, part: frozenset[int]) -> Iterator[tuple[float, int]]:
        """Yield what it costs to sum out a tree that hangs at a pair, by one vertex at its end, and the step."""
        nodes: list[ForestNode] = []
        last, *more = part.intersection(self._near(end))
        right, across = self._matrix(end, last), self._factors(root, end)
        if more or right is None or across is None or not self._is_tree(part):
            return
        if self._add_forest_node(nodes, root, part, last, None) is not None:
            step = self.program.add(MaskedForest(across[0], tuple(nodes), right))
            yield self.costs.of(step), step

    def _ways_to(self, root: int, end: int, part: frozenset[int]) -> Iterator[tuple[float, int]]:
        """Yield what it costs to eliminate a part and one end of a pair among the other's neighbours, and the step."""
        if (beside := self._beside(root, part | {end})) is None:
            return
        vector = self._near_root(part | {end}, beside, end, bare=True)
        if vector is not None:
            step = self.program.add(AtPairs(beside[end][0], vector))
            yield self._cost_among(step), step

    def _cost_among(self, place: int) -> float:
        """Return what a step takes that leaves pairs, and all that it needs among these."""
        made = reached(self.program.steps, (place,))
        return sum(self.costs.of(each) for each in made if each == place or among_pairs(self.program.steps, each))

    def _ways_around(self, root: int, part: frozenset[int]) -> Iterator[tuple[float, int]]:
        """Yield what it costs to sum out a tree around a root, and the step that does so, for each top."""
        for top in sorted(part) if self._is_tree(part) else ():
            nodes: list[ForestNode] = []
            place = self._add_forest_node(nodes, root, part, top, None)
            if place is not None:
                step = self.program.add(RootedForest(tuple(nodes), (place,), self._vector(root)))
                yield self.costs.of(step), step

    def _add_forest_node(
        self, nodes: list[ForestNode], root: int, part: frozenset[int], vertex: int, parent: int | None
    ) -> int | None:
        """Add the node of a vertex of a tree, the part around a root, after those below it; return its place.

        None where a matrix that it needs can't be seen from there.
        """
        others = [other for other in self._near(vertex) if other in part and other != parent]
        below = [self._add_forest_node(nodes, root, part, other, vertex) for other in others]
        start = self._matrix(root, vertex) if root in self._near(vertex) else None
        link = None if parent is None else self._matrix(vertex, parent)
        children = sorted(each for each in below if each is not None)
        blind = (start is None and root in self._near(vertex)) or (link is None and parent is not None)
        if blind or len(children) < len(below):
            return None
        made = ForestNode(start, self._vector(vertex), tuple(children), link)
        if made not in nodes:
            nodes.append(made)
        return nodes.index(made)

    def _ways_near(self, root: int, part: frozenset[int]) -> Iterator[tuple[float, int]]:
        """Yield what it costs to eliminate a part among a root's neighbours, and the step that gives the result."""
        if (beside := self._beside(root, part)) is None:
            return
        known: set[object] = set()
        for last in beside:  # the one by whose vector a root's neighbours are added up
            kind = self._kind(last)
            if kind in known:
                continue
            known.add(kind)
            vector = self._near_root(part, beside, last)
            if vector is not None:
                step = self.program.add(ByRoot(beside[last][0], vector))
                clique = self._clique_at(root, part, step)
                cost = self._cost_among(step)
                yield cost if clique is None else min(cost, self.costs.of_clique(clique)), step

    def _beside(self, root: int, part: frozenset[int]) -> dict[int, list[int]] | None:
        """Return the matrices of a root and each vertex of a part next to it, seen from the root.

        None where the part can't be eliminated among a root's neighbours.
        """
        near = sorted(part.intersection(self._near(root)))
        if self.depth == _DEEPEST or len(part) > _MOST_NEAR or not self._hangs_together(near):
            return None
        found = {vertex: self._factors(root, vertex) or [] for vertex in near}
        return found if all(each and self.program.is_once(each[0]) for each in found.values()) else None

    def _near_root(
        self, part: frozenset[int], beside: Mapping[int, list[int]], last: int, *, bare: bool = False
    ) -> int | None:
        """Return the vector over the pairs of ``last`` when the rest of a part is summed out; None where it can't be.

        Parameters
        ----------
        beside
            Of each vertex next to the root their matrices, seen from the root.
        bare
            Whether what counts at ``last`` itself, and between it and the root, is left out.
        """
        program = self.program
        pairs = {vertex: factors[0] for vertex, factors in beside.items()}
        inner = Elimination(program, self.costs, (last,), self.depth + 1)
        for vertex in sorted(part):
            if bare and vertex == last:
                inner._add_vertex(vertex, [])
                continue
            vectors = list(self.vectors[vertex])
            if vertex in pairs:
                own = program.product(vectors)
                vectors = [] if own is None else [program.add(AtEnds(pairs[vertex], own))]
                numbers = beside[vertex][0 if program.has_numbers(pairs[vertex]) else 1 :]
                vectors += [program.add(OfPairs(pairs[vertex], each)) for each in numbers]
            inner._add_vertex(vertex, vectors)
        for one, other in combinations(sorted(part), 2):
            if (one, other) not in self.matrices:
                continue
            if one not in pairs and other in pairs:
                one, other = other, one
            factors = self._factors(one, other)
            if factors is None:
                return None
            if one in pairs and other in pairs:
                factors = [program.add(Neighbourhoods(pairs[one], pairs[other], each)) for each in factors]
            elif one in pairs:
                factors = [program.add(EndRows(pairs[one], each)) for each in factors]
            elif (one, other) in self.turned:
                one, other = other, one
            inner._add_pair(one, other, factors)
        result = inner.run()
        return None if result is None or result[0] else result[1]

    def _kind(self, vertex: int) -> object:
        """Return what tells vertices apart, roughly: of those of one kind one is tried."""
        around = sorted(
            (tuple(self._between(vertex, other)), tuple(self.vectors[other]), len(self._near(other)))
            for other in self._near(vertex)
        )
        return tuple(self.vectors[vertex]), tuple(around)

    # ------------------------------------------------------------ the pattern

    def _near(self, vertex: int) -> Sequence[int]:
        return self._linked[vertex]

    def _between(self, one: int, other: int) -> list[int]:
        return self.matrices[min(one, other), max(one, other)]

    def _vector(self, vertex: int) -> int | None:
        return self.program.product(self.vectors[vertex])

    def _factors(self, one: int, other: int) -> list[int] | None:
        """Return the matrices of a pair seen from ``one``; None where one can't be seen from there."""
        factors = self._between(one, other)
        if (one < other) == ((min(one, other), max(one, other)) not in self.turned):
            return factors
        turned = [self.program.turned(place) for place in factors]
        return None if None in turned else [place for place in turned if place is not None]

    def _matrix(self, one: int, other: int) -> int | None:
        """Return the matrix of a pair seen from ``one``, None where it can't be."""
        factors = self._factors(one, other)
        return None if factors is None else self.program.product(factors)

    def _remove(self, vertex: int) -> None:
        del self.vectors[vertex]
        for other in self._linked.pop(vertex):
            pair = min(vertex, other), max(vertex, other)
            del self.matrices[pair]
            self.turned.discard(pair)
            self._linked[other].remove(vertex)

    def _apart(self, *cut: int) -> list[frozenset[int]]:
        """Return the parts of a component that hang together without one or two vertices of it."""
        parts = []
        left = set(self._reached(cut[0], ())) - set(cut)
        while left:
            part = frozenset(self._reached(min(left), cut))
            parts.append(part)
            left -= part
        return parts

    def _reached(self, vertex: int, without: Sequence[int]) -> list[int]:
        found = [vertex]
        for each in found:
            found += [other for other in self._near(each) if other not in without and other not in found]
        return found

    def _hangs_together(self, vertices: Sequence[int]) -> bool:
        """Tell whether two or more vertices are connected by the pairs among themselves."""
        found = list(vertices[:1])
        for each in found:
            found += [other for other in self._near(each) if other in vertices and other not in found]
        return len(found) == len(vertices) > 1

    def _is_tree(self, part: frozenset[int]) -> bool:
        return sum(pair in self.matrices for pair in combinations(sorted(part), 2)) == len(part) - 1

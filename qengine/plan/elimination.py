"""What an ``Eliminate`` computes: a straight-line program over vectors and matrices, and signed terms of its results.

A *vector* has a number for each element of a domain, a *matrix* one for each pair of elements that it links. The first
domain is the graph's vertices: its relationships are matrices there (how many join two vertices), and so are sums over
a vertex that has been eliminated between two linked ones. The pairs (c, y) that a matrix links are a domain, too: the
neighbours y of each root c. Among those, ``Neighbourhoods`` links the neighbours of one root, so that what the pattern
asks of a root's neighbours is counted for all roots at once, by the same steps. A step names the results of earlier
steps by their places in the program. Numbers are whole and not negative; None for a vector stands for 1 everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from qengine._frozen import frozen
from qengine.plan.expr import Expr, Parameter
from qengine.plan.node import node
from qengine.plan.pattern import Direction, LabelExpr
from qengine.plan.traverse import preorder

VALUED = "value's"
"""Stands for a vertex or a relationship in an expression that is evaluated for each."""


@node("arcs")
class ArcEnds:
    """Links of vertices with arcs: those that begin there ("start"), that end there ("end"), or both ("loop").

    The arcs of a relation without a value are its relationships, those of one type behind those of another; where it is
    taken either way each but a self-loop comes once more, turned round, behind all of its type.
    """

    arcs: Relation
    at: str


@node("expr", "arcs")
class Values:
    """What an expression, which reads ``VALUED`` alone, gives for each vertex, or for each arc of a relation.

    ``labels``: of the vertices for which it must be evaluated; for others it may fail.
    """

    expr: Expr
    arcs: Relation | None = None
    labels: LabelExpr | None = None


@node("lower", "upper")
class Shared:
    """Links of elements with numbers, so that two of them share one, and no more, where their values compare.

    They do by ``op``. Of "=" numbers stand for values, of "<" and "<=" for ranges of values of the ``lower``: what is
    less than a value of the ``upper`` is cut into ranges of 1, 2, 4, … values, of each size one at most, as in a
    Fenwick tree. ``above``: it is the upper ones that are linked. ``within``: numbers are shared at one vertex alone,
    which is "start" or "end" of arcs, "self" of a vertex. There are no more numbers than lower elements.
    """

    lower: Values
    upper: Values
    op: str
    above: bool
    within: tuple[str, str] | None = None

    @property
    def linked(self) -> Values:
        """What is linked with numbers."""
        return self.upper if self.above else self.lower


@node("conditions", "value")
class Relation:
    """How many relationships of ``types`` lead from one vertex to another in ``direction``; a self-loop counts once.

    ``conditions``: predicates with the variable that stands for the relationship in them. With a ``value`` it is none
    of relationships between vertices: it leads once from each vertex to its arcs, or from each vertex or arc to the
    numbers that it shares with others.
    """

    types: tuple[str, ...]
    direction: Direction
    conditions: tuple[tuple[str, tuple[Expr, ...]], ...] = ()
    value: ArcEnds | Shared | None = None

    def reversed(self) -> Relation:
        """Return the relation seen from the other end."""
        return Relation(self.types, self.direction.reversed(), self.conditions, self.value)

    def arcs(self) -> tuple[Relation, ...]:
        """Return the relations whose arcs it links with something."""
        match self.value:
            case ArcEnds(arcs=arcs):
                return (arcs,)
            case Shared(lower=lower, upper=upper):
                return tuple(each.arcs for each in (lower, upper) if each.arcs is not None)
        return ()

    def of_graph(self) -> bool:
        """Tell whether it follows from the graph alone, whatever a query's conditions and parameters are."""
        if self.conditions or any(arcs.conditions for arcs in self.arcs()):
            return False
        read = (self.value.lower, self.value.upper) if isinstance(self.value, Shared) else ()
        return not any(isinstance(part, Parameter) for each in read for part in preorder(each.expr))


@node("nodes", "loops")
class NodeIndicator:
    """A vector: 1 for each vertex with the labels and predicates of some nodes that coincide, times its self-loops.

    ``nodes``: for each its name ("" where no predicate mentions it), labels and predicates.
    """

    nodes: tuple[tuple[str, LabelExpr | None, tuple[Expr, ...]], ...] = ()
    loops: tuple[Relation, ...] = ()


@frozen
class NodeValues:
    """A vector that whoever runs the program gives: numbers of a node's vertices, such as the values of a property."""


@node("relations")
class Matrix:
    """A matrix: the product, pair by pair, of one or more relations, seen from the row's vertex.

    ``once``: it links each pair once, and its number says how often the relation does; else a pair may stand there
    several times.
    """

    relations: tuple[Relation, ...]
    once: bool = False


@frozen
class Product:
    """The product, entry by entry, of vectors, or of matrices that link the same pairs."""

    factors: tuple[int, ...]


@frozen
class MatVec:
    """A vector: for each u the sum over v of ``matrix[u, v] * vector[v]``. It sums out v, which only u knows.

    Bucket elimination calls it the message from v to u.
    """

    matrix: int
    vector: int | None


@frozen
class MaskedProduct:
    """A matrix: for each pair (a, b) that ``across`` links the sum over c of ``left[a, c] * vector[c] * right[b, c]``.

    It sums out c, the third vertex of a triangle. ``across`` is a ``Matrix`` or ``Neighbourhoods``; its own
    numbers don't count.
    """

    across: int
    left: int
    right: int
    vector: int | None


@frozen
class ForestNode:
    """A vertex x of a forest that is summed out for one root u after the other: a sparse vector s over x.

    s[x] is ``start[u, x]`` (None: 1) times ``vector[x]`` times, for each of ``nodes`` (places of earlier nodes, one as
    often as it counts), the sum over their vertices y of that node's s[y] times its ``link[y, x]``. The top has no
    link.
    """

    start: int | None
    vector: int | None
    nodes: tuple[int, ...]
    link: int | None


@frozen
class RootedForest:
    """A vector: for each root u, ``vector[u]`` times the product over ``tops`` of the sum of that node's s."""

    nodes: tuple[ForestNode, ...]
    tops: tuple[int, ...]
    vector: int | None


@frozen
class MaskedForest:
    """A matrix: for each pair (a, b) that ``across`` links the sum over c of s[c] * ``right[b, c]``.

    s is the sparse vector of the last of ``nodes`` around root a. It sums out a tree that hangs at both ends of a pair.
    ``across``: as of ``MaskedProduct``.
    """

    across: int
    nodes: tuple[ForestNode, ...]
    right: int


@frozen
class Pairs:
    """A matrix whose rows are made one after the other, and not kept: for each root u ``vector[u]`` times a vector.

    That is the sparse vector of the last of ``nodes``; without nodes it is 1 at u itself.
    """

    nodes: tuple[ForestNode, ...]
    vector: int | None


@frozen
class Neighbourhoods:
    """A matrix T from the pairs of ``first`` to those of ``second``: T[(c, y), (c, z)] = ``by[y, z]``.

    With the same matrix A in all three places it is, for each root c, the graph that A is among c's neighbours. (In
    topology the union of these is called the links of the vertices.)
    """

    first: int
    second: int
    by: int


@frozen
class AtEnds:
    """A vector over the pairs (c, y) of ``pairs``: ``vector[y]``."""

    pairs: int
    vector: int


@frozen
class OfPairs:
    """A vector over the pairs (c, y) of ``pairs``: ``matrix[c, y]``. The matrix links the same pairs."""

    pairs: int
    matrix: int


@frozen
class AtPairs:
    """A matrix: the pairs (c, y) that ``pairs`` links, with the numbers ``vector[(c, y)]``."""

    pairs: int
    vector: int


@frozen
class Turned:
    """A matrix: ``back`` links the pairs of ``matrix`` from their other ends, and has its numbers."""

    back: int
    matrix: int


@frozen
class EndRows:
    """A matrix from the pairs (c, y) of ``pairs`` to what ``by`` links y with: row (c, y) is row y of ``by``."""

    pairs: int
    by: int


@frozen
class ByRoot:
    """A vector: for each root c the sum of ``vector`` over the pairs (c, y) of ``pairs``."""

    pairs: int
    vector: int


@frozen
class Clique:
    """Nothing of its own: it says what the sum of the vector at ``total`` is, so that this may be found without it.

    It is the sum over all ways to give vertices to roles of the product of what ``vectors`` (None: 1 each) say of the
    vertex in each role and ``pairs`` of each two of them: of roles (0, 1), (0, 2), …, (1, 2), …, seen from the first.
    ``by``: the role by whose vertices the vector itself is these sums; None where only its sum is known to be that.
    """

    total: int
    pairs: tuple[int, ...]
    vectors: tuple[int | None, ...]
    by: int | None = None


def operands(step: Step) -> tuple[int, ...]:
    """Return the places of the steps that one reads, in the order of its fields."""
    match step:
        case Product(factors=factors):
            found: tuple[int | None, ...] = factors
        case MatVec(matrix=matrix, vector=vector):
            found = matrix, vector
        case MaskedProduct(across=across, left=left, right=right, vector=vector):
            found = across, left, right, vector
        case RootedForest(nodes=nodes, vector=vector) | Pairs(nodes=nodes, vector=vector):
            found = (*(place for node in nodes for place in (node.start, node.vector, node.link)), vector)
        case MaskedForest(across=across, nodes=nodes, right=right):
            found = (across, *(place for node in nodes for place in (node.start, node.vector, node.link)), right)
        case Neighbourhoods(first=first, second=second, by=by):
            found = first, second, by
        case Turned(back=back, matrix=matrix):
            found = back, matrix
        case AtEnds(pairs=pairs, vector=vector) | AtPairs(pairs=pairs, vector=vector):
            found = pairs, vector
        case ByRoot(pairs=pairs, vector=vector):
            found = pairs, vector
        case OfPairs(pairs=pairs, matrix=matrix) | EndRows(pairs=pairs, by=matrix):
            found = pairs, matrix
        case Clique(pairs=pairs, vectors=vectors):
            found = *pairs, *vectors
        case _:
            found = ()
    return found if None not in found else tuple(place for place in found if place is not None)  # type: ignore[return-value]


def moved(step: Step, place_of: Mapping[int, int]) -> Step:
    """Return a step whose operands are where ``place_of`` says."""

    def new(place: int | None) -> int | None:
        return None if place is None else place_of[place]

    def nodes_of(nodes: tuple[ForestNode, ...]) -> tuple[ForestNode, ...]:
        return tuple(ForestNode(new(node.start), new(node.vector), node.nodes, new(node.link)) for node in nodes)

    match step:
        case Product(factors=factors):
            return Product(tuple(place_of[each] for each in factors))
        case MatVec(matrix=matrix, vector=vector):
            return MatVec(place_of[matrix], new(vector))
        case MaskedProduct(across=across, left=left, right=right, vector=vector):
            return MaskedProduct(place_of[across], place_of[left], place_of[right], new(vector))
        case RootedForest(nodes=nodes, tops=tops, vector=vector):
            return RootedForest(nodes_of(nodes), tops, new(vector))
        case MaskedForest(across=across, nodes=nodes, right=right):
            return MaskedForest(place_of[across], nodes_of(nodes), place_of[right])
        case Pairs(nodes=nodes, vector=vector):
            return Pairs(nodes_of(nodes), new(vector))
        case Neighbourhoods() | AtEnds() | OfPairs() | AtPairs() | Turned() | EndRows() | ByRoot():
            return type(step)(*(place_of[each] for each in operands(step)))
        case Clique(total=total, pairs=pairs, vectors=vectors, by=by):
            return Clique(place_of[total], tuple(place_of[each] for each in pairs), tuple(map(new, vectors)), by)
    return step


Step = (
    NodeIndicator | NodeValues | Matrix | Product | MatVec | MaskedProduct | RootedForest | MaskedForest | Pairs
    | Neighbourhoods | AtEnds | OfPairs | AtPairs | Turned | EndRows | ByRoot | Clique
)  # fmt: skip

Domain = int | None
"""Of what a vector has numbers: the place of the matrix whose pairs they are, None for the graph's vertices."""


def domain_of(steps: Sequence[Step], place: int) -> Domain:
    """Return the domain of a vector, or of a matrix's rows."""
    match steps[place]:
        case Product(factors=factors):
            return domain_of(steps, factors[0])
        case MatVec(matrix=matrix) | MaskedProduct(across=matrix) | MaskedForest(across=matrix) | ByRoot(pairs=matrix):
            return domain_of(steps, matrix)
        case AtPairs(pairs=matrix) | Turned(back=matrix):
            return domain_of(steps, matrix)
        case RootedForest(nodes=nodes):
            return next(domain_of(steps, node.start) for node in nodes if node.start is not None)
        case Neighbourhoods(first=pairs) | AtEnds(pairs=pairs) | OfPairs(pairs=pairs) | EndRows(pairs=pairs):
            return pairs
    return None


def column_domain_of(steps: Sequence[Step], place: int) -> Domain:
    """Return the domain of a matrix's columns."""
    match steps[place]:
        case Product(factors=factors):
            return column_domain_of(steps, factors[0])
        case MaskedProduct(across=matrix) | MaskedForest(across=matrix) | AtPairs(pairs=matrix) | Turned(back=matrix):
            return column_domain_of(steps, matrix)
        case Neighbourhoods(second=second):
            return second
        case EndRows(by=by):
            return column_domain_of(steps, by)
    return None


def among_pairs(steps: Sequence[Step], place: int) -> bool:
    """Tell whether a step is over pairs, not over the graph's vertices."""
    return domain_of(steps, place) is not None


def is_matrix(steps: Sequence[Step], place: int) -> bool:
    """Tell whether a step is a matrix, not a vector."""
    step = steps[place]
    if isinstance(step, Product):
        return is_matrix(steps, step.factors[0])
    return isinstance(step, Matrix | MaskedProduct | MaskedForest | AtPairs | Turned | Neighbourhoods | EndRows | Pairs)


def is_symmetric(relations: Sequence[Relation]) -> bool:
    """Tell whether the product of relations is the same from both ends: each is, or stands there turned round, too."""
    return all(each.direction is Direction.BOTH or each.reversed() in relations for each in relations)


def arcs_in(steps: Iterable[Step]) -> set[Relation]:
    """Return the relations whose arcs matrices link with something: vectors are over vertices and these then."""
    matrices = (step for step in steps if isinstance(step, Matrix))
    return {arcs for step in matrices for relation in step.relations for arcs in relation.arcs()}


def is_labels_alone(own: NodeIndicator) -> bool:
    """Tell whether a vector follows from the graph alone, whatever a query's conditions and parameters are."""
    predicates = (predicates for _, _, predicates in own.nodes)
    return not any(predicates) and not any(relation.conditions for relation in own.loops)


def counted_degrees(steps: Sequence[Step], message: MatVec) -> tuple[Step, Step | None] | None:
    """Return the matrix and the vertices of a message that counts relationships, to vertices with some labels.

    That fits 64 bits, and follows from the graph alone. None for another message.
    """
    matrix = steps[message.matrix]
    if not isinstance(matrix, Matrix) or len(matrix.relations) > 1:
        return None
    if matrix.relations[0].conditions or matrix.relations[0].value is not None:
        return None
    ends = None if message.vector is None else steps[message.vector]
    if ends is None or ends == NodeIndicator():
        return matrix, None
    return (matrix, ends) if isinstance(ends, NodeIndicator) and is_labels_alone(ends) else None


@frozen
class Term:
    """``factor`` times the sums of the vectors ``totals``, and times ``output`` where the count is by vertices.

    That is a vector for one vertex, ``Pairs`` for two. ``search``: the number of a search whose count is a factor, too.
    """

    factor: int
    totals: tuple[int, ...]
    output: int | None = None
    search: int | None = None

"""What an ``Eliminate`` computes: a straight-line program over vectors and matrices, and signed terms of its results.

A *vector* has a number for each vertex of the graph, a *matrix* one for each pair of vertices that it links. The
graph's relationships are matrices (how many join two vertices), and so are sums over a vertex that has been eliminated
between two linked ones. A step names the results of earlier steps by their places in the program. Numbers are whole
and not negative; None for a vector stands for 1 everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from qengine._frozen import frozen
from qengine.plan.expr import Expr
from qengine.plan.node import node
from qengine.plan.pattern import Direction, LabelExpr


@node("conditions")
class Relation:
    """How many relationships of ``types`` lead from one vertex to another in ``direction``; a self-loop counts once.

    ``conditions``: predicates with the variable that stands for the relationship in them.
    """

    types: tuple[str, ...]
    direction: Direction
    conditions: tuple[tuple[str, tuple[Expr, ...]], ...] = ()

    def reversed(self) -> Relation:
        """Return the relation seen from the other end."""
        return Relation(self.types, self.direction.reversed(), self.conditions)


@node("nodes", "loops")
class Own:
    """A vector: 1 for each vertex with the labels and predicates of some nodes that coincide, times its self-loops.

    ``nodes``: for each its name ("" where no predicate mentions it), labels and predicates.
    """

    nodes: tuple[tuple[str, LabelExpr | None, tuple[Expr, ...]], ...] = ()
    loops: tuple[Relation, ...] = ()


@node("relations")
class Matrix:
    """A matrix: the product, pair by pair, of one or more relations, seen from the row's vertex."""

    relations: tuple[Relation, ...]


@frozen
class Product:
    """The product, entry by entry, of vectors, or of matrices that link the same pairs."""

    factors: tuple[int, ...]


@frozen
class Message:
    """A vector: for each u the sum over v of ``matrix[u, v] * vector[v]``. It sums out v, which only u knows."""

    matrix: int
    vector: int | None


@frozen
class Closed:
    """A matrix: for each pair (a, b) that ``across`` links the sum over c of ``left[a, c] * vector[c] * right[b, c]``.

    It sums out c, the third vertex of a triangle. ``across`` is a ``Matrix``, whose own numbers don't count.
    """

    across: int
    left: int
    right: int
    vector: int | None


@frozen
class Arm:
    """A vertex x of a forest that is summed out for one root u after the other: a sparse vector s over x.

    s[x] is ``start[u, x]`` (None: 1) times ``vector[x]`` times, for each of ``arms`` (places of earlier arms, one as
    often as it counts), the sum over their vertices y of that arm's s[y] times its ``link[y, x]``. The top has no link.
    """

    start: int | None
    vector: int | None
    arms: tuple[int, ...]
    link: int | None


@frozen
class Around:
    """A vector: for each root u ``vector[u]`` times, for each of ``tops``, the sum of that arm's vector."""

    arms: tuple[Arm, ...]
    tops: tuple[int, ...]
    vector: int | None


@frozen
class Pairs:
    """A matrix whose rows are made one after the other, and not kept: for each root u ``vector[u]`` times a vector.

    That is the sparse vector of the last of ``arms``; without arms it is 1 at u itself.
    """

    arms: tuple[Arm, ...]
    vector: int | None


def operands(step: Step) -> tuple[int, ...]:
    """Return the places of the steps that one reads, in the order of its fields."""
    match step:
        case Product(factors=factors):
            found: tuple[int | None, ...] = factors
        case Message(matrix=matrix, vector=vector):
            found = matrix, vector
        case Closed(across=across, left=left, right=right, vector=vector):
            found = across, left, right, vector
        case Around(arms=arms, vector=vector) | Pairs(arms=arms, vector=vector):
            found = (*(place for arm in arms for place in (arm.start, arm.vector, arm.link)), vector)
        case _:
            found = ()
    return tuple(place for place in found if place is not None)


Step = Own | Matrix | Product | Message | Closed | Around | Pairs


def is_labels_alone(own: Own) -> bool:
    """Tell whether a vector follows from the graph alone, whatever a query's conditions and parameters are."""
    predicates = (predicates for _, _, predicates in own.nodes)
    return not any(predicates) and not any(relation.conditions for relation in own.loops)


def counted_degrees(steps: Sequence[Step], message: Message) -> tuple[Step, Step | None] | None:
    """Return the matrix and the vertices of a message that counts relationships, to vertices with some labels.

    That fits 64 bits, and follows from the graph alone. None for another message.
    """
    matrix = steps[message.matrix]
    if not isinstance(matrix, Matrix) or len(matrix.relations) > 1 or matrix.relations[0].conditions:
        return None
    ends = None if message.vector is None else steps[message.vector]
    if ends is None or ends == Own():
        return matrix, None
    return (matrix, ends) if isinstance(ends, Own) and is_labels_alone(ends) else None


@frozen
class Term:
    """``factor`` times the sums of the vectors ``totals``, and times ``output`` where the count is by vertices.

    That is a vector for one vertex, ``Pairs`` for two.
    """

    factor: int
    totals: tuple[int, ...]
    output: int | None = None

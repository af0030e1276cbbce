"""The query graph: what one ``MATCH`` asks for, free of any order of evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Protocol

from qengine._frozen import KeptHash, frozen
from qengine.errors import Span, Unsupported
from qengine.plan.expr import Expr
from qengine.plan.node import node


@frozen
class LabelExpr(KeptHash):
    """Base of label expressions; None stands for "no condition" where one is optional."""

    def admits(self, names: frozenset[str]) -> bool:
        """Tell whether a set of labels (or the only type of a relationship) satisfies the expression."""
        raise NotImplementedError


@frozen
class LabelIs(LabelExpr):
    """``:A``."""

    name: str

    def admits(self, names: frozenset[str]) -> bool:
        """Tell whether the name is among them."""
        return self.name in names


@frozen
class LabelAny(LabelExpr):
    """``:%``: at least one label."""

    def admits(self, names: frozenset[str]) -> bool:
        """Tell whether there are any."""
        return bool(names)


@frozen
class LabelAnd(LabelExpr):
    """``A&B``, ``:A:B``."""

    args: tuple[LabelExpr, ...]

    def admits(self, names: frozenset[str]) -> bool:
        """Tell whether they satisfy all operands."""
        return all(arg.admits(names) for arg in self.args)


@frozen
class LabelOr(LabelExpr):
    """``A|B``."""

    args: tuple[LabelExpr, ...]

    def admits(self, names: frozenset[str]) -> bool:
        """Tell whether they satisfy an operand."""
        return any(arg.admits(names) for arg in self.args)


@frozen
class LabelNot(LabelExpr):
    """``!A``."""

    arg: LabelExpr

    def admits(self, names: frozenset[str]) -> bool:
        """Tell whether they don't satisfy the operand."""
        return not self.arg.admits(names)


def names_in(labels: LabelExpr) -> Iterator[str]:
    """Yield the names in an expression, "" for ``%``, which any name satisfies."""
    match labels:
        case LabelIs(name=name):
            yield name
        case LabelNot(arg=arg):
            yield from names_in(arg)
        case LabelAnd(args=args) | LabelOr(args=args):
            for arg in args:
                yield from names_in(arg)
        case LabelAny():
            yield ""  # any label that the expression doesn't name


def certain_label(condition: LabelExpr | None) -> str | None:
    """Return a label that whatever satisfies the expression has, None where that can't be told."""
    if isinstance(condition, LabelIs):
        return condition.name
    if isinstance(condition, LabelAnd):
        return next((arg.name for arg in condition.args if isinstance(arg, LabelIs)), None)
    return None


def named(condition: LabelExpr | None) -> str | LabelExpr | None:
    """Return a label expression as statistics know it: ``:A`` by the label's name."""
    return condition.name if isinstance(condition, LabelIs) else condition


def expression(labels: str | LabelExpr | None) -> LabelExpr | None:
    """Return the label expression that statistics know as ``labels``: the opposite of ``named``."""
    return LabelIs(labels) if isinstance(labels, str) else labels


class Direction(Enum):
    """Direction of a relationship seen from its ``start``."""

    OUT = "out"
    IN = "in"
    BOTH = "both"

    __hash__ = object.__hash__  # Enum's own is written in Python

    def reversed(self) -> Direction:
        """Return the direction seen from the other end."""
        return _REVERSED[self]

    def stored(self, undirected: bool) -> tuple[Direction, ...]:
        """Return the directions of a type's stored lists that together lead this way."""
        if undirected:
            return (Direction.BOTH,)
        return (Direction.OUT, Direction.IN) if self is Direction.BOTH else (self,)


_REVERSED = {Direction.OUT: Direction.IN, Direction.IN: Direction.OUT, Direction.BOTH: Direction.BOTH}


class MatchMode(Enum):
    """Which elements of one match must differ: relationships (Cypher's default), nodes too, or nothing."""

    DIFFERENT_RELATIONSHIPS = "DIFFERENT RELATIONSHIPS"
    REPEATABLE_ELEMENTS = "REPEATABLE ELEMENTS"
    DIFFERENT_NODES = "DIFFERENT NODES"


@node("predicates")
class PatternNode(KeptHash):
    """A vertex of the query graph.

    ``predicates`` mention no variable but ``name``. ``bound`` nodes come with the input rows.
    Names that the user did not give start with ``@``.
    """

    name: str
    labels: LabelExpr | None = None
    predicates: tuple[Expr, ...] = ()
    bound: bool = False


@node("graph")
class Repetition:
    """What a quantified path pattern repeats: ``graph``, whose nodes and relationships in order are these.

    One repetition begins where the one before ended: at ``nodes[-1]``. The names in it mean nothing outside, and none
    is bound.
    """

    graph: QueryGraph
    nodes: tuple[str, ...]
    relationships: tuple[str, ...]


@node("expr")
class PathCondition:
    """A condition that decides which paths are selected: ``expr``, which reads nothing but these names.

    They are the path's first and last node, the list of its relationships, and ``bounds`` as in ``Chain``.
    """

    first: str
    relationships: str
    last: str
    bounds: str
    expr: Expr


@node("graph", "condition")
class Chain:
    """A selected path of several elements: ``graph``, and the names of its nodes and relationships in turn.

    The names in it mean nothing outside, and none is bound; its first and last node have no conditions. ``bounds``: a
    variable of the match, the list of how many relationships come before each node between the first and the last.
    Paths are selected among those that satisfy the ``condition``.
    """

    graph: QueryGraph
    elements: tuple[str, ...]
    bounds: str
    condition: PathCondition | None = None


@node("predicates", "inner", "repetition", "chain")
class PatternRelationship(KeptHash):
    """An edge of the query graph from node ``start`` to node ``end``.

    ``types``: a label expression over the type, None for any. ``hops``: None for a plain relationship, else
    ``(minimum, maximum or None)`` of a variable-length one, whose variable is a list. ``predicates`` mention
    no variable but ``name``, which then stands for one relationship (for each hop). ``inner``: conditions on each
    node that a variable-length one passes between its ends; in them ``name`` stands for that node.
    Plain relationships are ``OUT`` or ``BOTH``. A variable-length one keeps its ends as written and may be ``IN``:
    its list runs from ``start`` to ``end``. A maximum below the minimum matches nothing.
    With a ``repetition`` the ``hops`` are repetitions of that, and the list has the relationships of all of them; then
    there are no ``types``, ``predicates`` and ``inner``. Nor with a ``chain``, of which the list has all relationships:
    its ``hops`` are any, and its path is selected.
    """

    name: str
    start: str
    end: str
    types: LabelExpr | None = None
    direction: Direction = Direction.OUT
    hops: tuple[int, int | None] | None = None
    predicates: tuple[Expr, ...] = ()
    bound: bool = False
    inner: tuple[Expr, ...] = ()
    repetition: Repetition | None = None
    chain: Chain | None = None


class PathMode(Enum):
    """What a path must not repeat: nothing, a relationship, a node, a node but for its start as its end."""

    WALK = "WALK"
    TRAIL = "TRAIL"
    ACYCLIC = "ACYCLIC"
    SIMPLE = "SIMPLE"


@frozen
class PathSelector:
    """Selects, between two ends, the ``count`` shortest paths, or with ``groups`` all of the ``count`` least lengths.

    Which of equally long ones are taken is open. Where there are fewer, all are.
    """

    count: int = 1
    groups: bool = False

    def __str__(self) -> str:
        if self.count == 1:
            return "ALL SHORTEST" if self.groups else "ANY SHORTEST"
        return f"SHORTEST {self.count}{' GROUPS' if self.groups else ''}"


ANY_SHORTEST = PathSelector()
ALL_SHORTEST = PathSelector(groups=True)


@frozen
class PatternPath:
    """A named or selected path, or one with a mode: ``elements`` are node, relationship, node, … names in order.

    ``mode``: what it must not repeat beyond what the match mode says; None for no more.

    With a selector the path is one variable-length relationship, or a chain, between two nodes; without one all paths
    count.
    """

    name: str | None
    elements: tuple[str, ...]
    selector: PathSelector | None = None
    mode: PathMode | None = None


class CardinalitySource(Protocol):
    """Knows how many rows parts of patterns have, better than the catalogue's statistics."""

    @property
    def reason(self) -> str:
        """How EXPLAIN names the source: "given", "sampled"."""

    def known(
        self,
        nodes: Mapping[str, PatternNode],
        relationships: Sequence[PatternRelationship],
        conditions: Sequence[Expr] = (),
    ) -> Mapping[frozenset[str], float]:
        """Return the expected embeddings of connected parts of a pattern, by the names of their nodes.

        ``conditions``: comparisons of a property of one node with one of another.

        A part has all relationships and conditions among its nodes, which may be matched to the same vertex. Parts that
        nothing is known of are left out.
        """


@frozen
class Hints:
    """What the user wants of the search. ``order``: nodes in the order of binding, all or the first of them.

    ``rule``: the published rule that orders them, "gsi", "ri" or "quicksi". ``strategy``: "search" (depth first),
    "extend" (breadth first) or "eliminate". ``join``: nodes of two parts that are matched apart and joined by the nodes
    in both. ``kernels``: rows of the kernel table that eliminations are computed by.
    ``as_written``: nothing is optimized; every match is walked in the order of the text.
    ``known``: where cardinalities of parts come from, before the statistics. ``text``, ``places``: the statement, and
    where in it each hint stands, by its word.
    """

    order: tuple[str, ...] = ()
    rule: str | None = None
    strategy: str | None = None
    join: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    kernels: tuple[str, ...] = ()
    as_written: bool = False
    known: CardinalitySource | None = None
    text: str = field(default="", compare=False, repr=False)
    places: tuple[tuple[str, Span], ...] = field(default=(), compare=False, repr=False)

    @property
    def eliminates(self) -> bool:
        """Whether counting by elimination is asked for, by its name or by kernels'."""
        return self.strategy == "eliminate" or bool(self.kernels)

    def unfollowed(self, name: str, message: str, hint: str) -> Unsupported:
        """Return the error of a hint that can't be followed, at its place."""
        return Unsupported(message, span=dict(self.places).get(name), text=self.text, hint=hint)


NO_HINTS = Hints()


@node("nodes", "relationships", "predicates")
class QueryGraph:
    """One ``MATCH``: nodes, relationships, paths, and the predicates over several variables.

    ``predicates`` are conjuncts that mention more than one variable, or variables of the input rows, or
    subqueries, or that can fail, those last; other single-variable conjuncts stand at their node or relationship.
    ``parts``: where several matches are one graph, the names of the elements of each: ``mode`` holds within a part.
    (): there is one. ``hints`` are those of the statement. ``span``: where it stands in the text.
    """

    nodes: tuple[PatternNode, ...]
    relationships: tuple[PatternRelationship, ...]
    paths: tuple[PatternPath, ...] = ()
    predicates: tuple[Expr, ...] = ()
    mode: MatchMode = MatchMode.DIFFERENT_RELATIONSHIPS
    parts: tuple[frozenset[str], ...] = ()
    hints: Hints = NO_HINTS
    span: Span | None = field(default=None, compare=False, repr=False)

    def variables(self) -> tuple[str, ...]:
        """Return the names that the match binds anew: nodes, relationships, bounds of chains, then named paths."""
        nodes = [node.name for node in self.nodes if not node.bound]
        relationships = [edge.name for edge in self.relationships if not edge.bound]
        bounds = [edge.chain.bounds for edge in self.relationships if edge.chain is not None]
        return (*nodes, *relationships, *bounds, *(path.name for path in self.paths if path.name))

    def together(self, one: str, other: str) -> bool:
        """Tell whether ``mode`` holds between two elements: they stand in one part."""
        return not self.parts or any(one in part and other in part for part in self.parts)

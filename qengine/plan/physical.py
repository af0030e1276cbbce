"""Physical operators of matching: what ``Match`` is lowered to. Plain data, no reference to a graph but by what
makes schedules (``plan.schedule.Schedules``).

A ``Search`` is a matching order turned into levels. Levels are either vertices (intersect neighbour sets of
earlier levels) or relationships (walk the edges between two earlier levels: only where their identity,
properties or number matters). Executors resolve names to arrays and run it (DESIGN: MatchPlan). ``Eliminate`` counts
without enumerating; its program is in ``plan.elimination``.
"""

from __future__ import annotations

from collections.abc import Sequence

from qengine._frozen import frozen
from qengine.errors import Span, Unsupported
from qengine.plan.access import Access
from qengine.plan.count_shapes import Component, View
from qengine.plan.elimination import Step, Term
from qengine.plan.expr import Expr
from qengine.plan.logical import Aggregate, Operator
from qengine.plan.node import node
from qengine.plan.pattern import ANY_SHORTEST, Direction, LabelExpr, PathCondition, PathMode, PathSelector
from qengine.plan.schedule import Schedule
from qengine.plan.shares import ALL_ROOTS, Share

MAX_LEVELS = 1024
"""Levels of a search; ``kMaxLevels`` of the kernels."""

MAX_DEVICE_LEVELS = 64
"""Levels of a search on a GPU, whose kernels name them by the bits of a word: ``kMaxDeviceLevels``."""


def check_levels(count: int, span: Span | None = None) -> None:
    """Refuse a search of more levels than kernels take; ``span`` is where its pattern stands.

    Raises
    ------
    Unsupported
        With both numbers.
    """
    if count > MAX_LEVELS:
        raise Unsupported(
            f"A pattern with {count:,} nodes and relationships exceeds the {MAX_LEVELS:,} that are searched.",
            span=span,
            hint="Split it into several MATCH clauses with WITH between them.",
        )


def check_device_levels(count: int) -> None:
    """Refuse a search of more levels than a GPU's kernels take.

    Raises
    ------
    Unsupported
        With both numbers.
    """
    if count > MAX_DEVICE_LEVELS:
        raise Unsupported(
            f"A pattern with {count:,} nodes and relationships exceeds the {MAX_DEVICE_LEVELS} that a GPU searches.",
            hint='Use device="auto" or device="cpu".',
        )


@frozen
class Source:
    """A neighbour set: the vertices reached from level ``level`` over ``types`` in ``direction``.

    ``types``: names, () for all types. With several types or ``BOTH`` it is the union.
    """

    level: int
    types: tuple[str, ...]
    direction: Direction


@frozen
class ColumnCondition:
    """``left.key OP right.key`` over columns of numbers or one property's strings, checked inside the search.

    ``left``/``right`` are level indices; op is one of ``= <> < <= > >=``. Null makes it false.
    """

    op: str
    left: int
    left_key: str
    right: int
    right_key: str


@node("predicates", "access")
class VertexLevel:
    """Binds a vertex: the intersection of ``sources``, within ``labels`` and ``predicates``.

    No source: every vertex that satisfies labels and predicates (or the input's value, for a seed).
    ``different``: levels whose vertex must differ. ``less``/``greater``: levels whose vertex id must be
    greater/less than this one's (symmetry). ``pairs``: (a, b, c, d) levels, all bound by now: not both
    vertex a = vertex b and vertex c = vertex d. ``predicates`` mention only this variable. ``access``: indexes that
    may answer some of them, that of the fewest vertices first.
    """

    name: str
    labels: LabelExpr | None = None
    predicates: tuple[Expr, ...] = ()
    sources: tuple[Source, ...] = ()
    different: tuple[int, ...] = ()
    less: tuple[int, ...] = ()
    greater: tuple[int, ...] = ()
    pairs: tuple[tuple[int, int, int, int], ...] = ()
    conditions: tuple[ColumnCondition, ...] = ()
    access: tuple[Access, ...] = ()


@node("predicates")
class EdgeLevel:
    """Binds a relationship between the vertices of two earlier levels, once for each such edge.

    ``direction`` is seen from ``start``; an undirected pattern edge takes a self-loop once. ``different``:
    edge levels whose relationship must differ.
    """

    name: str
    start: int
    end: int
    types: tuple[str, ...]
    direction: Direction
    predicates: tuple[Expr, ...] = ()
    different: tuple[int, ...] = ()
    conditions: tuple[ColumnCondition, ...] = ()


Level = VertexLevel | EdgeLevel


@node("input", "levels")
class Search(Operator):
    """Emits, for each input row, the embeddings of the levels; columns: the input's, then ``emit``.

    The first ``seeds`` levels are vertices whose values are input columns of the same name (null: no match);
    their labels, predicates and constraints are checked. ``emit`` names levels' variables. With ``count``, the
    levels after the last emitted one are only counted: each distinct prefix is emitted once, with the number of
    its completions times ``orbits`` as int64 column ``count`` (rows with 0 are left out). With ``exists`` the
    completions are not even counted: a prefix is emitted once if it has any. Where there are ``images``, orders of
    the names in ``emit``, each embedding that is found stands for as many: its vertices under each of these orders.
    ``strategy``: "search" (depth first) or "extend" (breadth first, a frontier a level). ``fixed``: the order is the
    user's, no other one is tried.
    ``reason`` says in EXPLAIN why this order and strategy were chosen; ``rows`` is the estimate, ``cost`` what a search
    is expected to take, in nanoseconds of one core, ``on_gpu`` what it takes there without kernels for its shape, where
    that is known: all three for each input row, of which ``given`` are expected. ``shapes``: what a GPU has kernels for
    and multiplies to the count; () where it has none.
    """

    input: Operator
    levels: tuple[Level, ...]
    seeds: int
    emit: tuple[str, ...]
    count: str | None = None
    exists: bool = False
    orbits: int = 1
    images: tuple[tuple[str, ...], ...] = ()
    strategy: str = "search"
    fixed: bool = False
    reason: str = ""
    rows: float | None = None
    cost: float | None = None
    shapes: tuple[Component[View], ...] = ()
    on_gpu: float | None = None
    given: float = 1.0


@node("input", "levels")
class SearchPart(Search):
    """The part of a search without seeds whose first level's vertex is one of some.

    Over shares that are all roots once, each embedding is found once.
    """

    share: Share = ALL_ROOTS


@node("input", "build")
class HashJoin(Operator):
    """Emits each input row joined with each row of ``build`` that has the same vertices in the columns ``keys``.

    Columns: the input's, then ``emit``, columns of ``build``. With ``semi`` each input row comes once if it has a
    partner; ``emit`` is empty. ``build`` reads no outer row: it is run once and held, its rows found by their keys.
    Null joins nothing. ``apart``: equations between columns of either side, one or two at a time, that must not all
    hold for a pair of rows. ``reason`` says in EXPLAIN why; ``rows`` is the estimate.

    With ``seeds``, a column of lists of the input and a name, ``build`` is a subplan: it starts at a column of that
    name with each different node of the lists, and is run anew where lists bring others.

    ``by_value``: the key is a ``KeyOf`` values, on which both sides end; rows may join whose values are not equal.
    """

    input: Operator
    build: Operator
    keys: tuple[str, ...]
    emit: tuple[str, ...]
    apart: tuple[tuple[tuple[str, str], ...], ...] = ()
    semi: bool = False
    reason: str = ""
    rows: float | None = None
    seeds: tuple[str, str] | None = None
    by_value: bool = False


@node("left", "right")
class SharedKeys:
    """A way to find partners: rows of which all of ``left``, of the input, equal those of ``right``, of the build side.

    With ``left_items`` or ``right_items`` that is one list, and one of its items must be equal.
    """

    left: tuple[Expr, ...]
    right: tuple[Expr, ...]
    left_items: bool = False
    right_items: bool = False


@node("point", "base", "low", "high", "within")
class Between:
    """A way to find partners: rows of which a value of one side, ``point``, lies between two of the other.

    ``base``: what is added to ``low`` and ``high``, numbers; None for nothing. ``strict``: whether each bound itself is
    left out. ``of_input``: the point is the input's, bounds are the build side's; else the other way round.
    ``prefix``: ``low`` is a text that the point begins with. ``within``: what must be equal, too.
    """

    point: Expr
    base: Expr | None
    low: Expr | None
    high: Expr | None
    strict: tuple[bool, bool] = (False, False)
    of_input: bool = False
    prefix: bool = False
    within: SharedKeys | None = None


@node("input", "build", "ways", "condition", "apart", "overlaps")
class ThetaJoin(Operator):
    """Emits each input row joined with each row of ``build`` for which ``condition`` is true.

    Partners are found by any of ``ways``; the condition is asked for those alone. ``told``: the ways tell all that
    the condition does, where values are ordered exactly; of several, ``overlaps`` are what two and more of them find,
    with their signs, so that all sum up to what any of them finds (inclusion and exclusion). Columns: the input's, then
    ``emit``, columns of ``build``. With ``semi`` each input row that has a partner comes once, with ``count`` once with
    a column of that name, how many it has; ``emit`` is empty. ``build`` reads no outer row: it is run once and held. A
    row of which a way's value can't be computed is asked with all. ``apart``: rows with equal values of any of these
    aren't joined, which the condition says, too, but the ways don't.
    """

    input: Operator
    build: Operator
    ways: tuple[SharedKeys | Between, ...]
    condition: Expr
    emit: tuple[str, ...]
    told: bool = False
    semi: bool = False
    count: str | None = None
    apart: tuple[SharedKeys, ...] = ()
    overlaps: tuple[Between, ...] = ()
    signs: tuple[int, ...] = ()


@node("input", "few", "many")
class FewOrMany(Operator):
    """Emits what ``few`` does of the input's rows where there are at most ``most``, else what ``many`` does.

    Both start at an ``Argument`` of the input's columns, and have the same columns. Holds ``most`` rows.
    """

    input: Operator
    few: Operator
    many: Operator
    most: int


@node("input")
class Members(Operator):
    """Emits each input row with each different node of the list in its column ``items``; none for null.

    Columns: the input's, then ``name``. Items that are no nodes are left out. ``rows``: how many a list is expected to
    have.
    """

    input: Operator
    items: str
    name: str
    rows: float


@node("input", "value")
class LookUp(Operator):
    """Emits each input row with each node that has ``labels`` and whose property ``key`` equals ``value`` of the row.

    Columns: the input's, then ``name``. Null equals nothing. Where ``value`` fails for a row, its batch's rows get all
    that may be found: a condition behind it fails, too, if it is asked. ``rows``: nodes that a row is expected
    to find; ``unique``: one at most. ``identity``: ``key`` is ``id`` or ``elementid``, not a property, and
    with ``many`` one of those in the list ``value``. ``relationship``: it is that of a relationship, without labels; by
    a property, of ``types``.
    """

    input: Operator
    name: str
    labels: LabelExpr | None
    key: str
    value: Expr
    rows: float
    unique: bool = False
    identity: bool = False
    many: bool = False
    relationship: bool = False
    types: tuple[str, ...] = ()


@node("input", "predicates", "access")
class RelationshipScan(Operator):
    """Emits each input row with each relationship of ``types`` that satisfies ``predicates``, which mention it alone.

    Columns: the input's, then ``name``. ``access``: the index that answers all the predicates, once it pays; until then
    they are evaluated for all.
    """

    input: Operator
    name: str
    types: tuple[str, ...]
    predicates: tuple[Expr, ...]
    access: Access

    @property
    def rows(self) -> float:
        """How many relationships are expected."""
        return self.access.rows


@node("input", "search", "steps", "searches")
class Eliminate(Operator):
    """Emits what ``search`` (over ``Unit``, without seeds) does, for each input row, by summing vertices out.

    The count is the sum of ``terms``: of homomorphisms of the pattern and of what it becomes where elements that must
    differ coincide, with signs (inclusion and exclusion). ``steps`` compute them, or ``searches`` (over ``Unit``,
    counting) where those are cheaper, perhaps all; ``emit`` is up to two nodes, for which the terms have outputs.
    ``schedules``: for each device which kernels compute it, and what that is expected to take, its searches included.
    Executors without these steps run ``search``, and so do those of devices without a schedule: there it is expected
    to take less. ``alone``: but the search doesn't ask all that is counted, and can't take its place. ``reason`` says
    in EXPLAIN why.
    """

    input: Operator
    search: Search
    steps: tuple[Step, ...]
    terms: tuple[Term, ...]
    searches: tuple[Search, ...] = ()
    emit: tuple[str, ...] = ()
    schedules: Sequence[Schedule] = ()
    reason: str = ""
    alone: bool = False

    def schedule(self, device: str) -> Schedule | None:
        """Return how a device computes it, None where it searches instead."""
        return next((each for each in self.schedules if each.device == device), None)

    @property
    def count(self) -> str | None:
        """The column of the count, None where only existence is asked for."""
        return self.search.count


@node("program")
class NodeSums:
    """``program``, which has ``NodeValues``, sums values of ``node`` over the embeddings of a pattern by another node.

    ``labels``: no other vertices are values wanted of.
    """

    node: str
    labels: LabelExpr | None
    program: Eliminate


@node("program")
class NodePairs:
    """``program`` counts embeddings by another node and by ``node``, whose vertices have ``labels``.

    Without keys it counts them by ``node`` alone.
    """

    node: str
    labels: LabelExpr | None
    program: Eliminate


@node("input", "counts", "sums", "pairs")
class AggregateByNode(Operator):
    """Emits what ``input``, an ``Aggregate`` of one pattern, does, and makes none of its rows.

    Keys depend on ``node`` alone, each argument on one node. ``counts`` has the embeddings by ``node``; each of
    ``sums`` adds up values of another node. What they give by node is grouped like rows. Where values are not finite
    numbers, ``input`` runs. Different, least and greatest values of another node are found in the rows of ``pairs``,
    which are not kept. The host runs it; a GPU runs ``input`` where it takes less so. Holds some numbers a vertex.
    """

    input: Aggregate
    node: str
    counts: Eliminate
    sums: tuple[NodeSums, ...]
    pairs: tuple[NodePairs, ...] = ()


@node("input", "program")
class AggregateByClasses(Operator):
    """Emits what ``input``, an ``Aggregate`` of one pattern, does, and makes none of its rows.

    Keys and arguments read ``node`` or ``by``, which have ``labels`` and ``by_labels``. ``program`` has ``NodeValues``
    of ``node`` and counts by ``by``: once for each class of vertices of ``node`` that agree in what is read of them.
    Where these are more than ``most``, or values can't be folded, ``input`` runs; so it does on a GPU. Holds some
    numbers a vertex, and the groups.
    """

    input: Aggregate
    node: str
    labels: LabelExpr | None
    by: str
    by_labels: LabelExpr | None
    program: Eliminate
    most: int


@frozen
class Carried:
    """A node beyond an end of entries that the end has one of at most, by relationships of one type.

    ``bearer``: the name of the end, or of such a node before it; ``direction``: of the relationships, seen from there.
    ``labels``: the node's.
    """

    name: str
    labels: LabelExpr | None
    bearer: str
    type: str
    direction: Direction


@node("predicates", "value")
class CarriedByValue:
    """A node of a property's value, of which there is one at most: ``key`` of the node equals ``value`` of ``bearer``.

    ``bearer``: a vertex of entries. ``labels``, ``predicates``: the node's.
    """

    name: str
    labels: LabelExpr | None
    predicates: tuple[Expr, ...]
    bearer: str
    key: str
    value: Expr


@node("vertices", "taken")
class Another:
    """Says of what is counted by ``end`` that it hangs there by a relationship of the entries' kind, another than each.

    The entry is among what is counted where the entry's other end is one of ``vertices``. ``taken``: by the names of
    columns of sums there, what was added for the entry itself, an expression of its other end.
    """

    end: str
    vertices: VertexLevel
    taken: tuple[tuple[str, Expr], ...] = ()


@node("input", "core", "counts", "values", "carried", "others", "made")
class AggregateEntries(Operator):
    """Emits what ``input``, an ``Aggregate`` of one vertex or of one relationship and its ends, does; makes no rows.

    Keys and arguments are each of one variable: they are evaluated for each vertex or relationship once, and folded
    while the stored lists are read (``plan.folding``). Where values are not of one kind, or not finite, ``input`` runs.
    Holds what is evaluated, and the groups, on the host for each thread.

    A pattern of more is a relationship, ``core`` is the aggregate over that alone, and what hangs at its ends: each of
    ``counts`` counts embeddings by one of them. An entry counts as often as their product says, less itself where one
    of ``others`` says so. Each of ``values`` aggregates by one of them, and ``core`` reads its other columns as
    properties of that end (``plan.folding.beyond``); those of sums count as often as the other end says alone. The host
    folds those; a GPU runs ``input``. Keys and arguments may be of ``carried`` nodes, too. Where an end has several,
    ``input`` runs. Entries without a node carried by value, or by an end that nothing counts by, aren't folded;
    ``core`` is over the pattern without it.

    Of a relationship by itself keys and arguments may be of several variables: ``made`` are expressions of the
    relationship that ``core`` has for these, with what is evaluated for each relationship first.
    """

    input: Aggregate
    core: Aggregate | None = None
    counts: tuple[Eliminate, ...] = ()
    values: tuple[Operator, ...] = ()
    carried: tuple[Carried | CarriedByValue, ...] = ()
    others: tuple[Another, ...] = ()
    made: tuple[tuple[Expr, Expr], ...] = ()

    @property
    def by_value(self) -> bool:
        """Whether a node is carried by a value."""
        return any(isinstance(each, CarriedByValue) for each in self.carried)

    @property
    def folded(self) -> Aggregate:
        """The aggregate over what is read."""
        return self.core or self.input

    @property
    def search(self) -> Search:
        """What would find the vertices or relationships that are read."""
        below = self.folded.input
        found = below.search if isinstance(below, Eliminate) else below
        assert isinstance(found, Search)
        return found


@node("input", "end", "predicates", "inner")
class Walk(Operator):
    """Emits, for each input row, the walks of ``minimum`` to ``maximum`` hops from vertex ``start``.

    Columns: the input's, then ``end.name`` unless ``end_bound`` (then only walks to that vertex count), then
    ``relationships`` (a list of relationships in walking order) unless it is None. ``mode``: what a walk must not
    repeat; ``different`` names columns (relationships or lists) that share none with the walk. ``predicates`` hold
    for each hop and ``inner`` for each vertex between the ends, with variable ``hop``. ``distinct_ends``: each end
    once a row (reachability, where ``Reach`` doesn't tell it).
    """

    input: Operator
    start: str
    end: VertexLevel
    end_bound: bool
    types: tuple[str, ...]
    direction: Direction
    minimum: int
    maximum: int | None
    relationships: str | None
    hop: str
    predicates: tuple[Expr, ...] = ()
    different: tuple[str, ...] = ()
    mode: PathMode = PathMode.TRAIL
    distinct_ends: bool = False
    inner: tuple[Expr, ...] = ()


@node("input", "end", "repeated")
class Repeat(Operator):
    """Emits, for each input row, the walks of ``minimum`` to ``maximum`` repetitions of ``repeated`` from ``start``.

    ``repeated``: a subplan over an ``Argument`` of the column ``begin``, a node; a row is one way to repeat. Its
    columns ``relationships_of`` are the relationships in walking order, ``nodes_of`` the node behind each, in the last
    of which the next repetition begins. All else is as in ``Walk``: ``mode`` and ``different`` are about single
    relationships and nodes, and ``relationships`` is the list of all. ``by``, with ``distinct_ends``: the ends of all
    starts of rows that are equal in these columns of the input, which with ``end.name`` are all columns then; None: of
    each row.
    """

    input: Operator
    start: str
    end: VertexLevel
    end_bound: bool
    repeated: Operator
    begin: str
    relationships_of: tuple[str, ...]
    nodes_of: tuple[str, ...]
    minimum: int
    maximum: int | None
    relationships: str | None
    different: tuple[str, ...] = ()
    mode: PathMode = PathMode.TRAIL
    distinct_ends: bool = False
    by: tuple[str, ...] | None = None


@node("repeated", "node")
class PathPart:
    """A quantified part of a selected path: what it repeats, as in ``Repeat``, and the node behind it."""

    repeated: Operator
    begin: str
    relationships_of: tuple[str, ...]
    nodes_of: tuple[str, ...]
    minimum: int
    maximum: int | None
    node: VertexLevel


@node("input", "end", "parts", "condition")
class SelectPaths(Operator):
    """Emits, for each input row and end, the paths from ``start`` along ``parts`` that ``selector`` selects.

    Columns: as of ``Walk``, and ``bounds``: the list of how many relationships come before the node behind each part
    but the last. ``minimum``: relationships of a path. ``mode``: what a path must not repeat. Paths that share a
    relationship with the columns ``different`` are dropped once they are selected. Those that don't satisfy the
    ``condition`` are none to select from.
    """

    input: Operator
    start: str
    end: VertexLevel
    end_bound: bool
    parts: tuple[PathPart, ...]
    minimum: int
    relationships: str | None
    bounds: str | None
    selector: PathSelector
    different: tuple[str, ...] = ()
    mode: PathMode = PathMode.TRAIL
    condition: PathCondition | None = None


@node("input", "end", "predicates", "inner")
class Reach(Operator):
    """Emits, for each different row of the input's columns ``by``, the ends of walks from ``start`` of any such row.

    Columns: ``by``, then ``end.name``, or ``count`` in its place, the number of ends, where there are some. The rest is
    as in ``Walk``, with ``minimum`` 0 or 1.
    """

    input: Operator
    start: str
    end: VertexLevel
    types: tuple[str, ...]
    direction: Direction
    minimum: int
    maximum: int | None
    hop: str
    by: tuple[str, ...]
    predicates: tuple[Expr, ...] = ()
    mode: PathMode = PathMode.TRAIL
    inner: tuple[Expr, ...] = ()
    count: str | None = None


@node("input", "end", "predicates", "inner")
class Shortest(Operator):
    """Emits, for each input row and end, the paths from ``start`` that ``selector`` selects (as ``Walk``'s columns).

    ``hops``: a column in the place of ``relationships``, how many each path has.
    ``mode``: a trail, or a walk that may repeat relationships. For one path or length of at least one hop they differ
    only where a path ends at its start.
    """

    input: Operator
    start: str
    end: VertexLevel
    end_bound: bool
    types: tuple[str, ...]
    direction: Direction
    minimum: int
    maximum: int | None
    relationships: str | None
    hop: str
    predicates: tuple[Expr, ...] = ()
    selector: PathSelector = ANY_SHORTEST
    inner: tuple[Expr, ...] = ()
    mode: PathMode = PathMode.TRAIL
    hops: str | None = None


@node("input", "inner")
class Optional(Operator):
    """Left outer apply: emits each input row joined with ``inner``'s rows for it, or once with nulls.

    ``inner``'s leaf is an ``Argument`` of the input's columns; ``columns`` are those that it adds. With ``weight`` a
    row of ``inner`` counts as many times as that column of it says, which is added too; a row with nulls counts once.
    ``matched``: a column that is added, true where ``inner`` has a row, else null.
    """

    input: Operator
    inner: Operator
    columns: tuple[str, ...]
    weight: str | None = None
    matched: str | None = None


@node("input", "inner")
class Attach(Operator):
    """Adds column ``name``: for each row whether ``inner`` has rows (exists), how many (count), or a list of
    its only column (collect). ``outer``: the input columns that ``inner`` reads, through its ``Argument``.
    With ``weight`` a row of ``inner`` counts as many times as that column of it says.
    """

    input: Operator
    inner: Operator
    kind: str
    name: str
    outer: tuple[str, ...]
    weight: str | None = None


@node("input", "bounded", "count")
class Bounded(Operator):
    """Emits what ``bounded`` does where it has ``count`` rows at least, else what ``input`` does.

    ``bounded`` is ``input``, a ``Sort`` of which ``count`` rows are wanted, without what comes after a bound by the
    order's first key. Holds the rows of ``bounded``.
    """

    input: Operator
    bounded: Operator
    count: Expr


@node("input", "matched", "groups")
class Completed(Operator):
    """Emits what ``input`` does, an ``Aggregate`` over an ``Optional``, without rows that have no match.

    ``matched`` emits the groups of rows that have one, ``groups`` those of all rows before the optional part, by the
    same ``keys``, with what is aggregated of these; groups that the former lacks have the values ``empty``, by column.
    """

    input: Operator
    matched: Operator
    groups: Operator
    keys: tuple[str, ...]
    empty: tuple[tuple[str, int | None], ...]


@node("root", "careful")
class PhysicalPlan:
    """A lowered statement: operators that an executor runs, and the result's columns.

    ``careful``: where it isn't None, predicates of levels and hops in ``root`` may fail; if one does, for any vertex
    or relationship of its labels or types, an executor runs ``careful`` in its place, which evaluates them on matches.
    """

    root: Operator
    columns: tuple[str, ...]
    explain: str | None = None
    careful: Operator | None = None

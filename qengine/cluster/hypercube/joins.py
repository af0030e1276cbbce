"""What a query over tables needs: which tables its pattern's parts may be, and what is done in cells and after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qengine._frozen import frozen, replace
from qengine.cluster.cut import chain_of, refused, split, stacked
from qengine.cluster.hypercube.conditions import condition_over_columns
from qengine.cluster.hypercube.gathered import Gathered, gathered
from qengine.cluster.hypercube.plain import IDENTITY, expressions, named_at, plain
from qengine.cluster.hypercube.tables import Tables
from qengine.cluster.hypercube.uses import Use, refuse_subqueries
from qengine.errors import Unsupported
from qengine.plan.expr import Expr, Property
from qengine.plan.logical import Aggregate, Distinct, LogicalPlan, Match, Operator, Project, Unit, Unwind
from qengine.plan.pattern import LabelIs, PatternNode, PatternRelationship
from qengine.plan.traverse import free_variables, rewrite_plan
from qengine.types import BOOLEAN, FLOAT, INTEGER, STRING


@frozen
class Join:
    """A query in two: patterns whose tables are sent to cells, with what each cell does, and what follows.

    Attributes
    ----------
    variables
        The names of the patterns' nodes.
    gridded
        How many of them, from the first on, may have shares.
    kinds
        Of each the numbers of the kinds of nodes that it may be.
    uses
        What rows of relationships may be.
    conditions
        Of each node those on its properties, over columns: cells see only nodes that satisfy them.
    rows
        Which nodes are sent with a row of their own: (number of the variable, number of the kind).
    node_columns, relationship_columns
        The properties of each kind's nodes and each table's relationships that cells read, by their numbers.
    identity
        Whether cells tell nodes apart by a property.
    part
        What each cell does.
    keys
        Columns of what cells give: rows that agree in them are merged together, apart from others.
    merge
        What is done with the rows that have some keys, from the first operator upward; none without keys.
    tail
        What is done with all rows that are left, from the first operator upward.
    """

    variables: tuple[str, ...]
    gridded: int
    kinds: tuple[frozenset[int], ...]
    uses: tuple[Use, ...]
    conditions: tuple[tuple[Expr, ...], ...]
    rows: frozenset[tuple[int, int]]
    node_columns: dict[int, tuple[str, ...]]
    relationship_columns: dict[int, tuple[str, ...]]
    identity: bool
    part: LogicalPlan
    keys: tuple[str, ...]
    merge: tuple[Operator, ...]
    tail: tuple[Operator, ...]


def variable_label(place: int) -> str:
    """Return the label that nodes of a cell have which may be the pattern's node of that number."""
    return f"@{place}"


def join_of(root: Operator, tables: Tables) -> Join:
    """Return how a query is answered over tables.

    Parameters
    ----------
    root
        The logical plan after the optimizer's rules.

    Raises
    ------
    Unsupported
        For what one round of cells can't answer, with what to do instead.
    """
    below, rest = _matches_and_rest(root)
    first = named_at(rest)
    found = gathered(below, rest[: first + 1], tables)
    for operator in rest[first + 1 :]:
        for expr in expressions(operator):
            refuse_subqueries(expr)
    above, tail = split(plain(rest, first, found.elements, found.columns))
    nodes, conditions = _with_conditions_apart(found.nodes)
    relationships, uses = _relationships_apart(found.relationships, found.uses)
    names = tuple(node.name for node in found.nodes)
    evaluated = [expr for operator in above for expr in expressions(operator)]
    evaluated += [expr for each in nodes for expr in each.predicates]
    evaluated += [expr for each in relationships for expr in each.predicates]
    properties = found.properties(evaluated)
    identity = any(IDENTITY in keys for keys in properties.values())
    changed = _Changed({each.name: each for each in nodes}, {each.name: each for each in relationships})
    top = rewrite_plan(stacked((*below, *above), Unit()), changed)
    rows, node_columns = _node_rows(found, conditions, properties, tables)
    relationship_columns: dict[int, tuple[str, ...]] = {}
    for use in uses:
        there = tables.relationships[use.table].properties
        wanted = properties[relationships[use.relationship].name] & set(there)
        before = relationship_columns.get(use.table, ())
        relationship_columns[use.table] = tuple(sorted(wanted | set(before)))
    part = LogicalPlan(top, _columns(above))
    return Join(
        names, found.gridded, found.kinds, uses, conditions, rows, node_columns, relationship_columns, identity, part,
        *_merging(above, tail),
    )  # fmt: skip


def _matches_and_rest(root: Operator) -> tuple[tuple[Operator, ...], tuple[Operator, ...]]:
    """Return the operators of a query up to its last match, and those over it, both from the first upward."""
    if (reason := refused(root)) is not None:
        raise Unsupported(f"Over tables this isn't answered: {reason}.", hint="Load the graph whole.")
    chain = chain_of(root)
    if chain is None:
        raise Unsupported("Over tables a query is of one part.", hint="Run the parts of UNION one by one.")
    if not chain or not isinstance(chain[0], Match) or chain[0].optional:
        raise Unsupported(
            "Over tables a query begins with a pattern that isn't optional.",
            hint="Begin with MATCH; give values as parameters.",
        )
    end = max(place for place, each in enumerate(chain, 1) if isinstance(each, Match))
    return chain[:end], chain[end:]


@frozen
class _Changed:
    """Gives matches of cells the pattern's elements as these have them: nodes by labels of their own."""

    nodes: Mapping[str, PatternNode]
    relationships: Mapping[str, PatternRelationship]

    def __call__(self, operator: Operator) -> Operator:
        if not isinstance(operator, Match):
            return operator
        graph = operator.graph
        nodes = tuple(each if each.bound else self.nodes[each.name] for each in graph.nodes)
        relationships = tuple(self.relationships[each.name] for each in graph.relationships)
        return replace(operator, graph=replace(graph, nodes=nodes, relationships=relationships))


def _with_conditions_apart(
    nodes: Sequence[PatternNode],
) -> tuple[tuple[PatternNode, ...], tuple[tuple[Expr, ...], ...]]:
    """Return the nodes as cells match them, by a label of their own, and the conditions that this label stands for."""
    changed, conditions = [], []
    for place, node in enumerate(nodes):
        over = [condition_over_columns(each, node.name) for each in node.predicates]
        rest = tuple(each for each, there in zip(node.predicates, over, strict=True) if there is None)
        changed.append(replace(node, labels=LabelIs(variable_label(place)), predicates=rest))
        conditions.append(tuple(each for each in over if each is not None))
    return tuple(changed), tuple(conditions)


def _relationships_apart(
    relationships: Sequence[PatternRelationship], uses: Sequence[Use]
) -> tuple[tuple[PatternRelationship, ...], tuple[Use, ...]]:
    """Return the relationships as cells match them, and the uses with their conditions.

    Cells need not look again where all that they get of a table has satisfied a relationship's conditions: where it is
    the only one that the table's rows may be.
    """
    changed, over = [], []
    for place, each in enumerate(relationships):
        found = [condition_over_columns(one, each.name) for one in each.predicates]
        over.append(tuple(one for one in found if one is not None))
        own = {use.table for use in uses if use.relationship == place}
        alone = all(use.relationship == place for use in uses if use.table in own)
        kept = tuple(one for one, there in zip(each.predicates, found, strict=True) if there is None or not alone)
        changed.append(replace(each, predicates=kept))
    return tuple(changed), tuple(replace(use, conditions=over[use.relationship]) for use in uses)


def _node_rows(
    found: Gathered,
    conditions: Sequence[tuple[Expr, ...]],
    properties: Mapping[str, frozenset[str]],
    tables: Tables,
) -> tuple[frozenset[tuple[int, int]], dict[int, tuple[str, ...]]]:
    """Return which nodes are sent with rows of their own, and which columns besides the key."""
    rows: set[tuple[int, int]] = set()
    columns: dict[int, set[str]] = {}
    for place, node in enumerate(found.nodes):
        asked = {column[1:] for each in conditions[place] for column in free_variables(each)}
        read = properties[node.name]
        for number in found.kinds[place]:
            kind = tables.kinds[number]
            columns.setdefault(number, set()).update(read & set(kind.properties))
            if (read | asked) & (set(kind.properties) - {kind.key}) or place not in found.joined:
                if kind.spread is None:
                    raise Unsupported(f"There is no table of {kind.name}.", hint="Give one, or match relationships.")
                rows.add((place, number))
    return frozenset(rows), {number: tuple(sorted(names)) for number, names in columns.items()}


def _merging(
    above: Sequence[Operator], tail: tuple[Operator, ...]
) -> tuple[tuple[str, ...], tuple[Operator, ...], tuple[Operator, ...]]:
    """Return by which keys rows of cells are merged, what is done with those of a key, and what with all that is left.

    There are keys where groups or different rows are wanted: those of their columns that every process hashes alike,
    since rows that are equal in all are equal in some.
    """
    last = next((each for each in reversed(above) if isinstance(each, Project | Aggregate)), None)
    steps: tuple[Operator, ...]
    match tail, last:
        case (Aggregate(keys=keys) as first, Project() as shown, *rest), Aggregate(keys=given):
            steps, names = (first, shown), [name for name, _ in keys]
        case (Distinct() as first, *rest), Project(items=given):
            steps, names = (first,), [name for name, _ in given]
        case _:
            return (), (), tail
    hashed = tuple(name for name, expr in given if name in names and _hashed_alike(expr))
    if not hashed:
        return (), (), tail
    more, left = split(tuple(rest))
    return hashed, (*steps, *more), left


def _hashed_alike(expr: Expr) -> bool:
    identity = isinstance(expr, Property) and expr.key == IDENTITY
    return identity or expr.type in (BOOLEAN, FLOAT, INTEGER, STRING)


def _columns(above: Sequence[Operator]) -> tuple[str, ...]:
    """Return the columns that a cell's operators emit."""
    found: tuple[str, ...] = ()
    for operator in above:
        if isinstance(operator, Project):
            found = tuple(name for name, _ in operator.items)
        elif isinstance(operator, Aggregate):
            found = tuple(name for name, _ in (*operator.keys, *operator.aggregates))
        elif isinstance(operator, Unwind):
            found = (*found, operator.name)
    return found

"""The abstract syntax tree: what the user wrote, before any name is looked up.

Nodes are frozen, slotted, equal by content; ``span`` (character offsets into the text) takes no part in
equality. Sequences are tuples. Names follow the openCypher grammar and, for newer parts, the GQL standard.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from qengine._frozen import frozen
from qengine.errors import Span

_NOWHERE = Span(0, 0)


@frozen(kw_only=True)
class Ast:
    """Base of all nodes."""

    span: Span = field(default=_NOWHERE, compare=False, repr=False)


# ---------------------------------------------------------------- expressions


@frozen
class Expression(Ast):
    """Base of expressions."""


@frozen
class Literal(Expression):
    """``1``, ``.5``, ``'text'``, ``true``, ``null`` (None). Integers are checked to fit 64 bits."""

    value: Any


@frozen
class Parameter(Expression):
    """``$name``."""

    name: str


@frozen
class Variable(Expression):
    """A name."""

    name: str


@frozen
class ListLiteral(Expression):
    """``[a, b]``."""

    items: tuple[Expression, ...]


@frozen
class MapLiteral(Expression):
    """``{key: value}``."""

    entries: tuple[tuple[str, Expression], ...]


@frozen
class PropertyAccess(Expression):
    """``subject.key``; ``key_span`` covers the key."""

    subject: Expression
    key: str
    key_span: Span = field(default=_NOWHERE, compare=False, repr=False, kw_only=True)


@frozen
class Index(Expression):
    """``subject[index]``."""

    subject: Expression
    index: Expression


@frozen
class Slice(Expression):
    """``subject[start..end]``; absent bounds are None."""

    subject: Expression
    start: Expression | None
    end: Expression | None


@frozen
class LabelTest(Expression):
    """``n:A&B`` or ``n IS A`` as a predicate."""

    subject: Expression
    labels: LabelExpression


@frozen
class Unary(Expression):
    """``NOT``, ``-``, ``+``, ``IS NULL``, ``IS NOT NULL``, ``IS NFC NORMALIZED`` (or another form)."""

    op: str
    operand: Expression


@frozen
class TypeTest(Expression):
    """``operand IS :: types``; ``types`` as ``INTEGER | LIST<STRING NOT NULL>``."""

    operand: Expression
    types: str


@frozen
class Cast(Expression):
    """``CAST(operand AS type)``; ``type`` as in ``TypeTest``."""

    operand: Expression
    type: str


@frozen
class Binary(Expression):
    """``OR XOR AND + - * / % ^ =~ IN "STARTS WITH" "ENDS WITH" CONTAINS ||``. AND/OR/XOR nest to the left."""

    op: str
    left: Expression
    right: Expression


@frozen
class Comparison(Expression):
    """A chain of ``= <> < <= > >=``: ``ops`` has one fewer than ``operands``."""

    ops: tuple[str, ...]
    operands: tuple[Expression, ...]


@frozen
class FunctionCall(Expression):
    """``name(DISTINCT args)``; ``name`` as written with dots; ``star`` for ``count(*)``."""

    name: str
    args: tuple[Expression, ...]
    distinct: bool = False
    star: bool = False
    name_span: Span = field(default=_NOWHERE, compare=False, repr=False, kw_only=True)


@frozen
class CaseExpression(Expression):
    """``CASE [subject] WHEN … THEN … [ELSE …] END``."""

    subject: Expression | None
    whens: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None


@frozen
class ListComprehension(Expression):
    """``[variable IN source WHERE where | result]``."""

    variable: str
    source: Expression
    where: Expression | None
    result: Expression | None


@frozen
class PatternComprehension(Expression):
    """``[name = pattern WHERE where | result]``."""

    pattern: PathPattern
    where: Expression | None
    result: Expression


@frozen
class QuantifierExpression(Expression):
    """``all | any | none | single (variable IN source WHERE where)``; ``quantifier`` in lower case."""

    quantifier: str
    variable: str
    source: Expression
    where: Expression | None


@frozen
class ReduceExpression(Expression):
    """``reduce(accumulator = initial, variable IN source | step)``; ``allReduce(…, condition)`` with a condition."""

    accumulator: str
    initial: Expression
    variable: str
    source: Expression
    step: Expression
    condition: Expression | None = None


@frozen
class MapProjection(Expression):
    """``subject {.*, .key, key: value, variable}``: items are ("*", None), (key, None) for ``.key``,
    (key, expression) for ``key: value`` and for a bare ``variable``.
    """

    subject: Expression
    items: tuple[tuple[str, Expression | None], ...]


@frozen
class PatternPredicate(Expression):
    """A path pattern used as a predicate: ``(a)-[:T]->(b)``."""

    pattern: PathPattern


@frozen
class SubqueryExpression(Expression):
    """``EXISTS | COUNT | COLLECT | VALUE { … }``; ``kind`` in lower case.

    The body is a full query, or a pattern with an optional WHERE, kept as a ``Query`` of one ``MatchClause`` and no
    RETURN.
    """

    kind: str
    body: Statement


# ---------------------------------------------------------------- label expressions


@frozen
class LabelExpression(Ast):
    """Base of label (and type) expressions."""


@frozen
class LabelName(LabelExpression):
    """A label or type name."""

    name: str


@frozen
class LabelWildcard(LabelExpression):
    """``%``."""


@frozen
class LabelDynamic(LabelExpression):
    """``$(expression)``: the labels are those that a string or a list of strings names; ``any``: one of them."""

    expression: Expression
    any: bool = False


@frozen
class LabelConjunction(LabelExpression):
    """``A&B`` or ``:A:B``."""

    args: tuple[LabelExpression, ...]


@frozen
class LabelDisjunction(LabelExpression):
    """``A|B`` (also written ``A|:B``)."""

    args: tuple[LabelExpression, ...]


@frozen
class LabelNegation(LabelExpression):
    """``!A``."""

    arg: LabelExpression


# ---------------------------------------------------------------- patterns


@frozen
class NodePattern(Ast):
    """``(name:labels {properties} WHERE where)``. ``properties`` is a MapLiteral or a Parameter."""

    name: str | None = None
    labels: LabelExpression | None = None
    properties: Expression | None = None
    where: Expression | None = None


@frozen
class Hops(Ast):
    """``*``, ``*2``, ``*1..3``, ``{1,3}``, ``+``: ``maximum`` None is unbounded. ``*`` means 1 or more after a
    relationship's type (Cypher) and 0 or more as a quantifier behind it (GQL). ``single``: of ``?``, where names stand
    for an element or null, not for lists.
    """

    minimum: int
    maximum: int | None
    single: bool = False


@frozen
class RelationshipPattern(Ast):
    """``-[name:types*hops {properties} WHERE where]->``; ``left``/``right``: it has an arrow head there."""

    left: bool
    right: bool
    name: str | None = None
    types: LabelExpression | None = None
    hops: Hops | None = None
    properties: Expression | None = None
    where: Expression | None = None


@frozen
class QuantifiedPath(Ast):
    """``((a)-->(b) WHERE …){1,3}``: a quantified (or merely parenthesised: ``hops`` None) path pattern."""

    elements: tuple[Ast, ...]
    where: Expression | None
    hops: Hops | None
    name: str | None = None


@frozen
class PathPattern(Ast):
    """``name = SELECTOR MODE elements``: NodePattern, RelationshipPattern, NodePattern, … (or QuantifiedPath).

    ``selector``: None, "shortestPath", "allShortestPaths", or GQL's in upper case with its count written in:
    "ANY", "ANY 3", "ANY SHORTEST", "ALL SHORTEST", "SHORTEST 2", "SHORTEST 2 GROUPS", "ALL".
    ``path_mode``: None, "WALK", "TRAIL", "ACYCLIC", "SIMPLE".
    """

    elements: tuple[Ast, ...]
    name: str | None = None
    selector: str | None = None
    path_mode: str | None = None


# ---------------------------------------------------------------- clauses


@frozen
class Clause(Ast):
    """Base of clauses."""


@frozen
class MatchClause(Clause):
    """``[OPTIONAL] MATCH [mode] patterns [WHERE …]``; ``mode`` in upper case: "DIFFERENT RELATIONSHIPS",
    "REPEATABLE ELEMENTS", "DIFFERENT NODES", or None. ``search``: the call before it that ``SEARCH`` stands for.
    """

    patterns: tuple[PathPattern, ...]
    where: Expression | None = None
    optional: bool = False
    mode: str | None = None
    search: ProcedureCallClause | None = None


@frozen
class UnwindClause(Clause):
    """``UNWIND expression AS name``, ``FOR name IN expression WITH ORDINALITY position``.

    ``position``: a name for the items' numbers, which begin with ``first``.
    """

    expression: Expression
    name: str
    position: str | None = None
    first: int = 0


@frozen
class ReturnItem(Ast):
    """``expression [AS alias]``; ``text`` is the expression as written: the column's name without alias."""

    expression: Expression
    alias: str | None
    text: str


@frozen
class SortItem(Ast):
    """``expression [ASC | DESC] [NULLS FIRST | NULLS LAST]``; without the latter nulls are the greatest values."""

    expression: Expression
    ascending: bool = True
    nulls_first: bool | None = None


@frozen
class Projection(Ast):
    """The body of WITH and RETURN. ``star``: ``*`` stands before the items. ``groups``: the keys of GROUP BY."""

    items: tuple[ReturnItem, ...]
    star: bool = False
    distinct: bool = False
    order: tuple[SortItem, ...] = ()
    skip: Expression | None = None
    limit: Expression | None = None
    groups: tuple[Expression, ...] = ()


@frozen
class WithClause(Clause):
    """``WITH projection [WHERE …]``, and what means the same of all columns: LET, FILTER, ORDER BY, SKIP, LIMIT.

    ``word``: the one that it begins with.
    """

    projection: Projection
    where: Expression | None = None
    word: str = "WITH"


@frozen
class ReturnClause(Clause):
    """``RETURN projection`` (or ``FINISH``: no items, no star)."""

    projection: Projection


@frozen
class CreateClause(Clause):
    """``CREATE patterns``, or GQL's ``INSERT``."""

    patterns: tuple[PathPattern, ...]


@frozen
class SetItem(Ast):
    """``target = value``, or ``target += value`` (``adds``). The target is a property access or an entity."""

    target: Expression
    value: Expression
    adds: bool = False


@frozen
class LabelsItem(Ast):
    """``target:A:B`` of SET and REMOVE."""

    target: Expression
    labels: LabelExpression


@frozen
class RemoveItem(Ast):
    """``target`` of REMOVE: a property access."""

    target: Expression


@frozen
class MergeClause(Clause):
    """``MERGE pattern ON CREATE SET on_create ON MATCH SET on_match``."""

    pattern: PathPattern
    on_create: tuple[SetItem | LabelsItem, ...] = ()
    on_match: tuple[SetItem | LabelsItem, ...] = ()


@frozen
class SetClause(Clause):
    """``SET items``."""

    items: tuple[SetItem | LabelsItem, ...]


@frozen
class RemoveClause(Clause):
    """``REMOVE items``."""

    items: tuple[RemoveItem | LabelsItem, ...]


@frozen
class DeleteClause(Clause):
    """``[DETACH | NODETACH] DELETE expressions``."""

    expressions: tuple[Expression, ...]
    detach: bool = False


@frozen
class ForEachClause(Clause):
    """``FOREACH (variable IN source | clauses)``; the clauses update."""

    variable: str
    source: Expression
    clauses: tuple[Clause, ...]


@frozen
class Transactions(Ast):
    """``IN TRANSACTIONS OF batch ROWS ON ERROR on_error REPORT STATUS AS report``.

    ``on_error`` in lower case.
    """

    batch: Expression | None = None
    on_error: str = "fail"
    report: str | None = None


@frozen
class CallClause(Clause):
    """``[OPTIONAL] CALL (variables) { body } [IN TRANSACTIONS …]``.

    ``variables`` None: there are no parentheses, and a WITH at the start of the body imports. ``star``: ``(*)``.
    ``gives_names``: it is ``OPTIONAL { MATCH … }``, whose RETURN without items stands for the names that are new.
    """

    body: Statement
    variables: tuple[Variable, ...] | None = None
    star: bool = False
    optional: bool = False
    transactions: Transactions | None = None
    gives_names: bool = False


@frozen
class YieldItem(Ast):
    """``output [AS name]``; without AS the name is the output's."""

    output: str
    name: str


@frozen
class ProcedureCallClause(Clause):
    """``[OPTIONAL] CALL name(args) [YIELD items [WHERE where]]``.

    ``args`` None: there are no parentheses. ``items`` None: there is no YIELD; empty: ``YIELD *``.
    """

    name: str
    args: tuple[Expression, ...] | None
    items: tuple[YieldItem, ...] | None = None
    where: Expression | None = None
    optional: bool = False
    name_span: Span = field(default=_NOWHERE, compare=False, repr=False, kw_only=True)


@frozen
class LoadCsvClause(Clause):
    """``[USING PERIODIC COMMIT n] LOAD CSV [WITH HEADERS] FROM url AS name [FIELDTERMINATOR separator]``.

    ``periodic``: where the words before LOAD stand; they ask for transactions of n rows each.
    """

    url: Expression
    name: str
    headers: bool = False
    separator: str = ","
    periodic: Span | None = field(default=None, compare=False, repr=False)


@frozen
class UnsupportedClause(Clause):
    """A command that parses but isn't built: ALTER, SHOW of other things, …

    ``keyword`` names it as the user wrote it, in upper case.
    """

    keyword: str


@frozen
class UseClause(Clause):
    """``USE graph``: the builder leaves it out of its query."""


@frozen
class SchemaClause(Clause):
    """CREATE or DROP (``drops``) of an index or a ``constraint``, a whole statement.

    ``name``: empty for none. ``lenient``: IF [NOT] EXISTS. ``kind``: "RANGE", "TEXT", …, or "UNIQUENESS", "KEY",
    "PROPERTY_EXISTENCE", "PROPERTY_TYPE"; empty where a name says what to drop. ``entity``: "NODE" or "RELATIONSHIP".
    ``type``: of a property, as "INTEGER | STRING". ``given``: what gives the name, where the text doesn't.
    ``analyzer``: that a FULLTEXT index names.
    """

    drops: bool
    constraint: bool
    name: str
    lenient: bool
    kind: str = ""
    entity: str = ""
    label: str = ""
    keys: tuple[str, ...] = ()
    type: str = ""
    given: Parameter | None = None
    analyzer: Literal | None = None


@frozen
class ShowClause(Clause):
    """``SHOW … what``; ``what``: "INDEXES", … of ``words.SHOWN``; "TERMINATED" for ``TERMINATE TRANSACTIONS``.

    ``words``: in upper case, those that say which of them. ``names``: what is asked for by name: texts, parameters,
    variables. ``columns``: those that there are, in their order. ``selection``: what YIELD and WHERE say, as a WITH
    behind it. ``is_yielding``: whether there is a YIELD, behind which another SHOW may stand.
    """

    what: str
    words: tuple[str, ...] = ()
    names: tuple[Expression, ...] = ()
    columns: tuple[str, ...] = ()
    selection: WithClause | None = None
    is_yielding: bool = False


# ---------------------------------------------------------------- statements


@frozen
class Query(Ast):
    """Clauses from the first to RETURN, or to one that updates. A subquery's body may lack RETURN."""

    clauses: tuple[Clause, ...]


@frozen
class UnionQuery(Ast):
    """``query UNION [ALL] query …``; ``all`` has one fewer than ``queries``.

    ``operator``: "UNION", "EXCEPT" or "INTERSECT", one for all.
    """

    queries: tuple[Query, ...]
    all: tuple[bool, ...]
    operator: str = "UNION"


@frozen
class Remark(Ast):
    """Something that is accepted and changes nothing, or is written as of old; ``binder.statement`` has the kinds."""

    kind: str


@frozen
class Hint(Ast):
    """``/*+ text */``: advice to the optimizer. ``span`` covers the text alone."""

    text: str


@frozen
class Statement(Ast):
    """One statement; ``explain``: None, "explain", "explain steps", "profile".

    ``hints`` and ``remarks``: all, wherever they stand.
    """

    body: Query | UnionQuery
    explain: str | None = None
    hints: tuple[Hint, ...] = ()
    remarks: tuple[Remark, ...] = ()

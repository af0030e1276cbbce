"""Bound expressions: names resolved, types known as far as the query tells them.

Operators and functions are both ``Call``; their names stand in ``catalog/functions.toml``. What has its own
evaluation rule (null logic, scopes, subqueries) has its own class. Nodes are immutable and equal by content;
``span`` points into the query's text and takes no part in equality.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar
from typing import Literal as OneOf

from qengine._frozen import KeptHash, frozen
from qengine.errors import Span
from qengine.plan.node import node
from qengine.types import ANY, BOOLEAN, LIST, MAP, PATH, Type

if TYPE_CHECKING:
    from qengine.catalog.user_functions import UserFunction
    from qengine.plan.logical import Operator
    from qengine.plan.pattern import LabelExpr


class _Remembering(KeptHash):
    """What was found of an expression, which never changes.

    ``variables``, ``parts``, ``repeats``: by ``plan.traverse``. ``fails``: by ``plan.fallible``.
    """

    __slots__ = ("fails", "parts", "repeats", "variables")
    fails: bool
    parts: tuple[Expr, ...]
    repeats: bool
    variables: frozenset[str]


@frozen(kw_only=True)
class Expr(_Remembering):
    """Base of all bound expressions. ``child_fields``: those that hold sub-expressions, or a subquery's plan."""

    child_fields: ClassVar[tuple[str, ...]] = ()
    type: Type = ANY
    span: Span | None = field(default=None, compare=False, repr=False)


@node()
class Literal(Expr):
    """A constant: None, bool, int, float or str. Lists and maps are ``ListOf`` and ``MapOf``."""

    value: Any


@node()
class Parameter(Expr):
    """``$name``: its value comes with the execution.

    ``checked``: it stands for a literal of the text, of which a function that takes it alone is known to make a value.
    """

    name: str
    checked: bool = False


@node()
class Variable(Expr):
    """A column of the input rows, or a name bound by an enclosing comprehension."""

    name: str


@node("subject")
class Property(Expr):
    """``subject.key``: of a node, relationship, map or temporal value; null where absent."""

    subject: Expr
    key: str


@node("args")
class Call(Expr):
    """A strict operator or scalar function of the catalogue.

    Operators are called by their symbol: ``+ - * / % ^ = <> < <= > >= neg pos IN "STARTS WITH" "ENDS WITH"
    CONTAINS =~ "IS NULL" "IS NOT NULL" NOT [] [..] ||`` (``neg``/``pos``: unary; ``[]``: index or key;
    ``[..]``: slice with 3 arguments, an absent bound is 0 or the greatest integer; ``[::]``: each n-th item of one,
    where a fourth says n, which is never written). Functions are called by their name in lower case. Comparisons by
    ``= <> < <= > >=`` are ``Comparison``, chained or not.
    """

    name: str
    args: tuple[Expr, ...]


@node("args")
class UserCall(Expr):
    """A user's function; of an aggregate ``args`` is one list: the values of a group, or lists of its arguments."""

    function: UserFunction
    args: tuple[Expr, ...]


@node("args")
class Logical(Expr):
    """``AND``, ``OR`` or ``XOR`` of two or more operands under three-valued logic."""

    op: OneOf["AND", "OR", "XOR"]
    args: tuple[Expr, ...]
    type: Type = field(default=BOOLEAN, kw_only=True)


@node("args")
class Comparison(Expr):
    """A chain ``a < b <= c``: true when each neighbouring pair is; ``ops`` has one fewer than ``args``."""

    ops: tuple[str, ...]
    args: tuple[Expr, ...]
    type: Type = field(default=BOOLEAN, kw_only=True)


@node("subject")
class HasLabels(Expr):
    """``n:A&!B``: for nodes the labels, for relationships the type."""

    subject: Expr
    labels: LabelExpr
    type: Type = field(default=BOOLEAN, kw_only=True)


@node("whens", "otherwise")
class Case(Expr):
    """``CASE``. The simple form is bound to the searched one by the binder: ``whens`` are (condition, result)."""

    whens: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr


@node("items")
class ListOf(Expr):
    """``[a, b, …]``."""

    items: tuple[Expr, ...] = field(hash=False)  # there may be many
    type: Type = field(default=LIST, kw_only=True)


@node()
class ConstantList(ListOf):
    """``[1, 'a', …]``: a list of literals. It is one constant: nothing looks for parts in it, however long it is."""

    @property
    def value(self) -> list[Any]:
        """The list's value, made anew."""
        return [item.value for item in self.items]  # type: ignore[attr-defined]


def list_of_items(items: tuple[Expr, ...], **named: Any) -> ListOf:
    """Return the list of some expressions; ``named``: its type and span."""
    constant = all(type(item) is Literal for item in items)
    return (ConstantList if constant else ListOf)(items, **named)


@node("entries")
class MapOf(Expr):
    """``{key: value, …}``."""

    entries: tuple[tuple[str, Expr], ...]
    type: Type = field(default=MAP, kw_only=True)


@node("subject", "entries")
class MapProjection(Expr):
    """``subject {.*, .key, name: value}``: all properties first when ``everything``, then the entries."""

    subject: Expr
    entries: tuple[tuple[str, Expr], ...]
    everything: bool
    type: Type = field(default=MAP, kw_only=True)


@node("source", "condition", "result")
class ListComprehension(Expr):
    """``[variable IN source WHERE condition | result]``; absent parts are None."""

    variable: str
    source: Expr
    condition: Expr | None
    result: Expr | None
    type: Type = field(default=LIST, kw_only=True)


@node("source", "condition")
class Quantifier(Expr):
    """``all | any | none | single (variable IN source WHERE condition)`` under three-valued logic."""

    quantifier: OneOf["all", "any", "none", "single"]
    variable: str
    source: Expr
    condition: Expr
    type: Type = field(default=BOOLEAN, kw_only=True)


@node("initial", "source", "step", "condition")
class Reduce(Expr):
    """``reduce(accumulator = initial, variable IN source | step)``; with a condition ``allReduce``: whether it holds
    of the accumulator behind each step, under three-valued logic.
    """

    accumulator: str
    initial: Expr
    variable: str
    source: Expr
    step: Expr
    condition: Expr | None = None


@node("args")
class KeyOf(Expr):
    """A number that is the same where the values of ``args`` are, and for some others; null where one of these is null.

    What plans join rows by (``HashJoin``). A row for which an argument fails has ``WILD``: it may equal any.
    """

    WILD: ClassVar[int] = -2
    args: tuple[Expr, ...]


@node()
class PathOf(Expr):
    """The path through the named elements: node, relationship (or list of them), node, … alternately."""

    elements: tuple[str, ...]
    type: Type = field(default=PATH, kw_only=True)


@node("plan")
class Subquery(Expr):
    """``EXISTS {…}``, ``COUNT {…}``, ``COLLECT {…}``, pattern predicates and pattern comprehensions.

    ``plan``'s leaf is an ``Argument`` that gives the outer row's ``outer`` variables. ``collect`` gathers
    the plan's only column.
    """

    kind: OneOf["exists", "count", "collect"]
    plan: Operator
    outer: tuple[str, ...]


@node("subject", "plan")
class OfNode(Expr):
    """What a subquery gives for a node, found for all nodes at once: whether it has rows (exists), or how many (count).

    ``plan`` is lowered and reads no outer row: each of its rows is one for the node that its column ``name`` has, or as
    many as its column ``weight`` says. ``subject`` is evaluated to the node; null has no rows. ``cost``: nanoseconds
    that the plan is expected to take.
    """

    kind: OneOf["exists", "count"]
    subject: Expr
    plan: Operator
    name: str
    weight: str | None = None
    cost: float = field(default=0.0, compare=False)


@node("args")
class AggregateCall(Expr):
    """An aggregate of ``Aggregate``: ``count`` with no argument is ``count(*)``; percentiles have two."""

    name: str
    args: tuple[Expr, ...]
    distinct: bool = False


TRUE = Literal(True, type=BOOLEAN)

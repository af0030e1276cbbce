"""Takes nodes and relationships out of the rows that leave a cell: a cell's own mean nothing outside of it.

The first operator over a pattern that names columns, a projection or an aggregate, gives for each node that is wanted
above a value that tells it apart, and those of its properties that are read above; from there on the columns hold plain
values. What needs more of an element than that is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from qengine._frozen import replace
from qengine.cluster.partials import in_two_steps
from qengine.errors import Unsupported
from qengine.plan.expr import AggregateCall, Call, Comparison, Expr, HasLabels, Property, Variable
from qengine.plan.logical import Aggregate, Distinct, Filter, Operator, Project, Sort, Unit, Unwind
from qengine.plan.traverse import children, free_variables, substitute
from qengine.types import ANY, NODE, Type

IDENTITY = "@node"
"""The property of a cell's nodes that tells a node apart among all."""

_HINT = "Use properties, also to tell elements apart; or load the graph whole."
_ASKING = ("type", "size", "IS NULL", "IS NOT NULL")

Wanted = dict[str, dict[str, Type]]
"""Of columns that hold elements the properties that are read, with their types."""


def expressions(operator: Operator) -> Iterator[Expr]:
    """Yield the expressions of an operator over rows, not those of its inputs."""
    match operator:
        case Filter(predicate=one) | Unwind(expr=one):
            yield one
        case Project(items=items):
            yield from (expr for _, expr in items)
        case Aggregate(keys=keys, aggregates=aggregates):
            yield from (expr for _, expr in (*keys, *aggregates))
        case Sort(keys=keys):
            yield from (key.expr for key in keys)


def check_elements(roots: Iterable[Expr], elements: Mapping[str, Type]) -> None:
    """Raise where expressions need more of an element than a cell knows.

    Raises
    ------
    Unsupported
        With the place of what is asked of the element.
    """
    waiting = [(each, None) for each in roots] if elements else []
    todo: list[tuple[Expr, Expr | None]] = [*waiting]
    while todo:
        expr, parent = todo.pop()
        if isinstance(expr, Variable) and expr.name in elements and parent is not None and not _is_fine(parent):
            what = f"{parent.name}(…)" if isinstance(parent, Call | AggregateCall) else "this"
            raise Unsupported(
                f"{what} of a node or relationship isn't known over tables.", span=parent.span, hint=_HINT
            )
        todo += [(child, expr) for child in children(expr)]


def _is_fine(parent: Expr) -> bool:
    match parent:
        case Property() | HasLabels():
            return True
        case Comparison(ops=ops):
            return set(ops) <= {"=", "<>"}
        case Call(name=name):
            return name in _ASKING
        case AggregateCall(name=name):
            return name == "count"
    return False


def named_at(chain: Sequence[Operator]) -> int:
    """Return the place of the first operator over a pattern that names columns, or that cells don't do.

    Expressions up to it, and in it where it names columns, are evaluated by cells.
    """
    return next((place for place, each in enumerate(chain) if not isinstance(each, Filter | Unwind)), len(chain))


def plain(
    chain: Sequence[Operator], first: int, elements: Mapping[str, Type], columns: Sequence[str]
) -> tuple[Operator, ...]:
    """Return the operators over a pattern, from the first upward, with rows of plain values once columns are named.

    Parameters
    ----------
    chain
        The operators over the last ``Match``.
    first
        ``named_at(chain)``.
    elements
        The pattern's variables, with ``NODE``, ``RELATIONSHIP``, or ``LIST`` for those of variable length.
    columns
        Columns of plain values that the rows below have.

    Raises
    ------
    Unsupported
        For what needs whole nodes or relationships.
    """
    if first == len(chain) or not _is_done_by_cells(chain[first]):
        read = frozenset[str]().union(*(free_variables(each) for one in chain[first:] for each in expressions(one)))
        beside = (*columns, *(one.name for one in chain[:first] if isinstance(one, Unwind)))
        there = {**elements, **dict.fromkeys(beside, ANY)}
        items = tuple((name, Variable(name, type=kind)) for name, kind in there.items() if name in read)
        chain = [*chain[:first], Project(Unit(), items), *chain[first:]]
    held = _held(chain, elements)
    for operator, inside in zip(chain, held, strict=False):
        check_elements(expressions(operator), inside)
        if isinstance(operator, Sort) and any(_is_element(key.expr, inside) for key in operator.keys):
            raise Unsupported("Nodes and relationships of tables have no order.", hint="Order by their properties.")
        if isinstance(operator, Distinct) and any(kind != NODE for kind in inside.values()):
            raise Unsupported("Relationships of tables can't be told apart.", hint=_HINT)
    if held[-1]:
        name = next(iter(held[-1]))
        raise Unsupported(f"{name} is a whole element of tables, which no cell knows.", hint="Return its properties.")
    return _rewritten(chain, held, _wanted(chain, held, first), first)


def _is_done_by_cells(operator: Operator) -> bool:
    """Tell whether cells name columns by this operator: an aggregate may need the rows of all."""
    return isinstance(operator, Project) or (isinstance(operator, Aggregate) and in_two_steps(operator) is not None)


def _held(chain: Sequence[Operator], elements: Mapping[str, Type]) -> list[Mapping[str, Type]]:
    """Return which columns hold elements below each operator, and above the last."""
    held: list[Mapping[str, Type]] = [elements]
    for operator in chain:
        inside = held[-1]
        if isinstance(operator, Project | Aggregate):
            items = operator.items if isinstance(operator, Project) else operator.keys
            inside = {name: inside[expr.name] for name, expr in items if _is_element(expr, inside)}  # type: ignore[attr-defined]
        held.append(inside)
    return held


def _is_element(expr: Expr, inside: Mapping[str, Type]) -> bool:
    return isinstance(expr, Variable) and expr.name in inside


def _wanted(chain: Sequence[Operator], held: Sequence[Mapping[str, Type]], first: int) -> list[Wanted]:
    """Return which properties of its elements are read above each operator from the first on."""
    above: list[Wanted] = [{}]
    for place in range(len(chain) - 1, first, -1):
        operator, inside = chain[place], held[place]
        found: Wanted = {name: {} for name in inside}
        if isinstance(operator, Project | Aggregate):
            items = operator.items if isinstance(operator, Project) else operator.keys
            for name, expr in items:
                if isinstance(expr, Variable) and expr.name in inside:
                    found[expr.name] |= above[-1].get(name, {})
        else:
            for name, keys in above[-1].items():
                found[name] |= keys
        todo = list(expressions(operator))
        while todo:
            expr = todo.pop()
            if isinstance(expr, Property) and isinstance(expr.subject, Variable) and expr.subject.name in inside:
                found[expr.subject.name][expr.key] = expr.type
            todo += children(expr)
        above.append(found)
    return above[::-1]


def _rewritten(
    chain: Sequence[Operator], held: Sequence[Mapping[str, Type]], wanted: list[Wanted], first: int
) -> tuple[Operator, ...]:
    found = list(chain[:first])
    for place in range(first, len(chain)):
        operator, inside, above = chain[place], held[place], wanted[place - first]
        native = place == first
        match operator:
            case Project(items=items):
                new = tuple(each for one in items for each in _item(one, inside, above, native, whole=False))
                operator = replace(operator, items=new)
            case Aggregate(keys=keys, aggregates=aggregates):
                new = tuple(each for one in keys for each in _item(one, inside, above, native, whole=True))
                counts = tuple((name, _counted(call, inside, native)) for name, call in aggregates)
                operator = replace(operator, keys=new, aggregates=counts)
            case Filter(predicate=predicate):
                operator = replace(operator, predicate=_outside(predicate, inside))
            case Unwind(expr=expr):
                operator = replace(operator, expr=_outside(expr, inside))
            case Sort(keys=keys):
                new_keys = tuple(replace(key, expr=_outside(key.expr, inside)) for key in keys)
                operator = replace(operator, keys=new_keys)
        found.append(operator)
    return tuple(found)


def _item(
    item: tuple[str, Expr], inside: Mapping[str, Type], above: Wanted, native: bool, *, whole: bool
) -> Iterator[tuple[str, Expr]]:
    """Yield the columns that stand for an item: an element's are its identity and the properties that are read."""
    name, expr = item
    if not (isinstance(expr, Variable) and expr.name in inside):
        yield name, expr if native else _outside(expr, inside)
        return
    if inside[expr.name] == NODE:
        yield name, _identity(expr) if native else Variable(expr.name)
    elif whole:
        raise Unsupported("Relationships of tables can't be told apart.", span=expr.span, hint=_HINT)
    for key, kind in above.get(name, {}).items():
        one = Property(expr, key, type=kind) if native else Variable(_column(expr.name, key), type=kind)
        yield _column(name, key), one


def _identity(expr: Expr) -> Expr:
    return Property(expr, IDENTITY)


def _counted(call: AggregateCall, inside: Mapping[str, Type], native: bool) -> AggregateCall:
    """Return an aggregate over plain values; a pattern's elements that are counted may stay where none is null."""
    if not native:
        changed = _outside(call, inside)
        assert isinstance(changed, AggregateCall)
        return changed
    if call.distinct and call.args and _is_element(call.args[0], inside):
        variable = call.args[0]
        if inside[variable.name] != NODE:  # type: ignore[attr-defined]
            raise Unsupported("Relationships of tables can't be told apart.", span=call.span, hint=_HINT)
        return replace(call, args=(_identity(variable),))
    return call


def _outside(expr: Expr, inside: Mapping[str, Type]) -> Expr:
    """Return an expression over plain columns."""

    def choose(part: Expr) -> Expr | None:
        match part:
            case Property(subject=Variable(name=name), key=key) if name in inside:
                return Variable(_column(name, key), type=part.type)
            case Variable(name=name) if name in inside:
                if inside[name] != NODE:
                    raise Unsupported("Relationships of tables can't be told apart.", span=part.span, hint=_HINT)
                return Variable(name)
            case HasLabels(subject=Variable(name=name)) if name in inside:
                raise Unsupported("Labels are known in the pattern alone.", span=part.span, hint="Ask in its WHERE.")
            case Call(name="type", args=(Variable(name=name),)) if name in inside:
                raise Unsupported("The type is known in the pattern alone.", span=part.span, hint=_HINT)
        return None

    return substitute(expr, choose)


def _column(name: str, key: str) -> str:
    return f"@{name}.{key}"

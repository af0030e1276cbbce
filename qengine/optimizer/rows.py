"""How many rows each operator of a physical plan is expected to emit: what EXPLAIN shows beside what PROFILE counts.

Searches bring the estimate of their order along; filters keep what ``filters`` says; the rest is the usual guesswork on
top of it: grouping and DISTINCT leave a root of the rows that aren't different as they come. They decide only between
ways that give the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import expm1

from qengine.catalog.view import CatalogView
from qengine.optimizer.filters import ends_alike, filter_share, join_share
from qengine.optimizer.given_nodes import Found, found_from
from qengine.optimizer.group_counts import different_rows, share_of_counts, share_of_sizes
from qengine.optimizer.labels import vertex_count
from qengine.optimizer.open_ranges import ITEMS, expected_length
from qengine.optimizer.peeking import counts_rare, known_values
from qengine.optimizer.value_shares import known_value
from qengine.optimizer.walk_rows import lengths, walks_from_one
from qengine.plan import logical, physical
from qengine.plan.expr import AggregateCall, Call, Comparison, Expr, ListOf, Literal, Parameter, Variable
from qengine.plan.logical import Operator
from qengine.plan.traverse import TURNED, conjuncts, free_variables

_GROUPS = 0.75  # exponent: groups, or different rows, of so many rows
_ONE = 1.5  # rows: so few are taken for one
_SOURCE = 1e4  # rows of a file, or of a list that no row gives, of which nobody knows how long it is
_CALLED = 100.0  # rows of a procedure


def estimated_rows(
    root: Operator, catalog: CatalogView, times: float = 1.0, outer: Operator | None = None
) -> dict[int, float]:
    """Return the rows that each operator (by ``id``) is expected to emit, over all ``times`` rows it is applied to.

    ``outer``: the plan of these rows, of a subplan.
    """
    estimate = Estimate(catalog)
    if outer is not None:
        estimate(outer, 1.0)
        estimate.outer = outer
    estimate(root, times)
    return estimate.found


def list_length(root: Operator, name: str, catalog: CatalogView) -> float:
    """Return the expected length of the list in a column of a plan's rows."""
    estimate = Estimate(catalog)
    estimate(root, 1.0)
    return estimate.items(root, name)


def known_length(listed: Expr) -> int | str | None:
    """Return how long a list is, or the parameter that it is; None where only a run tells."""
    match listed:
        case ListOf(items=items):
            return len(items)
        case Parameter(name=name):
            return name
        case Call(name="range", args=(Literal(value=int(low)), Literal(value=int(high)))):
            return max(0, high - low + 1)
    return None


def is_source(listed: Expr) -> bool:
    """Tell whether only a run tells how long a list is, and no row gives it: there may be any number of items."""
    return known_length(listed) is None and not free_variables(listed)


def rows_counted(root: Operator, catalog: CatalogView) -> tuple[float, dict[int, float]]:
    """Return what the plan of a count, one ``count(*)`` without keys, is expected to count, and the rows below it."""
    assert isinstance(root, logical.Aggregate)
    estimate = Estimate(catalog, counted=True)
    rows = estimate(root.input, 1.0)
    return estimate.pairs(root) or rows, estimate.found


class Estimate:
    """Rows of operators, by ``id``, in ``found``; what was found of a plan is known when more stands on top of it.

    ``counted``: whether rows that a search counts are rows.
    """

    def __init__(self, catalog: CatalogView, counted: bool = False) -> None:
        self.catalog = catalog
        self.found: dict[int, float] = {}
        self.counted = counted
        self._kept: dict[int, tuple[Operator, float]] = {}  # of operators that are run once
        self._found_from: dict[tuple[int, int], tuple[Found | None, Operator, Operator]] = {}
        self.outer: Operator | None = None  # whose rows a subplan is applied to

    def __call__(self, operator: Operator, times: float) -> float:
        """Estimate an operator that is run ``times`` times in all, and those below it."""
        once, key = times == 1.0 and self.outer is None, id(operator)
        if once and (known := self._kept.get(key)) is not None:
            return known[1]
        self.found[key] = rows = self._rows(operator, times)
        if once:
            self._kept[key] = operator, rows
        else:
            self._kept.pop(key, None)
        return rows

    def _rows(self, operator: Operator, times: float) -> float:
        match operator:
            case logical.Unit() | logical.Argument():
                return times
            case logical.Union():
                total = sum(self(each, times) for each in operator.inputs)
                return float(total if operator.all else total**_GROUPS)
            case physical.Optional() | physical.Attach():
                outer = self(operator.input, times)
                around, self.outer = self.outer, operator.input
                inner = self(operator.inner, outer)
                self.outer = around
                if isinstance(operator, physical.Attach):
                    return outer
                known = self._from_given(operator.inner, operator.input)
                if known is None or not isinstance(operator.inner, physical.Search):
                    return max(outer, inner)
                asked = self.found[id(operator.inner.input)]  # rows that conditions on them alone leave
                return inner + max(outer - asked * known.some, 0.0)
            case physical.FewOrMany():
                given = self(operator.input, times)
                around, self.outer = self.outer, operator.input
                few, many = (self(each, given) for each in (operator.few, operator.many))
                self.outer = around
                return few if given <= operator.most else many
            case physical.Completed():
                self(operator.matched, times)
                self(operator.groups, times)
                return self(operator.input, times)
            case physical.Bounded():
                self(operator.bounded, times)
                return self(operator.input, times)
        rows: float = self(operator.input, times)  # type: ignore[attr-defined]
        match operator:
            case physical.HashJoin(by_value=True):
                return rows * self(operator.build, 1.0) * join_share(operator, self.catalog)
            case physical.ThetaJoin(condition=condition):
                share = filter_share(operator, conjuncts(condition), self.catalog, self.outer)
                joined = rows * self(operator.build, 1.0) * share
                return joined if not operator.semi and (operator.count is None or self.counted) else min(rows, joined)
            case physical.HashJoin():
                self(operator.build, self.items(operator.input, operator.seeds[0]) if operator.seeds else 1.0)
                return times * (rows if operator.rows is None else operator.rows)
            case physical.Eliminate(search=search):
                return rows * min(float(self.catalog.vertex_count) ** len(operator.emit), search.rows or 1.0)
            case physical.LookUp() | physical.Members() | physical.RelationshipScan():
                return rows * operator.rows
            case physical.Search(exists=exists, emit=()) if (
                known := self._from_given(operator, self.outer)
            ) is not None:
                return rows * (known.some if exists else known.mean)
            case physical.Search(exists=True, emit=()) if operator.rows is not None:
                return rows * -expm1(-operator.rows)  # as if embeddings were a Poisson process
            case physical.Search(count=count, exists=exists, emit=()) if (
                count is not None and not self.counted
            ) or exists:
                return rows * min(1.0, operator.rows or 1.0)
            case physical.Search():
                known = self._from_given(operator, operator.input)
                return rows * (known.mean if known is not None else 1.0 if operator.rows is None else operator.rows)
            case physical.Walk(end_bound=True):
                return rows * walks_from_one(operator, self.catalog) * ends_alike(operator, self.catalog)
            case physical.Walk() | physical.Reach():
                return rows * walks_from_one(operator, self.catalog)
            case physical.Repeat():
                return rows * self._repetitions(operator)
            case physical.Shortest() | physical.SelectPaths():
                ends = 1.0 if operator.end_bound else float(vertex_count(self.catalog, operator.end.labels))
                return rows * ends * operator.selector.count
            case logical.Filter():
                return rows * self._kept_share(operator)
            case logical.Aggregate(keys=keys):
                return different_rows([key for _, key in keys], operator.input, rows, self.catalog) if keys else times
            case logical.Distinct():
                return rows if self._differ(operator.input) else self._different(operator.input, rows)
            case logical.Limit(count=count):
                return min(rows, times * _number(count, rows))
            case logical.Skip(count=count):
                return max(0.0, rows - times * _number(count, 0.0))
            case logical.Unwind(expr=Variable(name=name)):
                return rows * self.items(operator.input, name)
            case logical.Unwind(expr=listed):
                return rows * _length(listed)
            case logical.LoadCsv():
                return rows * _SOURCE
            case logical.ProcedureCall(procedure=procedure):
                return rows if procedure.signature.is_void else rows * _CALLED
        return rows

    def _from_given(self, operator: Operator, outer: Operator | None) -> Found | None:
        """Return how many rows a search has of each row of a plan, as seen there.

        None where nothing is looked at, and for others than trees around a node of these rows.
        """
        if not isinstance(operator, physical.Search) or outer is None or not counts_rare():
            return None
        key = id(operator), id(outer)
        if key not in self._found_from:
            self._found_from[key] = found_from(operator, outer, self.catalog), operator, outer
        return self._found_from[key][0]

    def _different(self, operator: Operator, rows: float) -> float:
        """Return how many different rows an operator has: known of what a projection makes."""
        if not isinstance(operator, logical.Project):
            return min(rows, float(rows**_GROUPS))
        return different_rows([key for _, key in operator.items], operator.input, rows, self.catalog)

    def _kept_share(self, filter: logical.Filter) -> float:
        """Return the share of its input's rows that a filter keeps: which have rows in a subquery is known below it."""
        shares: dict[str, float] = {}
        attached: dict[str, physical.Attach] = {}
        below = filter.input
        while isinstance(below, physical.Attach | logical.Filter):
            if isinstance(below, physical.Attach) and below.kind == "count":
                attached[below.name] = below
            elif isinstance(below, physical.Attach) and below.kind == "exists":
                outer = max(self.found[id(below.input)], 1e-12)
                shares[below.name] = min(1.0, self.found[id(below.inner)] / outer)
            below = below.input
        share, rest = 1.0, []
        for each in conjuncts(filter.predicate):
            match each:
                case Variable(name=name) if name in shares:
                    share *= shares[name]
                case Call(name="NOT", args=(Variable(name=name),)) if name in shares:
                    share *= 1.0 - shares[name]
                case _ if (found := self._of_counts(each, below, attached)) is not None:
                    share *= found
                case _:
                    rest.append(each)
        return share * (filter_share(filter.input, rest, self.catalog, self.outer) if rest else 1.0)

    def _of_counts(self, condition: Expr, below: Operator, attached: Mapping[str, physical.Attach]) -> float | None:
        """Return the share of groups, or of what subqueries count, whose number of rows satisfies a condition.

        None where it is about others. ``attached``: the subqueries that count, by the columns of their counts.
        """
        match condition:
            case Comparison(ops=(op,), args=(Variable(name=name), size)):
                pass
            case Comparison(ops=(op,), args=(size, Variable(name=name))):
                op = TURNED[op]
            case _:
                return None
        number = known_value(size, known_values())
        if name in attached and isinstance(number, int | float):
            return self._of_subquery(op, number, attached[name])
        while isinstance(below, logical.Project | logical.Filter | physical.AggregateEntries):
            if isinstance(below, logical.Project):
                item = dict(below.items).get(name)
                if not isinstance(item, Variable):
                    return None
                name = item.name
            below = below.input
        if not isinstance(below, logical.Aggregate) or not below.keys or not isinstance(number, int | float):
            return None
        call = dict(below.aggregates).get(name)
        if call is None or call.name != "count" or call.args:
            return None
        keys = [key for _, key in below.keys]
        rows, groups = self.found[id(below.input)], self.found[id(below)]
        return share_of_sizes(op, number, rows, groups, keys, below.input, self.catalog)

    def _of_subquery(self, op: str, number: float, counting: physical.Attach) -> float:
        """Return the share of rows for which a subquery counts as many rows as a condition asks for."""
        if (known := self._from_given(counting.inner, counting.input)) is not None:
            return known.share(op, number)
        return share_of_counts(op, number, self.found[id(counting.inner)] / max(self.found[id(counting.input)], 1e-12))

    def _differ(self, operator: Operator) -> bool:
        """Tell whether the rows of an operator are different as they come: ends of what is reached from one row."""
        names: dict[str, str] | None = None  # of the columns, what they are called below
        while isinstance(operator, logical.Filter | logical.Project):
            if isinstance(operator, logical.Project):
                below = {name: expr.name for name, expr in operator.items if isinstance(expr, Variable)}
                names = below if names is None else {name: below[old] for name, old in names.items() if old in below}
            operator = operator.input
        if not isinstance(operator, physical.Reach) or operator.count is not None:
            return False
        by = operator.by if self.found[id(operator.input)] > _ONE else ()
        return names is None or {operator.end.name, *by} <= set(names.values())

    def pairs(self, root: logical.Aggregate) -> float | None:
        """Return how many different pairs a plan counts that sums how many different values each group has."""
        match root.aggregates, root.input:
            case ((_, AggregateCall(name="sum", args=(Variable(name=name),))),), logical.Aggregate() as groups:
                counted = dict(groups.aggregates).get(name)
                if counted is not None and counted.name == "count" and counted.distinct:
                    keys, rows = [*(key for _, key in groups.keys), *counted.args], self.found[id(groups.input)]
                    return different_rows(keys, groups.input, rows, self.catalog)
        return None

    def items(self, operator: Operator, name: str) -> float:
        """Return the expected length of the list in a column of an operator whose rows are estimated."""
        outer = self.outer  # followed once: that of the rows round it isn't known
        while True:
            match operator:
                case logical.Project(items=items):
                    found = dict(items).get(name)
                    if not isinstance(found, Variable):
                        return ITEMS if found is None else _length(found)
                    name = found.name
                case logical.Aggregate(keys=keys, aggregates=aggregates):
                    call = dict(aggregates).get(name)
                    if call is not None and call.name == "collect":
                        return self.found[id(operator.input)] / max(self.found[id(operator)], 1.0)
                    key = dict(keys).get(name)
                    if not isinstance(key, Variable):
                        return ITEMS
                    name = key.name
                case logical.Argument() if outer is not None:
                    operator, outer = outer, None
                    continue
                case logical.Unit() | logical.Argument() | logical.Union():
                    return ITEMS
            operator = operator.input  # type: ignore[attr-defined]

    def _repetitions(self, repeat: physical.Repeat) -> float:
        """Return the expected number of walks from a vertex, as if each repetition found as many ways."""
        ways = self(repeat.repeated, 1.0)
        ends = float(vertex_count(self.catalog, repeat.end.labels))
        reached = (
            min(sum(ways**number for number in lengths(repeat.minimum, repeat.maximum)), 1e30)
            * ends
            / max(self.catalog.vertex_count, 1)
        )
        if repeat.end_bound:
            reached /= max(ends, 1.0)
        return min(reached, ends) if repeat.distinct_ends else reached


def _length(listed: Expr) -> float:
    known = known_length(listed)
    if isinstance(known, str):
        return expected_length(known)
    if known is not None:
        return float(known)
    return _SOURCE if is_source(listed) else ITEMS


def constant_count(count: Expr) -> float | None:
    """Return the number behind SKIP or LIMIT, None where it isn't a number that is known before the run."""
    return float(count.value) if isinstance(count, Literal) and isinstance(count.value, int) else None


def _number(count: Expr, unknown: float) -> float:
    known = constant_count(count)
    return unknown if known is None else known

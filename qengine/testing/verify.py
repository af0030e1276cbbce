"""Checks what every logical plan must satisfy, whatever the query was: the contract between binder and planners."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from qengine._frozen import record
from qengine.plan import logical, updates
from qengine.plan.columns import columns_added
from qengine.plan.expr import AggregateCall, Expr, Subquery, Variable
from qengine.plan.pattern import Direction, PatternNode, PatternRelationship, QueryGraph, Repetition
from qengine.plan.traverse import bound_names, free_variables, preorder

_TAIL = (logical.Distinct, logical.Sort, logical.Skip, logical.Limit, logical.Filter)


def verify(plan: logical.LogicalPlan) -> None:
    """Check a bound statement's plan.

    Every variable is a column of the operator's input; columns have one name each; a name means one thing in the
    whole plan, except in the last ``Project`` of a query; patterns are normal; subqueries start at the outer
    columns that they name; aggregates stand in ``Aggregate`` alone.

    Raises
    ------
    AssertionError
        At the first operator that breaks a rule.
    """
    columns = _Verifier().query(plan.root, None)
    if not plan.columns and _ends_with_update(plan.root):  # without RETURN: its rows are dropped
        columns = ()
    assert columns == plan.columns, f"the plan gives {columns}, not {plan.columns}"


def _ends_with_update(root: logical.Operator) -> bool:
    while isinstance(root, logical.Project):  # paths of what was created
        root = root.input
    return isinstance(root, updates.Update)


@record
class _Verifier:
    declared: set[str] = field(default_factory=set)

    def query(self, root: logical.Operator, outer: tuple[str, ...] | None) -> tuple[str, ...]:
        """Check a query's operators; its last ``Project`` may use names again."""
        if isinstance(root, logical.Union):
            inputs = [self.query(each, outer) for each in root.inputs]
            assert len(set(inputs)) == 1, f"a union of {inputs}"
            return inputs[0]
        tail: list[logical.Operator] = []
        while isinstance(root, _TAIL) or _only_hands_on(root):
            tail.append(root)
            root = root.input  # type: ignore[attr-defined]
        if isinstance(root, logical.Project):
            columns = self.operator(root.input, outer)
            self.exprs((expr for _, expr in root.items), columns)
            columns = _unique([name for name, _ in root.items])
        else:
            columns = self.operator(root, outer)
        for operator in reversed(tail):
            columns = self.step(operator, columns)
        return columns

    def side(self, root: logical.Operator, outer: tuple[str, ...] | None) -> tuple[str, ...]:
        """Check a query that is compared with others: what marks its rows stands behind its last ``Project``."""
        if not isinstance(root, logical.Project):
            return self.query(root, outer)
        columns = self.query(root.input, outer)
        self.exprs((expr for _, expr in root.items), columns)
        return _unique([name for name, _ in root.items])

    def operator(self, operator: logical.Operator, outer: tuple[str, ...] | None) -> tuple[str, ...]:
        """Check an operator and all below it, and return its columns."""
        if isinstance(operator, logical.Unit):
            assert outer is None, "a subquery starts at an Argument"
            return ()
        if isinstance(operator, logical.Argument):
            assert operator.columns == outer, f"the subquery reads {outer}, its leaf gives {operator.columns}"
            return operator.columns
        if isinstance(operator, logical.Union):  # of queries that EXCEPT or INTERSECT compares, with names of their own
            inputs = [_Verifier(set(self.declared)).side(each, outer) for each in operator.inputs]
            assert len(set(inputs)) == 1, f"a union of {inputs}"
            return inputs[0]
        return self.step(operator, self.operator(operator.input, outer))  # type: ignore[attr-defined]

    def step(self, operator: logical.Operator, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Check one operator over an input with these columns, and return its own."""
        match operator:
            case logical.Match(graph=graph):
                return self.match(graph, columns)
            case logical.Filter(predicate=predicate):
                self.exprs((predicate,), columns)
            case logical.Sort(keys=keys):
                self.exprs((key.expr for key in keys), columns)
            case logical.Skip(count=count) | logical.Limit(count=count):
                self.exprs((count,), ())
            case logical.Unwind(expr=expr, name=name):
                self.exprs((expr,), columns)
                return (*columns, *self.declare([name]))
            case logical.ProcedureCall(procedure=procedure, args=args, outputs=outputs):
                known = {each.name for each in procedure.signature.outputs}
                assert len(args) == len(procedure.signature.inputs), f"{procedure!r} gets {len(args)} arguments"
                assert known.issuperset(name for name, _ in outputs), f"{procedure!r} lacks some of {outputs}"
                self.exprs(args, columns)
                return (*columns, *self.declare([name for _, name in outputs]))
            case logical.LoadCsv(url=url, added=added):
                self.exprs((url,), columns)
                return (*columns, *self.declare(list(added)))
            case logical.Project(items=items):
                self.exprs((expr for _, expr in items), columns)
                return self.projected(items)
            case logical.Aggregate(keys=keys, aggregates=aggregates):
                self.exprs((expr for _, expr in keys), columns)
                self.exprs((arg for _, call in aggregates for arg in call.args), columns)
                return _unique([*self.projected(keys), *self.declare([name for name, _ in aggregates])])
            case logical.Distinct():
                pass
            case updates.Update(steps=steps):
                return self.steps(steps, columns)
            case _:
                raise AssertionError(f"no logical operator: {operator!r}")
        return columns

    def steps(self, steps: Iterable[logical.Step], columns: tuple[str, ...]) -> tuple[str, ...]:
        """Check the steps of an update one after the other, and return the columns behind the last."""
        for step in steps:
            match step:
                case updates.Create(elements=elements):
                    columns = self.created(elements, columns)
                case updates.Merge(graph=graph, elements=elements):
                    assert {each.name for each in elements} == set(graph.variables()), "MERGE makes what it looks for"
                    _Verifier(set(self.declared)).created(elements, columns)
                    found = self.match(graph, columns)
                    for actions in (step.on_create, step.on_match):
                        assert self.steps(actions, found) == found, "SET adds no columns"
                    columns = found
                case (
                    updates.SetProperty(subject=subject, value=value)
                    | updates.SetProperties(subject=subject, value=value)
                ):
                    self.exprs((subject, value), columns)
                case updates.RemoveProperty(subject=subject) | updates.SetLabels(subject=subject):
                    self.exprs((subject,), columns)
                case updates.Delete(subjects=subjects):
                    self.exprs(subjects, columns)
                case updates.ForEach(name=name, items=items, steps=inner):
                    self.exprs((items,), columns)
                    self.steps(inner, (*columns, *self.declare([name])))
                case updates.AddRule() | updates.DropRule():
                    pass
                case updates.CallSubquery():
                    columns = self.called(step, columns)
                case _:
                    raise AssertionError(f"no step: {step!r}")
        return columns

    def created(self, elements: Iterable[updates.NewElement], columns: tuple[str, ...]) -> tuple[str, ...]:
        """Check new elements: ends come before what they are ends of, and properties read none of the new ones."""
        known = columns
        for element in elements:
            self.exprs((element.properties,) if element.properties is not None else (), columns)
            if isinstance(element, updates.NewRelationship):
                assert {element.start, element.end} <= set(known), f"{element.name} comes before its ends"
            known = (*known, *self.declare([element.name]))
        return _unique([*known])

    def called(self, step: updates.CallSubquery, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Check the plan that a step runs for each row."""
        assert set(step.outer) <= set(columns), f"{step.outer} are no columns of {columns}"
        found = self.query(step.plan, step.outer)
        assert step.unit or set(step.columns) == set(found), f"the plan gives {found}, not {step.columns}"
        added = columns_added(step)
        if isinstance(step.plan, logical.Union) or step.report is not None:
            self.declared |= set(added)
        return _unique([*columns, *added])

    def projected(self, items: tuple[tuple[str, Expr], ...]) -> tuple[str, ...]:
        """Return the columns of a projection; those that aren't merely handed on are new names."""
        self.declare([name for name, expr in items if not (isinstance(expr, Variable) and expr.name == name)])
        return _unique([name for name, _ in items])

    def declare(self, names: list[str]) -> list[str]:
        """Note names that mean something new."""
        again = self.declared.intersection(names)
        assert not again, f"{again} mean two things"
        self.declared |= set(names)
        return names

    def match(self, graph: QueryGraph, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Check a query graph over an input with these columns."""
        elements: list[PatternNode | PatternRelationship] = [*graph.nodes, *graph.relationships]
        _unique([element.name for element in elements])
        for element in elements:
            assert element.bound == (element.name in columns), f"{element.name}: bound is wrong"
            for predicate in element.predicates:
                assert free_variables(predicate) == {element.name}, f"{element.name}: {predicate}"
                assert not any(isinstance(part, Subquery) for part in preorder(predicate)), (
                    f"{element.name}: a subquery"
                )
            self.exprs(element.predicates, (element.name,))
        nodes = {node.name for node in graph.nodes}
        for edge in graph.relationships:
            assert {edge.start, edge.end} <= nodes, f"{edge.name}: its ends are no nodes"
            assert edge.hops is not None or edge.direction is not Direction.IN, f"{edge.name} is to be turned round"
            if edge.repetition is not None:
                self.repetition(edge, edge.repetition)
            if edge.chain is not None:
                inside = self.match(edge.chain.graph, ())
                assert set(edge.chain.elements) <= set(inside), f"{edge.name} is a path of {inside}"
                assert not edge.chain.graph.predicates, f"{edge.name} is selected by {edge.chain.graph.predicates}"
        known = {element.name for element in elements}
        for path in graph.paths:
            assert set(path.elements) <= known, f"path {path.name} has unknown elements"
        new = [name for name in graph.variables() if name not in columns]
        self.declare(new)
        self.exprs(graph.predicates, (*columns, *new))
        return (*columns, *new)

    def repetition(self, edge: PatternRelationship, repetition: Repetition) -> None:
        """Check what a quantified path repeats: a pattern of its own, closed."""
        assert edge.hops is not None and not (edge.types or edge.predicates or edge.inner), f"{edge.name} repeats"
        found = self.match(repetition.graph, ())
        assert {*repetition.nodes, *repetition.relationships} <= set(found), f"{edge.name} repeats {found}"
        assert len(repetition.nodes) == len(repetition.relationships) + 1, f"{edge.name} is no path"

    def exprs(self, exprs: Iterable[Expr], columns: tuple[str, ...]) -> None:
        """Check expressions over rows with these columns."""
        for expr in exprs:
            unknown = free_variables(expr) - set(columns)
            assert not unknown, f"{unknown} are no columns of {columns}: {expr}"
            for part in preorder(expr):
                assert not isinstance(part, AggregateCall), f"an aggregate outside Aggregate: {part}"
                assert not bound_names(part) & self.declared, f"a column and a comprehension share a name: {part}"
                if isinstance(part, Subquery):
                    result = self.query(part.plan, part.outer)
                    assert part.kind != "collect" or len(result) == 1, f"{part.kind} of {result}"


def _only_hands_on(operator: logical.Operator) -> bool:
    return isinstance(operator, logical.Project) and all(
        isinstance(expr, Variable) and expr.name == name for name, expr in operator.items
    )


def _unique(names: list[str]) -> tuple[str, ...]:
    assert len(set(names)) == len(names), f"two columns of one name: {names}"
    return tuple(names)

"""Binds the clauses that change the graph. Those that follow each other become the steps of one ``Update``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from qengine._frozen import record, replace
from qengine.binder.binding import Binding
from qengine.binder.call import BindClauses, bind_updating_call
from qengine.binder.calls import bind_operator
from qengine.binder.expressions import ExpressionBinder
from qengine.binder.inference import may_be
from qengine.binder.scope import Scope, Symbol
from qengine.binder.selected_chains import check_column
from qengine.errors import SemanticError, Span
from qengine.plan.expr import Call, Comparison, Expr, Literal, MapOf, PathOf, Property, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.pattern import Direction, LabelAnd, LabelExpr, LabelIs, PatternNode, PatternRelationship, QueryGraph
from qengine.plan.predicates import joined
from qengine.plan.traverse import free_variables, only_variable
from qengine.plan.updates import (
    Create,
    Delete,
    ForEach,
    Merge,
    NewElement,
    NewNode,
    NewRelationship,
    RemoveProperty,
    SetLabels,
    SetProperties,
    SetProperty,
    Step,
)
from qengine.syntax import ast
from qengine.syntax.checks import updates
from qengine.types import BOOLEAN, NODE, NULL, PATH, RELATIONSHIP, Kind, indefinite

UPDATING = (
    ast.CreateClause,
    ast.MergeClause,
    ast.SetClause,
    ast.RemoveClause,
    ast.DeleteClause,
    ast.ForEachClause,
)


def is_step(clause: ast.CallClause) -> bool:
    """Tell whether a CALL is a step of an ``Update``: it updates, or runs in transactions of its own."""
    return clause.transactions is not None or updates(clause.body.body)


@record
class Updates:
    """Collects the steps of clauses that follow each other.

    ``scope``: what names stand for so far; its ``symbols`` grow by the clause. ``paths``: named paths whose columns are
    still to be made.
    """

    binding: Binding
    scope: Scope
    symbols: dict[str, Symbol]
    steps: list[Step] = field(default_factory=list)
    paths: list[tuple[str, PathOf]] = field(default_factory=list)

    @classmethod
    def after(cls, binding: Binding, scope: Scope) -> Updates:
        """Return no steps yet, on rows with these names."""
        symbols = dict(scope.symbols)
        return cls(binding, Scope(symbols, scope.parent, scope.outer, scope.cut), symbols)

    def add(self, clause: ast.Clause, bind: BindClauses | None = None) -> None:
        """Add the steps of a clause; ``bind`` binds those of a query that it calls.

        Raises
        ------
        SemanticError
            If it means nothing.
        """
        self.binding.updating = True
        match clause:
            case ast.CreateClause():
                self._create(clause)
            case ast.MergeClause():
                self._merge(clause)
            case ast.SetClause():
                self.steps += self._items(clause.items)
            case ast.RemoveClause():
                self.steps += map(self._removed, clause.items)
            case ast.DeleteClause():
                binder = self._binder("DELETE")
                subjects = tuple(self._deleted(binder, node) for node in clause.expressions)
                self.steps.append(Delete(subjects, clause.detach, clause.span))
            case ast.ForEachClause():
                self._for_each(clause)
            case ast.CallClause() if bind is not None:
                step, symbols = bind_updating_call(self.binding, clause, self.scope, bind)
                self.steps.append(step)
                self.symbols.update(symbols)
            case _:
                raise TypeError(f"no clause that updates: {clause!r}")

    def _binder(self, place: str) -> ExpressionBinder:
        return ExpressionBinder(self.binding, self.scope, place)

    # ------------------------------------------------------------ CREATE and MERGE

    def _create(self, clause: ast.CreateClause) -> None:
        pattern = _Pattern(self, "CREATE")
        for path in clause.patterns:
            pattern.add(path)
        pending: list[NewElement] = []
        names: set[str] = set()
        for element in pattern.elements:  # what reads an element of the same clause is made a step later
            if any(free_variables(each) & names for each in _read_by(element)):
                self.steps.append(Create(tuple(pending)))
                pending, names = [], set()
            pending.append(element)
            names.add(element.name)
        if pending:
            self.steps.append(Create(tuple(pending)))
        self._name_paths(pattern)

    def _merge(self, clause: ast.MergeClause) -> None:
        pattern = _Pattern(self, "MERGE")
        pattern.add(clause.pattern)
        on_create, on_match = (tuple(self._items(items)) for items in (clause.on_create, clause.on_match))
        elements = tuple(pattern.elements)
        self.steps.append(Merge(pattern.graph(clause.span), elements, on_create, on_match, clause.span))
        self._name_paths(pattern)

    def _name_paths(self, pattern: _Pattern) -> None:
        for path, elements in pattern.paths:
            name = self.binding.names.fresh(path)
            self.symbols[path] = Symbol(name, PATH)
            self.paths.append((name, PathOf(elements)))

    # ------------------------------------------------------------ SET, REMOVE, DELETE

    def _items(self, items: Iterable[ast.SetItem | ast.LabelsItem]) -> Iterator[Step]:
        binder = self._binder("SET")
        for item in items:
            if isinstance(item, ast.LabelsItem):
                yield self._labels(binder, item, remove=False)
            elif (found := _property(item.target)) is not None:
                subject = self._entity(binder, found[0], "Properties")
                yield SetProperty(subject, found[1], binder.value(item.value), item.span)
            elif isinstance(item.target, ast.Index):
                yield self._computed_key(binder, item.target, binder.value(item.value), item.span)
            else:
                subject = self._entity(binder, item.target, "Properties")
                value = binder.value(item.value)
                if not may_be(value.type, Kind.MAP, Kind.NODE, Kind.RELATIONSHIP):
                    message = f"Properties are set to a MAP, not to {indefinite(value.type)}."
                    raise self.binding.error(
                        "InvalidArgumentType", message, item.value.span, "Write n.key = value, or n += {key: value}."
                    )
                yield SetProperties(subject, value, not item.adds, item.span)

    def _removed(self, item: ast.RemoveItem | ast.LabelsItem) -> Step:
        binder = self._binder("REMOVE")
        if isinstance(item, ast.LabelsItem):
            return self._labels(binder, item, remove=True)
        if (found := _property(item.target)) is not None:
            return RemoveProperty(self._entity(binder, found[0], "Properties"), found[1], item.span)
        assert isinstance(item.target, ast.Index)
        return self._computed_key(binder, item.target, Literal(None, type=NULL), item.span)

    def _labels(self, binder: ExpressionBinder, item: ast.LabelsItem, *, remove: bool) -> Step:
        subject = binder.value(item.target)
        if not may_be(subject.type, Kind.NODE):
            raise self._mistyped("Labels", "nodes", subject, item.target.span)
        dynamic = tuple(map(binder.value, _dynamic(item.labels)))
        return SetLabels(subject, _label_names(item.labels), remove, item.span, dynamic)

    def _entity(self, binder: ExpressionBinder, node: ast.Expression, what: str) -> Expr:
        subject = binder.value(node)
        if not may_be(subject.type, Kind.NODE, Kind.RELATIONSHIP):
            raise self._mistyped(what, "nodes and relationships", subject, node.span)
        return subject

    def _mistyped(self, what: str, of: str, subject: Expr, span: Span) -> SemanticError:
        message = f"{what} of {of} can be changed, not those of {indefinite(subject.type)}."
        return self.binding.error("InvalidArgumentType", message, span)

    def _computed_key(self, binder: ExpressionBinder, target: ast.Index, value: Expr, span: Span) -> Step:
        """Return the step of a property whose key is computed; null takes it away, as in ``n += {key: null}``."""
        subject = self._entity(binder, target.subject, "Properties")
        entry = bind_operator(self.binding, "{}", (binder.value(target.index), value), span)
        return SetProperties(subject, entry, replace=False, span=span)

    def _deleted(self, binder: ExpressionBinder, node: ast.Expression) -> Expr:
        if isinstance(node, ast.LabelTest):
            raise self.binding.error(
                "InvalidDelete", "DELETE takes whole elements; labels are removed.", node.span, "Write REMOVE n:Label."
            )
        subject = binder.value(node)
        if not may_be(subject.type, Kind.NODE, Kind.RELATIONSHIP, Kind.PATH):
            message = f"DELETE takes a node, relationship or path, not {indefinite(subject.type)}."
            hint = "Write FOREACH (x IN list | DELETE x)." if subject.type.kind is Kind.LIST else None
            raise self.binding.error("InvalidArgumentType", message, node.span, hint)
        return subject

    # ------------------------------------------------------------ FOREACH

    def _for_each(self, clause: ast.ForEachClause) -> None:
        source, item = self._binder("FOREACH").items(clause.source, "FOREACH")
        name = self.binding.names.fresh(clause.variable)
        symbol = Symbol(name, item)
        inside = Updates.after(self.binding, self.scope.with_symbols({clause.variable: symbol}))
        for each in clause.clauses:
            inside.add(each)
            if inside.paths:
                raise self.binding.unsupported(
                    "A path can't have a name inside FOREACH yet.", each.span, "Leave the name away."
                )
        self.steps.append(ForEach(name, source, tuple(inside.steps)))


@record
class _Pattern:
    """The elements that one CREATE or MERGE makes; ``nodes``, ``edges``: what a MERGE looks for.

    ``conditions``: that elements have the labels and types which expressions name.
    """

    updates: Updates
    word: str
    elements: list[NewElement] = field(default_factory=list)
    paths: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    nodes: dict[str, PatternNode] = field(default_factory=dict)
    edges: list[PatternRelationship] = field(default_factory=list)
    conditions: list[Expr] = field(default_factory=list)

    def add(self, path: ast.PathPattern) -> None:
        """Add the elements of a path; nodes stand before the relationships that they are ends of."""
        if path.name is not None and path.name in self.updates.symbols:
            raise self._already(path.name, path.span, "Give the path another name.")
        names: list[str] = []
        alone = len(path.elements) == 1
        waiting: tuple[ast.RelationshipPattern, str, Expr | None] | None = None
        for element in path.elements:
            if isinstance(element, ast.RelationshipPattern):
                waiting = (element, *self._relationship(element))
                continue
            assert isinstance(element, ast.NodePattern)
            node = self._node(element, alone)
            if waiting is not None:
                written, name, properties = waiting
                self._connect(written, name, properties, names[-1], node)
                names.append(name)
            names.append(node)
        if path.name is not None:
            self.paths.append((path.name, tuple(names)))

    def _node(self, element: ast.NodePattern, alone: bool) -> str:
        updates = self.updates
        known = updates.scope.find(element.name) if element.name is not None else None
        if known is not None:
            if not may_be(known.type, Kind.NODE):
                raise updates.binding.error(
                    "VariableTypeConflict",
                    f"Variable `{element.name}` is {indefinite(known.type)}, and can't be a NODE here.",
                    element.span,
                    "Give this element another name.",
                )
            if alone or element.labels is not None or element.properties is not None:
                hint = "Give the new node another name." if alone else f"Write ({element.name}) to connect it."
                raise self._already(element.name or "", element.span, hint)
            check_column(updates.binding, element.name or "", known, element.span)
            self.nodes.setdefault(known.name, PatternNode(known.name, bound=True))
            return known.name
        properties = self._properties(element)
        dynamic = self._dynamic(element.labels)
        name = self._declare(element.name, Symbol("", NODE))
        labels = _label_names(element.labels) if element.labels is not None else ()
        if dynamic:
            node = Variable(name, type=NODE)
            self.conditions += (Call("$all", (node, each), type=BOOLEAN, span=element.span) for each in dynamic)
        self.elements.append(NewNode(name, labels, properties, element.span, dynamic))
        self.nodes[name] = PatternNode(name, _condition(labels))
        return name

    def _dynamic(self, labels: ast.LabelExpression | None) -> tuple[Expr, ...]:
        """Bind what names labels or types."""
        return tuple(map(self.updates._binder(self.word).value, _dynamic(labels))) if labels is not None else ()

    def _relationship(self, element: ast.RelationshipPattern) -> tuple[str, Expr | None]:
        if element.name is not None and self.updates.scope.find(element.name) is not None:
            raise self._already(element.name, element.span, "Give the new relationship another name.")
        if element.types is None:
            raise self.updates.binding.error(
                "NoSingleRelationshipType",
                "A relationship to create has exactly one type.",
                element.span,
                f"Write [:{element.name}] if that is its type.",
            )
        properties = self._properties(element)
        return self._declare(element.name, Symbol("", RELATIONSHIP)), properties

    def _connect(
        self, element: ast.RelationshipPattern, name: str, properties: Expr | None, left: str, right: str
    ) -> None:
        start, end = (right, left) if element.left else (left, right)
        type = element.types.name if isinstance(element.types, ast.LabelName) else ""
        (dynamic,) = self._dynamic(element.types) or (None,)
        self.elements.append(NewRelationship(name, type, start, end, properties, element.span, dynamic))
        direction = Direction.OUT if element.left or element.right else Direction.BOTH
        self.edges.append(PatternRelationship(name, start, end, LabelIs(type) if type else None, direction))
        if dynamic is not None:
            relationship = Variable(name, type=RELATIONSHIP)
            self.conditions.append(Call("$all", (relationship, dynamic), type=BOOLEAN, span=element.span))

    def _properties(self, element: ast.NodePattern | ast.RelationshipPattern) -> Expr | None:
        if element.properties is None:
            return None
        value = self.updates._binder(self.word).value(element.properties)
        return None if isinstance(value, MapOf) and not value.entries else value

    def _declare(self, user_name: str | None, symbol: Symbol) -> str:
        names = self.updates.binding.names
        name = names.fresh(user_name) if user_name is not None else names.anonymous()
        if user_name is not None:
            self.updates.symbols[user_name] = Symbol(name, symbol.type)
        return name

    def _already(self, name: str, span: Span, hint: str) -> SemanticError:
        message = f"Variable `{name}` is already defined."
        return self.updates.binding.error("VariableAlreadyBound", message, span, hint)

    def graph(self, span: Span) -> QueryGraph:
        """Return what a MERGE looks for: the elements with the properties that they would be made with.

        Raises
        ------
        SemanticError
            For a property that is read off another element of the pattern.
        """
        new = {element.name for element in self.elements}
        edges = {edge.name: edge for edge in self.edges}
        late = self.conditions
        for element in self.elements:
            if not isinstance(element.properties, MapOf):
                continue
            type = NODE if isinstance(element, NewNode) else RELATIONSHIP
            own: list[Expr] = []
            for key, value in element.properties.entries:
                if read := sorted(free_variables(value) & new):
                    raise self.updates.binding.error(
                        "UndefinedVariable",
                        f"MERGE can't read `{read[0]}`, which its own pattern names.",
                        value.span,
                        "MERGE one part after the other.",
                    )
                stored = Property(Variable(element.name, type=type), key)
                equation = Comparison(("=",), (stored, value), span=value.span)
                early = only_variable(equation) == element.name and not condition_can_fail(equation)
                (own if early else late).append(equation)
            if isinstance(element, NewNode):
                self.nodes[element.name] = replace(self.nodes[element.name], predicates=tuple(own))
            else:
                edges[element.name] = replace(edges[element.name], predicates=tuple(own))
        late.sort(key=condition_can_fail)
        return QueryGraph(tuple(self.nodes.values()), tuple(edges.values()), predicates=tuple(late), span=span)


def _read_by(element: NewElement) -> Iterator[Expr]:
    """Give the expressions that are evaluated to make an element."""
    named = element.dynamic if isinstance(element, NewNode) else (element.dynamic,)
    yield from (each for each in (element.properties, *named) if each is not None)


def _condition(labels: tuple[str, ...]) -> LabelExpr | None:
    return joined(LabelAnd, map(LabelIs, labels)) if labels else None


def _label_names(labels: ast.LabelExpression) -> tuple[str, ...]:
    """Return the names in labels that an element is given, each once."""
    args = labels.args if isinstance(labels, ast.LabelConjunction) else (labels,)
    return tuple(dict.fromkeys(arg.name for arg in args if isinstance(arg, ast.LabelName)))


def _dynamic(labels: ast.LabelExpression) -> tuple[ast.Expression, ...]:
    """Return the expressions that name labels which an element is given."""
    args = labels.args if isinstance(labels, ast.LabelConjunction) else (labels,)
    return tuple(arg.expression for arg in args if isinstance(arg, ast.LabelDynamic))


def _property(target: ast.Expression) -> tuple[ast.Expression, str] | None:
    """Return the subject and the key of ``subject.key`` or ``subject['key']``."""
    if isinstance(target, ast.PropertyAccess):
        return target.subject, target.key
    if isinstance(target, ast.Index) and isinstance(target.index, ast.Literal):
        key = target.index.value
        return (target.subject, key) if isinstance(key, str) and key else None
    return None

"""Binds MATCH: path patterns become one query graph.

First all elements are declared, so that property maps and WHERE may read every variable of the clause; then the
predicates are bound, split into conjuncts, and put at the one element that they speak of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from qengine._frozen import record, replace
from qengine.binder.binding import LABEL, RELATIONSHIP_TYPE, Binding
from qengine.binder.cost_warnings import warn_of_cost
from qengine.binder.expressions import ExpressionBinder
from qengine.binder.inference import may_be
from qengine.binder.labels import bind_dynamic, bind_labels, is_dynamic
from qengine.binder.likely_mistakes import warn_of_ends, warn_of_null, warn_of_types
from qengine.binder.path_parts import PathPart, flattened
from qengine.binder.quantified import (
    Element,
    Group,
    HopEnd,
    Repeated,
    RepeatedWalk,
    at_ends,
    elements_of,
    group_nodes,
    hop_ends,
    names_read,
    only_item,
    without,
)
from qengine.binder.scope import Scope, Symbol
from qengine.binder.selected_chains import (
    PathChoice,
    SelectedNames,
    as_chain,
    check_column,
    condition_names,
    is_chain,
    parts_of_and,
)
from qengine.binder.shortest import selector_of
from qengine.errors import Span, Unsupported
from qengine.plan.expr import Comparison, Expr, HasLabels, Property, Quantifier, Subquery, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.path_conditions import each_condition
from qengine.plan.pattern import (
    Chain,
    Direction,
    LabelExpr,
    MatchMode,
    PathMode,
    PathSelector,
    PatternNode,
    PatternPath,
    PatternRelationship,
    QueryGraph,
    Repetition,
)
from qengine.plan.predicates import both, label_condition
from qengine.plan.traverse import conjuncts, free_variables, only_variable, preorder, rewrite
from qengine.syntax import ast
from qengine.types import BOOLEAN, NODE, PATH, RELATIONSHIP, Kind, Type, indefinite, list_of

_MODES = {mode.value: mode for mode in MatchMode}


def bind_match(binding: Binding, clause: ast.MatchClause, scope: Scope) -> tuple[QueryGraph, Scope]:
    """Return the query graph of a MATCH and the scope behind it."""
    builder = GraphBuilder(binding, scope, _MODES[clause.mode or "DIFFERENT RELATIONSHIPS"])
    firsts = [builder.declare(pattern) for pattern in clause.patterns]
    graph = builder.finish(clause.where, clause.span)
    if binding.explaining:
        warn_of_cost(binding, list(zip(clause.patterns, firsts, strict=True)), graph)
    return graph, builder.scope_after()


@record
class Written:
    """The predicates written inside one element: they are bound when all variables are known."""

    name: str
    user_name: str | None
    hops: bool
    properties: ast.Expression | None
    where: ast.Expression | None
    selected: bool
    labels: ast.LabelExpression | None = None
    ends: tuple[HopEnd, ...] = ()
    group_where: ast.Expression | None = None


@record
class Choosing:
    """Conditions that may decide which paths are selected: on names inside, already bound, and as written.

    ``endless``: there are walks of any length, in which relationships may repeat.
    """

    choice: PathChoice
    inside: list[Expr]
    wheres: list[ast.Expression]
    endless: bool


@record
class GraphBuilder:
    """Collects the elements of one MATCH."""

    binding: Binding
    scope: Scope
    mode: MatchMode
    declared: dict[str, Symbol] = field(default_factory=dict)
    nodes: dict[str, PatternNode] = field(default_factory=dict)
    relationships: dict[str, PatternRelationship] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)
    paths: list[PatternPath] = field(default_factory=list)
    exhaustive: dict[str, str] = field(default_factory=dict)
    chained: set[str] = field(default_factory=set)
    written: list[Written] = field(default_factory=list)
    conditions: list[ast.Expression] = field(default_factory=list)
    selecting: list[ast.Expression] = field(default_factory=list)
    choosing: list[Choosing] = field(default_factory=list)
    on_paths: dict[str, list[Expr]] = field(default_factory=dict)
    predicates: list[Expr] = field(default_factory=list)

    def scope_after(self) -> Scope:
        """Return the scope with the pattern's variables."""
        return self.scope.with_symbols(self.declared)

    # ------------------------------------------------------------ elements

    def declare(self, pattern: ast.PathPattern) -> str:
        """Add the elements of one path pattern, then its name; return the name of its first node."""
        binding = self.binding
        selector = selector_of(binding, pattern)
        flat = flattened(binding, pattern)
        pattern, wheres = flat.pattern, flat.wheres
        elements = elements_of(binding, pattern)
        if len(elements) == 1:  # a node is the only path to itself
            selector = None
        if selector is not None and (
            is_chain(pattern, elements, self.mode, selector) or self._decide(wheres, elements, pattern)
        ):
            first = self._chain(pattern, elements, selector, wheres)
            self._parts(flat.parts, elements, None)
            return first
        (self.conditions if selector is None else self.selecting).extend(wheres)
        mode = self._path_mode(pattern, selector)
        names = self._elements(elements, selector, endless=mode is None)
        if pattern.name is not None or selector is not None or mode is not None:
            self._path(pattern, tuple(names), selector, mode)
        self._parts(flat.parts, elements, names)
        return names[0]

    def _parts(self, parts: Sequence[PathPart], elements: Sequence[Element], names: Sequence[str] | None) -> None:
        """Add the parts of a path that have names; ``names``: of all elements, None of a selected path."""
        for part in parts:
            begin, end = (
                next(place for place, each in enumerate(elements) if each is node) for node in (part.first, part.last)
            )
            if names is None:
                raise self.binding.unsupported(
                    "A name for a part of a selected path isn't built.", part.span, "Name the whole path."
                )
            pattern = ast.PathPattern((), part.name, span=part.span)
            self._path(pattern, tuple(names[begin : end + 1]), None, None)

    def _elements(self, elements: Sequence[Element], selector: PathSelector | None, *, endless: bool) -> list[str]:
        """Add the elements of a path; return their names in order."""
        names: list[str] = []
        between: tuple[ast.RelationshipPattern, str, bool] | Repeated | None = None
        group: Group | None = None
        for element in elements:
            if isinstance(element, Repeated):
                between = element
                continue
            if not isinstance(element, ast.NodePattern):
                group = element if isinstance(element, Group) else None
                relationship = element.relationship if isinstance(element, Group) else element
                between = (relationship, *self._relationship_symbol(relationship, selector is not None))
                continue
            node = self._node(element)
            if isinstance(between, Repeated):
                names.append(self._repetition(between.path, (names[-1], node), endless=endless))
            elif between is not None:
                self._relationship(*between, names[-1], node, selector is not None, endless=endless)
                if group is not None:
                    self._group(group, (names[-1], between[1], node), selector)
                names.append(between[1])
            names.append(node)
        return names

    def _chain(
        self,
        pattern: ast.PathPattern,
        elements: Sequence[Element],
        selector: PathSelector,
        wheres: Sequence[ast.Expression],
    ) -> str:
        """Add a selected path of several elements; return the name of its first node."""
        binding, mode = self.binding, PathMode(pattern.path_mode or "WALK")
        first, last = elements[0], elements[-1]
        assert isinstance(first, ast.NodePattern)
        assert isinstance(last, ast.NodePattern)
        start = self._node(first)
        anonymous = ast.NodePattern(span=pattern.span)
        inside = GraphBuilder(binding, self.scope, self.mode)
        names = tuple(inside._elements((anonymous, *elements[1:-1], anonymous), None, endless=False))
        end = self._node(last)
        self._check_names_inside(pattern.span, inside)
        late = [
            where
            for where in (part for whole in wheres for part in parts_of_and(whole))
            if not self._is_inside(inside, where)
        ]
        graph = inside.finish(None, pattern.span)
        if len(set(names)) < len(names):
            raise binding.unsupported(
                "A node that stands twice in a selected path isn't built.", pattern.span, "Compare two in the WHERE."
            )
        edge, bounds, whole = binding.names.anonymous(), binding.names.anonymous(), binding.names.anonymous()
        chain = Chain(replace(graph, paths=(), predicates=()), names, bounds)
        self.relationships[edge] = PatternRelationship(edge, start, end, hops=(0, None), chain=chain)
        self.spans[edge] = pattern.span
        self.chained |= {edge, bounds, whole}
        selected = SelectedNames(edge, bounds, whole, names, graph.paths)
        edges = inside.relationships

        def single(name: str) -> bool:
            return name in edges and edges[name].hops is None

        for user_name, symbol in inside.declared.items():
            self.declared[user_name] = selected.symbol(symbol, single)
        path = (start, edge, end)
        if any(symbol.type != RELATIONSHIP for symbol in inside.declared.values()):
            self.paths.append(PatternPath(whole, path, selector))
        self._path(pattern, path, selector, None if mode is PathMode.WALK else mode)
        own = {whole, *(path.name for path in self.paths[-1:] if path.name is not None)}
        choice = PathChoice(path, frozenset(own), bounds)
        endless = mode is PathMode.WALK and any(each.hops and each.hops[1] is None for each in edges.values())
        inner = [selected.outside(each, single) for each in graph.predicates]
        self.choosing.append(Choosing(choice, inner, late, endless))
        return start

    def _decide(self, wheres: Sequence[ast.Expression], elements: Sequence[Element], pattern: ast.PathPattern) -> bool:
        """Tell whether conditions round a selected path are on anything of it but its ends."""
        names = condition_names(wheres, elements)
        inner = {pattern.name}
        for element in elements:
            if isinstance(element, ast.RelationshipPattern):
                inner.add(element.name)
            elif isinstance(element, Group):
                inner |= {element.written.name, element.start.name, element.end.name}
        return not names.isdisjoint(inner - {None})

    def _is_inside(self, inside: GraphBuilder, where: ast.Expression) -> bool:
        """Add a condition round a selected path to what is in it, if it reads names in it alone."""
        read = names_read(where)
        own = bool(read & inside.declared.keys()) and not read & self.declared.keys()
        if own and all(name in inside.declared or self.scope.find(name) is not None for name in read):
            inside.conditions.append(where)
            return True
        return False

    def _decides(self, span: Span | None) -> Unsupported:
        return self.binding.unsupported(
            "This condition would decide which path is selected, and isn't built.",
            span,
            "Put a condition on one node or relationship, or one in the WHERE of the MATCH to filter afterwards.",
        )

    def _endless(self, span: Span | None) -> Unsupported:
        return self.binding.unsupported(
            "A condition on walks of any length that repeat relationships might be tried endlessly.",
            span,
            "Give them an upper bound, such as {1,5}, or leave REPEATABLE ELEMENTS away.",
        )

    def _choose(self, choosing: Choosing, binder: ExpressionBinder) -> None:
        """Let conditions decide which paths are selected; those on the ends alone can be asked of the match."""
        choice, edge = choosing.choice, self.relationships[choosing.choice.path[1]]
        predicates = list(choosing.inside)
        for where in choosing.wheres:
            for predicate in conjuncts(binder.condition(where)):
                if choice.reads(predicate):
                    predicates.append(predicate)
                else:
                    self._place(predicate)
        if not predicates:
            return
        if choosing.endless and self.mode is MatchMode.REPEATABLE_ELEMENTS:
            raise self._endless(predicates[0].span)
        assert edge.chain is not None
        condition = choice.condition(self.binding, predicates)
        self.relationships[edge.name] = replace(edge, chain=replace(edge.chain, condition=condition))

    def _repetition(self, path: ast.QuantifiedPath, ends: tuple[str, str], *, endless: bool) -> str:
        """Add a quantified path that is repeated as a pattern of its own; return the name of its relationships."""
        inside = GraphBuilder(self.binding, self.scope, self.mode)
        pattern = ast.PathPattern(path.elements, span=path.span)
        elements = inside._elements(elements_of(self.binding, pattern), None, endless=False)
        self._check_names_inside(path.span, inside)
        graph = inside.finish(path.where, path.span)
        nodes, relationships = tuple(elements[::2]), tuple(elements[1::2])
        name, hops = self.binding.names.anonymous(), path.hops
        assert hops is not None
        outside = [each for each in graph.predicates if not free_variables(each) <= {*nodes, *relationships}]
        self._check_hops(path, (hops.minimum, hops.maximum), endless)
        self.relationships[name] = PatternRelationship(
            name,
            *ends,
            hops=(hops.minimum, hops.maximum),
            repetition=Repetition(without(graph, outside), nodes, relationships),
        )
        self.spans[name] = path.span
        whole = self.binding.names.anonymous()
        walk = RepeatedWalk(name, whole, nodes, relationships)
        if outside or path.name is not None or any(symbol.name in nodes for symbol in inside.declared.values()):
            self.paths.append(PatternPath(whole, (ends[0], name, ends[1])))
        self.predicates += [walk.each(self.binding, predicate) for predicate in outside]
        for user_name, symbol in inside.declared.items():
            items = self._outside(walk.items(symbol.name), hops)
            self.declared[user_name] = Symbol(name if symbol.name in relationships else whole, items.type, items)
        if path.name is not None:
            self._check_path_name(path.name, path.span)
            items = self._outside(walk.parts(self.binding), hops)
            self.declared[path.name] = Symbol(whole, items.type, items)
        return name

    def _outside(self, items: Expr, hops: ast.Hops | None) -> Expr:
        """Return what a name inside a quantified path is outside, given the list of what it was each time."""
        return only_item(items) if hops is not None and hops.single else items

    def _check_names_inside(self, span: Span, inside: GraphBuilder) -> None:
        """Refuse names inside a quantified or selected path that mean something outside."""
        for user_name in inside.declared:
            if user_name in self.declared or self.scope.find(user_name) is not None:
                raise self.binding.error(
                    "VariableAlreadyBound",
                    f"Variable `{user_name}` is already defined, and can't stand in a quantified or selected path.",
                    span,
                    "Give it another name there, and compare them.",
                )

    def _group(self, group: Group, elements: tuple[str, str, str], selector: PathSelector | None) -> None:
        """Note the conditions inside a quantified relationship, and what its names are outside."""
        edge = self.relationships[elements[1]]
        for inner in (group.start, group.end):
            if inner.name in self.declared or (inner.name is not None and self.scope.find(inner.name) is not None):
                raise self.binding.error(
                    "VariableAlreadyBound",
                    f"Variable `{inner.name}` is already defined, and can't stand in a quantified path pattern.",
                    inner.span,
                    "Give it another name there, and compare them.",
                )
        if edge.bound:
            raise self.binding.unsupported(
                "Relationships of an earlier clause can't stand in a quantified path pattern.",
                group.written.span,
                "Give them another name there, and compare the lists.",
            )
        infos = map(self.binding.catalog.relationship_type, self.binding.catalog.relationship_types)
        fixed = not any(
            info is not None and info.undirected and (edge.types is None or edge.types.admits(frozenset((info.name,))))
            for info in infos
        )
        ends = hop_ends(self.binding, group, fixed)
        written, selected = group.written, selector is not None
        self.written.append(
            Written(
                edge.name,
                written.name,
                True,
                written.properties,
                written.where,
                selected,
                _dynamic(written.types),
                ends,
                group.where,
            )
        )
        if group.start.name is None and group.end.name is None:
            return
        path = self.binding.names.anonymous()
        self.paths.append(PatternPath(path, elements, selector))
        for node, first in ((group.start, True), (group.end, False)):
            if node.name is not None:
                nodes = self._outside(group_nodes(path, first), group.relationship.hops)
                self.declared[node.name] = Symbol(path, nodes.type, nodes)

    def _path_mode(self, pattern: ast.PathPattern, selector: PathSelector | None) -> PathMode | None:
        """Return what a path must not repeat beyond what the match mode says."""
        mode = PathMode(pattern.path_mode or "WALK")
        repeatable = self.mode is MatchMode.REPEATABLE_ELEMENTS
        if mode is PathMode.WALK or (mode is PathMode.TRAIL and not repeatable):
            return None
        if selector is not None:  # what is no chain repeats no node then
            return None
        if mode is PathMode.SIMPLE and repeatable:
            hint = "Leave REPEATABLE ELEMENTS away, or take ACYCLIC."
            raise self.binding.unsupported("SIMPLE isn't built with REPEATABLE ELEMENTS.", pattern.span, hint)
        return mode

    def _node(self, element: ast.NodePattern) -> str:
        name, known = self._symbol(element.name, NODE, element.span)
        labels = self._labels(element.labels, LABEL)
        old = self.nodes.get(name)
        if old is None and not known and element.labels is None and element.name is not None:
            self.binding.check_name(element.name, LABEL, element.span)
        if old is None:
            self.nodes[name] = PatternNode(name, labels, bound=known)
        elif labels is not None:
            self.nodes[name] = replace(old, labels=both(old.labels, labels))
        self._write(name, element, hops=False, selected=False)
        return name

    def _relationship_symbol(self, element: ast.RelationshipPattern, selected: bool) -> tuple[str, bool]:
        if selected and element.hops is None and element.name is not None:  # of shortestPath()
            raise self.binding.unsupported(
                "A relationship of one hop can't be named in a shortest path.", element.span, "Write *1..1 behind it."
            )
        earlier = self.declared.get(element.name) if element.name is not None else None
        if earlier is not None and earlier.name in self.relationships:
            if self.mode is MatchMode.REPEATABLE_ELEMENTS:
                raise self.binding.unsupported("A relationship that stands twice isn't built.", element.span)
            raise self.binding.error(
                "RelationshipUniquenessViolation",
                f"Relationship `{element.name}` stands twice in one MATCH.",
                element.span,
                "The relationships of one MATCH are all different: give the second another name.",
            )
        if element.hops is not None and element.hops.single and element.name is not None:
            self._check_path_name(element.name, element.span)
            items = Variable(self.binding.names.fresh(element.name), type=list_of(RELATIONSHIP))
            self.declared[element.name] = Symbol(items.name, RELATIONSHIP, only_item(items))
            return items.name, False
        type = RELATIONSHIP if element.hops is None else list_of(RELATIONSHIP)
        name, known = self._symbol(element.name, type, element.span)
        if not known and element.types is None and element.name is not None:
            self.binding.check_name(element.name, RELATIONSHIP_TYPE, element.span)
        return name, known

    def _relationship(
        self,
        element: ast.RelationshipPattern,
        name: str,
        known: bool,
        start: str,
        end: str,
        selected: bool,
        endless: bool,
    ) -> None:
        hops = (element.hops.minimum, element.hops.maximum) if element.hops else None
        if selected and hops is None:
            hops = (1, 1)
        self._check_hops(element, hops, endless and not selected)
        if element.left == element.right:
            direction = Direction.BOTH
        elif hops is None:
            direction = Direction.OUT
            if element.left:
                start, end = end, start
        else:  # keeps its ends: its list of relationships goes from the first written one to the second
            direction = Direction.IN if element.left else Direction.OUT
        types = self._labels(element.types, RELATIONSHIP_TYPE)
        self.relationships[name] = PatternRelationship(name, start, end, types, direction, hops, bound=known)
        self.spans[name] = element.span
        self._write(name, element, hops is not None, selected)

    def _check_hops(
        self, element: ast.RelationshipPattern | ast.QuantifiedPath, hops: tuple[int, int | None] | None, endless: bool
    ) -> None:
        if hops is None or element.hops is None:
            return
        minimum, maximum = hops
        if maximum is not None and maximum < minimum:
            message = f"No walk has at least {minimum} and at most {maximum} hops."
            self.binding.notice("EmptyRange", message, message, element.hops.span, "Write the smaller bound first.")
        if maximum is None and self.mode is MatchMode.REPEATABLE_ELEMENTS and endless:
            raise self.binding.error(
                "InvalidRelationshipPattern",
                "An unbounded walk with REPEATABLE ELEMENTS has endlessly many matches.",
                element.hops.span,
                "Give it an upper bound, such as *1..5, or the path a mode: TRAIL, ACYCLIC.",
            )

    def _path(
        self, pattern: ast.PathPattern, names: tuple[str, ...], selector: PathSelector | None, mode: PathMode | None
    ) -> None:
        name = None
        if pattern.name is not None:
            self._check_path_name(pattern.name, pattern.span)
            name = self.binding.names.fresh(pattern.name)
            self.declared[pattern.name] = Symbol(name, PATH)
        self.paths.append(PatternPath(name, names, selector, mode))
        if pattern.selector in ("shortestPath", "allShortestPaths"):
            for edge in names[1::2]:
                self.exhaustive[edge] = edge
                if name is not None:
                    self.exhaustive[name] = edge

    def _check_path_name(self, name: str, span: Span) -> None:
        taken = self.declared.get(name) or self.scope.find(name)
        if taken is not None:
            raise self.binding.error(
                "VariableAlreadyBound",
                f"Variable `{name}` is already {indefinite(taken.type)}.",
                span,
                "Give the path another name.",
            )

    def _symbol(self, user_name: str | None, type: Type, span: Span) -> tuple[str, bool]:
        """Return the column of an element, and whether the input rows already have it."""
        if user_name is None:
            return self.binding.names.anonymous(), False
        symbol = self.declared.get(user_name) or self.scope.find(user_name)
        known = symbol is not None and user_name not in self.declared
        if symbol is not None and symbol.type == type:
            check_column(self.binding, user_name, symbol, span)
        if symbol is None:
            symbol = Symbol(self.binding.names.fresh(user_name), type)
        elif not may_be(symbol.type, type.kind) or (
            type.item and symbol.type.item and not may_be(symbol.type.item, Kind.RELATIONSHIP)
        ):
            raise self.binding.error(
                "VariableTypeConflict",
                f"Variable `{user_name}` is {indefinite(symbol.type)}, and can't be {indefinite(type)} here.",
                span,
                "Give this element another name.",
            )
        self.declared[user_name] = symbol if symbol.type == type else replace(symbol, type=type)
        return symbol.name, known

    def _labels(self, labels: ast.LabelExpression | None, kind: str) -> LabelExpr | None:
        if labels is None or is_dynamic(labels):  # those are a condition
            return None
        return bind_labels(self.binding, labels, (kind,))

    def _write(self, name: str, element: ast.NodePattern | ast.RelationshipPattern, hops: bool, selected: bool) -> None:
        labels = _dynamic(element.labels if isinstance(element, ast.NodePattern) else element.types)
        if element.properties is not None or element.where is not None or labels is not None:
            self.written.append(Written(name, element.name, hops, element.properties, element.where, selected, labels))

    # ------------------------------------------------------------ predicates

    def finish(self, where: ast.Expression | None, span: Span) -> QueryGraph:
        """Bind the predicates, put each where it belongs, and return the graph."""
        for edge in self.relationships.values():
            warn_of_ends(self.binding, edge, self.nodes, self.spans.get(edge.name))
        for written in self.written:
            for predicate in self._written_predicates(written):
                self._place_written(written, at_ends(predicate, written.name, written.ends))
        # Those of ``selecting`` are on the ends alone: they may as well be asked of what was selected.
        conditions = (*self.conditions, *([where] if where is not None else ()), *self.selecting)
        if conditions or self.choosing:
            binder = ExpressionBinder(self.binding, self.scope_after(), "WHERE")
            for condition in conditions:
                for predicate in conjuncts(binder.condition(condition)):
                    self._place(predicate)
            for choosing in self.choosing:
                self._choose(choosing, binder)
        for name, predicates in self.on_paths.items():
            self._place_on_path(self.relationships[name], predicates)
        return QueryGraph(
            tuple(self.nodes.values()),
            tuple(self.relationships.values()),
            tuple(self.paths),
            tuple(sorted(self.predicates, key=condition_can_fail)),  # a condition that fails may not be asked at all
            self.mode,
            span=span,
        )

    def _written_predicates(self, written: Written) -> Iterable[Expr]:
        """Bind an element's property map and WHERE; in a variable-length one its name means the single hop."""
        symbols = {end.node.name: Symbol(end.column, NODE) for end in written.ends if end.node.name is not None}
        if written.hops and written.user_name is not None:
            symbols[written.user_name] = Symbol(written.name, RELATIONSHIP)
        scope = self.scope.with_symbols({**self.declared, **symbols})
        binder = ExpressionBinder(self.binding, scope, "a pattern")
        type = RELATIONSHIP if written.name in self.relationships else NODE
        subject = Variable(written.name, type=type)
        if written.labels is not None:
            yield from conjuncts(bind_dynamic(binder, subject, written.labels))
        yield from self._conditions(binder, subject, written.properties, written.where)
        for end in written.ends:
            node = Variable(end.column, type=NODE)
            labels = self._labels(end.node.labels, LABEL)
            if labels is not None:
                yield HasLabels(node, labels, span=end.node.span)
            elif end.node.labels is not None:
                yield from conjuncts(bind_dynamic(binder, node, end.node.labels))
            yield from self._conditions(binder, node, end.node.properties, end.node.where)
        if written.group_where is not None:
            yield from conjuncts(binder.condition(written.group_where))
        names = [end.node.name for end in written.ends]
        if names and names[0] is not None and names[0] == names[1]:
            yield Comparison(("=",), tuple(Variable(end.column, type=NODE) for end in written.ends))

    def _conditions(
        self,
        binder: ExpressionBinder,
        subject: Variable,
        properties: ast.Expression | None,
        where: ast.Expression | None,
    ) -> Iterable[Expr]:
        """Bind the property map and the WHERE of an element."""
        if isinstance(properties, ast.MapLiteral):
            for key, value in properties.entries:
                warn_of_null(self.binding, (value,), value.span, "Test the property in WHERE, with IS NULL.")
                bound = binder.value(value)
                property_type = self.binding.property_type(subject.type, key, value.span)
                operands = (Property(subject, key, type=property_type), bound)
                warn_of_types(self.binding, ("=",), operands, value.span)
                yield Comparison(("=",), operands, span=value.span)
        if where is not None:
            yield from conjuncts(binder.condition(where))

    def _place_written(self, written: Written, predicate: Expr) -> None:
        if self.chained & free_variables(predicate):
            raise self._decides(predicate.span)
        own = only_variable(predicate) == written.name
        if not written.hops or (own and (written.selected or not condition_can_fail(predicate))):
            self._place(predicate, hop=written.hops)
        elif written.selected or any(isinstance(part, Subquery) for part in preorder(predicate)):
            raise self.binding.unsupported(
                "A condition on each hop can't read other variables here.", predicate.span, "Compare with a constant."
            )
        else:  # for each hop, and other variables besides: a condition on the whole list
            hop = self.binding.names.fresh(written.user_name or written.name)
            self.predicates.append(_for_all_hops(written.name, hop, predicate))

    def _place(self, predicate: Expr, hop: bool = False) -> None:
        early = hop or not condition_can_fail(predicate)
        name = (only_variable(predicate) if early else None) or ""
        node, relationship = self.nodes.get(name), self.relationships.get(name)
        labels = label_condition(predicate)
        if node is not None:
            if labels is not None:
                self.nodes[name] = replace(node, labels=both(node.labels, labels))
            else:
                self.nodes[name] = replace(node, predicates=(*node.predicates, predicate))
        elif relationship is not None and (hop or relationship.hops is None):
            if labels is not None:
                self.relationships[name] = replace(relationship, types=both(relationship.types, labels))
            else:
                predicates = (*relationship.predicates, predicate)
                self.relationships[name] = replace(relationship, predicates=predicates)
        elif paths := self.exhaustive.keys() & free_variables(predicate):
            self.on_paths.setdefault(self.exhaustive[min(paths)], []).append(predicate)
        else:
            self.predicates.append(predicate)

    def _place_on_path(self, edge: PatternRelationship, predicates: Sequence[Expr]) -> None:
        """Let conditions on the path of shortestPath() say which one is the shortest: its elements', where they can."""
        names = {name for name, of in self.exhaustive.items() if of == edge.name}
        elements = [each_condition(predicate) for predicate in predicates]
        if any(each is None or each.source not in names for each in elements):
            bounds = self.binding.names.anonymous()
            choice = PathChoice((edge.start, edge.name, edge.end), frozenset(names - {edge.name}), bounds)
            if self.mode is MatchMode.REPEATABLE_ELEMENTS and edge.hops is not None and edge.hops[1] is None:
                raise self._endless(predicates[0].span)
            condition = choice.condition(self.binding, predicates)
            self.relationships[edge.name] = as_chain(self.binding, edge, self.mode, condition)
            return
        for each in elements:
            assert each is not None
            edge = self.relationships[edge.name]
            if each.of == "relationships":
                self.relationships[edge.name] = replace(edge, predicates=(*edge.predicates, *each.on(edge.name)))
                continue
            self.relationships[edge.name] = replace(edge, inner=(*edge.inner, *each.on(edge.name)))
            for end in dict.fromkeys((edge.start, edge.end)):
                node = self.nodes[end]
                self.nodes[end] = replace(node, predicates=(*node.predicates, *each.on(end)))


def _dynamic(labels: ast.LabelExpression | None) -> ast.LabelExpression | None:
    """Return labels that an expression names, which are a condition; None for others."""
    return labels if labels is not None and is_dynamic(labels) else None


def _for_all_hops(relationships: str, hop: str, predicate: Expr) -> Expr:
    def renamed(expr: Expr) -> Expr:
        return replace(expr, name=hop) if isinstance(expr, Variable) and expr.name == relationships else expr

    source = Variable(relationships, type=list_of(RELATIONSHIP))
    return Quantifier("all", hop, source, rewrite(predicate, renamed), type=BOOLEAN, span=predicate.span)

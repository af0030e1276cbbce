"""Plans as text: an indented tree, one operator a line, expressions in Cypher-like text.

Below an operator stand the levels of its search (marked ``·``), then its inputs, then the plans of the subqueries
in its expressions, under the number by which the expression names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from qengine._frozen import frozen
from qengine._printable import printable_line
from qengine.plan import logical, physical
from qengine.plan.columns import columns_of
from qengine.plan.count_shapes import kernels_of
from qengine.plan.elimination_text import elimination_lines
from qengine.plan.expr import Call, Expr, KeyOf, OfNode, Property, Subquery, Variable
from qengine.plan.expr_text import ExprText, labels_text, name_text
from qengine.plan.logical import LogicalPlan, Operator
from qengine.plan.pattern import (
    Chain,
    Direction,
    LabelExpr,
    MatchMode,
    PathMode,
    PathSelector,
    PatternNode,
    PatternRelationship,
    QueryGraph,
)
from qengine.plan.physical import EdgeLevel, PhysicalPlan, Source, VertexLevel
from qengine.plan.traverse import free_variables
from qengine.plan.update_text import step_text
from qengine.plan.updates import CallSubquery, ForEach, Merge, Step, Update


@frozen
class Line:
    """A line of a plan: an operator, or (``operator`` None) a level of the search above it or a subquery's heading.

    ``level``: the search and the name of its level, where the line is one.
    """

    depth: int
    text: str
    operator: Operator | None = None
    level: tuple[physical.Search, str] | None = None


def to_text(
    plan: LogicalPlan | PhysicalPlan | Operator,
    note: Callable[[Operator], str] | None = None,
    of_level: Callable[[physical.Search, str], str] | None = None,
) -> str:
    """Return a plan as a tree of lines, the operator that gives the result first.

    ``note`` says more of an operator (what it did when it was run), ``of_level`` of a search's level; it stands at the
    end of the line.
    """
    lines = []
    for line in outline(plan):
        more = note(line.operator) if note is not None and line.operator is not None else ""
        if of_level is not None and line.level is not None:
            more = of_level(*line.level)
        lines.append(f"{'  ' * line.depth}{line.text}{f'  [{more}]' if more else ''}")
    return "\n".join(lines)


def pattern_text(graph: QueryGraph) -> str:
    """Return a pattern as text, safe to show."""
    return printable_line(_Writer()._pattern(graph))


def outline(plan: LogicalPlan | PhysicalPlan | Operator) -> Iterator[Line]:
    """Yield the lines of a plan, the operator that gives the result first; all are safe to show."""
    for line in _Writer().lines(plan if isinstance(plan, Operator) else plan.root, 0):
        yield Line(line.depth, printable_line(line.text), line.operator, line.level)


class _Writer:
    """Writes one plan; subqueries are numbered through it."""

    def __init__(self) -> None:
        self.expr = ExprText()

    def lines(self, operator: Operator, depth: int) -> Iterator[Line]:
        written = len(self.expr.subqueries)
        yield Line(depth, _RULES[type(operator)](self, operator), operator)
        if isinstance(operator, Update):
            yield from self._steps(operator.steps, depth + 1)
        if isinstance(operator, physical.Search):
            yield from self._levels(operator, depth + 1)
        if isinstance(operator, physical.AggregateByNode):
            yield from self._program("embeddings", operator.counts, depth + 1)
            for each in operator.sums:
                yield from self._program(f"sums of {name_text(each.node)}", each.program, depth + 1)
            for met in operator.pairs:
                yield from self._program(f"values of {name_text(met.node)}", met.program, depth + 1)
        if isinstance(operator, physical.AggregateByClasses):
            yield from self._program("embeddings of a class", operator.program, depth + 1)
        if isinstance(operator, physical.AggregateEntries):
            for counts in operator.counts:
                yield from self._program(f"embeddings by {name_text(counts.emit[0])}", counts, depth + 1)
            for values in operator.values:
                yield Line(depth + 1, f"· values by {name_text(columns_of(values)[0])}:")
                yield from self.lines(values, depth + 2)
        if isinstance(operator, physical.Eliminate):
            for text in elimination_lines(operator, self.expr):
                yield Line(depth + 1, f"· {text}")
            for number, search in enumerate(operator.searches):
                yield Line(depth + 1, f"· s{number} = {self._search(search)}")
                yield from self._levels(search, depth + 2)
            if operator.schedule("cpu") is None:
                yield Line(depth + 1, f"· on the CPU: {self._search(operator.search)}")
                yield from self._levels(operator.search, depth + 2)
        numbered = list(enumerate(self.expr.subqueries[written:], written + 1))
        for below in inputs(operator):
            yield from self.lines(below, depth + 1)
        for number, subquery in numbered:
            yield Line(depth + 1, f"#{number} {subquery.kind.upper()}{_given(subquery)}")
            yield from self.lines(subquery.plan, depth + 2)

    def _program(self, title: str, program: physical.Eliminate, depth: int) -> Iterator[Line]:
        yield Line(depth, f"· {title}:")
        for text in elimination_lines(program, self.expr):
            yield Line(depth + 1, f"· {text}")

    def _levels(self, search: physical.Search, depth: int) -> Iterator[Line]:
        names = [level.name for level in search.levels]
        for place, level in enumerate(search.levels):
            given = " (given)" if place < search.seeds else ""
            yield Line(depth, f"· {self._level(level, names)}{given}", None, (search, level.name))
        if search.shapes:
            roots = (name_text(names[each.root]) for each in search.shapes)
            kernels = zip(kernels_of(search.shapes), roots, strict=True)
            yield Line(depth, f"· on a GPU: {' × '.join(f'{kernel} from {root}' for kernel, root in kernels)}")

    def _steps(self, steps: Iterable[Step], depth: int) -> Iterator[Line]:
        for step in steps:
            yield Line(depth, f"· {step_text(step, self.expr, self._match)}")
            if isinstance(step, ForEach):
                yield from self._steps(step.steps, depth + 1)
            elif isinstance(step, Merge):
                for word, actions in (("created", step.on_create), ("matched", step.on_match)):
                    if actions:
                        yield Line(depth + 1, f"· where {word}:")
                        yield from self._steps(actions, depth + 2)
            elif isinstance(step, CallSubquery):
                yield from self.lines(step.plan, depth + 1)

    # ------------------------------------------------------------ logical

    def _match(self, operator: logical.Match) -> str:
        graph = operator.graph
        mode = "" if graph.mode is MatchMode.DIFFERENT_RELATIONSHIPS else f"{graph.mode.value} "
        bound = [node.name for node in graph.nodes if node.bound]
        bound += [edge.name for edge in graph.relationships if edge.bound]
        text = f"{'Optional' if operator.optional else ''}Match {mode}{self._pattern(graph)}"
        return text + (f" given {_names(bound)}" if bound else "")

    def _pattern(self, graph: QueryGraph) -> str:
        nodes = {node.name: node for node in graph.nodes}
        parts: list[str] = []
        for edge in graph.relationships:
            start, end = (self._node(name, nodes.pop(name, None)) for name in (edge.start, edge.end))
            parts.append(f"{start}{self._relationship(edge)}{end}")
        parts += [self._node(name, node) for name, node in nodes.items()]
        for path in graph.paths:
            selector = "" if path.selector is None else f"{path.selector} "
            selector += "" if path.mode is None else f"{path.mode.value} "
            name = f"{name_text(path.name)} = " if path.name else ""
            parts.append(f"{selector}{name}path({', '.join(map(name_text, path.elements))})")
        return ", ".join(parts) + _parts(graph) + self._where(graph.predicates)

    def _node(self, name: str, node: PatternNode | None) -> str:
        if node is None:  # described where it was first mentioned
            return f"({name_text(name)})"
        return f"({name_text(name)}{_labels(node.labels)}{self._where(node.predicates)})"

    def _relationship(self, edge: PatternRelationship) -> str:
        if edge.repetition is not None:
            return f" ({self._pattern(edge.repetition.graph)}){_quantifier(edge.hops)} AS {name_text(edge.name)} "
        if edge.chain is not None:
            names = f"{name_text(edge.name)}, {name_text(edge.chain.bounds)}"
            return f" ({self._pattern(edge.chain.graph)}) AS {names}{self._chosen(edge.chain)} "
        hops = "" if edge.hops is None else f"*{edge.hops[0]}..{'' if edge.hops[1] is None else edge.hops[1]}"
        through = f" through ({name_text(edge.name)}{self._where(edge.inner)})" if edge.inner else ""
        inside = f"[{name_text(edge.name)}{_labels(edge.types)}{hops}{self._where(edge.predicates)}{through}]"
        return _arrow(inside, edge.direction)

    def _where(self, predicates: tuple[Expr, ...]) -> str:
        return f" WHERE {self.expr.joined(predicates, ' AND ')}" if predicates else ""

    def _columns(self, items: Iterable[tuple[str, Expr]]) -> str:
        shown = []
        for name, expr in items:
            text = self.expr(expr)
            shown.append(text if text == name_text(name) else f"{text} AS {name_text(name)}")
        return ", ".join(shown)

    def _aggregate(self, operator: logical.Aggregate) -> str:
        keys = f" by {self._columns(operator.keys)}" if operator.keys else ""
        aggregates = f": {self._columns(operator.aggregates)}" if operator.aggregates else ""
        return f"Aggregate{keys}{aggregates}{_weighted(operator.weight)}"

    def _sort(self, operator: logical.Sort) -> str:
        keys = ", ".join(f"{self.expr(key.expr)}{'' if key.ascending else ' DESC'}" for key in operator.keys)
        return f"Sort {keys}" + (f" first {self.expr(operator.limit)}" if operator.limit is not None else "")

    def _procedure_call(self, operator: logical.ProcedureCall) -> str:
        text = f"ProcedureCall {operator.procedure.name}({self.expr.joined(operator.args)})"
        outputs = (
            name_text(output) if output == name else f"{name_text(output)} AS {name_text(name)}"
            for output, name in operator.outputs
        )
        return f"{text} YIELD {', '.join(outputs)}" if operator.outputs else text

    def _load_csv(self, operator: logical.LoadCsv) -> str:
        text = f"LoadCsv{' with headers' if operator.headers else ''} {self.expr(operator.url)}"
        separated = "" if operator.separator == "," else f" separated by {operator.separator!r}"
        places = "".join(f", {what} AS {name_text(name)}" for what, name in _places(operator) if name)
        return f"{text} AS {name_text(operator.name)}{separated}{places}"

    # ------------------------------------------------------------ physical

    def _search(self, operator: physical.Search) -> str:
        text = "Search" if operator.strategy == "search" else "Extend"
        text += f" emit {_names(operator.emit)}" if operator.emit else ""
        text += f" count {name_text(operator.count)}" if operator.count else ""
        text += " exists" if operator.exists else ""
        text += f" orbits {operator.orbits}" if operator.orbits != 1 else ""
        text += f" images {len(operator.images)}" if operator.images else ""
        return text + (f" ({operator.reason})" if operator.reason else "")

    def _look_up(self, operator: physical.LookUp) -> str:
        types = "|".join(map(name_text, operator.types))
        found = f"{name_text(operator.name)}{_labels(operator.labels)}{':' if types else ''}{types}"
        of = Variable(operator.name)
        left = Call(operator.key, (of,)) if operator.identity else Property(of, operator.key)
        way = "identity" if operator.identity else f"hash index on {name_text(operator.key)}"
        rows = _found_by_index(operator.rows, operator.unique, "relationship" if operator.relationship else "node")
        compared = "IN" if operator.many else "="
        return f"LookUp {found} by {way}, {self.expr(left)} {compared} {self.expr(operator.value)}: {rows}"

    def _relationship_scan(self, operator: physical.RelationshipScan) -> str:
        access = operator.access
        types = "|".join(map(name_text, operator.types))
        conditions = " AND ".join(map(self.expr, operator.predicates))
        rows = _found_by_index(access.rows, access.unique, "relationship")
        way = f"{access.kind} index on {_names(access.keys)}"
        return f"RelationshipScan {name_text(operator.name)}:{types} by {way}, {conditions}: {rows}"

    def _hash_join(self, operator: physical.HashJoin) -> str:
        text = f"{'SemiJoin' if operator.semi else 'HashJoin'} on {self._keys(operator)}"
        text += f" emit {_names(operator.emit)}" if operator.emit else ""
        for equations in operator.apart:
            both = [f"{name_text(one)} = {name_text(other)}" for one, other in equations]
            text += f" not ({' and '.join(both)})" if len(both) > 1 else f" {both[0].replace(' = ', ' ≠ ')}"
        text += " from {1} in {0}".format(*map(name_text, operator.seeds)) if operator.seeds else ""
        return text + (f" ({operator.reason})" if operator.reason else "")

    def _theta_join(self, operator: physical.ThetaJoin) -> str:
        text = f"{'SemiJoin' if operator.semi else 'ThetaJoin'} on {self.expr(operator.condition)}"
        text += f" count {name_text(operator.count)}" if operator.count else ""
        text += f" emit {_names(operator.emit)}" if operator.emit else ""
        return f"{text} ({' and '.join(sorted(set(map(_way, operator.ways))))})"

    def _keys(self, operator: physical.HashJoin) -> str:
        """Return what rows are joined by: variables, or the values that their keys are made of."""
        sides = [dict(each.items) for each in (operator.input, operator.build) if isinstance(each, logical.Project)]
        keys = [side.get(operator.keys[0]) for side in sides if operator.by_value]
        args = [key.args for key in keys if isinstance(key, KeyOf)]
        if len(args) < 2:
            return _names(operator.keys)
        return " and ".join(f"{self.expr(one)} = {self.expr(other)}" for one, other in zip(*args, strict=True))

    def _eliminate(self, operator: physical.Eliminate) -> str:
        text = "Sum of searches" if operator.searches and not operator.steps else "Eliminate"
        text += f" emit {_names(operator.emit)}" if operator.emit else ""
        text += f" count {name_text(operator.count)}" if operator.count else " exists"
        return text + (f" ({operator.reason})" if operator.reason else "")

    def _by_node(self, operator: physical.AggregateByNode) -> str:
        summed = [f"sums of {name_text(each.node)}" for each in operator.sums]
        met = [f"values of {name_text(each.node)}" for each in operator.pairs]
        return f"AggregateByNode {name_text(operator.node)}: {' and '.join(summed + met)} without rows"

    def _by_classes(self, operator: physical.AggregateByClasses) -> str:
        return f"AggregateByClasses of {name_text(operator.node)}, by {name_text(operator.by)}, without rows"

    def _entries(self, operator: physical.AggregateEntries) -> str:
        ends = " and ".join(name_text(each.emit[0]) for each in operator.counts)
        weighed = f", weighted by what is counted by {ends}" if ends else ""
        less = "".join(f", less what is itself at {name_text(each.end)}" for each in operator.others)
        carried = "".join(f", with {self._carried(each)} of {name_text(each.bearer)}" for each in operator.carried)
        made = ", by what is evaluated for each relationship" if operator.made else ""
        return f"AggregateEntries: folded as lists are read, without rows{weighed}{less}{carried}{made}"

    def _carried(self, node: physical.Carried | physical.CarriedByValue) -> str:
        if isinstance(node, physical.Carried):
            return name_text(node.name)
        equation = f"{self.expr(Property(Variable(node.name), node.key))} = {self.expr(node.value)}"
        conditions = " AND ".join((equation, *map(self.expr, node.predicates)))
        return f"({name_text(node.name)}{_labels(node.labels)} WHERE {conditions})"

    def _level(self, level: physical.Level, names: list[str]) -> str:
        if isinstance(level, EdgeLevel):
            types = f":{'|'.join(map(name_text, level.types))}" if level.types else ""
            arrow = _arrow(f"[{name_text(level.name)}{types}]", level.direction)
            text = f"({names[level.start]}){arrow}({names[level.end]})"
        else:
            text = f"{name_text(level.name)}{_labels(level.labels)}"
            text += f" in {' ∩ '.join(_source(source, names) for source in level.sources)}" if level.sources else ""
        constraints = [f"≠ {_names(names[i] for i in level.different)}"] if level.different else []
        if isinstance(level, VertexLevel):
            constraints += [f"< {_names(names[i] for i in level.less)}"] if level.less else []
            constraints += [f"> {_names(names[i] for i in level.greater)}"] if level.greater else []
            constraints += [f"not ({names[a]} = {names[b]} and {names[c]} = {names[d]})" for a, b, c, d in level.pairs]
        constraints += [
            f"{names[each.left]}.{name_text(each.left_key)} {each.op} {names[each.right]}.{name_text(each.right_key)}"
            for each in level.conditions
        ]
        if isinstance(level, VertexLevel):
            constraints += _accesses(level)
        return ", ".join([text + self._where(level.predicates), *constraints])

    def _walk(self, operator: physical.Walk | physical.Shortest) -> str:
        kind = _selected(operator.selector).strip() if isinstance(operator, physical.Shortest) else "Walk"
        text = f"{kind} {self._hops(operator, operator.relationships)}"
        text += f" given {name_text(operator.end.name)}" if operator.end_bound else ""
        if isinstance(operator, physical.Walk):
            text += f" ≠ {_names(operator.different)}" if operator.different else ""
            text += _REPEATS[operator.mode]
            text += " distinct ends" if operator.distinct_ends else ""
        elif operator.hops is not None:
            text += f", hops AS {name_text(operator.hops)}"
        return text

    def _repeat(self, operator: physical.Repeat) -> str:
        hops = _quantifier((operator.minimum, operator.maximum))
        nodes = _names((operator.begin, *operator.nodes_of))
        target = f"({name_text(operator.end.name)}{_labels(operator.end.labels)}{self._where(operator.end.predicates)})"
        text = f"Repeat ({name_text(operator.start)}) ({nodes}){hops} {target}"
        text += f" AS {name_text(operator.relationships)}" if operator.relationships else ""
        text += f" given {name_text(operator.end.name)}" if operator.end_bound else ""
        text += f" ≠ {_names(operator.different)}" if operator.different else ""
        by = f" by {_names(operator.by)}" if operator.by else ""
        return text + _REPEATS[operator.mode] + (" distinct ends" if operator.distinct_ends else "") + by

    def _chosen(self, chain: Chain) -> str:
        return "" if chain.condition is None else f" chosen by {self.expr(chain.condition.expr)}"

    def _select_paths(self, operator: physical.SelectPaths) -> str:
        text = f"{_selected(operator.selector)}Paths ({name_text(operator.start)})"
        for part in operator.parts:
            last = part is operator.parts[-1]
            node = operator.end if last else part.node
            nodes = _names((part.begin, *part.nodes_of))
            text += f" ({nodes}){_quantifier((part.minimum, part.maximum))}"
            text += f" ({name_text(node.name)}{_labels(node.labels)}{self._where(node.predicates)})"
        text += f" AS {name_text(operator.relationships)}" if operator.relationships else ""
        text += f" given {name_text(operator.end.name)}" if operator.end_bound else ""
        text += f" ≠ {_names(operator.different)}" if operator.different else ""
        where = "" if operator.condition is None else f" where {self.expr(operator.condition.expr)}"
        return text + _REPEATS[operator.mode] + where

    def _reach(self, operator: physical.Reach) -> str:
        by = f" by {_names(operator.by)}" if operator.by else ""
        text = f"Reach {self._hops(operator, None)}{_REPEATS[operator.mode]}{by}"
        return text + (f", count AS {name_text(operator.count)}" if operator.count else "")

    def _hops(self, operator: physical.Walk | physical.Shortest | physical.Reach, relationships: str | None) -> str:
        """Return the pattern that is walked, and what it passes."""
        types = f":{'|'.join(map(name_text, operator.types))}" if operator.types else ""
        hops = f"*{operator.minimum}..{'' if operator.maximum is None else operator.maximum}"
        name = name_text(relationships) if relationships else ""
        hop = f" each {name_text(operator.hop)}" if operator.predicates else ""
        edge = _arrow(f"[{name}{types}{hops}{hop}{self._where(operator.predicates)}]", operator.direction)
        target = f"({name_text(operator.end.name)}{_labels(operator.end.labels)}{self._where(operator.end.predicates)})"
        inner = f" through ({name_text(operator.hop)}{self._where(operator.inner)})" if operator.inner else ""
        return f"({name_text(operator.start)}){edge}{target}{inner}"

    def _optional(self, operator: physical.Optional) -> str:
        columns = operator.columns if operator.matched is None else (*operator.columns, operator.matched)
        return f"Optional {_names(columns)}".rstrip() + _weighted(operator.weight)

    def _attach(self, operator: physical.Attach) -> str:
        outer = f" of {_names(operator.outer)}" if operator.outer else ""
        return f"Attach {operator.kind}{outer} AS {name_text(operator.name)}{_weighted(operator.weight)}"


_REPEATS = {
    PathMode.WALK: " repeating relationships",
    PathMode.TRAIL: "",
    PathMode.ACYCLIC: " repeating no node",
    PathMode.SIMPLE: " repeating no node but the start at the end",
}
_RULES: dict[type[Operator], Callable[[_Writer, Any], str]] = {
    logical.Unit: lambda writer, each: "Unit",
    logical.Argument: lambda writer, each: f"Argument {_names(each.columns)}".rstrip(),
    logical.Match: _Writer._match,
    logical.Filter: lambda writer, each: f"Filter {writer.expr(each.predicate)}",
    logical.Project: lambda writer, each: f"Project {writer._columns(each.items)}".rstrip(),
    logical.Aggregate: _Writer._aggregate,
    logical.Distinct: lambda writer, each: "Distinct",
    logical.Sort: _Writer._sort,
    logical.Skip: lambda writer, each: f"Skip {writer.expr(each.count)}",
    logical.Limit: lambda writer, each: f"Limit {writer.expr(each.count)}",
    logical.Unwind: lambda writer, each: f"Unwind {writer.expr(each.expr)} AS {name_text(each.name)}",
    logical.ProcedureCall: _Writer._procedure_call,
    logical.LoadCsv: _Writer._load_csv,
    logical.Union: lambda writer, each: "UnionAll" if each.all else "Union",
    Update: lambda writer, each: "Update",
    physical.Search: _Writer._search,
    physical.HashJoin: _Writer._hash_join,
    physical.ThetaJoin: _Writer._theta_join,
    physical.Members: lambda _, each: f"Members {name_text(each.name)} in {name_text(each.items)}",
    physical.LookUp: _Writer._look_up,
    physical.RelationshipScan: _Writer._relationship_scan,
    physical.Eliminate: _Writer._eliminate,
    physical.AggregateByNode: _Writer._by_node,
    physical.AggregateByClasses: _Writer._by_classes,
    physical.AggregateEntries: _Writer._entries,
    physical.Walk: _Writer._walk,
    physical.Repeat: _Writer._repeat,
    physical.SelectPaths: _Writer._select_paths,
    physical.Shortest: _Writer._walk,
    physical.Reach: _Writer._reach,
    physical.Optional: _Writer._optional,
    physical.Attach: _Writer._attach,
    physical.FewOrMany: lambda _, each: f"FewOrMany: the first for up to {each.most:,} rows, the second for more",
    physical.Bounded: lambda writer, each: f"Bounded, where {writer.expr(each.count)} rows are within",
    physical.Completed: lambda _, each: f"Completed by groups of {_names(each.keys)} without a match",
}


def inputs(operator: Operator) -> Iterator[Operator]:
    """Yield the operators whose rows one reads, those that it applies to each row last."""
    match operator:
        case logical.Union(inputs=inputs):
            yield from inputs
        case physical.Optional(input=outer, inner=inner) | physical.Attach(input=outer, inner=inner):
            yield from (outer, inner)
        case physical.Bounded(input=below, bounded=bounded):
            yield from (bounded, below)
        case physical.FewOrMany(input=below, few=few, many=many):
            yield from (below, few, many)
        case physical.Completed(input=below, matched=matched, groups=groups):
            yield from (matched, groups, below)
        case physical.HashJoin(input=probe, build=build) | physical.ThetaJoin(input=probe, build=build):
            yield from (probe, build)
        case logical.Unit() | logical.Argument():
            pass
        case _:
            yield operator.input  # type: ignore[attr-defined]


def _way(way: physical.SharedKeys | physical.Between) -> str:
    if isinstance(way, physical.SharedKeys):
        return "by keys"
    return "by order" if free_variables(way.point) else "every pair"


def _places(operator: logical.LoadCsv) -> tuple[tuple[str, str], ...]:
    return ("line", operator.line), ("file", operator.file)


def _weighted(weight: str | None) -> str:
    return f" weighted by {name_text(weight)}" if weight else ""


def _parts(graph: QueryGraph) -> str:
    """Say which elements must differ where they need not all."""
    if not graph.parts or graph.mode is MatchMode.REPEATABLE_ELEMENTS:
        return ""
    names = [edge.name for edge in graph.relationships]
    if graph.mode is MatchMode.DIFFERENT_NODES:
        names += [node.name for node in graph.nodes]
    parts = [[name for name in names if name in part] for part in graph.parts]
    shown = [f"{{{_names(part)}}}" for part in parts if len(part) > 1]
    return f" different only within {', '.join(shown)}" if shown else " none different"


def _given(subquery: Subquery | OfNode) -> str:
    if isinstance(subquery, OfNode):
        weight = "" if subquery.weight is None else f" × {name_text(subquery.weight)}"
        return f" of every {name_text(subquery.name)}{weight}, once"
    return f" of {_names(subquery.outer)}" if subquery.outer else ""


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(name_text, names))


def _accesses(level: VertexLevel) -> Iterator[str]:
    """Yield how the vertices of a level are found by indexes, where these are there."""
    for access in level.access[:1]:
        way = f"{access.kind} index on {_names(access.keys)}" if access.keys else access.kind
        yield f"by {way}: {_found_by_index(access.rows, access.unique)}"


def _found_by_index(rows: float, unique: bool, what: str = "node") -> str:
    return f"1 {what} at most" if unique else f"~{max(rows, 1.0):,.0f} {what if rows < 1.5 else what + 's'}"


def _labels(labels: LabelExpr | None) -> str:
    return f":{labels_text(labels)}" if labels is not None else ""


def _selected(selector: PathSelector | None) -> str:
    if selector is None:
        return ""
    count, groups = selector.count, selector.groups
    kind = "AllShortest" if groups else "Shortest"
    return kind + (f" {count} lengths" if groups and count > 1 else f" {count}" if count > 1 else "") + " "


def _quantifier(hops: tuple[int, int | None] | None) -> str:
    return "" if hops is None else f"{{{hops[0]},{'' if hops[1] is None else hops[1]}}}"


def _arrow(inside: str, direction: Direction) -> str:
    return f"{'<' if direction is Direction.IN else ''}-{inside}-{'>' if direction is Direction.OUT else ''}"


def _source(source: Source, names: list[str]) -> str:
    types = f"[:{'|'.join(map(name_text, source.types))}]" if source.types else "[]"
    return f"({names[source.level]}){_arrow(types, source.direction)}()"

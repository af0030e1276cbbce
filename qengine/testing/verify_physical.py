"""Checks what every physical plan must satisfy, whatever the query was: the contract of optimizer and executors."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from qengine.plan import logical, physical
from qengine.plan.columns import columns_of
from qengine.plan.elimination import NodeValues
from qengine.plan.expr import AggregateCall, Expr, ListOf, OfNode, Subquery
from qengine.plan.folding import entry_levels, folded_variables, of_entries
from qengine.plan.traverse import free_variables, preorder
from qengine.testing.verify_elimination import verify_elimination, verify_schedule

Columns = tuple[str, ...]
_COMPARISONS = frozenset(("=", "<>", "<", "<=", ">", ">="))


def verify_physical(plan: physical.PhysicalPlan) -> None:
    """Check a lowered statement: that executors can run it, and that it gives the columns that it says.

    Every variable is a column of the operator's input, and no operator adds one that is there; no subquery is left in
    an expression. A search's levels read earlier levels alone, of the right kind; what it emits are levels. Joins have
    their keys on both sides. Eliminations are as ``verify_elimination`` says. Subplans start at the columns that they
    are given.

    Raises
    ------
    AssertionError
        At the first operator that breaks a rule.
    """
    for root in (plan.root, plan.careful):
        if root is not None:
            columns = _columns(root, None)
            missing = set(plan.columns) - set(columns)
            assert not missing, f"the plan gives {columns}, without {missing}"


def _columns(operator: logical.Operator, outer: Columns | None) -> Columns:
    """Check an operator and all below it, and return its columns; ``outer``: those that a subplan is given."""
    match operator:
        case logical.Unit():
            return ()
        case logical.Argument(columns=columns):
            assert outer is not None, "an Argument outside a subplan"
            assert set(columns) <= set(outer), f"a subplan of {outer} starts at {columns}"
            return columns
        case logical.Union(inputs=inputs):
            found = [_columns(each, outer) for each in inputs]
            assert len(set(map(frozenset, found))) == 1, f"a union of {found}"
            return found[0]
        case physical.HashJoin(input=probe, build=build):
            given = _columns(probe, outer)
            if operator.seeds is not None:
                assert operator.seeds[0] in given, f"a join from {operator.seeds[0]}, of {given}"
            return _join(operator, given, _columns(build, operator.seeds and operator.seeds[1:]))
        case physical.ThetaJoin(input=below, build=build):
            return _theta_join(operator, _columns(below, outer), _columns(build, None))
        case physical.FewOrMany(input=below, few=few, many=many):
            given = _columns(below, outer)
            found = [_columns(each, given) for each in (few, many)]
            assert set(found[0]) == set(found[1]), f"few rows give {found[0]}, many {found[1]}"
            return found[0]
        case physical.Optional(input=below) | physical.Attach(input=below):
            return _applied(operator, _columns(below, outer))
        case physical.Completed(input=below, matched=matched, groups=groups):
            given = _columns(below, outer)
            empty, keys = {name for name, _ in operator.empty}, set(operator.keys)
            assert set(_columns(matched, outer)) == keys | empty, f"matches of {operator.keys} have other columns"
            assert set(_columns(groups, outer)) == set(given) - empty >= keys, f"groups have other columns than {given}"
            return given
        case physical.Bounded(input=below, bounded=bounded):
            given = _columns(below, outer)
            assert set(_columns(bounded, outer)) == set(given), f"a bound changes the columns {given}"
            return given
    given = _columns(operator.input, outer)  # type: ignore[attr-defined]
    match operator:
        case physical.Search():
            assert len(operator.levels) <= physical.MAX_LEVELS, f"a search of {len(operator.levels)} levels"
            return _search(operator, given)
        case physical.Eliminate():
            return _eliminate(operator, given)
        case physical.AggregateByNode():
            return _by_node(operator, given)
        case physical.AggregateByClasses():
            return _by_classes(operator, given)
        case physical.AggregateEntries():
            return _entries(operator, given)
        case physical.Walk() | physical.Shortest():
            return _walk(operator, given)
        case physical.Repeat():
            return _repeat(operator, given)
        case physical.SelectPaths():
            return _select_paths(operator, given)
        case physical.Reach():
            return _reach(operator, given)
        case physical.Members(items=items, name=name):
            assert items in given, f"members of {items}, of {given}"
            return _with(given, (name,))
        case physical.LookUp(name=name, value=value):
            _exprs((value,), given)
            assert not operator.relationship or operator.labels is None
            assert bool(operator.types) == (operator.relationship and not operator.identity)
            return _with(given, (name,))
        case physical.RelationshipScan(name=name, predicates=predicates, access=access):
            _exprs(predicates, (name,))
            assert access.answers == tuple(range(len(predicates)))
            return _with(given, (name,))
    return _row_by_row(operator, given)


def _row_by_row(operator: logical.Operator, given: Columns) -> Columns:
    """Check an operator that is executed as it was bound."""
    match operator:
        case logical.Filter(predicate=predicate):
            _exprs((predicate,), given)
        case logical.Sort(keys=keys):
            _exprs((key.expr for key in keys), given)
        case logical.Skip(count=count) | logical.Limit(count=count):
            _exprs((count,), ())
        case logical.Unwind(expr=expr, name=name):
            _exprs((expr,), given)
            return _with(given, (name,))
        case logical.ProcedureCall(args=args, outputs=outputs):
            _exprs(args, given)
            return _with(given, (name for _, name in outputs))
        case logical.LoadCsv(url=url, added=added):
            _exprs((url,), given)
            return _with(given, added)
        case logical.Project(items=items):
            _exprs((expr for _, expr in items), given)
            return _with((), (name for name, _ in items))
        case logical.Aggregate(keys=keys, aggregates=aggregates, weight=weight):
            _exprs((expr for _, expr in keys), given)
            _exprs((arg for _, call in aggregates for arg in call.args), given)
            assert weight is None or weight in given, f"rows are weighted by {weight}, which is none of {given}"
            return _with((), (name for name, _ in (*keys, *aggregates)))
        case logical.Distinct():
            pass
        case _:
            raise AssertionError(f"no physical operator: {operator!r}")
    return given


# ------------------------------------------------------------ searches


def _search(search: physical.Search, given: Columns) -> Columns:
    levels, seeds = search.levels, search.seeds
    names = _with((), (level.name for level in levels))
    assert 0 <= seeds <= len(levels), f"{seeds} of {len(levels)} levels are given"
    assert set(names[:seeds]) <= set(given), f"levels {names[:seeds]} are given by none of {given}"
    for place, level in enumerate(levels):
        if place < seeds:
            assert isinstance(level, physical.VertexLevel) and not level.sources, f"{level.name}: given, and looked for"
        _level(levels, place)
    assert set(search.emit) <= set(names[seeds:]), f"{search.emit} are emitted, the search binds {names[seeds:]}"
    assert not (search.count and search.exists), "a search counts and asks for one"
    assert search.strategy in ("search", "extend"), f"no strategy: {search.strategy}"
    assert search.orbits == 1 or search.count, "orbits of what is not counted"
    for image in search.images:
        assert sorted(image) == sorted(search.emit), f"{image} is no order of {search.emit}"
    assert not (search.images and seeds), "images of embeddings that rows are given for"
    return _with(given, (*search.emit, *_named(search.count)))


def _level(levels: tuple[physical.Level, ...], place: int) -> None:
    """Check that a level reads none but earlier ones, each of the kind that it takes."""
    level = levels[place]

    def are(kind: Any, others: Iterable[int], what: str) -> None:
        for other in others:
            assert 0 <= other < place, f"{level.name}: {what} level {other}, which is not bound"
            assert isinstance(levels[other], kind), f"{level.name}: {what} {levels[other].name}, of another kind"

    _conditions(level.name, level.predicates)
    for each in level.conditions:
        assert each.op in _COMPARISONS, f"{level.name}: {each.op} is no comparison"
        assert max(each.left, each.right) == place, f"{level.name}: compares levels {each.left} and {each.right}"
        are(physical.Level, {each.left, each.right} - {place}, "compares")
    if isinstance(level, physical.EdgeLevel):
        are(physical.VertexLevel, (level.start, level.end), "joins")
        are(physical.EdgeLevel, level.different, "differs from")
        return
    are(physical.VertexLevel, (source.level for source in level.sources), "reads neighbours of")
    assert len(set(level.sources)) == len(level.sources), f"{level.name}: a neighbour set twice"
    are(physical.VertexLevel, level.different, "differs from")
    are(physical.VertexLevel, (*level.less, *level.greater), "is ordered after")
    assert not set(level.less) & set(level.greater), f"{level.name}: less and greater than one vertex"
    for pair in level.pairs:
        assert max(pair) == place, f"{level.name}: compares levels {pair}"
        are(physical.VertexLevel, set(pair) - {place}, "compares")


def _eliminate(operator: physical.Eliminate, given: Columns) -> Columns:
    search = operator.search
    assert isinstance(search.input, logical.Unit) and not search.seeds, "what is eliminated depends on rows"
    emitted = _search(search, ())
    assert set(operator.emit) == set(search.emit), f"{operator.emit} are summed up by, {search.emit} searched"
    assert len(operator.emit) <= 2, f"counts by {len(operator.emit)} nodes"
    kinds = {level.name: level for level in search.levels}
    assert all(isinstance(kinds[name], physical.VertexLevel) for name in operator.emit), "counts by relationships"
    assert search.exists != (search.count is not None), "neither the count nor existence is asked for"
    for each in operator.searches:
        assert isinstance(each.input, logical.Unit) and not each.seeds, "a term depends on rows"
        assert _search(each, ()) == (each.count,), f"a term's search gives {_search(each, ())}"
    searched = [term.search for term in operator.terms if term.search is not None]
    assert sorted(searched) == list(range(len(operator.searches))), f"terms have the searches {searched}"
    assert not (searched and operator.emit), "a search gives no counts by nodes"
    verify_elimination(operator.steps, operator.terms, len(operator.emit))
    assert operator.schedules, "no device runs it"
    for schedule in operator.schedules:
        verify_schedule(operator.steps, operator.terms, schedule)
    return _with(given, (*operator.emit, *emitted[len(search.emit) :]))


def _entries(operator: physical.AggregateEntries, given: Columns) -> Columns:
    """Check that what is folded are entries of lists, and that what they are weighted by is counted by their ends."""
    assert folded_variables(operator.folded) is not None, "an expression reads several variables, or none"
    levels = entry_levels(operator.search)
    assert levels is not None, "a row is no entry of a list"
    wanted = bool(operator.counts or operator.made or operator.carried)
    assert (operator.core is not None) == wanted, "what a core is for"
    names = {level.name for level in levels[:2] if level is not None}
    if operator.made:
        assert of_entries(operator.input) == (operator.folded, dict(operator.made)), "something else is made"
        return given
    others = (folded_variables(operator.folded) or frozenset()) - (folded_variables(operator.input) or frozenset())
    assert others <= {columns_of(each)[0] for each in operator.values}, "the core reads others"
    for each in operator.values:
        assert isinstance(each, physical.AggregateEntries) and columns_of(each)[0] in names, "values by something else"
        _entries(each, ())
    bearers = set(names)
    for node in operator.carried:
        assert node.bearer in bearers and node.name not in bearers, f"{node.name} is carried by {node.bearer}, no end"
        bearers.add(node.name)
        if isinstance(node, physical.CarriedByValue):
            assert free_variables(node.value) == {node.bearer}, f"{node.name} is carried by a value of others"
            _exprs(node.predicates, (node.name,))
    counted = {program.emit[0] for program in operator.counts}
    for another in operator.others:
        assert another.end in counted, f"nothing is counted by {another.end}"
        _exprs(another.vertices.predicates, (another.vertices.name,))
        assert all(free_variables(expr) <= names for _, expr in another.taken), "what is taken off is of no end"
    for program in operator.counts:
        _eliminate(program, ())
        assert len(program.emit) == 1 and set(program.emit) <= names, f"{program.emit} are no ends of entries"
        assert program.schedule("cpu") is not None and not program.searches, f"{program.emit} are not eliminated"
    return given


def _by_classes(operator: physical.AggregateByClasses, given: Columns) -> Columns:
    """Check that what is read is of two nodes, that the program counts by one, and has values of the other."""
    assert folded_variables(operator.input) == frozenset((operator.node, operator.by)), "something else is read"
    program = operator.program
    _eliminate(program, ())
    assert program.emit == (operator.by,), f"{program.emit} are counted by, not {operator.by}"
    assert program.schedule("cpu") is not None and not program.searches, f"{program.emit} are not eliminated"
    has_values = any(isinstance(step, NodeValues) for step in program.steps)
    assert has_values or not program.terms, f"no values of {operator.node}"
    return given


def _by_node(operator: physical.AggregateByNode, given: Columns) -> Columns:
    """Check that keys and arguments read what the programs sum by, and that these sum what they say."""
    node, sums, pairs = operator.node, operator.sums, operator.pairs
    valued = {each.node for each in sums} | {each.node for each in pairs}
    assert valued and node not in valued, f"values of {valued} by {node}"
    by = free_variables(ListOf(tuple(expr for _, expr in operator.input.keys)))
    assert by <= {node}, f"keys read more than {node}"
    for _, call in operator.input.aggregates:
        read = free_variables(ListOf(call.args))
        assert len(read) <= 1 and read <= {node} | valued, f"an aggregate reads {read}"
    for program in (operator.counts, *(each.program for each in sums)):
        _eliminate(program, ())
        assert program.emit == (node,) and program.count is not None, f"{program.emit} are summed by, not {node}"
    for program in (operator.counts, *(each.program for each in sums), *(each.program for each in pairs)):
        assert program.schedule("cpu") is not None, f"the host has no kernels for {program.emit}"
        assert not program.searches, f"counts by {program.emit} are searched"
    assert not any(isinstance(step, NodeValues) for step in operator.counts.steps), "values among counts"
    for met in pairs:
        _eliminate(met.program, ())
        emit = (node, met.node) if by else (met.node,)
        assert met.program.emit == emit, f"{met.program.emit} are counted by, not {emit}"
    for each in sums:
        has_values = any(isinstance(step, NodeValues) for step in each.program.steps)
        assert has_values or not each.program.terms, f"no values of {each.node}"
    return given


# ------------------------------------------------------------ joins, walks and subplans


def _join(join: physical.HashJoin, probe: Columns, build: Columns) -> Columns:
    assert join.keys, "a join without keys"
    for side, columns in (("input", probe), ("build", build)):
        missing = set(join.keys) - set(columns)
        assert not missing, f"the {side} of a join has {columns}, without the keys {missing}"
    assert set(join.emit) <= set(build), f"a join emits {join.emit}, its build side has {build}"
    assert not (join.semi and join.emit), "a semi-join emits columns"
    known = {*probe, *build}
    for equations in join.apart:
        assert 1 <= len(equations) <= 2, f"{len(equations)} equations at a time"
        unknown = {name for equation in equations for name in equation} - known
        assert not unknown, f"a join compares {unknown}, which are on neither side"
    return _with(probe, join.emit)


def _theta_join(join: physical.ThetaJoin, given: Columns, build: Columns) -> Columns:
    assert join.ways, "a theta join that finds nothing"
    assert not set(given) & set(build), f"both sides of a theta join have {set(given) & set(build)}"
    assert set(join.emit) <= set(build), f"a join emits {join.emit}, its build side has {build}"
    assert not (join.emit and (join.semi or join.count)), "a join that only counts emits columns"
    assert not (join.semi and join.count), "a join that counts asks whether there is one"
    assert not join.told or len(join.ways) == 1, "several ways tell a condition"
    _exprs((join.condition,), (*given, *build))
    assert join.told or not join.apart, "what isn't told excepts nothing"
    for way in (*join.ways, *join.apart):
        keys = way if isinstance(way, physical.SharedKeys) else way.within
        if keys is not None:
            assert len(keys.left) == len(keys.right) > 0, "a side without keys"
            _exprs(keys.left, given)
            _exprs(keys.right, build)
        if isinstance(way, physical.SharedKeys):
            continue
        assert way.low is not None or way.high is not None, "a value between no bounds"
        point, bounds = (given, build) if way.of_input else (build, given)
        _exprs((way.point,), point)
        _exprs(tuple(each for each in (way.base, way.low, way.high) if each is not None), bounds)
    return _with(given, (*join.emit, *_named(join.count)))


def _walk(step: physical.Walk | physical.Shortest, given: Columns) -> Columns:
    end, name = step.end, step.end.name
    _hops(step, given)
    assert (name in given) == step.end_bound, f"a walk's end {name}: bound is wrong"
    assert not (step.end_bound and (end.labels or end.predicates)), f"a walk's given end is constrained: {end}"
    if isinstance(step, physical.Walk):
        assert set(step.different) <= set(given), f"a walk shares nothing with {step.different}, of {given}"
        told = step.relationships is not None or step.different
        assert not (step.distinct_ends and told), "each end once, and all walks to it"
        assert not step.distinct_ends or step.end_bound or step.minimum > 1, "ends that are reached"
        added = _named(step.relationships)
    else:
        assert step.relationships is None or step.hops is None, "the hops of a path, and their number"
        added = (*_named(step.relationships), *_named(step.hops))
    return _with(given, (*(() if step.end_bound else (name,)), *added))


def _repeat(step: physical.Repeat, given: Columns) -> Columns:
    end, name = step.end, step.end.name
    assert step.start in given, f"a walk starts at {step.start}, which is none of {given}"
    assert end == physical.VertexLevel(name, end.labels, end.predicates), (
        f"a walk's end is constrained by levels: {end}"
    )
    assert (name in given) == step.end_bound, f"a walk's end {name}: bound is wrong"
    assert not (step.end_bound and (end.labels or end.predicates)), f"a walk's given end is constrained: {end}"
    _conditions(name, end.predicates)
    assert set(step.different) <= set(given), f"a walk shares nothing with {step.different}, of {given}"
    _repetition(step)
    if step.by is None:
        return _with(given, (*(() if step.end_bound else (name,)), *_named(step.relationships)))
    assert step.distinct_ends, f"walks by {step.by}"
    assert not (step.end_bound or step.relationships), f"more than ends by {step.by}"
    assert set(step.by) <= set(given), f"ends by {step.by}, of {given}"
    return (*step.by, name)


def _repetition(step: physical.Repeat | physical.PathPart) -> None:
    assert len(step.nodes_of) == len(step.relationships_of) > 0, "a node behind each relationship"
    found = _columns(step.repeated, (step.begin,))
    assert {step.begin, *step.relationships_of, *step.nodes_of} <= set(found), f"a repetition gives {found}"
    assert step.minimum >= 0, f"a walk of {step.minimum} repetitions"


def _select_paths(step: physical.SelectPaths, given: Columns) -> Columns:
    name = step.end.name
    assert step.start in given, f"a path starts at {step.start}, which is none of {given}"
    assert (name in given) == step.end_bound, f"a path's end {name}: bound is wrong"
    assert set(step.different) <= set(given), f"a path shares nothing with {step.different}, of {given}"
    _conditions(name, step.end.predicates)
    for part in step.parts:
        _repetition(part)
        _conditions(part.node.name, part.node.predicates)
    if (chosen := step.condition) is not None:
        names = {chosen.first, chosen.relationships, chosen.last, chosen.bounds}
        assert free_variables(chosen.expr) <= names, f"a path is chosen by {chosen.expr}"
    added = (*_named(step.relationships), *_named(step.bounds))
    return _with(given, (*(() if step.end_bound else (name,)), *added))


def _reach(step: physical.Reach, given: Columns) -> Columns:
    _hops(step, given)
    assert step.minimum <= 1, f"ends of walks of {step.minimum} hops, each once"
    assert set(step.by) <= set(given), f"ends by {step.by}, of {given}"
    assert step.end.name not in step.by, f"ends {step.end.name} by themselves"
    return (*step.by, step.end.name if step.count is None else step.count)


def _hops(step: physical.Walk | physical.Shortest | physical.Reach, given: Columns) -> None:
    """Check where a walk begins and what it passes."""
    end, name = step.end, step.end.name
    assert step.start in given, f"a walk starts at {step.start}, which is none of {given}"
    assert end == physical.VertexLevel(name, end.labels, end.predicates), (
        f"a walk's end is constrained by levels: {end}"
    )
    _conditions(name, end.predicates)
    for predicate in (*step.predicates, *step.inner):
        _conditions(step.hop, (predicate,))
    assert step.minimum >= 0, f"a walk of {step.minimum} hops"


def _applied(operator: physical.Optional | physical.Attach, given: Columns) -> Columns:
    """Check a subplan that is run for each input row."""
    weight = _named(operator.weight)
    if isinstance(operator, physical.Optional):
        found = _columns(operator.inner, given)
        missing = {*operator.columns, *weight} - set(found)
        assert not missing, f"an optional part adds {missing}, it has {found}"
        return _with(given, (*operator.columns, *_named(operator.matched), *weight))
    assert set(operator.outer) <= set(given), f"a subplan reads {operator.outer}, of {given}"
    found = _columns(operator.inner, operator.outer)
    assert set(weight) <= set(found), f"a subplan is weighted by {weight}, it has {found}"
    assert operator.kind in ("exists", "count", "collect"), f"nothing to attach: {operator.kind}"
    assert not weight or operator.kind != "collect", "a list of weighted rows"
    assert operator.kind != "collect" or len(found) == 1, f"a list of {found}"
    return _with(given, (operator.name,))


# ------------------------------------------------------------ columns and expressions


def _named(name: str | None) -> Columns:
    return () if name is None else (name,)


def _with(given: Columns, added: Iterable[str]) -> Columns:
    """Return columns with others beside them, none of which is there."""
    names = (*given, *added)
    assert len(set(names)) == len(names), f"two columns of one name: {names}"
    return names


def _conditions(name: str, predicates: Iterable[Expr]) -> None:
    """Check conditions on one element, which its variable alone decides."""
    _exprs(predicates, (name,))


def _exprs(exprs: Iterable[Expr], columns: Collection[str]) -> None:
    """Check expressions over rows with these columns."""
    for expr in exprs:
        unknown = free_variables(expr).difference(columns)
        assert not unknown, f"{unknown} are no columns of {columns}: {expr}"
        for part in preorder(expr):
            assert not isinstance(part, Subquery), f"a subquery that is not lowered: {part.kind}"
            if isinstance(part, OfNode):
                found = _columns(part.plan, None)
                assert {part.name, *_named(part.weight)} <= set(found), f"{part.kind} of {part.name}, of {found}"
            assert not isinstance(part, AggregateCall), f"an aggregate outside Aggregate: {part}"

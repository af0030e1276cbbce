"""Plans statements that change the graph: for all versions, so that little of one is taken for granted.

What is: which types' relationships have no direction. No commit takes such a type away, and a graph that gets another
has other plans from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from qengine._deadline import check_planning
from qengine._frozen import replace
from qengine._lru import LruCache
from qengine.catalog.procedures import Procedures
from qengine.catalog.rules import NO_RULES
from qengine.catalog.view import CatalogView, RelationshipTypeInfo
from qengine.errors import Span, Unsupported
from qengine.exec.context import ExecutionContext, OperatorStats
from qengine.plan.columns import columns_of
from qengine.plan.logical import Argument, LogicalPlan, Operator, Union
from qengine.plan.physical import PhysicalPlan
from qengine.plan.traverse import operators, parameters
from qengine.plan.updates import writes
from qengine.planned import PLANS, Planned
from qengine.planning import one_statement, planning
from qengine.shared_plans import Scanned, SharedFamilies, SharedPlans
from qengine.storage.store import GraphStore
from qengine.syntax import ast
from qengine.types import ANY, Type
from qengine.write.reading import PartPlans, is_anchored


class OpenCatalog:
    """The catalogue of any graph there may be whose ``undirected`` types are these: properties may have any type.

    ``type_of``: gives a property's type, None for any. ``asked``: properties, as ("node", "age"), that were asked for.
    """

    vertex_count = 0
    labels: Sequence[str] = ()
    rules = NO_RULES

    def __init__(
        self, undirected: frozenset[str], type_of: Callable[[tuple[str, str]], Type | None] = lambda _: None
    ) -> None:
        self.relationship_types = tuple(sorted(undirected))
        self.asked: dict[tuple[str, str], None] = {}
        self._type_of = type_of

    def has_label(self, name: str) -> bool:
        """Return False: no label is known."""
        return False

    def has_type(self, name: str) -> bool:
        """Tell whether it is an undirected type."""
        return name in self.relationship_types

    def relationship_type(self, name: str) -> RelationshipTypeInfo | None:
        """Return the type of a name, None unless it is undirected."""
        return RelationshipTypeInfo(name, 0, True) if name in self.relationship_types else None

    def property_type(self, entity: str, key: str) -> Type | None:
        """Return the type of a property; ANY where that may be any."""
        self.asked[entity, key] = None
        return self._type_of((entity, key)) or ANY

    def property_keys(self, entity: str) -> tuple[str, ...]:
        """Return none: each property is taken to be there."""
        return ()


class UpdatePlans:
    """The plans of one graph's statements that change it, which hold for all of its versions.

    Texts that differ in literals alone share a plan where that is right. Any number of threads may ask.
    """

    def __init__(self, procedures: Procedures) -> None:
        """``procedures``: the graph's; plans hold until others are registered."""
        self._procedures = procedures
        self._plans: LruCache[Planned] = LruCache(PLANS)
        self._shared: tuple[tuple[int, frozenset[str]], SharedPlans] | None = None

    def of(self, text: str, undirected: frozenset[str], context: ExecutionContext) -> Planned | None:
        """Return what a statement was planned to, or plan it; None and errors as for ``plan_update``."""
        held = Procedures.changes, undirected
        key = text, held
        if (known := self._plans.find(key)) is not None:
            return known
        last = self._shared
        if last is None or last[0] != held:
            last = self._shared = held, SharedPlans(OpenCatalog(undirected), SharedFamilies())  # type: ignore[arg-type]
        shared = last[1]
        scanned = Scanned(text)
        if (known := shared.find(scanned, False)) is not None:
            return known
        planned = plan_update(text, undirected, context, self._procedures, (shared, scanned))
        return None if planned is None else self._plans.get(key, lambda: planned)


def plan_update(
    text: str,
    undirected: frozenset[str],
    context: ExecutionContext,
    procedures: Procedures,
    shared: tuple[SharedPlans, Scanned] | None = None,
) -> Planned | None:
    """Return what a statement is planned to, None for one that only reads, or that is only to be shown.

    ``undirected``: the types whose relationships have no direction. ``shared``: what learns the plan, for texts that
    differ in literals alone, and the text as it was scanned for that.

    Raises
    ------
    QuerySyntaxError, SemanticError, Unsupported
        For what is wrong with the text; for EXPLAIN STEPS, which knows nothing of changes.
    """
    from qengine.syntax.checks import updates

    def again(statement: ast.Statement, text: str, lifted: Mapping[Span, str]) -> Planned:
        return _bound(statement, text, undirected, procedures, lifted)

    with planning(text, context.check_planning):
        if shared is not None and (found := shared[0].shared(shared[1], False, again)) is not None:
            return found
        statement = one_statement(text, None if shared is None else shared[1].tokens)
        check_planning()
        if not updates(statement.body) or statement.explain == "explain":
            return None
        planned = _bound(statement, text, undirected, procedures)
        if shared is not None and is_anchored(planned.logical.root):
            plans, scanned = shared
            plans.learn(statement, planned, scanned, False, again)
        return planned


def planned_for_all(
    statement: ast.Statement,
    text: str,
    undirected: frozenset[str],
    procedures: Procedures,
    lifted: Mapping[Span, str] | None = None,
) -> Planned:
    """Return what a statement is bound to whatever else the graph has; what depends on that is no notice then."""
    return bound_over(OpenCatalog(undirected), statement, text, procedures, lifted)


def bound_over(
    catalog: OpenCatalog,
    statement: ast.Statement,
    text: str,
    procedures: Procedures,
    lifted: Mapping[Span, str] | None = None,
) -> Planned:
    """Return what a statement is bound to over a catalogue, as ``planned_for_all``."""
    from qengine.binder import bind

    view: CatalogView = catalog  # type: ignore[assignment]
    bound = bind(statement, text, view, lifted=lifted, procedures=procedures)
    notices = tuple(each for each in bound.notices if not each.code.startswith("Unknown"))
    return Planned(text, bound.plan, None, notices, parameters(bound.plan.root), None)


def _bound(
    statement: ast.Statement,
    text: str,
    undirected: frozenset[str],
    procedures: Procedures,
    lifted: Mapping[Span, str] | None = None,
) -> Planned:
    planned = planned_for_all(statement, text, undirected, procedures, lifted)
    if statement.explain == "explain steps":
        raise Unsupported(
            "EXPLAIN STEPS shows how a statement that only reads is planned; this one changes the graph.",
            span=statement.span,
            hint="EXPLAIN shows its plan, PROFILE carries it out and shows what each operator did.",
        )
    return replace(planned, parts=PartPlans())


def shown_update(statement: ast.Statement, text: str, store: GraphStore, procedures: Procedures) -> Planned:
    """Return a statement that changes the graph with what it reads first as that is planned now, to be looked at.

    Raises
    ------
    SemanticError, Unsupported
        As ``plan_update``.
    """
    planned = _bound(statement, text, store.undirected_types, procedures)
    logical = planned.logical
    physical = PhysicalPlan(_with_plans(logical.root, store), logical.columns, logical.explain)
    return replace(planned, physical=physical, parts=None)


def _with_plans(operator: Operator, catalog: CatalogView) -> Operator:
    if not writes(operator):
        from qengine import optimizer

        begins_alone = not any(isinstance(each, Argument) for each in operators(operator))
        return optimizer.plan(LogicalPlan(operator, columns_of(operator)), catalog).root if begins_alone else operator
    if isinstance(operator, Union):
        return replace(operator, inputs=tuple(_with_plans(each, catalog) for each in operator.inputs))
    return replace(operator, input=_with_plans(operator.input, catalog))  # type: ignore[attr-defined]


def profiled_root(operator: Operator, shown: Mapping[int, PhysicalPlan], profile: dict[int, OperatorStats]) -> Operator:
    """Return what was run, to be shown: each part that the engine has read by the plan that it had.

    ``profile``: what each operator did; the operators that are new here are added to it.
    """
    if (plan := shown.get(id(operator))) is not None:
        return plan.careful if plan.careful is not None and id(plan.careful) in profile else plan.root
    if isinstance(operator, Union):
        made: Operator = replace(
            operator, inputs=tuple(profiled_root(each, shown, profile) for each in operator.inputs)
        )
    elif hasattr(operator, "input"):
        made = replace(operator, input=profiled_root(operator.input, shown, profile))
    else:
        made = operator
    if id(operator) in profile:
        profile[id(made)] = profile[id(operator)]
    return made

"""Plans statements that change the graph: for all versions, so that nothing of one is taken for granted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qengine._deadline import check_planning
from qengine.catalog.procedures import Procedures
from qengine.catalog.rules import NO_RULES
from qengine.catalog.view import CatalogView
from qengine.errors import Span, Unsupported
from qengine.exec.context import ExecutionContext
from qengine.plan.columns import columns_of
from qengine.plan.logical import Argument, LogicalPlan, Operator, Union
from qengine.plan.physical import PhysicalPlan
from qengine.plan.traverse import operators, parameters
from qengine.plan.updates import writes
from qengine.planned import Planned
from qengine.planning import one_statement, planning
from qengine.syntax import ast
from qengine.types import ANY, Type
from qengine.write.reading import PartPlans

__all__ = ["plan_update", "planned_for_all", "shown_update"]


def plan_update(text: str, context: ExecutionContext, procedures: Procedures) -> Planned | None:
    """Return what a statement is planned to, None for one that only reads, or that is only to be shown.

    Raises
    ------
    QuerySyntaxError, SemanticError, Unsupported
        For what is wrong with the text; for PROFILE and EXPLAIN STEPS, which know nothing of changes.
    """
    from qengine.syntax.checks import updates

    with planning(text, context.check_planning):
        statement = one_statement(text)
        check_planning()
        if not updates(statement.body) or statement.explain == "explain":
            return None
        return _bound(statement, text, procedures)


def planned_for_all(statement: ast.Statement, text: str, procedures: Procedures) -> Planned:
    """Return what a statement is bound to whatever the graph has; what depends on that is no notice then."""
    from qengine.binder import bind

    bound = bind(statement, text, _OPEN, procedures=procedures)
    notices = tuple(each for each in bound.notices if not each.code.startswith("Unknown"))
    return Planned(text, bound.plan, None, notices, parameters(bound.plan.root), None)


def _bound(statement: ast.Statement, text: str, procedures: Procedures) -> Planned:
    planned = planned_for_all(statement, text, procedures)
    if statement.explain not in (None, "explain"):
        raise Unsupported(
            f"{statement.explain.upper()} of a statement that changes the graph isn't built yet.",
            span=Span(statement.span.start, statement.span.start + len(statement.explain)),
            hint="EXPLAIN shows its plan; stats of the result hold its time and its changes.",
        )
    return replace(planned, parts=PartPlans())


def shown_update(statement: ast.Statement, text: str, catalog: CatalogView, procedures: Procedures) -> Planned:
    """Return a statement that changes the graph with what it reads first as that is planned now, to be looked at.

    Raises
    ------
    SemanticError, Unsupported
        As ``plan_update``.
    """
    planned = _bound(statement, text, procedures)
    logical = planned.logical
    physical = PhysicalPlan(_with_plans(logical.root, catalog), logical.columns, logical.explain)
    return replace(planned, physical=physical, parts=None)


def _with_plans(operator: Operator, catalog: CatalogView) -> Operator:
    if not writes(operator):
        from qengine import optimizer

        begins_alone = not any(isinstance(each, Argument) for each in operators(operator))
        return optimizer.plan(LogicalPlan(operator, columns_of(operator)), catalog).root if begins_alone else operator
    if isinstance(operator, Union):
        return replace(operator, inputs=tuple(_with_plans(each, catalog) for each in operator.inputs))
    return replace(operator, input=_with_plans(operator.input, catalog))  # type: ignore[attr-defined,call-arg]


class _OpenCatalog:
    """The catalogue of any graph there may be: properties may have any type."""

    vertex_count = 0
    labels: Sequence[str] = ()
    relationship_types: Sequence[str] = ()
    rules = NO_RULES

    def property_type(self, entity: str, key: str) -> Type | None:
        return ANY

    def property_keys(self, entity: str) -> tuple[str, ...]:
        return ()


_OPEN: CatalogView = _OpenCatalog()  # type: ignore[assignment]

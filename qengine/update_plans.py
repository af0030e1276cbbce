"""Plans statements that change the graph: for all versions, so that nothing of one is taken for granted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qengine._deadline import check_planning
from qengine.exec.context import ExecutionContext
from qengine.plan.traverse import parameters
from qengine.planned import Planned
from qengine.types import ANY, Type
from qengine.write.reading import PartPlans

if TYPE_CHECKING:
    from qengine.catalog.view import CatalogView

__all__ = ["may_update", "plan_update"]

_WORDS = re.compile(r"\b(?:CREATE|MERGE|SET|REMOVE|DELETE|FOREACH|INSERT)\b", re.IGNORECASE)


def may_update(text: str) -> bool:
    """Tell whether a text has a word of those that change a graph."""
    return isinstance(text, str) and _WORDS.search(text) is not None


def plan_update(text: str, context: ExecutionContext) -> Planned | None:
    """Return what a statement is planned to, None for one that only reads.

    Raises
    ------
    QuerySyntaxError, SemanticError, Unsupported
        For what is wrong with the text.
    """
    from qengine.binder import bind
    from qengine.statements import one_statement, planning

    with planning(text, context.check_planning):
        statement = one_statement(text)
        check_planning()
        if not is_update(statement):  # type: ignore[name-defined]
            return None
        bound = bind(statement, text, _OPEN)
        notices = tuple(each for each in bound.notices if not each.code.startswith("Unknown"))
        return Planned(text, bound.plan, None, notices, parameters(bound.plan.root), None, parts=PartPlans())


class _OpenCatalog:
    """The catalogue of any graph there may be: properties may have any type."""

    vertex_count = 0
    labels: Sequence[str] = ()
    relationship_types: Sequence[str] = ()

    def property_type(self, entity: str, key: str) -> Type | None:
        return ANY

    def property_keys(self, entity: str) -> tuple[str, ...]:
        return ()


_OPEN: CatalogView = _OpenCatalog()  # type: ignore[assignment]

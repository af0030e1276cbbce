"""What binding one statement carries along: text, catalogue, parameters, names given out, notices, errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from qengine._frozen import record
from qengine._nearest import nearest
from qengine.binder.scope import Names, Scope
from qengine.catalog.procedures import Procedures
from qengine.catalog.view import CatalogView
from qengine.errors import Notice, SemanticError, Span, Unsupported
from qengine.plan.comparisons import ComparedParameter
from qengine.types import ANY, NODE, RELATIONSHIP, Type

LABEL, RELATIONSHIP_TYPE = "label", "relationship type"


@record
class Binding:
    """State of binding one statement.

    ``parameters`` None: their names are not checked. ``explaining``: the plan is asked for, so its cost is of interest.
    ``lifted``: places of literals that become parameters, with the parameters' names. ``updating``: what is bound runs
    after a clause that changes the graph, or while it does; so the catalogue says nothing of types and names any more.
    """

    text: str
    catalog: CatalogView
    parameters: Mapping[str, Any] | None
    explaining: bool = False
    lifted: Mapping[Span, str] = field(default_factory=dict)
    updating: bool = False
    procedures: Procedures = field(default_factory=Procedures)
    names: Names = field(default_factory=Names)
    notices: dict[tuple[str, str], Notice] = field(default_factory=dict)
    compared: list[ComparedParameter] = field(default_factory=list)

    def quoted(self, span: Span | None) -> str:
        """Return what is written at a place, in backticks."""
        return f"`{self.text[span.start : span.end]}`" if span is not None else "This"

    def error(self, code: str, message: str, span: Span | None, hint: str | None = None) -> SemanticError:
        """Return a semantic error at a place of the text."""
        return SemanticError(message, code=code, span=span, text=self.text, hint=hint)

    def unsupported(self, message: str, span: Span | None, hint: str | None = None) -> Unsupported:
        """Return the refusal of something legal that isn't built."""
        return Unsupported(message, span=span, text=self.text, hint=hint)

    def undefined(
        self, name: str, span: Span | None, scope: Scope, hint: str | None = None
    ) -> SemanticError | Unsupported:
        """Return the error of a name that nothing has; ``hint`` where no similar name is known."""
        if scope.is_cut_off(name):
            return self.unsupported(
                f"`{name}` of the outer query can't be read behind an aggregation inside the subquery.",
                span,
                hint=f"Read `{name}` before the aggregation, or group by it: WITH {name}, …",
            )
        visible = (each for each in scope.visible() if not each.startswith("@"))
        hint = did_you_mean(nearest(name, visible)) or hint or self._owner_of(name, span, scope)
        if hint is None and name in self.names.taken:
            hint = f"`{name}` is known elsewhere in the query, but not here; WITH keeps only what it lists."
        if hint is None and name.lower() == "null":
            hint = "null has no properties: write null alone."
        hint = hint or f"Name it in a clause before this one; text stands in quotes: '{name}'."
        return self.error("UndefinedVariable", f"Variable `{name}` is not defined.", span, hint)

    def _owner_of(self, key: str, span: Span | None, scope: Scope) -> str | None:
        """Return the hint that names a variable whose property was probably meant."""
        if self.updating and span is not None and not self.text[span.end :].lstrip().startswith("="):
            return None  # the properties that there are aren't known
        for name in scope.visible():
            symbol = scope.find(name)
            if symbol is None or symbol.type not in (NODE, RELATIONSHIP):
                continue
            entity = "node" if symbol.type == NODE else "relationship"
            if self.catalog.property_type(entity, key) is not None:
                return f"A property stands behind its variable, as in {name}.{key}."
        return None

    def check_label(self, name: str, span: Span | None, kinds: Sequence[str]) -> None:
        """Note a label or type name that the graph doesn't have as any of ``kinds``."""
        for kind in kinds:
            if self.updating or self._has(kind, name):
                return
        kind = kinds[0]
        code = "UnknownLabel" if kind == LABEL else "UnknownRelationshipType"
        known = self.catalog.labels if kind == LABEL else self.catalog.relationship_types
        hint = did_you_mean(nearest(name, known))
        self.notice(code, name, f"The graph has no {kind} `{name}`.", span, hint)

    def check_name(self, name: str, kind: str, span: Span | None) -> None:
        """Note a variable without a label or type (``kind``) that is called like one: the colon may be forgotten."""
        if not self._has(kind, name):
            return
        if kind == LABEL:
            message, hint = f"`{name}` is a variable here, for any node.", f"Write (:{name}) for the label."
        else:
            message, hint = f"`{name}` is a variable here, for any relationship.", f"Write [:{name}] for the type."
        self.notice("VariableNamedLikeLabel", name, message, span, hint)

    def _has(self, kind: str, name: str) -> bool:
        """Tell whether the graph has a label or type (``kind``) of a name."""
        return self.catalog.has_label(name) if kind == LABEL else self.catalog.has_type(name)

    def property_type(self, subject: Type, key: str, span: Span | None) -> Type:
        """Return a property's static type, and note a key that no node or relationship has."""
        if self.updating or subject not in (NODE, RELATIONSHIP):
            return ANY
        entity = "node" if subject == NODE else "relationship"
        found = self.catalog.property_type(entity, key)
        if found is None:
            hint = did_you_mean(nearest(key, self.catalog.property_keys(entity)))
            self.notice("UnknownProperty", f"{entity}.{key}", f"No {entity} has a property `{key}`.", span, hint)
        return found or ANY

    def notice(self, code: str, subject: str, message: str, span: Span | None, hint: str | None) -> None:
        """Add a warning, once for each subject."""
        self.notices.setdefault((code, subject), Notice(code, message, span, hint))


def did_you_mean(close: str | None) -> str | None:
    """Return the hint that names what was probably meant."""
    return f"Did you mean `{close}`?" if close else None

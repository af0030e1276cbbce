"""The columns of SHOW, in their order."""

from __future__ import annotations

__all__ = ["shown_columns"]

_COLUMNS: dict[str, tuple[str, str]] = {
    "INDEXES": (
        "id name state populationPercent type entityType labelsOrTypes properties owningConstraint",
        "createStatement",
    ),
    "CONSTRAINTS": (
        "id name type entityType labelsOrTypes properties ownedIndex propertyType",
        "createStatement",
    ),
    "FUNCTIONS": ("name category description", "signature isBuiltIn aggregating"),
    "PROCEDURES": ("name description mode worksOnSystem", "signature"),
}


def shown_columns(what: str, *, whole: bool) -> tuple[str, ...]:
    """Return the columns of what SHOW lists: those shown where nothing is said, or also those that YIELD may name."""
    shown, others = _COLUMNS[what]
    return tuple(shown.split() + (others.split() if whole else []))

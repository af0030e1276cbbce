"""Which hints of a statement its plan doesn't follow, because they speak of nothing that is in it."""

from __future__ import annotations

from collections.abc import Iterator

from qengine.errors import Notice
from qengine.plan.pattern import Hints
from qengine.plan.physical import AggregateByNode, Eliminate, HashJoin, PhysicalPlan, Search
from qengine.plan.traverse import operators


def unused_hints(hints: Hints, plan: PhysicalPlan) -> Iterator[Notice]:
    """Yield a notice for each hint that nothing in a statement's plan follows."""
    found = list(operators(plan.root))
    searches = [each for each in found if isinstance(each, Search)]
    followed = {
        "order": any(each.reason.startswith("order ") and _is_hinted(hints, each) for each in searches),
        "search": bool(searches),
        "extend": any(each.strategy == "extend" for each in searches),
        "eliminate": any(isinstance(each, Eliminate | AggregateByNode) for each in found),
        "join": any(isinstance(each, HashJoin) and each.reason == "as hinted" for each in found),
    }
    for name, place in hints.places:
        if not followed.get(name, True):
            yield Notice(
                "UnusedHint",
                f"The hint {name} changes nothing here.",
                place,
                "It speaks of the search for one MATCH: name nodes that it finds together, or leave the hint out.",
            )


def _is_hinted(hints: Hints, search: Search) -> bool:
    return "as hinted" in search.reason or f"by {hints.rule}" in search.reason

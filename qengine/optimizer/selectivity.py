"""How many of the nodes or relationships satisfy conditions on themselves, by summaries of their properties' values.

Conditions on one property are put together: a least and a greatest value make one range. How different properties go
together, and what summaries can't tell, as arithmetic on values, is seen in a sample of the elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from qengine._frozen import record
from qengine.catalog.values import ValueSummary
from qengine.catalog.view import CatalogView
from qengine.optimizer.memory import Lasting
from qengine.optimizer.open_ranges import ITEMS, bounds_of, expected_length, note_open
from qengine.optimizer.peeking import Assumption, as_known, counts_rare, known_lengths, known_values, note
from qengine.optimizer.value_shares import RANGE, UNKNOWN, ValueRange, equal, known_value, nulls, with_text
from qengine.plan.expr import Call, Comparison, Expr, ListOf, Literal, Logical, Parameter, Property, Variable
from qengine.plan.pattern import LabelExpr
from qengine.plan.traverse import conjuncts, preorder

_EQUALITY, _OTHER = 0.1, 0.5
"""Shares that are kept where nothing is known."""

_FEW = 64.0  # nodes: of fewer a sample says little


def selectivity(predicates: Sequence[Expr], catalog: CatalogView, entity: str, owners: LabelExpr | None) -> float:
    """Return the share of elements that satisfy all predicates, each of which is on the same one variable.

    Parameters
    ----------
    entity
        "node" or "relationship".
    owners
        The labels of the nodes, or types of the relationships, whose share is meant.
    """
    asked = tuple(predicates)
    note_open(asked, catalog, entity, owners)
    known = as_known(asked)
    key = known, owners, entity, counts_rare(), tuple(known_lengths().items())
    found = _shares.of(catalog).get(key, lambda: (_selectivity(asked, catalog, entity, owners), 1))
    share: float = found[0]
    if known is not asked:
        note(Assumption(asked, entity, owners, share))
    return share


_shares = Lasting()


def _selectivity(predicates: Sequence[Expr], catalog: CatalogView, entity: str, owners: LabelExpr | None) -> float:
    share = _Share(catalog, entity, owners, known_values())
    return share.counted(predicates, share.together(predicates))


def holds(assumption: Assumption, values: Mapping[str, Any], catalog: CatalogView) -> bool:
    """Tell whether an estimate comes out about the same for other values of the parameters that it has looked at."""
    share = _Share(catalog, assumption.entity, assumption.owners, values)
    return assumption.admits(share.together(assumption.predicates))


@record
class _Share:
    """Shares of elements; ``values``: of parameters that are known."""

    catalog: CatalogView
    entity: str
    owners: LabelExpr | None
    values: Mapping[str, Any] = field(default_factory=dict)
    guessed: bool = False

    def together(self, predicates: Sequence[Expr]) -> float:
        """Return the share that satisfies a conjunction, whose parts need not be independent."""
        self.guessed = False
        alone = self.of_all(predicates)
        keys = {part.key for each in predicates for part in preorder(each) if isinstance(part, Property)}
        parts = [part for each in predicates for part in conjuncts(each)]
        one = len(keys) < 2 and (len(parts) < 2 or all(self.bounds(each) is not None for each in parts))
        if (one and not self.guessed) or alone == 0.0:
            return alone
        if self.entity == "node":
            sample, element = self.catalog.node_sample(self.owners), "node"
        else:
            types = [name for name in self.catalog.relationship_types if _admits(self.owners, name)]
            if len(types) != 1:
                return alone
            sample, element = self.catalog.relationship_sample(types[0], None, None, both=False), "relationship"
        if sample is None or not sample.size:
            return alone
        from qengine.optimizer.sampled import joint_share

        return joint_share(predicates, sample, element, alone, self.values)

    def counted(self, predicates: Sequence[Expr], share: float) -> float:
        """Return the share of the nodes that satisfy conditions where few are expected to: counted, if it can be.

        Summaries and samples know what is frequent; of what is rare, which of the others it is.
        """
        if (
            not counts_rare()
            or self.entity != "node"
            or share * self.size >= _FEW
            or share == 0.0
            or self.names_one(predicates)
        ):
            return share
        sample = self.catalog.node_sample(self.owners, every=True)
        if sample is None or not sample.size:
            return share
        from qengine.optimizer.sampled import counted_share

        return counted_share(predicates, sample, "node", share, self.values)

    def names_one(self, predicates: Sequence[Expr]) -> bool:
        """Tell whether a condition is on a property of which no two nodes have the same value."""
        return any(
            isinstance(each, Comparison)
            and each.ops == ("=",)
            and isinstance(arg, Property)
            and self.catalog.is_key(arg.key)
            for each in predicates
            for arg in getattr(each, "args", ())
        )

    def guess(self, share: float) -> float:
        """Return a share of which nothing is known."""
        self.guessed = True
        return share

    def of_all(self, predicates: Iterable[Expr]) -> float:
        """Return the share that satisfies a conjunction."""
        ranges: dict[str, ValueRange] = {}
        share = 1.0
        for predicate in (part for each in predicates for part in conjuncts(each)):
            if (bounds := self.bounds(predicate)) is None:
                share *= self.of(predicate)
                continue
            for key, op, value in bounds:
                ranges.setdefault(key, ValueRange()).cut(op, value)
        for key, each in ranges.items():
            share *= self.known(key, each.share, RANGE)
        return share

    def of(self, predicate: Expr) -> float:
        """Return the share that satisfies a condition, other than a comparison with bounds."""
        match predicate:
            case Literal(value=value):
                return float(value is True)
            case Logical(op="AND", args=args):
                return self.of_all(args)
            case Logical(op="OR", args=args):
                return self.of_any(args)
            case Call(name="NOT", args=(arg,)):
                return max(0.0, 1.0 - self.of_all((arg,)) - self.nulls_of(arg))
            case (
                Comparison(ops=("=" | "<>" as op,), args=(Property(subject=Variable(), key=key), other))
                | Comparison(ops=("=" | "<>" as op,), args=(other, Property(subject=Variable(), key=key)))
            ):
                return self.of_equality(key, op == "=", other)
            case Property(subject=Variable(), key=key):
                return self.known(key, lambda found: equal(found, True), _OTHER)
            case Call(name="IS NULL", args=(Property(subject=Variable(), key=key),)):
                return self.mean(key, nulls, _OTHER)
            case Call(name="IS NOT NULL", args=(Property(subject=Variable(), key=key),)):
                return 1.0 - self.mean(key, nulls, _OTHER)
            case Call(name="IS NOT NULL", args=(Variable(),)):
                return 1.0
            case Call(name="IS NOT NULL", args=(Call() as arg,)):  # what has a value where what it reads has
                return 1.0 - self.nulls_of(arg)
            case Call(name="IN", args=(Property(subject=Variable(), key=key), items)):
                return self.of_membership(key, items)
            case Call(name="IN", args=(Call(name="id" | "elementid", args=(Variable(),)), items)):
                return min(sum(number for _, number in self.items(items)) / max(self.size, 1), 1.0)
            case Call(
                name="STARTS WITH" | "CONTAINS" | "ENDS WITH" as name,
                args=(Property(subject=Variable(), key=key), Literal() | Parameter() as other),
            ) if isinstance(text := self.value(other), str):
                return self.known(key, lambda found: with_text(found, name, text), _EQUALITY)
            case Call(name="IN" | "STARTS WITH" | "CONTAINS" | "ENDS WITH" | "=~"):
                return self.guess(_EQUALITY)
            case (
                Comparison(ops=("=",), args=(Call(name="id" | "elementid", args=(Variable(),)), _))
                | Comparison(ops=("=",), args=(_, Call(name="id" | "elementid", args=(Variable(),))))
            ):
                return 1.0 / max(self.size, 1)
            case Comparison(ops=("=",)):
                return self.guess(_EQUALITY)
            case Comparison(ops=ops) if "=" not in ops and "<>" not in ops:
                return self.guess(RANGE)
        return self.guess(_OTHER)

    @property
    def size(self) -> int:
        """How many elements there are."""
        if self.entity == "node":
            own = self.catalog.label_sets
            return sum(count for labels, count in own if self.owners is None or self.owners.admits(labels))
        found = (self.catalog.relationship_type(name) for name in self.catalog.relationship_types
                 if _admits(self.owners, name))  # fmt: skip
        return sum(each.count for each in found if each is not None)

    def of_any(self, predicates: Sequence[Expr]) -> float:
        """Return the share that satisfies one of several conditions at least."""
        none = 1.0
        for each in predicates:
            none *= 1.0 - self.of_all((each,))
        return 1.0 - none

    def of_equality(self, key: str, wanted: bool, other: Expr) -> float:
        """Return the share whose property is equal, or is not equal, to what ``other`` gives."""
        value = self.value(other)
        if value is None:
            return self.guess(_EQUALITY if wanted else _OTHER)
        if wanted:
            return self.known(key, lambda found: equal(found, value), _EQUALITY)
        return self.known(key, lambda found: max(0.0, 1.0 - nulls(found) - equal(found, value)), 1.0 - _EQUALITY)

    def of_membership(self, key: str, items: Expr) -> float:
        """Return the share whose property is in a list."""
        values = self.items(items)
        if any(value is None for value, _ in values):
            return self.guess(_EQUALITY)
        return self.known(
            key, lambda found: min(1.0, sum(number * equal(found, value) for value, number in values)), _EQUALITY
        )

    def nulls_of(self, predicate: Expr) -> float:
        """Return the share for which a condition is neither true nor false: a property is missing."""
        if isinstance(predicate, Call) and predicate.name in ("IS NULL", "IS NOT NULL"):
            return 0.0
        keys = {part.key for part in preorder(predicate) if isinstance(part, Property)}
        return self.mean(keys.pop(), nulls, 0.0) if len(keys) == 1 else 0.0

    def known(self, key: str, share: Callable[[ValueSummary], float], unknown: float) -> float:
        """Return a share of the values, ``unknown`` of them where they can't be compared."""
        return self.mean(
            key, lambda found: unknown * (1.0 - nulls(found)) if found.distinct is None else share(found), unknown
        )

    def mean(self, key: str, share: Callable[[ValueSummary], float], unknown: float) -> float:
        """Return the mean of a share over the property's summaries, ``unknown`` where there are none."""
        summaries = self.catalog.value_summaries(self.entity, key, self.owners)
        if summaries is None:
            return unknown
        total = sum(found.count for found in summaries)
        return sum(found.count * share(found) for found in summaries) / total if total else 0.0

    def bounds(self, predicate: Expr) -> list[tuple[str, str, Any]] | None:
        """Return the property, the operator and the bound of each part of a chain of comparisons; None for others."""
        if not isinstance(predicate, Comparison):
            return None
        found = [(key, op, self.value(bound)) for key, op, bound in bounds_of(predicate) or ()]
        return None if not found or any(value is None for _, _, value in found) else found

    def items(self, items: Expr) -> list[tuple[Any, float]]:
        """Return the different values of a list, as ``value`` does, each with how many it stands for."""
        if isinstance(items, ListOf):
            return [(self.value(each), 1.0) for each in dict.fromkeys(items.items)]
        if not isinstance(items, Parameter):
            return [(UNKNOWN, ITEMS)]
        if (known := self.values.get(items.name)) is None:
            return [(UNKNOWN, expected_length(items.name))]
        return [(each, 1.0) for each in {(type(each), each): each for each in known}.values()]

    def value(self, expr: Expr) -> Any:
        """Return a constant, ``UNKNOWN`` for a parameter whose value isn't known, None for anything else."""
        return known_value(expr, self.values)


def _admits(owners: LabelExpr | None, type: str) -> bool:
    return owners is None or owners.admits(frozenset((type,)))

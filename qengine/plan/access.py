"""Which conditions on one node are answered by its identity, or by an index of a property's values.

``id(n) = $v``, ``elementId(n) IN $list`` and what is joined of such by OR name nodes; ``n.x = $v``, ``n.x IN $list``
and what is joined of such are looked up; ``<``, ``<=``, ``>``, ``>=`` and ``STARTS WITH`` on one property, put
together, are a run of its values in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qengine.plan.expr import Call, Comparison, Expr, ListOf, Literal, Logical, Parameter, Property, Variable
from qengine.plan.fallible import can_fail
from qengine.plan.node import node
from qengine.plan.traverse import preorder

HASH, SORTED, IDENTITY = "hash", "sorted", "identity"

FEW = 16
"""Nodes that conditions admit are found by indexes, and listed, not marked, where they are at most 1 in this many."""

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


@node("value")
class Probe:
    """``key OP value``, where ``value`` reads no row; OP is ``=``, ``IN``, ``< <= > >=`` or ``STARTS WITH``.

    ``key``: a property, or, of an access by identity, ``id`` or ``elementid``.
    """

    key: str
    op: str
    value: Expr


class Equality(NamedTuple):
    """A property of a node, or with ``identity`` its ``id`` or ``elementid``, and what it equals."""

    key: str
    value: Expr
    identity: bool


@node("probes")
class Access:
    """Conditions on one node that are answered: any of the probes by hash or identity, or all, of one key, by order.

    ``answers``: places of the predicates that need no further look. ``rows``: how many nodes are
    expected. ``unique``: one value is asked for, and none is that of two nodes.
    """

    kind: str
    probes: tuple[Probe, ...]
    answers: tuple[int, ...]
    rows: float = 0.0
    unique: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The properties whose indexes are read."""
        return () if self.kind == IDENTITY else tuple(dict.fromkeys(probe.key for probe in self.probes))


def access_paths(name: str, predicates: Sequence[Expr]) -> list[Access]:
    """Return the ways to find the nodes that satisfy some of the predicates, which mention ``name`` alone."""
    found = []
    ranges: dict[str, tuple[list[Probe], list[int]]] = {}
    for place, predicate in enumerate(predicates):
        probed = ((kind, _alternatives(predicate, name, kind)) for kind in (IDENTITY, HASH))
        found += [Access(kind, tuple(probes), (place,)) for kind, probes in probed if probes]
        for probe in _bounds(predicate, name):
            probes, answers = ranges.setdefault(probe.key, ([], []))
            probes.append(probe)
            if place not in answers:
                answers.append(place)
    found += [Access(SORTED, tuple(probes), tuple(answers)) for probes, answers in ranges.values()]
    return found


def equality(predicate: Expr, name: str) -> Equality | None:
    """Return what of a node, as variable ``name``, a predicate says to equal an expression; None for another one."""
    match predicate:
        case Comparison(ops=("=",), args=(one, other)):
            for kind in (HASH, IDENTITY):
                for left, right in ((one, other), (other, one)):
                    if (key := _key(left, name, kind)) is not None:
                        return Equality(key, right, kind == IDENTITY)
    return None


def identified(predicate: Expr, name: str) -> Probe | None:
    """Return how a predicate says the identity of variable ``name``, by ``=`` or ``IN``; None for another one."""
    found = equality(predicate, name)
    match predicate:
        case Call(name="IN", args=(of, items)) if (key := _key(of, name, IDENTITY)) is not None:
            return Probe(key, "IN", items)
    return Probe(found.key, "=", found.value) if found is not None and found.identity else None


def constant(expr: Expr) -> bool:
    """Tell whether an expression has the same value in each row of an execution, and can't fail."""
    if isinstance(expr, Literal | Parameter):
        return True
    parts = tuple(preorder(expr))
    return all(isinstance(part, Literal | Parameter | ListOf) for part in parts) and not can_fail(expr)


def _alternatives(predicate: Expr, name: str, kind: str) -> list[Probe]:
    """Return probes, one of which answers the predicate where it holds; none where it can't be looked up."""
    match predicate:
        case Comparison(ops=("=",), args=(one, other)):
            for left, right in ((one, other), (other, one)):
                if (key := _key(left, name, kind)) is not None and constant(right):
                    return [Probe(key, "=", right)]
        case Call(name="IN", args=(of, items)):
            key = _key(of, name, kind)
            return [Probe(key, "IN", items)] if key is not None and constant(items) else []
        case Logical(op="OR", args=args):
            each = [_alternatives(arg, name, kind) for arg in args]
            return [probe for probes in each for probe in probes] if all(each) else []
    return []


def _key(expr: Expr, name: str, kind: str) -> str | None:
    """Return what an expression reads of a node: a property, or, for accesses by identity, which identity."""
    match expr:
        case Property(subject=Variable(name=subject), key=key) if kind == HASH:
            return key if subject == name else None
        case Call(name="id" | "elementid" as key, args=(Variable(name=subject),)) if kind == IDENTITY:
            return key if subject == name else None
    return None


def _bounds(predicate: Expr, name: str) -> list[Probe]:
    """Return probes that a predicate, a chain of comparisons or a prefix, is the conjunction of; none for others."""
    match predicate:
        case Call(name="STARTS WITH", args=(Property(subject=Variable(name=subject), key=key), text)) if (
            subject == name and constant(text)
        ):
            return [Probe(key, "STARTS WITH", text)]
        case Comparison(ops=ops, args=args) if set(ops) <= _TURNED.keys():
            found = []
            for op, left, right in zip(ops, args, args[1:], strict=False):
                match left, right:
                    case Property(subject=Variable(name=subject), key=key), _ if subject == name and constant(right):
                        found.append(Probe(key, op, right))
                    case _, Property(subject=Variable(name=subject), key=key) if subject == name and constant(left):
                        found.append(Probe(key, _TURNED[op], left))
                    case _:
                        return []
            return found if len({probe.key for probe in found}) == 1 else []
    return []

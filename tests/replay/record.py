"""What is kept of a query: its plan in a compact form, the ways that it is run by, and its result."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from qengine.errors import QengineError, QueryTimeout
from qengine.plan.logical import Operator, Unit
from qengine.plan.physical import Eliminate, HashJoin, PhysicalPlan, Search
from qengine.plan.text import outline
from qengine.plan.traverse import rewrite_plan
from qengine.testing.compare import canonical
from qengine.testing.verify_physical import verify_physical
from tests.replay.cases import Case, graph
from tests.replay.ways import kernels_called, ways

_TIMEOUT = 60.0
_USUAL = re.compile(r"auto cpu|search: cpu rows [^,;]+; gpu rows")
"""Ways that are not kept, as most plans have them: on the CPU, and a search all of whose levels are rows."""


@dataclass(frozen=True)
class Record:
    """A query's ``title``, and lines of each thing that is kept of it."""

    title: str
    plan: tuple[str, ...]
    ways: tuple[str, ...]
    result: tuple[str, ...]


def record(case: Case) -> Record:
    """Plan a query, verify the plan, run it on the CPU, and return what is kept of it."""
    found = _recorded(case)
    if not case.foreign:
        return replace(found, ways=tuple(way for way in found.ways if not _USUAL.fullmatch(way)))
    plan, taken = ((_checksum("\n".join(part)),) if part else () for part in (found.plan, found.ways))
    return Record(found.title, plan, taken, found.result)


def _recorded(case: Case) -> Record:
    target = graph(case.graph)
    try:
        prepared = target.prepare(case.text)
    except QengineError as error:
        return Record(case.title, (), (), (f"{type(error).__name__} {error.code or ''}".rstrip(),))
    plan = prepared._planned.physical
    if plan is None:
        return Record(case.title, (), (), ("changes the graph",))
    verify_physical(plan)
    try:
        taken = tuple(ways(target, plan, case.parameters))
    except QengineError as error:  # a condition that fails for some node: the careful plan is run
        taken = (f"none: {type(error).__name__}",)
    result, kernels = _result(case) if case.run else ("not run", [])
    if kernels:
        taken += (f"cpu kernels: {', '.join(kernels)}",)
    return Record(case.title, tuple(compact(plan)), taken, (result,))


def _result(case: Case) -> tuple[str, list[str]]:
    """Return the result, and the kernels that it took on a graph that has kept nothing of earlier queries."""
    target = graph(case.graph)
    target._store.derived.clear()
    with kernels_called() as kernels:
        try:
            rows = target.query(case.text, case.parameters, device="cpu", threads=1, timeout=_TIMEOUT).fetchall()
        except QueryTimeout:
            raise  # it would be another result on another machine
        except QengineError as error:
            return f"{type(error).__name__} {error.code or ''}".rstrip(), sorted(kernels)
    return _digest(case, [tuple(row) for row in rows]), sorted(kernels)


def _digest(case: Case, rows: list[tuple[Any, ...]]) -> str:
    """Return a row of numbers as it is; else how many rows there are, and a checksum of them."""
    if not case.sure:
        return "any"
    if len(rows) == 1 and all(isinstance(value, int | None) for value in rows[0]):
        return ", ".join(map(str, rows[0]))
    known = [repr(canonical(row, lists_ordered=case.lists_ordered)) for row in rows]
    text = "\n".join(known if case.ordered else sorted(known))
    return f"{len(rows)} rows, {_checksum(text)}"


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


# ------------------------------------------------------------ plans as text


def compact(plan: PhysicalPlan) -> Iterator[str]:
    """Yield the lines of a plan without estimates and reasons; a search's levels stand in its line."""
    yield from _lines(plan.root)
    if plan.careful is not None:
        yield "where a condition fails:"
        yield from _lines(plan.careful)


def _lines(root: Operator) -> Iterator[str]:
    line = ""
    above: Operator | None = None
    for each in outline(rewrite_plan(root, _unexplained)):
        if each.operator is None and isinstance(above, Search):
            line += f" {each.text}"
            continue
        if each.operator is None and each.text.startswith(("· on the CPU, ~", "· on the GPU, ~")):
            continue
        above = each.operator or above
        if not isinstance(each.operator, Unit):
            if line:
                yield line
            line = f"{' ' * each.depth}{each.text}"
    yield line or "Unit"


def _unexplained(operator: Operator) -> Operator:
    return replace(operator, reason="") if isinstance(operator, Search | HashJoin | Eliminate) else operator


# ------------------------------------------------------------ files


def to_text(records: list[Record]) -> str:
    """Return a file's text."""
    parts: list[str] = []
    for each in records:
        lines = [*each.plan, *(f"> {line}" for line in each.ways), *(f"= {line}" for line in each.result)]
        parts += [f"### {each.title}", *lines]
    return "\n".join([*parts, ""])


def read(text: str) -> dict[str, Record]:
    """Return the records of a file by their titles."""
    found = {}
    for block in ("\n" + text).split("\n### ")[1:]:
        title, *lines = block.strip("\n").split("\n")
        ways = tuple(line[2:] for line in lines if line.startswith("> "))
        result = tuple(line[2:] for line in lines if line.startswith("= "))
        plan = tuple(line for line in lines if not line.startswith(("> ", "= ")))
        found[title] = Record(title, plan, ways, result)
    return found

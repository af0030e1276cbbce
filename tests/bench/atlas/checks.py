"""What the counts of cells are compared with before their times are believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tests.bench.atlas.cells import Cell
from tests.bench.atlas.suites import COUNT
from tests.bench.atlas.verified import Verified
from tests.bench.cells import Status

MOST = 2**63 - 1
"""The greatest count that a result can hold; a greater one must be refused."""
_BY_NODE = "by node"
_SUMMED = (_BY_NODE, "by property")

Key = tuple[str, str]


def checked(cells: Mapping[Key, Cell], verified: Verified, hinted: Mapping[str, Sequence[Cell]]) -> dict[Key, Cell]:
    """Return the cells with the names of all that their counts agree with, or with what they should be.

    Parameters
    ----------
    verified
        Counts by other code.
    hinted
        By hint, cells of the same queries that were counted in the way that it forces.
    """
    others = {hint: {cell.key: cell.count for cell in found} for hint, found in hinted.items()}
    by_match: dict[tuple[str, ...], dict[str, Cell]] = {}
    for cell in cells.values():
        by_match.setdefault(_match(cell), {})[cell.form] = cell
    found = {}
    for key, cell in cells.items():
        expected = {"verified": verified.count(cell.kind, cell.shape, cell.semantics)} if cell.form == COUNT else {}
        expected |= _by_other_forms(cell, by_match[_match(cell)])
        expected |= {hint: counts.get(key) for hint, counts in others.items()}
        found[key] = replace(cell, check=_verdict(cell, expected))
    return found


def _match(cell: Cell) -> tuple[str, ...]:
    return cell.kind, cell.shape, cell.semantics


def _by_other_forms(cell: Cell, forms: Mapping[str, Cell]) -> dict[str, int | None]:
    """Groups sum up to the plain count; as many groups as ``EXISTS`` and ``count(DISTINCT)`` of their node count."""
    form, _, node = cell.form.rpartition(" ")
    if form in _SUMMED and COUNT in forms:
        return {"plain": forms[COUNT].count}
    if form in ("exists", "distinct") and (groups := forms.get(f"{_BY_NODE} {node}")):
        return {"groups": groups.rows}
    return {}


def _verdict(cell: Cell, expected: Mapping[str, int | None]) -> str:
    if cell.is_wrong:
        return cell.check
    known = {name: count for name, count in expected.items() if count is not None}
    if cell.status is Status.OK:
        differ = {name: count for name, count in known.items() if count != cell.count}
    elif cell.is_overflow:
        differ = {name: count for name, count in known.items() if count <= MOST}
    else:
        return ""
    return f"WRONG: {', '.join(f'{name} {count:,}' for name, count in differ.items())}" if differ else ", ".join(known)

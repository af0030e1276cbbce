"""What is told of a query over tables: shares, cells, and what is sent, as expected and, after a run, as it was."""

from __future__ import annotations

from typing import Any

from qengine._frozen import frozen, record
from qengine._printable import printable_line
from qengine.cluster.hypercube.cells import CellAnswer
from qengine.cluster.hypercube.heavy import Layout
from qengine.cluster.hypercube.joins import Join
from qengine.cluster.hypercube.shares import Load, fullest, sent


@record
class Moved:
    """What was sent in a run, in all and to the cell that got the most: rows, bytes; and the cells that got some.

    ``seconds``: that the cells took together, ``longest``: that one took.
    """

    cells: int = 0
    rows: int = 0
    bytes: int = 0
    fullest: int = 0
    seconds: float = 0.0
    longest: float = 0.0

    def add(self, answer: CellAnswer) -> None:
        """Count what a cell got."""
        self.cells += 1
        self.rows += answer.received
        self.bytes += answer.bytes
        self.fullest = max(self.fullest, answer.bytes)
        self.seconds += answer.seconds
        self.longest = max(self.longest, answer.seconds)


@frozen(held=True)
class TableMoves:
    """What one table is expected to send: ``name``, and its ``load`` without what conditions leave out."""

    name: str
    load: Load


@frozen(held=True)
class SharesPlan:
    """The grids of a join, and what tables send by them.

    ``variables``: the names of the nodes that have shares. ``moves``: of each table, in the order of ``layout.loads``.
    """

    variables: tuple[str, ...]
    layout: Layout
    moves: tuple[TableMoves, ...]

    @property
    def bytes(self) -> float:
        """Bytes that are expected to be sent in all."""
        return sum(self.sent(place) for place in range(len(self.moves)))

    @property
    def fullest(self) -> float:
        """Bytes that the fullest cell is expected to get."""
        return max(
            fullest([load for each in loads for load in each], grid.shares)
            for loads, (_, grid) in zip(self.layout.loads, self.layout.grids.blocks, strict=True)
        )

    @property
    def shares(self) -> list[tuple[tuple[str, ...], dict[str, int]]]:
        """Of each grid the names of the variables whose keys are heavy there, and the shares by names."""
        return [
            (
                tuple(self.variables[each] for each in sorted(heavy)),
                dict(zip(self.variables, grid.shares, strict=False)),
            )
            for heavy, grid in self.layout.grids.blocks
        ]

    def sent(self, place: int) -> float:
        """Return the bytes that a table is expected to send."""
        blocks = zip(self.layout.loads, self.layout.grids.blocks, strict=True)
        return sum(sent(loads[place], grid.shares) for loads, (_, grid) in blocks)


class SharesExplanation:
    """How a query over tables is answered: ``str()`` is a text, ``to_json()`` data.

    ``plan``: shares and what they send. ``moved``: what was sent, once the query has run; else None.
    """

    def __init__(self, plan: SharesPlan, engine: str, workers: int, join: Join) -> None:
        self.plan = plan
        self._cells, self._engine, self._workers = plan.layout.grids.cells, engine, workers
        self._keys = join.keys
        self._merge, self._tail = ([type(each).__name__ for each in some] for some in (join.merge, join.tail))
        self.moved: Moved | None = None

    def __str__(self) -> str:
        plan = self.plan
        lines = []
        for hubs, shares in plan.shares:
            of = ", ".join(f"{printable_line(name)} {share}" for name, share in shares.items())
            where = f" where {', '.join(map(printable_line, hubs))} {'is' if len(hubs) == 1 else 'are'} heavy"
            lines.append(f"Shares{where if hubs else ''}: {of}")
        if number := plan.layout.grids.heavy:
            names = ", ".join(printable_line(plan.variables[each]) for each in plan.layout.grids.parted)
            lines.append(f"Heavy keys: {number}, joined apart by {names}")
        workers = f"{self._workers} {'worker' if self._workers == 1 else 'workers'}"
        lines += [
            f"Cells: {self._cells} on {workers} of {self._engine}",
            f"Expected: {_bytes(plan.bytes)} sent, {_bytes(plan.fullest)} to the fullest cell",
        ]
        for place, each in enumerate(plan.moves):
            load, one = each.load, plan.sent(place)
            times = one / (load.rows * load.bytes) if load.rows * load.bytes else 0.0
            text = f"  {printable_line(each.name)}: {load.rows:,.0f} rows of {load.bytes:.1f} bytes, {times:.2f} times"
            heavy = max(load.heaviest)
            lines.append(text + (f"; one key has {heavy:.1%} of them" if heavy else ""))
        if self.moved is not None:
            lines.append(
                f"Sent: {_bytes(self.moved.bytes)} in {self.moved.rows:,} rows, {_bytes(self.moved.fullest)} to the "
                f"fullest cell; cells took {self.moved.seconds:.2f} s together, one {self.moved.longest:.2f} s"
            )
        if self._merge:
            keys = ", ".join(map(printable_line, self._keys))
            lines.append(f"By {keys}: {', '.join(self._merge)}")
        lines.append(f"In the end: {', '.join(self._tail) or 'nothing'}")
        return "\n".join(lines)

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return the same as JSON-ready dicts with stable keys."""
        plan = self.plan
        found: dict[str, Any] = {
            "shares": plan.shares[0][1],
            "heavy_keys": plan.layout.grids.heavy,
            "heavy_shares": [{"heavy": list(hubs), "shares": shares} for hubs, shares in plan.shares[1:]],
            "cells": self._cells,
            "engine": self._engine,
            "workers": self._workers,
            "expected_bytes": plan.bytes,
            "expected_fullest": plan.fullest,
            "tables": [
                {
                    "name": each.name,
                    "rows": each.load.rows,
                    "row_bytes": each.load.bytes,
                    "expected_bytes": plan.sent(place),
                    "heaviest": list(each.load.heaviest),
                }
                for place, each in enumerate(plan.moves)
            ],
            "keys": list(self._keys),
            "merge": self._merge,
            "tail": self._tail,
        }
        if self.moved is not None:
            names = ("cells", "rows", "bytes", "fullest", "seconds", "longest")
            found["sent"] = {name: getattr(self.moved, name) for name in names}
        return found


def _bytes(size: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1000
    raise AssertionError

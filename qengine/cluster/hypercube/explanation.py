"""What is told of a query over tables: shares, cells, and what is sent, as expected and, after a run, as it was."""

from __future__ import annotations

from math import prod
from typing import Any

from qengine._frozen import frozen, record
from qengine._printable import printable_line
from qengine.cluster.hypercube.cells import CellAnswer
from qengine.cluster.hypercube.joins import Join
from qengine.cluster.hypercube.shares import Load, Shares, fullest, sent

__all__ = ["Moved", "SharesExplanation", "SharesPlan", "TableMoves"]


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


@frozen
class TableMoves:
    """What one table is expected to send: ``name``, and its ``load`` without what conditions leave out."""

    name: str
    load: Load


@frozen
class SharesPlan:
    """The shares of a pattern's variables, and what tables send by them."""

    variables: tuple[str, ...]
    shares: Shares
    moves: tuple[TableMoves, ...]

    @property
    def bytes(self) -> float:
        """Bytes that are expected to be sent in all."""
        return sent([each.load for each in self.moves], self.shares)

    @property
    def fullest(self) -> float:
        """Bytes that the fullest cell is expected to get."""
        return fullest([each.load for each in self.moves], self.shares)


class SharesExplanation:
    """How a query over tables is answered: ``str()`` is a text, ``to_json()`` data.

    ``plan``: shares and what they send. ``moved``: what was sent, once the query has run; else None.
    """

    def __init__(self, plan: SharesPlan, engine: str, workers: int, join: Join) -> None:
        self.plan = plan
        self._cells, self._engine, self._workers = prod(plan.shares), engine, workers
        self._keys = join.keys
        self._merge, self._tail = ([type(each).__name__ for each in some] for some in (join.merge, join.tail))
        self.moved: Moved | None = None

    def __str__(self) -> str:
        plan = self.plan
        shares = ", ".join(
            f"{printable_line(name)} {share}" for name, share in zip(plan.variables, plan.shares, strict=False)
        )
        workers = f"{self._workers} {'worker' if self._workers == 1 else 'workers'}"
        lines = [
            f"Shares: {shares}",
            f"Cells: {self._cells} on {workers} of {self._engine}",
            f"Expected: {_bytes(plan.bytes)} sent, {_bytes(plan.fullest)} to the fullest cell",
        ]
        for each in plan.moves:
            load = each.load
            one = sent([load], plan.shares)
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
            "shares": dict(zip(plan.variables, plan.shares, strict=False)),
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
                    "expected_bytes": sent([each.load], plan.shares),
                    "heaviest": list(each.load.heaviest),
                }
                for each in plan.moves
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

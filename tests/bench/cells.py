"""The outcome of one workload on one engine, and of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How a run ended."""

    OK = "ok"
    UNSUPPORTED = "unsupported"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    FAILED = "failed"


@dataclass(frozen=True)
class Cell:
    """One workload on one engine.

    Attributes
    ----------
    answer
        An integer or a list of rows of integers, None unless the status is OK.
    seconds
        The least time of the repeats, NaN unless the status is OK.
    detail
        Why there is no answer.
    """

    engine: str
    workload: str
    status: Status
    answer: int | list[list[int]] | None = None
    seconds: float = float("nan")
    detail: str = ""


@dataclass(frozen=True)
class Outcome:
    """All cells of one suite, by (engine, workload)."""

    cells: Mapping[tuple[str, str], Cell]

    @classmethod
    def of(cls, cells: Iterable[Cell]) -> Outcome:
        return cls({(cell.engine, cell.workload): cell for cell in cells})

    def seconds(self, engine: str, workload: str) -> float | None:
        """Return the time of a run, None where it gave no answer."""
        cell = self.cells.get((engine, workload))
        return cell.seconds if cell is not None and cell.status is Status.OK else None

    def takes_part(self, engine: str) -> bool:
        """Return whether an engine supports any of the workloads."""
        return any(c.engine == engine and c.status is not Status.UNSUPPORTED for c in self.cells.values())

    def mismatches(self, expected: Mapping[str, int | list[list[int]]]) -> list[str]:
        """Return a sentence for each workload on which answers differ, from each other or from the truth."""
        sentences = []
        for workload in dict.fromkeys(workload for _, workload in self.cells):
            answers = {
                cell.engine: cell.answer
                for cell in self.cells.values()
                if cell.workload == workload and cell.status is Status.OK
            }
            if workload in expected:
                answers["the truth"] = expected[workload]
            if len({repr(answer) for answer in answers.values()}) > 1:
                told = ", ".join(f"{engine} says {answer}" for engine, answer in answers.items())
                sentences.append(f"{workload}: {told}")
        return sentences

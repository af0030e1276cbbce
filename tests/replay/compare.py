"""What has changed between two replays: results first, then ways, then plans alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import ndiff

from tests.replay.record import Record

_SHOWN = 5
"""Queries of each kind whose difference is shown; the others are counted."""

_LINES = 12
_WIDTH = 240


@dataclass(frozen=True)
class Changes:
    """Pairs of records: those with another result, those run another way, and those that are planned otherwise alone.

    ``gone`` and ``new``: titles that one side alone has.
    """

    results: tuple[tuple[Record, Record], ...]
    ways: tuple[tuple[Record, Record], ...]
    plans: tuple[tuple[Record, Record], ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.results or self.ways or self.plans or self.gone or self.new)

    def text(self, suite: str) -> str:
        """Return what has changed: how much of each kind, and the first differences."""
        lines = [f"{suite}: {', '.join(self._counts())}"]
        for heading, pairs in (
            ("!!! ANOTHER RESULT: a query gives something else than it did", self.results),
            ("another way", self.ways),
            ("another plan, run the same ways", self.plans),
        ):
            for before, after in pairs[:_SHOWN]:
                lines += ["", f"{heading}: {_cut(after.title)}", *_difference(before, after)]
            if len(pairs) > _SHOWN:
                lines += ["", f"{heading}: {len(pairs) - _SHOWN} more"]
        lines += [f"gone: {_cut(title)}" for title in self.gone[:_SHOWN]]
        lines += [f"new: {_cut(title)}" for title in self.new[:_SHOWN]]
        return "\n".join(lines)

    def _counts(self) -> Iterator[str]:
        yield f"{len(self.results)} RESULTS CHANGED" if self.results else "no result changed"
        yield f"{len(self.ways)} run another way"
        yield f"{len(self.plans)} planned otherwise and run the same ways"
        yield f"{len(self.gone)} gone, {len(self.new)} new"


def changes(before: Mapping[str, Record], after: Mapping[str, Record]) -> Changes:
    """Compare two replays of a suite, by the titles of their queries."""
    both = [(before[title], after[title]) for title in after if title in before]
    changed = [pair for pair in both if pair[0] != pair[1]]
    results = [pair for pair in changed if pair[0].result != pair[1].result]
    ways = [pair for pair in changed if pair not in results and pair[0].ways != pair[1].ways]
    return Changes(
        tuple(results),
        tuple(ways),
        tuple(pair for pair in changed if pair not in results and pair not in ways),
        tuple(title for title in before if title not in after),
        tuple(title for title in after if title not in before),
    )


def _difference(before: Record, after: Record) -> list[str]:
    """Return the lines that differ, the result first."""
    found = []
    for name in ("result", "ways", "plan"):
        compared = ndiff(getattr(before, name), getattr(after, name))
        found += [f"  {name:6} {_cut(line)}" for line in compared if line[0] in "-+"]
    return found if len(found) <= _LINES else [*found[:_LINES], f"  … {len(found) - _LINES} lines more"]


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"

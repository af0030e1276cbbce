"""Counts that other code than the engine has found, kept in ``verified.json``.

``python -m tests.bench.atlas.verify`` writes the file. It holds by graph, kind, and method (the module that counted)
the counts of each pattern, by its key, in the order of ``Semantics``; null where there is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.bench.atlas.patterns import Semantics

FILE = Path(__file__).with_name("verified.json")
_ORDER = list(Semantics)

Counts = dict[str, list[int | None]]


@dataclass(frozen=True)
class Verified:
    """The verified counts of one graph, by kind and method."""

    kinds: Mapping[str, Mapping[str, Counts]]

    def count(self, kind: str, key: str, semantics: str) -> int | None:
        """Return the count of a pattern, None where it is not verified."""
        place = _ORDER.index(Semantics(semantics))
        found = (counts[key][place] for counts in self.kinds.get(kind, {}).values() if key in counts)
        return next((count for count in found if count is not None), None)


def of(graph: str) -> Verified:
    """Return what is verified of a graph, by its name."""
    return Verified(_read().get(graph, {}))


def keep(graph: str, kind: str, method: str, counts: Counts) -> list[str]:
    """Add counts to the file, a line a pattern.

    Returns
    -------
    list of str
        The keys of those that differ from what is kept; where there are such, the file stays as it is.
    """
    known = of(graph)
    wrong = [
        key
        for key, mine in counts.items()
        for count, semantics in zip(mine, _ORDER, strict=True)
        if count is not None and known.count(kind, key, semantics) not in (None, count)
    ]
    if not wrong:
        graphs = _read()
        graphs.setdefault(graph, {}).setdefault(kind, {}).setdefault(method, {}).update(counts)
        text = json.dumps(graphs, indent=1)
        FILE.write_text(re.sub(r"\[\s+(\w+),\s+(\w+),\s+(\w+)\s+\]", r"[\1, \2, \3]", text) + "\n")
    return wrong


def _read() -> dict[str, dict[str, dict[str, Counts]]]:
    return dict(json.loads(FILE.read_text())) if FILE.exists() else {}

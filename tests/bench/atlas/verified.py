"""Counts that other code than the engine has found, kept in ``verified.json``.

``python -m tests.bench.atlas.verify`` writes the file. It holds by graph, kind, and method (the module that counted)
the counts of each pattern, by its key, in the order of ``Semantics``.
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

Counts = dict[str, list[int]]


@dataclass(frozen=True)
class Verified:
    """The verified counts of one graph, by kind and method."""

    kinds: Mapping[str, Mapping[str, Counts]]

    def count(self, kind: str, key: str, semantics: str) -> int | None:
        """Return the count of a pattern, None where it is not verified."""
        for counts in self.kinds.get(kind, {}).values():
            if key in counts:
                return counts[key][_ORDER.index(Semantics(semantics))]
        return None


def of(graph: str) -> Verified:
    """Return what is verified of a graph, by its name."""
    return Verified(_read().get(graph, {}))


def keep(graph: str, kind: str, method: str, counts: Counts) -> bool:
    """Add counts to the file, a line a pattern; tell whether they agree with those that it has."""
    graphs = _read()
    known = graphs.setdefault(graph, {}).setdefault(kind, {}).setdefault(method, {})
    agree = all(known.get(key, each) == each for key, each in counts.items())
    if agree:
        known.update(counts)
        text = json.dumps(graphs, indent=1)
        FILE.write_text(re.sub(r"\[\s+(\d+),\s+(\d+),\s+(\d+)\s+\]", r"[\1, \2, \3]", text) + "\n")
    return agree


def _read() -> dict[str, dict[str, dict[str, Counts]]]:
    return dict(json.loads(FILE.read_text())) if FILE.exists() else {}

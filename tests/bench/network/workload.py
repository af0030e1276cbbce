"""The questions, read from ``questions/*.toml``, and their texts for each engine."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.bench.network.parameters import Value, fill

_QUESTIONS = Path(__file__).parent / "questions"
GROUPS = ("counting", "short", "interactive", "business")
ALL_COLUMNS = 99
"""As many first columns of an answer as there may be: all are compared as they are."""

_DATE_PARTS = re.compile(r"(\w+(?:\.\w+)?)\.(year|month|day)\b")
_KUZU = (
    ("Post|Comment", "Post:Comment"),  # any of these
    ("*0..]", "*0..30]"),  # Kùzu bounds what has no bound by 30, but asks for one here
    ("count(DISTINCT f)", "count(DISTINCT f.id)"),
)


@dataclass(frozen=True)
class Question:
    """One question. ``exact``: how many of its columns, the first ones, are compared as they are; floats come after."""

    name: str
    group: str
    title: str
    exact: int
    texts: Mapping[str, str]

    def text(self, engine: str, values: Mapping[str, Value]) -> str:
        """Return the text that an engine runs, with the values in it."""
        dialect = {"qengine": "cypher", "duckdb": "sql", "kuzu": "kuzu"}[engine]
        return fill(self.texts[dialect], values, dialect).strip()


def questions() -> Iterator[Question]:
    """Yield all questions, group by group."""
    for group in GROUPS:
        for name, entry in tomllib.loads((_QUESTIONS / f"{group}.toml").read_text()).items():
            texts = {key: entry[key] for key in ("cypher", "sql")}
            texts["kuzu"] = entry.get("kuzu") or _kuzu(entry["cypher"])
            yield Question(name, group, entry["title"], entry.get("exact", ALL_COLUMNS), texts)


def _kuzu(cypher: str) -> str:
    """Write Cypher as Kùzu wants it, where words alone differ."""
    for ours, theirs in _KUZU:
        cypher = cypher.replace(ours, theirs)
    return _DATE_PARTS.sub(r"date_part('\2', \1)", cypher)

"""Statements that others wrote: of the corpus and of the openCypher TCK, each on a small graph made for it.

Their texts are not the project's to keep, so that files name them by their places and hold checksums alone.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from functools import cache

from qengine import Graph
from qengine.errors import QengineError
from qengine.syntax import parse
from qengine.testing import data
from qengine.testing.statement_graph import StatementGraph, graph_for

_ONE_IN = {"corpus": 40, "tck": 6}
_NO_QUERY = re.compile(r"\b(CREATE|MERGE|SET|DELETE|REMOVE|CALL|LOAD|DROP|FOREACH|EXPLAIN|PROFILE)\b", re.IGNORECASE)


def read_statements(source: str) -> Iterator[tuple[str, str, StatementGraph]]:
    """Yield name, text, and the graph that is made for it, of some of the statements of ``corpus`` or ``tck``.

    Those that would change the graph or show plans are left out.
    """
    for place in range(0, len(_texts(source)), _ONE_IN[source]):
        text = _texts(source)[place]
        if _NO_QUERY.search(text) is None and (made := _made(source, place)) is not None:
            yield f"{source} {place}", text, made


def graph_of(name: str) -> Graph:
    """Return the graph of a statement."""
    source, place = name.split()
    made = _made(source, int(place))
    assert made is not None
    return Graph(made.store())


@cache
def _texts(source: str) -> Sequence[str]:
    if source == "corpus":
        with gzip.open(data.corpus(), "rt", encoding="utf-8") as lines:
            return [json.loads(line)["query"] for line in lines]
    root = data.shared_root()
    assert root is not None
    scenarios = json.loads((root / "tck" / "scenarios.json").read_text())
    steps = (step for scenario in scenarios for step in scenario["steps"] if step["kind"] == "query")
    return list(dict.fromkeys(step["query"] for step in steps))


@cache
def _made(source: str, place: int) -> StatementGraph | None:
    """Return the graph for a statement; None where it is none of the language, or several."""
    try:
        statements = parse(_texts(source)[place])
    except QengineError:
        return None
    return graph_for(statements[0], place) if len(statements) == 1 else None

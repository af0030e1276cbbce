"""The rows, and the table of what the engines have shown."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.bench.report import markdown as table

ROWS = {
    "schema_first": "a schema before the data",
    "pandas_in": "pandas in",
    "polars_in": "polars in",
    "arrow_in": "Arrow in",
    "arrow_out": "Arrow out",
    "parquet_in": "Parquet files in",
    "parameters": "parameters",
    "python_functions": "functions written in Python",
    "notebook_cells": "cells in notebooks",
    "picture": "picture of a result",
    "plan": "the query's plan",
    "stopped_by_time": "a query stopped by time",
    "stopped_by_thread": "a query stopped from another thread",
    "stopped_by_memory": "a query stopped by memory",
    "rollback": "transactions",
    "durable": "kept in a folder or file",
    "unique": "unique keys enforced",
    "different_relationships": "what may repeat in a match",
    "shortest_path": "shortest paths in the language",
    "triangle": "triangles in the language",
    "window_functions": "window functions",
    "algorithms": "algorithms such as PageRank",
    "search": "full-text and vector search",
    "estimates": "estimates with intervals",
    "typo": "a mistyped name is told",
}
ENGINES = {
    "qengine": ("qengine", "ours", "Qengine"),
    "Kùzu": ("kuzu", "kuzu_peer", "Kuzu"),
    "DuckDB": ("duckdb", "duckdb_peer", "DuckDB"),
    "networkx": ("networkx", "networkx_peer", "NetworkX"),
    "GFQL": ("graphistry", "gfql_peer", "Gfql"),
    "Neo4j driver": ("neo4j", "neo4j_peer", "Neo4j"),
}
"""By name: what is imported, the module of this package, its class."""


@dataclass(frozen=True)
class Cell:
    """What an engine has shown; ``is_run``: whether it was tried here."""

    text: str
    is_run: bool

    def __str__(self) -> str:
        return self.text if self.is_run else f"*{self.text}*"


def is_installed(engine: str) -> bool:
    """Return whether the engine can be tried."""
    return importlib.util.find_spec(ENGINES[engine][0]) is not None


def cells(engine: str) -> dict[str, Cell]:
    """Try every row on an engine.

    Each row is a method of its class, which returns a bool or a text, or an entry of its ``told``: what can't be run.
    """
    _, module, name = ENGINES[engine]
    peer: Any = getattr(importlib.import_module(f"{__package__}.{module}"), name)()
    found = {}
    for row in ROWS:
        if row in peer.told:
            assert not hasattr(peer, row), row
            found[row] = Cell(peer.told[row], False)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = getattr(peer, row)()
        found[row] = Cell({True: "yes", False: "no"}.get(answer, answer), True)
    return found


def markdown(found: Mapping[str, Mapping[str, Cell]]) -> str:
    """Return the table of what the engines have shown."""
    rows = [[title, *(str(found[engine][row]) for engine in found)] for row, title in ROWS.items()]
    return table(["tried", *found], rows)


def fails(act: Any, *arguments: Any) -> bool:
    """Return whether a call raises."""
    try:
        act(*arguments)
    except Exception:
        return True
    return False


def fails_by(word: str, act: Any, *arguments: Any) -> bool:
    """Return whether a call raises an error whose class or message has this word."""
    try:
        act(*arguments)
    except Exception as error:
        return word in f"{type(error).__name__}: {error}".lower()
    return False


def ids(rows: Iterable[Any]) -> list[int]:
    """Return the numbers in the first column, in order."""
    return sorted(int(row[0]) for row in rows)

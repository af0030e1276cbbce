"""Keyword options of the methods that load tables, as users give them and as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TypeAlias, TypedDict

from qengine._frozen import frozen

Source: TypeAlias = str | PathLike[str]
Files: TypeAlias = Source | Sequence[Source] | Mapping[str, Source | Sequence[Source]] | None
"""One file, several, or files by labels or type."""


class NamingKeywords(TypedDict, total=False):
    """The keywords of ``Graph.from_networkx``, ``from_igraph`` and ``from_rustworkx``."""

    type: str
    label: str | None
    types: str | None
    labels: str | None
    key: str | None


class TableFileKeywords(TypedDict, total=False):
    """The keywords of ``Graph.from_parquet`` and ``Graph.from_jsonl``."""

    key: str | None
    undirected: Iterable[str]
    nodes: Files
    relationships: Files
    id: str | None
    labels: str | None
    start: str | None
    end: str | None
    type: str | None
    memory_limit: int | str | None
    spill_directory: Source | None


class TextFileKeywords(TableFileKeywords, total=False):
    """The keywords of ``Graph.from_csv``."""

    delimiter: str
    array_delimiter: str
    quote: str
    null: str | Sequence[str] | None
    types: Mapping[str, str] | None


@frozen
class TableFileOptions:
    """What ``Graph.from_parquet`` was asked for."""

    key: str | None = None
    undirected: Iterable[str] = ()
    nodes: Files = None
    relationships: Files = None
    id: str | None = None
    labels: str | None = None
    start: str | None = None
    end: str | None = None
    type: str | None = None
    memory_limit: int | str | None = None
    spill_directory: Source | None = None

    @property
    def maps_columns(self) -> bool:
        """Whether files or columns are named that say what a folder's names would."""
        named = (self.nodes, self.relationships, self.id, self.labels, self.start, self.end, self.type)
        return any(each is not None for each in named)


@frozen
class TextFileOptions(TableFileOptions):
    """What ``Graph.from_csv`` was asked for."""

    delimiter: str = ","
    array_delimiter: str = ";"
    quote: str = '"'
    null: str | Sequence[str] | None = None
    types: Mapping[str, str] | None = None

    @property
    def nulls(self) -> tuple[str, ...]:
        """The words that mean null."""
        return () if self.null is None else (self.null,) if isinstance(self.null, str) else tuple(self.null)

"""Tables in files that are read batch by batch, as often as is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from qengine._cached import cached_property
from qengine.errors import StorageError
from qengine.storage.given import arrow_table, first_line, own_columns
from qengine.storage.normal import check_array, normal_array


@dataclass
class Source:
    """A table in a file.

    Attributes
    ----------
    place
        What errors call it.
    schema
        Its columns.
    rows
        How many it has.
    read
        Called with names of columns and a number of rows; yields record batches of about so many.
    widths
        Bytes that a row takes in each column, about.
    """

    place: str
    schema: Any
    rows: int
    read: Callable[[Sequence[str], int], Iterator[Any]]
    widths: Mapping[str, float]

    def __post_init__(self) -> None:
        arrow_table(self.empty, self.place)

    @property
    def empty(self) -> Any:
        """A table without rows."""
        return self.schema.empty_table()

    @cached_property
    def kinds(self) -> dict[str, Any]:
        """The types that the engine keeps the columns in."""
        return {name: normal_array(self.empty[name], self._column(name, 0)).type for name in self.schema.names}

    def batches(self, names: Sequence[str], rows: int) -> Iterator[tuple[int, Any]]:
        """Yield the number of the first row of a batch, and the batch with normal columns of these names.

        Raises
        ------
        StorageError
            For values that can't be read, or can't be properties.
        """
        first = 0
        for batch in self.read(names, rows):
            columns = []
            for name in names:
                place = self._column(name, first)
                check_array(batch.column(name), place)
                columns.append(normal_array(batch.column(name), place))
            yield first, pa.record_batch(columns, list(names))
            first += batch.num_rows

    def _column(self, name: str, first: int) -> str:
        """Return what errors call a column; they count rows from the first of the batch."""
        return f"{self.place}, column {name}" + (f", from row {first:,} on" if first else "")


def parquet_source(path: Path) -> Source:
    """Return a Parquet file's table.

    Raises
    ------
    StorageError
        If it can't be read.
    """
    import pyarrow.parquet as pq

    def opened() -> Any:
        return pq.ParquetFile(path, pre_buffer=False, memory_map=True)

    def read(names: Sequence[str], rows: int) -> Iterator[Any]:
        try:
            with opened() as file:
                yield from file.iter_batches(rows, columns=list(names), use_threads=False)
        except MemoryError:
            raise
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise _unreadable(path, error) from None

    try:
        with opened() as file:
            schema, rows, metadata = file.schema_arrow, file.metadata.num_rows, file.metadata
            widths = _widths(metadata, schema)
            schema = pa.schema([schema.field(place) for place in own_columns(schema)], schema.metadata)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from None
    return Source(str(path), schema, rows, read, widths)


def _widths(metadata: Any, schema: Any) -> dict[str, float]:
    """Return about how many bytes a row takes in each column: as in the file, and no less than numbers take."""
    found = dict.fromkeys(schema.names, 0.0)
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            column = group.column(place)
            name = column.path_in_schema.partition(".")[0]
            found[name] = found.get(name, 0.0) + column.total_uncompressed_size
    return {name: max(size / max(metadata.num_rows, 1), 8.0) for name, size in found.items()}


def _unreadable(path: Path, error: Exception) -> StorageError:
    return StorageError(
        f"{path}: it is no readable Parquet file: {first_line(error)}", hint="It may be damaged or cut off."
    )

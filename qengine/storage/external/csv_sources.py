"""CSV files as tables that are read batch by batch: read with types once, into a file of record batches.

Types are those that ``csvfile`` finds when it reads a file at once. Each column begins with the type of the file's
first block; where a later field isn't of it, with the next that Arrow tries, from the file's beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from qengine.errors import LoadingWarning
from qengine.storage.csv_mistakes import check_separator, no_text, tell_nameless, tell_names, tell_texts, unreadable
from qengine.storage.csvfile import CsvForm, block_size, check_end, convert_options
from qengine.storage.csvtypes import as_written, doubtful_columns
from qengine.storage.external.scratch import Scratch, mapped
from qengine.storage.external.sources import Source

_KINDS = (
    pa.null(), pa.int64(), pa.bool_(), pa.date32(), pa.time32("s"), pa.timestamp("s"), pa.timestamp("s", "UTC"),
    pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.float64(), pa.string(),
)  # fmt: skip
"""In the order in which Arrow tries them."""
_PLACE = re.compile(r"In CSV column #(\d+): ")
_LARGEST_BLOCK = 1 << 30
_USUAL = CsvForm()


def csv_source(path: Path, told: list[LoadingWarning], scratch: Scratch) -> Source:
    """Return a CSV file's table; parameters and errors as for ``csvfile.read_csv``.

    Parameters
    ----------
    scratch
        Where the table stands.
    """
    names = _names(path, told)
    kinds = _kinds(path, names)
    check_separator(path, list(kinds), _USUAL.delimiter)
    file = scratch.file()
    rows, last = 0, None
    doubtful = set(_doubtful(path, kinds))
    texts = _changed(path, kinds, doubtful, told)
    kinds |= texts
    schema = pa.schema(list(kinds.items()))
    sizes = dict.fromkeys(kinds, 0)
    try:
        with pa.ipc.new_file(file, schema) as writer:
            for batch in _batches(path, kinds, names):
                batch = _in_zones(batch, schema)
                writer.write_batch(batch)
                rows += batch.num_rows
                last = batch if batch.num_rows else last
                sizes = {name: size + batch.column(name).nbytes for name, size in sizes.items()}
        file.flush()
    except OSError as error:
        if isinstance(error, pa.ArrowException):
            raise
        raise scratch.failed(error) from None
    if last is not None:
        check_end(path, pa.Table.from_batches([last]), _USUAL.quote)
    with file:
        data = mapped(file)
    with pa.ipc.open_file(data) as reader:
        tell_texts(path, reader.read_all(), told)

    def read(names: Sequence[str], most: int) -> Iterator[Any]:
        with pa.ipc.open_file(data) as reader:
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number).select(list(names))
                for first in range(0, batch.num_rows, most):
                    yield batch.slice(first, most)

    return Source(str(path), schema, rows, read, {name: max(size / max(rows, 1), 8.0) for name, size in sizes.items()})


def _names(path: Path, told: list[LoadingWarning]) -> list[str]:
    """Return the names of the columns that have one; none where all have, which are all that are read."""
    header = next(_batches(path, {})).schema.names
    tell_names(path, header, told)
    if "" not in header:
        return []
    if any(batch.column(0).null_count < batch.num_rows for batch in _batches(path, {"": pa.string()}, [""])):
        tell_nameless(path, header, told)
    return [name for name in header if name]


def _kinds(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Return the type of each column: the first that holds all of its fields."""
    kinds: dict[str, Any] = {}
    while True:
        try:
            for batch in _batches(path, kinds, names):
                kinds = kinds or dict(zip(batch.schema.names, batch.schema.types, strict=True))
        except _Unfit as unfit:
            kinds = unfit.kinds | {unfit.name: _next(path, unfit.kinds[unfit.name])}
        else:
            return kinds


def _next(path: Path, kind: Any) -> Any:
    place = _KINDS.index(kind) + 1 if kind in _KINDS else len(_KINDS)
    if place == len(_KINDS):
        raise no_text(path)
    return _KINDS[place]


class _Unfit(Exception):
    """A field isn't of its column's type."""

    def __init__(self, name: str, kinds: dict[str, Any]) -> None:
        self.name, self.kinds = name, kinds


def _batches(path: Path, kinds: Mapping[str, Any], only: Sequence[str] = ()) -> Iterator[Any]:
    """Yield a file's record batches, of the types given, else of those of its first block; at least one batch.

    Raises
    ------
    _Unfit
        For a field that isn't of its column's type.
    StorageError
        For a file that can't be read.
    """
    from pyarrow import csv

    size = block_size(path)
    found = dict(kinds)
    done = 0
    while True:
        try:
            options = convert_options(_USUAL, only, found)
            read = csv.ReadOptions(use_threads=False, block_size=size)
            with csv.open_csv(path, read, csv.ParseOptions(newlines_in_values=True), options) as reader:
                names = reader.schema.names
                found = found or dict(zip(names, reader.schema.types, strict=True))
                rows = 0
                for batch in reader:
                    if rows >= done:
                        yield batch
                    rows += batch.num_rows
                    done = max(done, rows)
                if not rows:
                    yield pa.record_batch([pa.array([], kind) for kind in reader.schema.types], names)
                return
        except UnicodeDecodeError:
            raise no_text(path) from None
        except (pa.ArrowException, OSError) as error:
            if "straddling" in str(error) and size < _LARGEST_BLOCK and not done:
                size = min(4 * size, _LARGEST_BLOCK)
                continue
            place = _PLACE.match(str(error))
            if place is None or not found:
                raise unreadable(path, error) from None
            name = [each for each in found if not only or each in only][int(place[1])]
            raise _Unfit(name, found) from None


def _doubtful(path: Path, kinds: Mapping[str, Any]) -> Iterator[str]:
    """Yield the columns whose text must be seen."""
    moments = [name for name, kind in kinds.items() if pa.types.is_timestamp(kind)]
    yield from doubtful_columns(path, pa.table({name: pa.array([], kind) for name, kind in kinds.items()}))
    if moments:
        for batch in _batches(path, kinds, moments):
            yield from doubtful_columns(path, pa.Table.from_batches([batch]))


def _changed(path: Path, kinds: Mapping[str, Any], doubtful: set[str], told: list[LoadingWarning]) -> dict[str, Any]:
    """Return the types of columns that aren't those that were found: text, or moments with an offset."""
    names = [name for name in kinds if name in doubtful]
    seen: dict[str, set[Any]] = {name: set() for name in names}
    if not names:
        return {}
    warned: dict[str, LoadingWarning] = {}
    texts = dict.fromkeys(names, pa.string())
    first = 0
    for values, text in zip(_batches(path, kinds, names), _batches(path, texts, names), strict=True):
        columns = dict(zip(names, text.columns, strict=True))
        for name in names:
            told_here: list[LoadingWarning] = []
            one, other = pa.table({name: values.column(name)}), {name: pa.chunked_array([columns[name]])}
            found = as_written(path, one, other, told_here, first)[name]
            if found.null_count < len(found) or found.type == pa.string():
                seen[name].add(found.type)
            for warning in told_here:
                warned.setdefault(name, warning)
        first += values.num_rows
    told += warned.values()
    return {
        name: found.pop() if len(found) == 1 else pa.string() for name, found in seen.items() if found - {kinds[name]}
    }


def _in_zones(batch: Any, schema: Any) -> Any:
    """Return a batch whose moments have the offset that all of them are written with."""
    if batch.schema.equals(schema):
        return batch
    columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.record_batch(columns, schema=schema)

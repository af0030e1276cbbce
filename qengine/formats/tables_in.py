"""Graphs from files of tables: which files hold what, by their names, their headers, or by what the caller says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from qengine._frozen import frozen, replace
from qengine._nearest import nearest
from qengine.errors import LoadingWarning, StorageError
from qengine.exec.limits import number_of_bytes
from qengine.formats.admin import IMPORT_HEADER, AdminTable, Column, add_table, columns_of
from qengine.formats.csv_text import check_form, first_record, read_inferred, read_texts
from qengine.formats.options import Files, Source, TableFileOptions, TextFileOptions
from qengine.formats.parts import Builder
from qengine.storage import from_csv as plain_csv
from qengine.storage import from_parquet as plain_parquet
from qengine.storage.csv_mistakes import lines
from qengine.storage.external import Budget, Scratch
from qengine.storage.files import Within, read_parquet, undirected_types, warn_of
from qengine.storage.given import end_columns, given_path, key_column, labels_of
from qengine.storage.memory import within_memory
from qengine.storage.store import GraphStore

_NODES, _RELATIONSHIPS = "nodes_", "rels_"
_SETTINGS = "graph.toml"
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_LOCAL_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+$"
_NO_TEXT_OPTIONS = TextFileOptions()
_HINT = 'Give a file, a list of files, or {"Person": files}.'


@frozen
class _Given:
    """Files of one table: what their names or the caller say of it; ``for_nodes``: None where nobody does."""

    paths: tuple[Path, ...]
    names: tuple[str, ...]
    for_nodes: bool | None
    explicit: bool


@within_memory
def from_csv(source: Source | Sequence[Source] | None, options: TextFileOptions) -> GraphStore:
    """Load CSV files, as ``Graph.from_csv`` says."""
    check_form(options)
    files = _files(source, "csv", options)
    headers = {path: first_record(path, options) for given in files for path in given.paths}
    imported = {path for path, names in headers.items() if any(map(IMPORT_HEADER.fullmatch, names))}
    if not imported and source is not None and options == replace(_NO_TEXT_OPTIONS, **_kept(options)):
        return plain_csv(source, key=options.key, undirected=options.undirected, within=_within(options))
    refuse_limit(options)
    told: list[LoadingWarning] = []
    builder = Builder()
    for given in _with_headers(files, headers, imported):
        if given.paths[0] in imported:
            found = columns_of(headers[given.paths[0]], options.types or {}, str(given.paths[0]))
            for number, path in enumerate(given.paths):
                table = read_texts(path, options, len(found), skip=number == 0 or path in imported)
                if table.num_rows or len(given.paths) == 1:
                    _add(builder, AdminTable(str(path), table, found, given.names, options.array_delimiter), given)
        else:
            for path in given.paths:
                table = read_inferred(path, options, told)
                _add(builder, _mapped(path, table, given, options, options.types or {}), given)
    store = builder.store({*options.undirected, *_undirected(source)})
    _tell_types(options.types or {}, {name.partition(":")[0] for names in headers.values() for name in names}, told)
    warn_of(told)
    return store


def _tell_types(types: Mapping[str, str], names: set[str], told: list[LoadingWarning]) -> None:
    """Warn of types that are given for columns that no file has."""
    for name in types:
        if name not in names:
            meant = nearest(name, names)
            hint = f"They are {', '.join(map(repr, sorted(names)))}." if meant is None else f"Did you mean {meant!r}?"
            told.append(LoadingWarning(f"types: no file has a column {name}", hint=hint))


@within_memory
def from_parquet(source: Source | Sequence[Source] | None, options: TableFileOptions) -> GraphStore:
    """Load Parquet files, as ``Graph.from_parquet`` says."""
    import pyarrow.parquet as pq

    files = _files(source, "parquet", options)

    def has_import_header(path: Path) -> bool:
        try:
            return any(map(IMPORT_HEADER.fullmatch, pq.read_schema(path).names))
        except (OSError, ValueError):  # which reading it tells better
            return False

    imported = any(has_import_header(path) for given in files for path in given.paths)
    if source is not None and not options.maps_columns and not imported:
        return plain_parquet(source, key=options.key, undirected=options.undirected, within=_within(options))
    refuse_limit(options)
    return _from_typed(source, files, options, read_parquet)


@within_memory
def from_json_tables(source: Source | Sequence[Source] | None, options: TableFileOptions) -> GraphStore:
    """Load JSON lines that are rows of tables, as ``Graph.from_jsonl`` says."""
    refuse_limit(options)
    return _from_typed(source, _files(source, "jsonl", options), options, _read_json)


def _kept(options: TableFileOptions) -> dict[str, Any]:
    """Return the options that go along with files that are known by their names alone."""
    names = ("key", "undirected", "memory_limit", "spill_directory")
    return {name: getattr(options, name) for name in names}


def _within(options: TableFileOptions) -> Within | None:
    """Return what may be in memory, and where the rest stands; None where there is no limit."""
    limit = number_of_bytes("memory_limit", options.memory_limit)
    return None if limit is None else (Budget(limit), Scratch(options.spill_directory))


def refuse_limit(options: TableFileOptions) -> None:
    """Raise a ``StorageError`` where there is a limit, which only some files can be loaded within."""
    if options.memory_limit is not None:
        raise StorageError(
            "memory_limit is for files that are known by their names",
            hint="Name them nodes_<Label> and rels_<Start>_<TYPE>_<End>, with columns as for Graph.from_arrow.",
        )


def _from_typed(
    source: Source | Sequence[Source] | None,
    files: Sequence[_Given],
    options: TableFileOptions,
    read: Callable[[Path, list[LoadingWarning]], Any],
) -> GraphStore:
    """Load tables that have types."""
    builder = Builder()
    for given in files:
        for path in given.paths:
            table = read(path, [])
            if any(map(IMPORT_HEADER.fullmatch, table.column_names)):
                columns = columns_of(table.column_names, None, str(path))
                _add(builder, AdminTable(str(path), table, columns, given.names), given)
            else:
                _add(builder, _mapped(path, table, given, options, {}), given)
    return builder.store({*options.undirected, *_undirected(source)})


def _add(builder: Builder, table: AdminTable, given: _Given) -> None:
    """Add a table; names of files tell labels and types only where no column does."""
    if not given.explicit and (table.find("LABEL"), table.find("TYPE")) != (None, None):
        table = AdminTable(table.place, table.table, table.columns, (), table.array_delimiter)
    add_table(builder, table)


def _mapped(path: Path, table: Any, given: _Given, options: TableFileOptions, types: Mapping[str, str]) -> AdminTable:
    """Return a table whose columns have roles by the caller's words, or by their names."""
    names, place = table.column_names, str(path)
    for wanted in (options.id or options.key, options.labels) if given.for_nodes else (options.start, options.end):
        if wanted is not None and wanted not in names:
            raise StorageError(f"{place}: there is no column {wanted}", hint=f"It has {', '.join(names)}.")
    is_node = given.for_nodes
    if is_node is None:
        raise StorageError(f"{place}: nothing says whether it holds nodes or relationships",
                           hint="Give it as nodes= or relationships=.")  # fmt: skip
    roles: dict[str, str] = {}
    if is_node:
        roles[key_column(table, options.id or options.key, place)] = "ID"
        if options.labels is not None:
            roles[options.labels] = "LABEL"
    else:
        start, end = options.start, options.end
        if start is None or end is None:
            found = end_columns(table, place)
            start, end = start or found[0], end or found[1]
        roles |= {start: "START_ID", end: "END_ID"}
        if options.type is not None and options.type in names:
            roles[options.type] = "TYPE"
    columns = [Column(roles.get(name, ""), name, types.get(name, ""), "", {}) for name in names]
    return AdminTable(place, table, columns, given.names)


def _files(source: Source | Sequence[Source] | None, suffix: str, options: TableFileOptions) -> list[_Given]:
    """Return the files that are given, with what is known of each."""
    if source is None and options.nodes is None and options.relationships is None:
        raise StorageError("No files are given", hint=f"Give a folder, or nodes= and relationships=. {_HINT}")
    found = [] if source is None else [_named(path) for path in _of_source(source, suffix)]
    return [*found, *_by_name(options.nodes, True), *_by_name(options.relationships, False)]


def _of_source(source: Any, suffix: str) -> list[Path]:
    """Return the files that are given by a folder or in a list; never none."""
    if not isinstance(source, str) and isinstance(source, Iterable):
        return _existing(given_path(each, _HINT) for each in source)
    path = given_path(source, _HINT)
    if not path.is_dir():
        return _existing([path])
    try:
        found = sorted(each for each in path.iterdir() if each.suffix == f".{suffix}")
    except OSError as error:
        raise StorageError(f"{path} can't be read: {error.strerror}", hint=_HINT) from None
    if not found:
        raise StorageError(f"{path}: no file in it ends with .{suffix}", hint=_HINT)
    return found


def _existing(paths: Iterable[Path], label: str = "") -> list[Path]:
    """Return files that are given, of which there must be some, and each must be there."""
    found = list(paths)
    if not found:
        raise StorageError("No files are given" + f" for {label}" * bool(label), hint=_HINT)
    if missing := [path for path in found if not path.is_file()]:
        raise StorageError(f"{missing[0]}: there is no such file", hint=_HINT)
    return found


def _named(path: Path) -> _Given:
    """Return what a file's name says of it."""
    if path.name.startswith(_NODES):
        return _Given((path,), labels_of(path.stem.removeprefix(_NODES)), True, False)
    if path.name.startswith(_RELATIONSHIPS):
        return _Given((path,), (path.stem.removeprefix(_RELATIONSHIPS),), False, False)
    return _Given((path,), (), None, False)


def _by_name(files: Files, for_nodes: bool) -> Iterable[_Given]:
    """Yield the files that a keyword gives."""
    if files is None:
        return
    named = files if isinstance(files, Mapping) else {"": files}
    for name, paths in named.items():
        several = [paths] if isinstance(paths, str) or not isinstance(paths, Iterable) else list(paths)
        found = tuple(_existing((given_path(each, _HINT) for each in several), name))
        yield _Given(found, labels_of(name) if for_nodes else (name,) if name else (), for_nodes, True)


def _with_headers(
    files: Sequence[_Given], headers: Mapping[Path, Sequence[str]], imported: set[Path]
) -> Iterable[_Given]:
    """Yield the tables, each with the file that has its header first where that is a file of its own."""
    alone = [each for each in files if not each.explicit]
    heads = [each for each in alone if each.paths[0] in imported]
    rest = {each.paths[0]: each for each in alone if each.paths[0] not in imported}
    for given in files:
        if given.explicit or given.paths[0] in imported:
            paths = list(given.paths)
            if not given.explicit:
                paths += [path for path in rest if _header_of(path, heads, alone) is given]
            yield _Given(tuple(paths), given.names, given.for_nodes, given.explicit)
        elif _header_of(given.paths[0], heads, alone) is None:
            yield given


def _header_of(path: Path, heads: Sequence[_Given], order: Sequence[_Given]) -> _Given | None:
    """Return the header's file of a file without: by its name, ``movies-header.csv`` for ``movies-part1.csv``."""
    fitting = []
    for head in heads:
        stem = head.paths[0].stem.lower().removesuffix("header").rstrip("-_. ")
        name = path.stem.lower()
        if stem != head.paths[0].stem.lower() and name.startswith(stem) and not name[len(stem) :][:1].isalnum():
            fitting.append((len(stem), head))
    return max(fitting, key=lambda each: each[0])[1] if fitting else None


def _undirected(source: Any) -> list[str]:
    if (not isinstance(source, str) and isinstance(source, Iterable)) or source is None:
        return []
    settings = Path(source) / _SETTINGS
    return undirected_types(settings if settings.is_file() else None)


def _read_json(path: Path, told: list[LoadingWarning]) -> Any:
    import pyarrow as pa
    from pyarrow import json

    try:
        table = json.read_json(path)
        guessed = [pa.field(each.name, pa.string()) for each in table.schema if pa.types.is_timestamp(each.type)]
        if guessed:
            texts = json.read_json(path, parse_options=json.ParseOptions(explicit_schema=pa.schema(guessed)))
            for field in guessed:
                place = table.column_names.index(field.name)
                table = table.set_column(place, field.name, _days(texts[field.name], table.column(place)))
        return table
    except (pa.ArrowException, OSError) as error:
        hint = "Each line is an object with the row's values."
        if isinstance(error, pa.ArrowInvalid) and next(lines(path), b"").lstrip()[:1] == b"[":
            hint += " One array of them is for Graph.from_records, or as pandas.read_json(…) for Graph.from_arrow."
        raise StorageError(f"{path}: it is no readable file of JSON lines: {error}", hint=hint) from None


def _days(texts: Any, moments: Any) -> Any:
    """Return texts that Arrow takes for moments as what they are written as: all days, all local moments, or texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pc.all(pc.match_substring_regex(texts, _DAY)).as_py():
        return texts.cast(pa.date32())
    return moments if pc.all(pc.match_substring_regex(texts, _LOCAL_MOMENT)).as_py() else texts

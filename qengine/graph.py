"""The public API: a graph to load, save and query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Unpack, cast

from qengine._arguments import tells_arguments
from qengine._closed import Closed
from qengine._elsewhere import TellsConstructors, no_attribute
from qengine._frozen import replace
from qengine._printable import in_markup
from qengine.appending import Appending
from qengine.estimating import Estimating
from qengine.exec.scalar.import_roots import folder, folders_by_prefix
from qengine.functions import Registering
from qengine.importing import Importing
from qengine.options import LimitKeywords, Limits, with_options
from qengine.prepared import Prepared
from qengine.remote.places import RemotePath, place_of
from qengine.result import Result
from qengine.statements import Cardinalities

if TYPE_CHECKING:
    from qengine.exec.context import ExecutionContext
    from qengine.explain import Explanation
    from qengine.learned import Learned
    from qengine.statements import Statements
    from qengine.storage.saved import Verify
    from qengine.storage.schema import Schema
    from qengine.storage.states import Commit
    from qengine.storage.statistics import Statistics
    from qengine.storage.store import GraphStore
    from qengine.transaction import Transaction
    from qengine.views import GraphView
    from qengine.write.log import Durability
    from qengine.write.open_folder import OpenFolder

Source = str | PathLike[str]
Place = Source | RemotePath
_LARGE = 1 << 22  # bytes of a graph whose loading frees memory worth giving back


@tells_arguments
class Graph(Importing, Registering, Appending, Estimating, metaclass=TellsConstructors):
    """A property graph in memory (or mapped from files), ready for queries.

    ``Graph()`` is empty, and so is ``Graph(import_directory=folder)``, with a folder that ``LOAD CSV`` may read;
    ``open`` and the ``from_`` constructors make one of what there is. Any number of threads may query it at a time. A
    query sees the graph as it is when it begins, to its last row: what statements change makes a new version. One that
    was opened keeps each change in its folder; others are in memory alone. ``with`` closes it at the end of the block.
    """

    _view: GraphView

    def __init__(
        self,
        store: GraphStore | None = None,
        *others: Any,
        import_directory: Source | None = None,
        **named: Any,
    ) -> None:
        if others or named or not (store is None or hasattr(store, "relationship_types")):
            raise TypeError(
                "Graph() is empty. Others are made by Graph.from_csv, from_parquet, from_arrow, from_records, "
                "from_edge_list or from_graph_file; a saved one is opened with qengine.open(path)."
            )
        if store is None:
            from qengine import storage

            store = storage.from_records([])
        from qengine.views import GraphView
        from qengine.write.versions import Versions

        self._view = GraphView(Versions(store))
        self.import_directory = import_directory

    @property
    def _store(self) -> GraphStore:
        """The latest version."""
        return self._view.store

    @property
    def _statements(self) -> Statements:
        """Those of the latest version."""
        return self._view.current()

    # ------------------------------------------------------------ loading and saving

    @classmethod
    def _loaded(cls, store: GraphStore) -> Graph:
        """Wrap what a loader made; what it has freed goes back to the system where that is worth the while."""
        from qengine.storage.kernels import trim_heap

        if store.nbytes > _LARGE:
            trim_heap()
        return cls(store)

    @classmethod
    def from_records(
        cls,
        nodes: Iterable[Mapping[str, Any]],
        relationships: Iterable[Mapping[str, Any]] = (),
        *,
        undirected: Iterable[str] = (),
    ) -> Graph:
        """Load a small graph from Python values.

        Parameters
        ----------
        nodes
            Mappings with ``id`` (any hashable; left out: the row number), ``labels`` (a name or several),
            ``properties``.
        relationships
            Mappings with ``type``, ``start`` and ``end`` (ids of nodes), ``properties``.
        undirected
            Names of the types that have no direction.

        Raises
        ------
        StorageError
            For an id that two nodes have or that no node has, an entry that is missing or that is none of these, a
            value that can't be a property, as an integer of more than 64 bits; with row.
        """
        from qengine import storage

        return cls._loaded(storage.from_records(nodes, relationships, undirected=undirected))

    @classmethod
    def from_arrow(
        cls,
        nodes: Any,
        relationships: Any = (),
        *,
        key: str | None = None,
        label_column: str | None = None,
        type_column: str | None = None,
        undirected: Iterable[str] = (),
    ) -> Graph:
        """Load a graph from tables: anything with ``__arrow_c_stream__`` (pyarrow, pandas, polars, DuckDB).

        Parameters
        ----------
        nodes
            ``{labels: table}`` or a list of ``(labels, table)``, with labels ``"Person"``, ``":Person:Actor"``, ``""``
            or a sequence of names; or one table, whose ``label_column`` holds such labels, lists of names, or numbers
            (7 becomes ``L7``).
        relationships
            A list of ``(type, start label, end label, table)`` (label None: any node), a list of ``(type, table)``,
            ``{type: table}`` or ``{(start label, type, end label): table}``; or one table, whose ``type_column``
            holds the types (7 becomes ``E7``). Each table has the keys of the two ends in columns named start/end,
            src/dst, source/target or from/to, else in the first two. The other columns are properties.
        key
            The node tables' key column, by default ``id``, else the first. Keys are integers or strings, each once
            among the nodes of a label. The column stays a property. Unsigned integers and decimals become integers and
            floats where these hold every value.
        label_column, type_column
            Columns with labels and types, where one table holds all.
        undirected
            Names of the types that have no direction.

        Raises
        ------
        StorageError
            For an unknown or duplicate key, a missing column, a type that properties can't have, a number that neither
            64-bit integers nor floats hold; with table, column and row. For malformed tables, and arguments of another
            shape.
        """
        from qengine import storage

        return cls._loaded(
            storage.from_arrow(
                nodes,
                relationships,
                key=key,
                label_column=label_column,
                type_column=type_column,
                undirected=undirected,
            )
        )

    @classmethod
    def from_edge_list(
        cls,
        source: Any,
        *,
        type: str = "E",
        label: str | None = None,
        undirected: bool = False,
    ) -> Graph:
        """Load a graph that is nothing but edges; its nodes are their ends, with their number or string as ``id``.

        Parameters
        ----------
        source
            A text file, plain or gzipped: two integers a line, separated by blanks, tabs or commas, the rest of the
            line ignored; ``#`` and ``%`` start comment lines. Or two arrays of integers or strings of one length, or a
            table of two columns, as ``from_arrow`` takes them.
        type
            The relationships' type.
        label
            The nodes' label; None for none.
        undirected
            Whether the edges have no direction.

        Raises
        ------
        StorageError
            For a line that is no edge, with file and line; for arrays of different lengths, other tables.
        """
        from qengine import storage

        return cls._loaded(storage.from_edge_list(source, type=type, label=label, undirected=undirected))

    @classmethod
    def from_graph_file(cls, path: Source) -> Graph:
        """Load a ``t/v/e`` graph file: undirected edges between vertices with one label each.

        A vertex with label 7 gets the label ``L7`` and its number as property ``id``; an edge gets the type ``E``, one
        with a label other than 0, as 3, the type ``E3``.

        Raises
        ------
        StorageError
            For a line of another form, a vertex twice, an edge to no vertex; with file and line.

        Warns
        -----
        LoadingWarning
            Where the head tells other numbers of vertices and edges than the file has.
        """
        from qengine import storage

        return cls._loaded(storage.from_graph_file(path))

    @classmethod
    def open(
        cls,
        path: Place,
        *,
        durability: Durability = "full",
        read_only: bool = False,
        verify: Verify = "lazy",
        create: bool = False,
    ) -> Graph:
        """Open a saved graph, to read and to change it: its files are mapped, not read.

        What statements change is written to a log in the folder. The first that changes the graph locks the folder
        until ``close``: one process, and one ``Graph`` in it, writes to a folder, any number read it. They see the
        graph as it was when they opened it, until they ``refresh``.

        Nothing in the files is trusted: each array is checked, with its checksums, when a query first needs it. Don't
        write to the files, or cut them off, while the graph is open.

        Parameters
        ----------
        path
            The directory that ``save`` wrote. Or an address such as ``s3://bucket/graph``, or a ``RemotePath``: then it
            is downloaded once, to a folder of the user's cache, since only files of this machine can be mapped, and
            the graph is only read.
        durability
            When a statement or ``Transaction.commit`` that changes the graph returns. "full": once the changes are on
            the disk, so nothing that was committed is ever lost; threads that commit at the same time share a sync.
            "batched": once the system has them; if the machine crashes, the commits of the last tenth of a second may
            be lost. "none": the same, and all since the last checkpoint may be lost. If the process alone crashes
            nothing is lost, whatever the durability; and what is lost are the last commits, never a part of one.
        read_only
            Refuse whatever changes the graph with ``TransactionError``, and never lock the folder.
        verify
            "full" checks everything now. With "lazy" a damaged array raises ``StorageError`` from the query that needs
            it first, which reads all of it. "never" takes the files as they are, so that a query reads no more of them
            than it needs: for folders that nobody else writes to. What is damaged then gives wrong results or a crash.
        create
            Where there is no folder, or an empty one, save an empty graph there first. Otherwise that is an error, so
            that a wrong path isn't taken for an empty graph. Not for addresses: what is there is downloaded.

        Raises
        ------
        StorageError
            If there is none (with ``create``: but something else), one of its files is damaged, cut off or missing, or
            a newer version wrote it. From the first statement that changes the graph: if another process writes to the
            folder, or it can't be written. From any such statement: if the disk refuses; then nothing was changed, and
            the graph is only read from then on. Open it again to go on.
        """
        from qengine.storage.given import given_path
        from qengine.write.open_folder import open_folder

        if (place := place_of(path)) is not None:
            from qengine.remote.graphs import downloaded

            path, read_only, create = downloaded(place), True, False
        folder = given_path(path, "Give the folder of a saved graph.")
        found = open_folder(folder, durability, read_only=read_only, verify=verify, create=create)
        return cls._opened(*found)

    @classmethod
    def _opened(cls, store: GraphStore, commits: Sequence[Commit], folder: OpenFolder) -> Graph:
        """Wrap what ``open_folder`` gave."""
        from qengine.views import GraphView
        from qengine.write.versions import Versions

        graph = cls(store)
        graph._view = GraphView(Versions(store, folder, commits), folder)
        return graph

    def save(self, path: Place) -> None:
        """Save the graph as a directory, or at an address as for ``open``, or replace the graph that is saved there.

        It is a copy: later changes of this graph don't go there, unless it was opened from there.

        Crash-safe: until the last rename the old graph stands untouched. Readers that have the old one open keep it.
        Other files beside a saved graph stay, and nothing is deleted but what earlier saves wrote.

        Raises
        ------
        StorageError
            If the directory holds something else and no graph, can't be written, or a process has it open for writing.
        """
        from qengine import storage
        from qengine.storage.given import given_path

        if (place := place_of(path)) is not None:
            from qengine.remote.graphs import uploaded

            store = self._view.store
            uploaded(place, lambda folder: storage.save(store, folder))
            return
        directory = given_path(path, "Give a folder to save the graph in.")
        folder = self._view.folder
        if folder is not None and folder.was_written and folder.path.resolve() == directory.resolve():
            self.checkpoint()
            return
        storage.save(self._view.store, directory)  # a closed graph refuses before anything is written

    @with_options(Limits)
    def checkpoint(self, **limits: Unpack[LimitKeywords]) -> None:
        """Save the graph in the folder that it was opened from, in place of the log; readers and writers go on.

        Opening is faster after that. It happens by itself, in the background, where the log has more than 64 MB and a
        tenth of the graph's bytes; if that fails, the next change or ``close`` gives a ``StorageWarning``.

        Parameters
        ----------
        timeout
            Seconds to wait for others that write.

        Raises
        ------
        StorageError
            If the folder can't be written: then it is as before. For a graph that has none: ``save`` it.
        TransactionError
            For a graph that was opened with ``read_only=True``.
        """
        self._view.versions.checkpoint(self._view.accept(**limits))

    @with_options(Limits)
    def refresh(self, **limits: Unpack[LimitKeywords]) -> bool:
        """See what another process has committed since the graph was opened or last refreshed.

        Statements that are under way keep the version that they have.

        Parameters
        ----------
        timeout
            Seconds to wait for other threads that refresh.

        Returns
        -------
        bool
            Whether there was anything. Always False for a graph that writes itself, and for one without a folder.

        Raises
        ------
        StorageError
            If a file is damaged or gone.
        """
        return self._view.versions.refresh(self._view.accept(**limits))

    # ------------------------------------------------------------ querying

    @with_options(Limits)
    def query(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        device: str = "auto",
        cardinalities: Cardinalities | None = None,
        **limits: Unpack[LimitKeywords],
    ) -> Result:
        """Start a query and return its lazy result; carry out a statement that changes the graph, and return its rows.

        What changes the graph has taken effect when this returns: ``stats.changes`` of the result counts it. Where it
        fails, the error is raised here, and nothing of it stays. It waits for other transactions that write.

        Parameters
        ----------
        text
            One statement of the language.
        params
            Values of the ``$name`` in it; others aren't looked at.
        device
            "gpu" runs the searches of the query on the GPU, long ones on all that there are, and fails where there is
            none; "gpu:1" or "gpu:0,1" choose, by CUDA's numbers. "auto": GPUs where there are any, the query's largest
            search is large and is expected to take less there, else the CPU; ``stats`` of the result says which, and
            why. "reference" is the slow oracle that tests compare with.
        timeout
            Seconds from now on that planning and execution may take together; the time in which nobody fetches counts
            too. Planning alone may always take a tenth of a second. 0 plans the query and then raises
            ``QueryTimeout``; None is no limit.
        memory_limit
            Bytes that the query's operators may hold at once, and as many that ``fetchall``, ``to_arrow`` and the like
            may gather of its result; a number, or a text like "500MB", "4G" or "2GiB". Rows that are sorted, grouped,
            made distinct or joined and don't fit go to disk meanwhile.
        spill_directory
            Where on disk; None: the system's directory of temporary files. What a query writes is removed when it ends,
            and what a killed process left when another query first writes there.
        gpu_memory_limit
            Bytes that the query may use on the GPU: what it computes, and the lists of the graph that it reads. What
            other queries hold there is not counted. Given like ``memory_limit``.
        threads
            Worker threads; 0 for one a CPU. A count that takes long is raced by others, on as many threads again.
        cardinalities
            What the planner is to believe, before its statistics: rows of parts of the query's patterns, as
            ``{"(a:Person)-[:KNOWS]->(b)": 12.0}``. A part is found whatever its variables are called; its rows may have
            equal nodes and relationships. What isn't found comes as a notice. Or what ``estimate_all`` returned of a
            pattern; its parts are found in the same way. Or "sampled": all parts are estimated by
            sampling while the query is planned, which takes tens of milliseconds and pays for long searches.

        Raises
        ------
        QuerySyntaxError, SemanticError, Unsupported
            At once, for what is wrong with the text or the cardinalities.
        ExecutionError, OutOfMemory, QueryTimeout, QueryInterrupted
            At once where the statement changes the graph; else while the result is read.
        TransactionError
            ``NestedTransaction`` for a statement that changes the graph inside a transaction of this thread.
        DeviceError
            If the device can't be used.
        ExecutionError, QueryTimeout, QueryInterrupted, OutOfMemory
            From the result's methods; ``QueryTimeout`` at once where planning takes too long. ``OutOfMemory`` where
            what can't go to disk is too large: one value, one row, what is gathered of the result.
        ResourceError
            From the result's methods, where the disk is full or refuses.
        """
        context = self._view.accept(**limits)
        return Prepared(self._view, text, cardinalities, context).start(params, device, context)

    def prepare(self, text: str, *, cardinalities: Cardinalities | None = None) -> Prepared:
        """Parse, bind and plan a statement once, to run it often; ``cardinalities`` as for ``query``.

        Raises
        ------
        QuerySyntaxError, SemanticError, Unsupported
            For what is wrong with the text.
        """
        return Prepared(self._view, text, cardinalities)

    def script(self, text: str, params: Mapping[str, Any] | None = None, **options: Any) -> Iterator[Result]:
        """Run several statements separated by ``;`` one after the other; options as for ``query``, for each of them.

        ``interrupt`` stops the whole script: no statement of it begins any more.
        """
        return self._script(self._view.accept(timeout=options.get("timeout")), text, params, options)

    def _script(
        self, context: ExecutionContext, text: str, params: Mapping[str, Any] | None, options: Mapping[str, Any]
    ) -> Iterator[Result]:
        from qengine.planning import check_text, planning
        from qengine.syntax import parse

        check_text(text)
        with planning(text, context.check_planning):
            statements = parse(text)
        for statement in statements:
            context.check_interrupted()
            part = text[statement.span.start : statement.span.end]
            yield self.query(part, params, **options)

    @property
    def import_directory(self) -> Path | None:
        """The folder below which ``LOAD CSV`` may read, None (at first) where it may read no files.

        ``LOAD CSV FROM 'file:///x.csv'``, ``'/x.csv'`` and ``'x.csv'`` all read ``x.csv`` in it. Neither ``..`` nor
        links lead out of it. It is not saved with the graph. Set it to a folder that exists, or to None.

        Raises
        ------
        SemanticError
            ``InvalidArgumentValue`` where it is set to what is no folder.
        """
        return self._view.imports.directory

    @import_directory.setter
    def import_directory(self, path: Source | None) -> None:
        directory = None if path is None else folder("import_directory", path)
        self._view.imports = replace(self._view.imports, directory=directory)

    @property
    def import_urls(self) -> Mapping[str, Path]:
        """Folders that stand for addresses in ``LOAD CSV``, which reads nothing from the network.

        After ``graph.import_urls = {"https://example.org/data/": "folder"}`` the file of
        ``'https://example.org/data/x.csv'`` is ``x.csv`` in the folder. The longest prefix counts.

        Raises
        ------
        SemanticError
            ``InvalidArgumentValue`` where a prefix is no address that ends with ``/``, or a folder doesn't exist.
        """
        return self._view.imports.urls

    @import_urls.setter
    def import_urls(self, prefixes: Mapping[str, Source]) -> None:
        self._view.imports = replace(self._view.imports, urls=folders_by_prefix(prefixes))

    @with_options(Limits)
    def transaction(self, **limits: Unpack[LimitKeywords]) -> Transaction:
        """Begin a transaction, once those before it have ended: ``with graph.transaction() as t: t.query(…)``.

        Its statements see what those before them have done; others see it all at once, when the block ends, or
        nothing of it where the block raises an error. One transaction writes at a time, a statement alone is one of
        its own; readers are never held up.

        Parameters
        ----------
        timeout
            Seconds to wait for others that write; None: as long as it takes.

        Raises
        ------
        TransactionError
            ``NestedTransaction`` inside a transaction of this thread.
        QueryTimeout, QueryInterrupted
            While it waits.
        """
        from qengine.transaction import Transaction

        return Transaction(self._view, self._view.accept(**limits))

    def explain(self, text: str, *, device: str = "auto", cardinalities: Cardinalities | None = None) -> Explanation:
        """Return the plan of a statement; ``str()`` of it is the operator tree, ``notices`` are EXPLAIN's warnings.

        Its ``device`` and ``device_reason`` say where ``query`` with this ``device`` would run it; ``cardinalities`` as
        for ``query``.

        Raises
        ------
        DeviceError
            If the device can't be used.
        """
        return self._statements.explain(text, device=device, cardinalities=cardinalities)

    def interrupt(self) -> None:
        """Stop all statements that were given to this graph and have not ended, from any thread.

        They raise ``QueryInterrupted``: while they are planned, sampled or fetched, or once the next rows are fetched.
        What is given to the graph after this call isn't stopped. ``Result.cancel`` stops one query alone.
        """
        self._view.interrupt()

    # ------------------------------------------------------------ looking

    @property
    def schema(self) -> Schema:
        """Labels, relationship types and properties, with a readable ``repr``."""
        return self._store.schema

    @property
    def statistics(self) -> Statistics:
        """Counts, degrees and values per label and type."""
        return self._store.statistics

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels."""
        return self._store.labels

    @property
    def relationship_types(self) -> tuple[str, ...]:
        """All relationship types."""
        return self._store.relationship_types

    @property
    def property_keys(self) -> tuple[str, ...]:
        """All property keys, of nodes and of relationships."""
        return tuple(dict.fromkeys((*self._store.property_keys("node"), *self._store.property_keys("relationship"))))

    @property
    def learned(self) -> Learned:
        """What PROFILE has shown of rows of patterns, which plans believe; it tells how to switch that off."""
        self._view.current()  # forgets what the latest version has changed
        return self._view.learned

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self._store.vertex_count

    @property
    def relationship_count(self) -> int:
        """Number of relationships."""
        return self._store.relationship_count

    def release_device(self) -> None:
        """Give back what the GPU holds of the graph: its lists and what queries have derived of them.

        The next query on the GPU copies them again. Between queries a graph keeps at most 256 MB there, and four times
        its size (``nbytes``); it keeps nothing once it is deleted. What running queries use is given back when they
        end. Without a GPU nothing happens.
        """
        from qengine.exec.gpu.memory import release

        release(self._store)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays of the graph, with those that queries have made and left with it."""
        return self._store.nbytes

    # ------------------------------------------------------------ closing

    def close(self) -> None:
        """Let go of the graph's memory and files; what is asked of it from now on raises ``StorageError``.

        What was committed is on the disk then, and others may write to the folder. A graph that is dropped is closed,
        too. Results and prepared statements that there are go on to read; the memory is free once the last of them is
        dropped.

        Raises
        ------
        StorageError
            If the disk refuses commits that weren't yet on it; the graph is closed all the same.
        """
        view, self._view = self._view, cast("Any", Closed())
        if not isinstance(view, Closed):
            view.close()

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    if not TYPE_CHECKING:  # for type checkers there are no others

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute("graph", name, dir(type(self)))

    def __copy__(self) -> Graph:
        return self  # there are no others with its versions to come

    def __deepcopy__(self, memo: object) -> Graph:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("A graph isn't pickled: save it, and let the other process map it with qengine.open(path).")

    def __repr__(self) -> str:
        if isinstance(self._view, Closed):
            return "<Graph, closed>"
        return f"<Graph {self.node_count:,} nodes, {self.relationship_count:,} relationships>"

    def _repr_html_(self) -> str:
        summary = f"<p><code>{in_markup(repr(self))}</code></p>"
        return summary if isinstance(self._view, Closed) else summary + self.schema._repr_html_()

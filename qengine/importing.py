"""What graphs are made of besides tables in memory: files of many formats, scripts, graphs of other libraries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

from qengine._arguments import tells_arguments
from qengine.errors import StorageError
from qengine.formats.options import (
    NamingKeywords,
    Source,
    TableFileKeywords,
    TableFileOptions,
    TextFileKeywords,
    TextFileOptions,
)
from qengine.options import with_options
from qengine.remote.files import staged
from qengine.remote.places import place_of

if TYPE_CHECKING:
    from qengine.formats.objects_in import Naming
    from qengine.storage.store import GraphStore


@tells_arguments
class Importing:
    """Has the constructors ``from_…`` that read files and other libraries' graphs, and ``export``."""

    @classmethod
    def _loaded(cls, store: GraphStore) -> Self:
        """Wrap what a loader made."""
        raise NotImplementedError

    if TYPE_CHECKING:

        @property
        def _store(self) -> GraphStore: ...

    # ------------------------------------------------------------ tables

    @classmethod
    @with_options(TableFileOptions)
    @staged
    def from_parquet(
        cls, source: Source | Sequence[Source] | None = None, **options: Unpack[TableFileKeywords]
    ) -> Self:
        """Load a folder of Parquet files, or the files given.

        Parameters
        ----------
        source
            A folder with ``nodes_<Label>.parquet`` and ``rels_<Start>_<TYPE>_<End>.parquet``, or a list of such
            files; their columns are those of ``from_arrow``'s tables. Or a folder that ``export`` has written, or
            whose columns are called like those of neo4j-admin's import; see ``from_csv``. A ``graph.toml`` in the
            folder may declare types undirected: ``[relationships.TYPE]`` with ``undirected = true``.
        key
            The node files' key column, by default ``id``, else the first.
        undirected
            Names of the types that have no direction, beside those of ``graph.toml``.
        nodes, relationships, id, labels, start, end, type
            Files of any names and what their columns are, as for ``from_csv``.
        memory_limit
            Bytes of memory that loading may take, or a text such as ``"4G"``, for graphs that memory doesn't hold: what
            is larger is sorted in files without names, which the graph then maps instead of holding its arrays. It
            takes some 30 bytes a node beside that. For files that are known by their names alone. None: all is in
            memory.
        spill_directory
            Where these files are, with room for about three times the graph; None: the system's directory of
            temporary files.

        Raises
        ------
        StorageError
            For a missing or damaged file, and as ``from_arrow``.
        ResourceError
            ``SpillFailed`` where the spill directory is missing, full or can't be written.

        Warns
        -----
        LoadingWarning
            Of Parquet files in the folder that are not loaded, by their names.
        """
        from qengine.formats import tables_in

        return cls._loaded(tables_in.from_parquet(source, TableFileOptions(**options)))

    @classmethod
    @with_options(TextFileOptions)
    @staged
    def from_csv(cls, source: Source | Sequence[Source] | None = None, **options: Unpack[TextFileKeywords]) -> Self:
        """Load a folder of CSV files with header lines, or the files given.

        Parameters
        ----------
        source
            A folder with ``nodes_<Label>.csv`` and ``rels_<Start>_<TYPE>_<End>.csv``, or a list of such files; and
            ``graph.toml`` as for ``from_parquet``. A column gets the first of these types that holds each of its
            fields as it is written: INTEGER, BOOLEAN, DATE, LOCAL TIME, LOCAL DATETIME, DATETIME, FLOAT; else STRING.
            An empty field is null, ``""`` an empty string. So ``007``, ``+46``, integers of more than 64 bits, ``1``
            beside ``true`` and digits that no float gives again when printed are strings.

            Or files with the headers of neo4j-admin's import: ``:ID(Space)``, ``:LABEL``, ``:START_ID``, ``:END_ID``,
            ``:TYPE``, ``:IGNORE``, and properties like ``born:date`` or ``names:string[]``, strings where no type is
            given. A header may be a file of its own: before its files in a list, or ``movies-header.csv`` beside
            ``movies-part1.csv`` in a folder. So ``export`` writes CSV.
        key, undirected, memory_limit, spill_directory
            As for ``from_parquet``.
        nodes, relationships
            Files of any names: a path, a list, or paths by labels, as ``{"Person:Actor": "people.csv"}``, or types.
        id, labels
            The columns with nodes' keys (by default as ``key``) and their labels, separated by the array delimiter.
        start, end, type
            The columns with the keys of relationships' ends (by default as in ``from_arrow``), and with their types.
        delimiter, quote, array_delimiter
            What separates fields, quotes them, and separates the items of lists, one character each.
        null
            A word that means null, or a list of several, beside a field of nothing.
        types
            Types of properties by name, as headers have them: ``{"born": "date", "names": "string[]"}``.

        Raises
        ------
        StorageError
            For a file that is missing or has a name of another form, that is ragged, no UTF-8 text or ends inside
            quotes, for values that don't fit the type that is given, and as ``from_arrow``.

        Warns
        -----
        LoadingWarning
            Of columns that look like numbers or dates but stay strings, with the field that is the reason, of columns
            without a name, and of CSV files in the folder that are not loaded, by their names.
        """
        from qengine.formats import tables_in

        return cls._loaded(tables_in.from_csv(source, TextFileOptions(**options)))

    @classmethod
    @with_options(TableFileOptions)
    @staged
    def from_jsonl(cls, source: Source | None = None, **options: Unpack[TableFileKeywords]) -> Self:
        """Load JSON lines: a file that APOC or ``export`` has written, or rows of tables, an object each.

        Parameters
        ----------
        source
            A file with ``{"type": "node", …}`` and ``{"type": "relationship", …}``, also as one JSON array or object.
        undirected
            Names of the types that have no direction, beside relationships with ``"directed": false``.
        key, nodes, relationships, id, labels, start, end, type
            Files of rows and what their members are, as for ``from_csv``.
        memory_limit, spill_directory
            Not for JSON lines: ``memory_limit`` must be None.

        Raises
        ------
        StorageError
            For a file that is missing or no JSON, with the number of the object that can't be loaded.
        """
        from qengine.formats import jsonl, tables_in

        given = TableFileOptions(**options)
        tables_in.refuse_limit(given)
        if source is not None and not given.maps_columns:
            path = _file(source)
            if jsonl.is_apoc(path):
                return cls._loaded(jsonl.from_jsonl(path, given.undirected))
        return cls._loaded(tables_in.from_json_tables(source, given))

    # ------------------------------------------------------------ scripts

    @classmethod
    @staged
    def from_cypher(cls, source: Source, *, undirected: Iterable[str] = ()) -> Self:
        """Make a graph by running a script of statements, which ``;`` separates, on an empty one.

        The script is read as a stream. Statements that differ in literals alone (``CREATE (:Person {name: 'Ada'})``,
        ``MATCH … CREATE``, ``MERGE … SET``) are parsed once and carried out thousands at a time; lists of maps that
        ``UNWIND`` begins with are not parsed as expressions. Results of statements are dropped.

        Parameters
        ----------
        source
            A file, which may be packed (``.gz``), or the text. Lines such as ``:begin`` and ``:commit`` are left out.
        undirected
            Names of the types that have no direction.

        Raises
        ------
        QengineError
            What a statement raises, with a note that tells which statement it is.
        StorageError
            For a file that is missing or no UTF-8 text.
        """
        from qengine import storage
        from qengine.formats import cypher_in

        types = dict.fromkeys([*cypher_in.undirected_types(source), *undirected])
        graph = cls._loaded(storage.of_types(types))
        cypher_in.run_script(cast("cypher_in.Target", graph), source)
        return graph

    # ------------------------------------------------------------ XML

    @classmethod
    @staged
    def from_graphml(
        cls,
        source: Source,
        *,
        type: str = "E",
        label: str | None = None,
        key: str | None = None,
        undirected: Iterable[str] = (),
    ) -> Self:
        """Load a GraphML file, as networkx, igraph, yEd, Gephi, APOC and ``export`` write them.

        Parameters
        ----------
        source
            The file. Nodes and edges may have labels as APOC writes them (``labels=":Person"``, ``label="KNOWS"``).
        type, label
            The type and the label of those that have none.
        key
            The property that nodes' ids become, as strings, for files whose ids are names, as networkx writes them.
        undirected
            Names of the types that have no direction, beside those whose edges are all undirected in the file.

        Raises
        ------
        StorageError
            For a file that is missing or no GraphML, hyperedges, ports and declared entities, with the line.
        """
        from qengine.formats.xml_graphs import XmlOptions, from_graphml

        return cls._loaded(from_graphml(_file(source), XmlOptions(type, label, undirected, key)))

    @classmethod
    @staged
    def from_gexf(
        cls,
        source: Source,
        *,
        type: str = "E",
        label: str | None = None,
        key: str | None = None,
        undirected: Iterable[str] = (),
    ) -> Self:
        """Load a GEXF file, as Gephi and networkx write them; parameters and errors as for ``from_graphml``.

        What GEXF calls a label is the property ``label``, an edge's weight the property ``weight``, its kind its type.
        """
        from qengine.formats.xml_graphs import XmlOptions, from_gexf

        return cls._loaded(from_gexf(_file(source), XmlOptions(type, label, undirected, key)))

    # ------------------------------------------------------------ other libraries

    @classmethod
    def from_networkx(cls, graph: Any, **naming: Unpack[NamingKeywords]) -> Self:
        """Make a graph of one of networkx: ``Graph``, ``DiGraph``, ``MultiGraph`` or ``MultiDiGraph``.

        Parameters
        ----------
        graph
            What networkx has made. Undirected graphs' relationships have no direction.
        type, label
            The type of relationships and the label of nodes that have none.
        types, labels
            The attributes that hold types (strings) and labels (lists of strings); None: no attributes do.
        key
            The property that a node's key becomes, a tuple as a list; None for none. Keys that can't be values of
            properties are left out, which a warning says.

        Raises
        ------
        StorageError
            For an object of another kind, and attributes that can't be properties.
        """
        from qengine.formats import objects_in

        return cls._loaded(objects_in.from_networkx(graph, _naming(naming)))

    @classmethod
    def from_igraph(cls, graph: Any, **naming: Unpack[NamingKeywords]) -> Self:
        """Make a graph of one of igraph: attributes of vertices and edges become properties.

        Parameters and errors as for ``from_networkx``.
        """
        from qengine.formats import objects_in

        return cls._loaded(objects_in.from_igraph(graph, _naming(naming)))

    @classmethod
    def from_rustworkx(cls, graph: Any, **naming: Unpack[NamingKeywords]) -> Self:
        """Make a graph of one of rustworkx: ``PyGraph`` or ``PyDiGraph``, dicts as payloads become properties.

        Parameters and errors as for ``from_networkx``.
        """
        from qengine.formats import objects_in

        return cls._loaded(objects_in.from_rustworkx(graph, _naming(naming)))

    @classmethod
    def from_scipy(
        cls,
        matrix: Any,
        *,
        type: str = "E",
        label: str | None = None,
        weight: str | None = "weight",
        undirected: bool = False,
    ) -> Self:
        """Make a graph of a square matrix of ``scipy.sparse``: a relationship for each stored entry.

        Parameters
        ----------
        matrix
            Entry (i, j) is a relationship from the node with ``id`` i to that with j.
        type, label
            The relationships' type and the nodes' label.
        weight
            The property that entries become, None for none.
        undirected
            Take the matrix as symmetric, and its upper half as relationships without direction.

        Raises
        ------
        StorageError
            For what is no sparse matrix, or not square.
        """
        from qengine.formats.objects_in import Naming, from_scipy

        return cls._loaded(from_scipy(matrix, Naming(type, label), weight, undirected=undirected))

    @classmethod
    def from_edge_index(
        cls,
        index: Any,
        nodes: int | Mapping[str, Any] | None = None,
        *,
        properties: Mapping[str, Any] | None = None,
        type: str = "E",
        label: str | None = None,
        undirected: bool = False,
    ) -> Self:
        """Make a graph of an array of ends.

        Parameters
        ----------
        index
            Integers of shape (2, edges), of NumPy or a tensor: starts and ends, numbers of nodes from 0.
        nodes
            How many nodes there are, by default as many as ``index`` names; or properties, each one value a node.
            Arrays of two dimensions become lists. The number of a node is its ``id``.
        properties
            Of relationships, each one value an edge.
        type, label, undirected
            The relationships' type, the nodes' label, and whether the edges have no direction.

        Raises
        ------
        StorageError
            For arrays of other shapes, and a number that is no node's.
        """
        from qengine.formats.objects_in import Naming, from_edge_index

        return cls._loaded(from_edge_index(index, Naming(type, label), nodes, properties, undirected=undirected))

    @classmethod
    def from_pyg(cls, data: Any, *, type: str = "E", label: str | None = None, key: str | None = "id") -> Self:
        """Make a graph of PyTorch Geometric's ``HeteroData`` or ``Data``.

        Parameters
        ----------
        data
            Node types become labels, edge types types. What holds one value, or one row, for each node or edge becomes
            a property, rows lists.
        type, label
            The type and label for ``Data``, which has none.
        key
            The property that a node's place among those of its type becomes, None for none.

        Raises
        ------
        StorageError
            For another object, and an edge index that names no node.
        """
        from qengine.formats.objects_in import Naming, from_pyg

        return cls._loaded(from_pyg(data, Naming(type, label, key=key)))

    @classmethod
    @staged
    def from_kuzu(cls, source: Source) -> Self:
        """Load the folder that Kùzu's ``EXPORT DATABASE`` has written, as Parquet or CSV.

        Tables become labels and types, primary keys stay properties. Columns of structs and maps, which properties
        can't hold, are left out.

        Raises
        ------
        StorageError
            For a folder without ``schema.cypher`` and ``copy.cypher``, and for files that can't be read.

        Warns
        -----
        LoadingWarning
            Of columns that are left out.
        """
        from qengine.formats.kuzu import from_kuzu

        return cls._loaded(from_kuzu(source))

    # ------------------------------------------------------------ out

    def export(self, path: Source, format: str | None = None) -> None:
        """Write the graph to a file or a folder that others read, and that gives an equal graph when loaded again.

        ============  ===============================================  ======================
        format        what is written                                  read by
        ============  ===============================================  ======================
        ``parquet``   a folder: a file a label set, a file a type      ``Graph.from_parquet``
        ``csv``       the same, with the headers of neo4j-admin        ``Graph.from_csv``
        ``cypher``    a script, which Neo4j runs, too                  ``Graph.from_cypher``
        ``graphml``   labels and types as APOC writes them             ``Graph.from_graphml``
        ``jsonl``     JSON lines as APOC writes them                   ``Graph.from_jsonl``
        ============  ===============================================  ======================

        All property types come back, also those that a format lacks: they are text there, and marked. Indexes and
        constraints are not written, nor are the nodes' numbers (``id()``) kept.

        Parameters
        ----------
        path
            The file, which is replaced, or a folder that is empty or not there. Or an address such as
            ``s3://bucket/folder``, or a ``RemotePath``.
        format
            One of the table; None: as the file's ending says, ``.cypher``, ``.cql``, ``.graphml``, ``.xml``,
            ``.jsonl``, ``.ndjson`` or ``.json``.

        Raises
        ------
        StorageError
            Where it can't be written, for an unknown format, and for names that GraphML can't hold.
        """
        from qengine.formats.export import export

        store = self._store
        if (place := place_of(path)) is None:
            export(store, path, format)
            return
        from qengine.remote.files import uploaded_files

        uploaded_files(place, lambda made: export(store, made, format))


def _naming(given: NamingKeywords) -> Naming:
    """Return what names a foreign graph's nodes and relationships.

    Raises
    ------
    TypeError
        For a keyword that is none.
    """
    from qengine.formats.objects_in import Naming

    return Naming(**given)


def _file(source: Any) -> Path:
    """Return a path to a file that exists.

    Raises
    ------
    StorageError
        If it is none.
    """
    from qengine.storage.given import given_path

    path = given_path(source, "Give a file.")
    if not path.is_file():
        what = "this is a folder" if path.is_dir() else "there is no such file"
        raise StorageError(f"{path}: {what}", hint="Give a file.")
    return path

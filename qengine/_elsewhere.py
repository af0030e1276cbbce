"""What other libraries call what has another name here: the Neo4j driver, Kùzu, DuckDB, networkx, igraph, pandas.

Who asks for such a name is told ours.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NoReturn

from qengine._nearest import nearest

_ALL_NODES, _ALL_LINKS = 'graph.query("MATCH (n) RETURN n")', 'graph.query("MATCH ()-[r]->() RETURN r")'
_ALL = 'graph.query("MATCH p = ()-->() RETURN p")'
_ASKED, _ADDED = "graph.query(text)", "graph.query(\"CREATE (:Person {name: 'Ada'})\") or graph.append_arrow(…)"
_NEAR = "graph.query(\"MATCH (n {{name: 'Ada'}}){}\")"
_SHORTEST = "graph.query(\"MATCH p = ANY SHORTEST (a {name: 'Ada'})--+(b {name: 'Bob'}) RETURN p\")"
_ROW_DICTS = "[row.asdict() for row in result]"

OURS = {
    "graph": {
        **dict.fromkeys(("run", "execute", "execute_query", "cypher", "sql", "ask", "match", "gfql"), _ASKED),
        **dict.fromkeys(("nodes", "vs", "vertices"), _ALL_NODES),
        **dict.fromkeys(("edges", "es", "relationships"), _ALL_LINKS),
        **dict.fromkeys(("number_of_nodes", "num_nodes", "vcount", "order"), "graph.node_count"),
        **dict.fromkeys(("number_of_edges", "num_edges", "ecount", "size"), "graph.relationship_count"),
        **dict.fromkeys(("add_node", "add_nodes_from", "add_edge", "add_edges_from", "add_vertices"), _ADDED),
        **dict.fromkeys(("session", "begin", "begin_transaction", "commit", "rollback"), "graph.transaction()"),
        **{f"to_{name}": f"{_ALL}.to_{name}()" for name in ("networkx", "igraph", "rustworkx", "scipy", "pyg", "svg")},
        **dict.fromkeys(("to_pandas", "to_df", "to_polars", "to_arrow"), f"{_ASKED}.to_pandas()"),
        **dict.fromkeys(("plot", "draw", "show"), f"{_ALL}.to_svg(), or to_widget() in a notebook"),
        **dict.fromkeys(("neighbors", "neighbours", "successors", "adj"), _NEAR.format("-->(m) RETURN m")),
        **dict.fromkeys(("predecessors", "in_edges"), _NEAR.format("<--(m) RETURN m")),
        **dict.fromkeys(("degree", "degrees", "out_degree", "in_degree"), _NEAR.format(" RETURN COUNT { (n)--() }")),
        **dict.fromkeys(("shortest_path", "shortest_paths", "shortestPath", "get_shortest_paths"), _SHORTEST),
        **dict.fromkeys(("V", "E", "traversal"), _ASKED),
        "profile": "graph.query(text), of a text that begins with PROFILE",
        **dict.fromkeys(("node_labels", "tables"), "graph.schema"),
    },
    "schema": {
        **dict.fromkeys(("labels", "node_labels", "node_types"), "[each.labels for each in schema.nodes]"),
        **dict.fromkeys(("types", "relationship_types", "edge_types"), "[each.type for each in schema.relationships]"),
        **dict.fromkeys(("indexes", "constraints"), "schema.rules"),
        **dict.fromkeys(("properties", "keys"), "schema.nodes and schema.relationships, which have them"),
    },
    "Graph": {
        **dict.fromkeys(("from_pandas", "from_polars", "from_dataframe", "from_df", "from_duckdb"), "Graph.from_arrow"),
        **dict.fromkeys(("from_dict", "from_dicts", "from_json", "from_list", "from_rows"), "Graph.from_records"),
        **dict.fromkeys(("from_edgelist", "from_edges", "from_numpy", "read_edgelist"), "Graph.from_edge_list"),
        **dict.fromkeys(("from_file", "read", "read_csv", "load_csv"), "Graph.from_csv"),
        **dict.fromkeys(("load", "read_saved"), "qengine.open(path)"),
        "from_neo4j": "Graph.from_jsonl or Graph.from_cypher of what APOC exports",
    },
    "result": {
        **dict.fromkeys(("df", "to_df", "fetchdf", "fetch_df", "get_as_df", "pandas"), "result.to_pandas()"),
        **dict.fromkeys(("pl", "get_as_pl", "polars"), "result.to_polars()"),
        **dict.fromkeys(("arrow", "fetch_arrow_table", "get_as_arrow", "to_table"), "result.to_arrow()"),
        **dict.fromkeys(("fetch_record_batch", "fetch_arrow_reader"), "result.to_reader()"),
        **dict.fromkeys(("data", "to_dicts", "to_dict", "dicts", "rows_as_dict"), _ROW_DICTS),
        **dict.fromkeys(("rows", "all", "fetch", "to_list", "get_all", "records", "values"), "result.fetchall()"),
        **dict.fromkeys(("single", "first", "get_next", "next"), "result.fetchone()"),
        **dict.fromkeys(("peek", "head", "has_next"), "result.preview(rows)"),
        **dict.fromkeys(("scalar", "item", "single_value"), "result.value()"),
        **dict.fromkeys(("keys", "column_names", "get_column_names", "description", "names"), "result.columns"),
        **dict.fromkeys(("dtypes", "schema", "get_column_data_types"), "result.types"),
        **dict.fromkeys(("consume", "summary", "profile"), "result.stats"),
        **dict.fromkeys(("count", "num_rows", "get_num_tuples", "shape", "rowcount"), "len(result.fetchall())"),
        "to_csv": "result.to_pandas().to_csv(path)",
        "to_json": f"json.dumps({_ROW_DICTS}, default=str)",
        **dict.fromkeys(("to_parquet", "write_parquet"), "pyarrow.parquet.write_table(result.to_arrow(), path)"),
        "to_numpy": "result.to_dlpack(), or result.to_pandas().to_numpy()",
        **dict.fromkeys(("graph", "get_as_networkx", "to_graph"), "result.to_networkx()"),
        **dict.fromkeys(("plot", "draw", "visualize"), "result.to_svg(), or result.to_widget() in a notebook"),
        "show": "print(result)",
    },
    "qengine": {
        **dict.fromkeys(("load", "read", "Database", "GraphDatabase"), "qengine.open(path, create=…)"),
        **dict.fromkeys(("connect", "Connection"), "qengine.open(path), or qengine.dbapi.connect(path)"),
        **dict.fromkeys(("read_csv", "load_csv"), "qengine.Graph.from_csv"),
        **dict.fromkeys(("DiGraph", "MultiDiGraph", "PropertyGraph"), "qengine.Graph()"),
        **dict.fromkeys(("query", "execute", "run", "sql"), "qengine.Graph(…).query(text)"),
        **dict.fromkeys(("demo", "examples", "sample"), "qengine.example()"),
    },
}
"""For each kind of thing the names that are known elsewhere, with what to write here."""

_BY_PANDAS = "pandas.read_csv has it, and Graph.from_arrow loads the frame"
KEYWORDS = {
    **dict.fromkeys(("sep", "separator", "delim", "field_delimiter"), ("delimiter",)),
    **dict.fromkeys(("quotechar", "quote_char"), ("quote",)),
    **dict.fromkeys(("na_values", "null_values", "nullstr", "null_value"), ("null",)),
    **dict.fromkeys(("dtype", "dtypes", "schema", "schema_overrides", "column_types"), ("types",)),
    **dict.fromkeys(("index_col", "index", "id_column", "primary_key", "node_id"), ("id", "key")),
    **dict.fromkeys(("label", "label_col", "node_label"), ("labels", "label_column")),
    **dict.fromkeys(("source", "src", "from_", "start_id", "source_column"), ("start",)),
    **dict.fromkeys(("target", "dst", "dest", "to", "end_id", "target_column"), ("end",)),
    **dict.fromkeys(("edges", "rels", "links", "edge_list", "relations"), ("relationships",)),
    **dict.fromkeys(("vertices", "node_list"), ("nodes",)),
    **dict.fromkeys(("parameters", "parameters_", "args", "kwargs"), ("params",)),
    **dict.fromkeys(("directed", "is_directed"), ("undirected",)),
    **dict.fromkeys(("fmt", "file_format", "filetype"), ("format",)),
}
"""Keyword arguments as other libraries call them, with what they may be called here."""
_NOT_HERE = {
    "encoding": "Files are UTF-8; from Latin-1, for example: iconv -f latin1 -t utf-8 OLD > NEW",
    "header": "The first line names the columns; where there is none, put one before it",
    **dict.fromkeys(("decimal", "thousands", "parse_dates", "dayfirst", "date_format", "usecols"), _BY_PANDAS),
    **dict.fromkeys(("skiprows", "nrows", "comment"), _BY_PANDAS),
}


def no_attribute(owner: str, name: str, names: Iterable[str]) -> AttributeError:
    """Return the error for a name that a ``"graph"``, ``"schema"``, ``"Graph"``, ``"result"`` or ``"qengine"`` hasn't.

    ``names``: those that it has.
    """
    ours = OURS[owner].get(name)
    if owner == "qengine" and name.startswith("from_"):
        ours = f"qengine.Graph.{name}"
    if ours is None and not name.startswith("_") and (meant := nearest(name, names)) is not None:
        ours = f"{owner}.{meant}"
    what = {"qengine": "module 'qengine'", "Graph": "class 'Graph'"}.get(owner, f"a {owner}")
    return AttributeError(f"{what} has no attribute {name!r}" + (f"; write {ours}" if ours else ""))


def meant_keyword(name: str, known: Collection[str]) -> str:
    """Return what an error about a keyword that a function hasn't ends with: which of those that it has was meant."""
    if "delimiter" in known and name in _NOT_HERE:
        return f". {_NOT_HERE[name]}."
    meant = next((each for each in KEYWORDS.get(name, ()) if each in known), None) or nearest(name, known)
    if meant is None and "params" in known:
        return f". The value of a parameter ${name} is passed as params={{{name!r}: …}}."
    return "" if meant is None else f". Did you mean {meant!r}?"


class TellsConstructors(type):
    """The class of ``Graph``, which tells what its constructors are called."""

    if not TYPE_CHECKING:  # for type checkers there are no others

        def __getattr__(cls, name: str) -> NoReturn:
            raise no_attribute("Graph", name, dir(cls))

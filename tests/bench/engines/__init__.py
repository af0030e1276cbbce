"""The engines by name, each in a module that is imported only in the process that runs it."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util

from tests.bench.engines.base import Engine

# name -> (module below this package, class, import name, distribution)
_ENGINES = {
    "qengine": ("qengine_engine", "Qengine", "qengine", "qengine-graph"),
    "qengine-prepared": ("qengine_engine", "Prepared", "qengine", "qengine-graph"),
    "kuzu": ("kuzu_engine", "Kuzu", "kuzu", "kuzu"),
    "duckdb": ("duckdb_engine", "DuckDB", "duckdb", "duckdb"),
    "graphblas": ("graphblas_engine", "GraphBLAS", "graphblas", "python-graphblas"),
    "networkit": ("networkit_engine", "NetworKit", "networkit", "networkit"),
    "scipy": ("scipy_engine", "SciPy", "scipy", "scipy"),
    "igraph": ("igraph_engine", "IGraph", "igraph", "igraph"),
    "networkx": ("networkx_engine", "NetworkX", "networkx", "networkx"),
}
NAMES = tuple(_ENGINES)


def is_installed(name: str) -> bool:
    """Return whether the engine's package can be imported."""
    return importlib.util.find_spec(_ENGINES[name][2]) is not None


def version(name: str) -> str:
    """Return the version of the engine's distribution, or ``checkout`` where it is not installed as one."""
    try:
        return importlib.metadata.version(_ENGINES[name][3])
    except importlib.metadata.PackageNotFoundError:
        return "checkout"


def create(name: str) -> Engine:
    """Import the engine's module and make an engine that holds no graph yet."""
    module, class_name, _, _ = _ENGINES[name]
    engine: Engine = getattr(importlib.import_module(f"{__name__}.{module}"), class_name)()
    return engine

"""The nodes and relationships of a result as graphs of other libraries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from qengine._arguments import tells_arguments


@tells_arguments
class GraphForms:
    """Has the methods of ``Result`` that make a graph of the rows that are left.

    Nodes and relationships are taken wherever they stand: as columns, in lists, maps and paths. Each is taken once, and
    the ends of a relationship that no row holds come without properties.
    """

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows that are left."""
        raise NotImplementedError

    def to_networkx(self) -> Any:
        """Return the graph as a ``networkx.MultiDiGraph`` (networkx must be installed).

        Nodes are known by their ``id``; their attributes are their properties, and ``labels``, a list. Edges have the
        relationships' ids as keys; their attributes are their properties, and ``type``.

        Raises
        ------
        Unsupported
            If the library isn't installed.
        """
        from qengine.formats.objects_out import to_networkx

        return to_networkx(self)

    def to_igraph(self) -> Any:
        """Return the graph as a directed ``igraph.Graph`` (igraph must be installed).

        Vertices have the attributes ``id``, ``labels`` and their properties, edges ``type`` and theirs; None where one
        lacks it.

        Raises
        ------
        Unsupported
            If the library isn't installed.
        """
        from qengine.formats.objects_out import to_igraph

        return to_igraph(self)

    def to_rustworkx(self) -> Any:
        """Return the graph as a ``rustworkx.PyDiGraph`` (rustworkx must be installed).

        Payloads are dicts: ``id``, ``labels`` and the properties of nodes, ``type`` and those of relationships.

        Raises
        ------
        Unsupported
            If the library isn't installed.
        """
        from qengine.formats.objects_out import to_rustworkx

        return to_rustworkx(self)

    def to_scipy(self, weight: str | None = None) -> tuple[Any, Any]:
        """Return the graph as a sparse matrix, with the ids of its nodes (SciPy must be installed).

        Parameters
        ----------
        weight
            A property of relationships, numbers; None: each counts 1. Those of parallel relationships are added.

        Returns
        -------
        matrix
            ``scipy.sparse.csr_array`` of int64, or float64 with a weight; shape (nodes, nodes), entry (i, j) for
            relationships from node i to node j.
        ids
            int64[nodes]: the ``id`` of each row and column's node.

        Raises
        ------
        Unsupported
            If the library isn't installed, or a weight is no number.
        """
        from qengine.formats.objects_out import to_scipy

        return to_scipy(self, weight)

    def to_pyg(self) -> Any:
        """Return the graph as ``torch_geometric.data.HeteroData`` (PyTorch Geometric must be installed).

        A node type for each set of labels, joined by colons, an edge type for each type between two of them. Properties
        that all of a type have become tensors where they are numbers, booleans, or lists of them of one length;
        ``node_id`` has the nodes' ids.

        Raises
        ------
        Unsupported
            If the library isn't installed.
        """
        from qengine.formats.objects_out import to_pyg

        return to_pyg(self)

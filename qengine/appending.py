"""What graphs and transactions have in common: tables are appended to both."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from qengine._arguments import tells_arguments
from qengine.errors import QueryInterrupted
from qengine.options import AppendKeywords, AppendOptions, with_options

if TYPE_CHECKING:
    from qengine.exec.context import ExecutionContext
    from qengine.write.overlay import Changes
    from qengine.write.versions import Writer


@tells_arguments
class Appending:
    """Has ``append_arrow``."""

    _view: Any  # a ``GraphView`` or a ``TransactionView``

    @with_options(AppendOptions)
    def append_arrow(self, nodes: Any = (), relationships: Any = (), **options: Unpack[AppendKeywords]) -> Changes:
        """Add tables to the graph, in one transaction: anything with ``__arrow_c_stream__`` (pyarrow, pandas, polars).

        All of it takes effect, or nothing; inside ``Graph.transaction`` with what else the transaction does. Many rows
        are added column by column, millions a second, and a graph that was opened is then saved anew, as by
        ``checkpoint``; few rows go to its log. So give many rows at once where there are many.

        Parameters
        ----------
        nodes, relationships
            As for ``Graph.from_arrow``. Ends may be nodes of these tables, and nodes that the graph has already.
        key
            The property by which nodes are known: the node tables' key column, by default ``id``, else the first; of
            nodes that the graph has already that of their label's table, else ``id``. Keys are integers or strings.
        upsert
            What becomes of a row whose key a node with the same labels (or more) has already. True: the node gets the
            row's properties, as by ``SET n += row``: a null takes a property away, others stay. False: an error.
        label_column, type_column
            Columns with labels and types, where one table holds all.
        undirected
            Names of new types that have no direction.
        timeout, memory_limit
            As for ``Graph.query``.

        Returns
        -------
        Changes
            What was done, as counts.

        Raises
        ------
        StorageError
            As ``Graph.from_arrow``; for the key of a node that is there already, unless ``upsert``, and one that
            several nodes have; where the disk refuses.
        ExecutionError
            ``ConstraintValidationFailed`` for rows that a constraint doesn't admit.
        TransactionError
            ``NestedTransaction`` for a graph inside a transaction of this thread, ``ReadOnly`` for one opened so.
        QueryTimeout, QueryInterrupted, OutOfMemory
            By the limits.
        """
        given = AppendOptions(**options)
        context = self._view.accept(timeout=given.timeout, memory_limit=given.memory_limit)
        changes: Changes = self._view.append(partial(_append, nodes, relationships, given, context), context)
        return changes


def _append(nodes: Any, relationships: Any, given: AppendOptions, context: ExecutionContext, writer: Writer) -> Changes:
    from qengine.rule_checks import check_graph
    from qengine.write.append import Options, append

    options = Options(given.key, given.upsert, given.label_column, given.type_column, given.undirected)
    check_rule: Callable[..., None] = partial(check_graph, code="ConstraintValidationFailed")
    try:
        return append(writer, nodes, relationships, options, context, check_rule)
    except KeyboardInterrupt:
        context.interrupt()
        raise QueryInterrupted("Appending was interrupted; nothing was changed.", code="Interrupted") from None

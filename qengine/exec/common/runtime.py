"""What all operators and expressions of one execution share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from qengine._frozen import frozen
from qengine.errors import InternalError
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar.environment import Environment
from qengine.exec.view import ExecView, MaskProvider

if TYPE_CHECKING:
    from qengine.exec.common.batch import Batch
    from qengine.exec.common.columns import Column
    from qengine.exec.host.reach_kernel import ReachKernels
    from qengine.exec.host.search import Ids, SearchChunk
    from qengine.plan.expr import OfNode
    from qengine.plan.logical import Operator
    from qengine.plan.physical import Eliminate, Search


@frozen
class Matchers:
    """How another executor matches patterns.

    ``search``: runs a ``Search``, as ``host.search.run_search`` does. ``eliminate``: runs an ``Eliminate``, as
    ``host.eliminate.run_eliminate`` does, where the plan has a schedule for it; else it is searched. ``reach``: follow
    sets of vertices, as ``host.reach_kernel.HOST``. ``folds``: lends what makes folds there, as
    ``host.folds.HostFolds`` does. ``fold_search`` and ``fold_eliminated``: give all rows of a search, or the counts by
    a node of an ``Eliminate``, to such folds, as ``gpu.fold_search`` and ``gpu.eliminate`` say. ``first_rows``: returns
    the first rows of a search by some order, as ``gpu.first_rows`` says.
    """

    search: Callable[[ExecView, Search, Sequence[Ids], int, ExecutionContext, MaskProvider], Iterator[SearchChunk]]
    eliminate: Callable[[Eliminate, Runtime, MaskProvider], tuple[tuple[Ids, ...], Ids]]
    reach: ReachKernels
    folds: Callable[[ExecView, ExecutionContext], AbstractContextManager[Any]]
    fold_search: Callable[[Any, Search, Sequence[str], str | None, Sequence[Any], MaskProvider], bool]
    fold_eliminated: Callable[[Eliminate, bool, Runtime, MaskProvider, Sequence[Any]], bool]
    first_rows: Callable[
        [ExecView, Search, Sequence[tuple[str, Any, bool]], int, ExecutionContext, MaskProvider],
        dict[str, Ids] | None,
    ]


class Runtime:
    """One execution: the graph, its limits, and the environment of the row-wise evaluator.

    Parameters
    ----------
    store
        The ``GraphStore``.
    context
        Parameters and limits.
    matchers
        What matches patterns; None for the CPU.
    run
        Runs a plan that reads no outer row, as a part of the execution; None where no expression has one.

    Attributes
    ----------
    masks
        What ``Masks`` have found for any plan of the execution, by kinds.
    of_nodes
        By identity of the plan of an ``OfNode``: the expression, and what it gives for each vertex.
    last_read
        By names of properties the nodes or relationships that were last asked for theirs, and what they have, for
        several expressions read the same; empty where memory is limited.
    """

    __slots__ = ("context", "environment", "last_read", "masks", "matchers", "memory", "of_nodes", "run", "store")

    def __init__(
        self,
        store: ExecView,
        context: ExecutionContext,
        matchers: Matchers | None = None,
        run: Callable[[Operator, Runtime], Iterator[Batch]] | None = None,
    ) -> None:
        self.matchers = matchers
        self.run = run
        self.store = store
        self.context = context
        self.memory = context.memory
        self.masks = defaultdict[str, dict[Any, Any]](dict)
        self.last_read: dict[str, tuple[Column, Column | None]] = {}
        self.of_nodes: dict[int, tuple[OfNode, Any]] = {}
        self.environment = Environment(store, context.parameters, memory=context.memory)

    def rows_of(self, root: Operator) -> Iterator[Batch]:
        """Run a plan that reads no outer row; yield batches of its columns."""
        if self.run is None:
            raise InternalError("A plan in an expression is run where none was expected.")
        return self.run(root, self)

    def eliminates(self, operator: Eliminate) -> bool:
        """Tell whether the executor runs the steps of an ``Eliminate``, rather than its search."""
        return operator.schedule("cpu" if self.matchers is None else "gpu") is not None

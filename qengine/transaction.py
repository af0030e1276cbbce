"""Several statements that take effect together."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from qengine._arguments import tells_arguments
from qengine.appending import Appending
from qengine.options import LimitKeywords, Limits, with_options
from qengine.prepared import Prepared

if TYPE_CHECKING:
    from qengine.exec.context import ExecutionContext
    from qengine.result import Result
    from qengine.views import GraphView, TransactionView


@tells_arguments
class Transaction(Appending):
    """A transaction of one graph; see ``Graph.transaction``. One thread at a time may use it.

    A statement that fails is taken back alone. Where its error leaves the ``with`` block, all is taken back.
    """

    _view: TransactionView

    def __init__(self, graph: GraphView, context: ExecutionContext) -> None:
        from qengine.views import TransactionView

        self._view = TransactionView(graph, graph.versions.writer(context))

    @with_options(Limits)
    def query(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        device: str = "auto",
        **limits: Unpack[LimitKeywords],
    ) -> Result:
        """Carry out or start a statement, as ``Graph.query``; it sees what those before it have done.

        Fetch what a statement that reads gives before the next one changes the graph, or don't: its rows are of the
        moment when it was given.

        Raises
        ------
        TransactionError
            ``TransactionEnded`` where the transaction has ended; else as ``Graph.query``.
        """
        context = self._view.accept(**limits)
        return Prepared(self._view, text, None, context).start(params, device, context)

    def commit(self) -> None:
        """Make what was done visible to all, and end the transaction.

        Raises
        ------
        TransactionError
            ``TransactionEnded`` where it has ended.
        StorageError
            Where it can't be kept on disk; then nothing was changed.
        """
        self._view.end(commit=True)

    def rollback(self) -> None:
        """Take back what was done, and end the transaction.

        Raises
        ------
        TransactionError
            ``TransactionEnded`` where it has ended.
        """
        self._view.end(commit=False)

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._view.ended:
            self._view.end(commit=kind is None)

    def __del__(self) -> None:
        if (view := getattr(self, "_view", None)) is not None and not view.ended:
            view.end(commit=False)

    def __repr__(self) -> str:
        return f"<Transaction, {'ended' if self._view.ended else 'open'}>"

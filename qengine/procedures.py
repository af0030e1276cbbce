"""Procedures that users register: functions of Python that queries ``CALL``.

>>> import qengine
>>> @qengine.procedure("text.words(text :: STRING) :: (word :: STRING, length :: INTEGER)")
... def words(text):
...     for word in text.split():
...         yield word, len(word)
>>> qengine.Graph().query("CALL text.words('to be or not') YIELD word, length WHERE length > 2 RETURN word").fetchall()
[Row(word='not')]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from qengine._arguments import tells_arguments
from qengine.builtin_procedures import EVERYWHERE
from qengine.catalog.procedures import Procedure, Procedures, parse_signature
from qengine.errors import SemanticError
from qengine.options import LimitKeywords, Limits, with_options
from qengine.prepared import Prepared

if TYPE_CHECKING:
    from qengine.exec.context import ExecutionContext
    from qengine.result import Result
    from qengine.storage.store import GraphStore

F = TypeVar("F", bound=Callable[..., Any])


class Snapshot:
    """The version of a graph that a query sees, for the procedures that it calls. It can be read only."""

    def __init__(self, store: GraphStore, context: ExecutionContext) -> None:
        self._store = store
        self._context = context

    @with_options(Limits)
    def query(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        device: str = "cpu",
        **limits: Unpack[LimitKeywords],
    ) -> Result:
        """Start a query that only reads; parameters, limits and result as in ``Graph.query``.

        Raises
        ------
        TransactionError
            ``ReadOnly`` for a statement that changes the graph; else as ``Graph.query``.
        """
        from qengine.views import SnapshotView

        view = SnapshotView(self._store, self._context)
        context = view.accept(**limits)
        return Prepared(view, text, None, context).start(params, device, context)

    def __repr__(self) -> str:
        nodes, relationships = self._store.vertex_count, self._store.relationship_count
        return f"<Snapshot {nodes:,} nodes, {relationships:,} relationships>"


@overload
def procedure(signature: str, function: F, *, reads_graph: bool = False) -> F: ...
@overload
def procedure(signature: str, function: None = None, *, reads_graph: bool = False) -> Callable[[F], F]: ...
@tells_arguments
def procedure(signature: str, function: F | None = None, *, reads_graph: bool = False) -> F | Callable[[F], F]:
    """Register a procedure for all graphs; as a decorator, or with the function.

    Parameters
    ----------
    signature
        As openCypher writes it: ``"my.proc(name :: STRING, n :: INTEGER?) :: (row :: MAP, score :: FLOAT?)"``. ``?``
        admits null; ``NUMBER`` takes integers and floats, ``FLOAT`` integers too, which become floats. Without outputs,
        ``:: ()`` or ``:: VOID``, a call keeps the rows before it as they are.
    function
        Called once for each row that the query calls it for, with the arguments in order. It gives rows: an iterable of
        tuples in the outputs' order or of dicts from their names, of which a missing one is null; or a table with
        ``__arrow_c_stream__`` (pyarrow, pandas, polars) and columns of these names. A generator is read as far as the
        query needs rows.
    reads_graph
        Whether its first argument is a ``Snapshot`` of the graph: the version that the query sees.

    Raises
    ------
    SemanticError
        ``InvalidSignature`` for a signature of another form.
    """
    return register(EVERYWHERE, signature, function, reads_graph=reads_graph)


def register(procedures: Procedures, signature: str, function: F | None, *, reads_graph: bool) -> F | Callable[[F], F]:
    """Register a procedure in some registry, as ``procedure`` does for all graphs."""
    parsed = parse_signature(signature)

    def registered(function: F) -> F:
        if not callable(function):
            raise SemanticError(
                f"`{parsed.name}` gets {function!r}, which can't be called.", code="InvalidArgumentType"
            )

        def called(store: Any, context: Any, args: Sequence[Any]) -> Any:
            return function(Snapshot(store, context), *args) if reads_graph else function(*args)

        first_line = (function.__doc__ or "").strip().partition("\n")[0]
        procedures.register(Procedure(parsed, called, first_line))
        return function

    return registered if function is None else registered(function)

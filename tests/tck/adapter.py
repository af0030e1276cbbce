"""Puts qengine behind the interface of the openCypher TCK's runner.

The runner loads this file by path, beside its own modules; it expects values as Python objects. A refusal
(``Unsupported``) is told apart from an error that a scenario asks for.
"""

from __future__ import annotations

from typing import Any

import qengine
from qengine import temporal

_RUNTIME_TYPES = {
    "NumberOutOfRange": "ArgumentError",
    "InvalidArgumentValue": "TypeError",
    "DeleteConnectedNode": "ConstraintVerificationFailed",
    "DeletedEntityAccess": "EntityNotFound",
    "MergeReadOwnWrites": "SemanticError",
}


class Adapter:
    setup_mode = "run"
    version = f"qengine {qengine.__version__}"

    def __init__(self, device: str = "cpu") -> None:
        self._device = device
        self.version = f"{self.version} on {device}"
        self.reset()

    def reset(self) -> None:
        self._graph = qengine.Graph()

    def register_procedure(self, signature: str, columns: list[str], rows: list[list[Any]]) -> None:
        """Register a procedure whose table says which outputs it gives for which arguments."""
        inputs = signature[: signature.rindex(") ::")].count("::")

        def given(*args: Any) -> list[tuple[Any, ...]]:
            return [tuple(row[inputs:]) for row in rows if row[:inputs] == list(args)]

        self._graph.register_procedure(signature, given)

    def run(self, query: str, params: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
        try:
            result = self._graph.query(query, params, device=self._device)
            return list(result.columns), [[_value(each) for each in row] for row in result]
        except qengine.Unsupported as error:
            raise NotImplementedError(str(error)) from None
        except qengine.QengineError as error:
            raise _translated(error) from None


def _translated(error: qengine.QengineError) -> Exception:
    compile_time = isinstance(error, qengine.QuerySyntaxError | qengine.SemanticError)
    found = RuntimeError(str(error))
    found.tck_detail = error.code  # type: ignore[attr-defined]
    found.tck_phase = "compile time" if compile_time else "runtime"  # type: ignore[attr-defined]
    found.tck_type = (  # type: ignore[attr-defined]
        "SyntaxError" if compile_time else _RUNTIME_TYPES.get(error.code or "", "TypeError")
    )
    if not compile_time and error.message.startswith(("SKIP", "LIMIT")):
        found.tck_type = "SyntaxError"  # type: ignore[attr-defined]
    if compile_time and error.message.startswith("Property ") and not error.message.endswith("a PATH."):
        found.tck_type = "TypeError"  # type: ignore[attr-defined]
    if error.code == "ProcedureNotFound":
        found.tck_type = "ProcedureError"  # type: ignore[attr-defined]
    if error.code == "ParameterMissing":
        found.tck_type, found.tck_detail = "ParameterMissing", "MissingParameter"  # type: ignore[attr-defined]
    return found


class _Text:
    """A temporal value: the runner compares its text."""

    def __init__(self, value: temporal.Temporal) -> None:
        self.tck_string = str(value)


class _Node:
    def __init__(self, node: qengine.Node) -> None:
        self.id, self.labels, self.properties = node.id, list(node.labels), _values(node.properties)


class _Relationship:
    def __init__(self, edge: qengine.Relationship) -> None:
        self.id, self.type, self.properties = edge.id, edge.type, _values(edge.properties)
        self.start_id, self.end_id = edge.start, edge.end


class _Path:
    def __init__(self, path: qengine.Path) -> None:
        self.nodes = [_Node(each) for each in path.nodes]
        self.relationships = [_Relationship(each) for each in path.relationships]


def _values(properties: Any) -> dict[str, Any]:
    return {key: _value(each) for key, each in properties.items()}


def _value(value: Any) -> Any:
    match value:
        case qengine.Node():
            return _Node(value)
        case qengine.Relationship():
            return _Relationship(value)
        case qengine.Path():
            return _Path(value)
        case list() | tuple():
            return [_value(each) for each in value]
        case dict():
            return _values(value)
        case temporal.Temporal():
            return _Text(value)
        case _:
            return value

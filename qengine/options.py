"""Keyword options that several methods of ``Graph`` share, as users give them and as one value each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import wraps
from inspect import Parameter, signature
from os import PathLike
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from qengine._elsewhere import meant_keyword
from qengine._frozen import frozen

if TYPE_CHECKING:
    from qengine.estimate import BatchEstimator, DeviceEstimator, Estimator

_Function = TypeVar("_Function", bound=Callable[..., Any])


class LimitKeywords(TypedDict, total=False):
    """The limits of ``Graph.query``, which tells what they mean."""

    timeout: float | None
    memory_limit: int | str | None
    spill_directory: str | PathLike[str] | None
    gpu_memory_limit: int | str | None
    threads: int


@frozen
class Limits:
    """What a query may take."""

    timeout: float | None = None
    memory_limit: int | str | None = None
    spill_directory: str | PathLike[str] | None = None
    gpu_memory_limit: int | str | None = None
    threads: int = 0


class AppendKeywords(TypedDict, total=False):
    """The keywords of ``Graph.append_arrow``, which tells what they mean."""

    key: str | None
    upsert: bool
    label_column: str | None
    type_column: str | None
    undirected: Iterable[str]
    timeout: float | None
    memory_limit: int | str | None


@frozen
class AppendOptions:
    """What ``Graph.append_arrow`` was asked for."""

    key: str | None = None
    upsert: bool = False
    label_column: str | None = None
    type_column: str | None = None
    undirected: Iterable[str] = ()
    timeout: float | None = None
    memory_limit: int | str | None = None


class EstimateKeywords(TypedDict, total=False):
    """The keywords of ``Graph.estimate``, which tells what they mean."""

    method: str | Estimator | BatchEstimator | DeviceEstimator
    rel_error: float | None
    confidence: float
    budget_ms: float | None
    samples: int | None
    seed: int | None
    device: str
    inheritance: bool
    timeout: float | None
    memory_limit: int | str | None
    gpu_memory_limit: int | str | None
    threads: int


@frozen
class EstimateOptions:
    """What ``Graph.estimate`` was asked for."""

    method: str | Estimator | BatchEstimator | DeviceEstimator = "auto"
    rel_error: float | None = None
    confidence: float = 0.95
    budget_ms: float | None = None
    samples: int | None = None
    seed: int | None = None
    device: str = "auto"
    inheritance: bool = False
    timeout: float | None = None
    memory_limit: int | str | None = None
    gpu_memory_limit: int | str | None = None
    threads: int = 0


class TableKeywords(TypedDict, total=False):
    """The keywords of ``Graph.estimate_all``, which tells what they mean."""

    samples: int
    confidence: float
    seed: int | None
    budget_ms: float | None
    timeout: float | None
    memory_limit: int | str | None
    threads: int


@frozen
class TableOptions:
    """What ``Graph.estimate_all`` was asked for."""

    samples: int = 100_000
    confidence: float = 0.95
    seed: int | None = None
    budget_ms: float | None = None
    timeout: float | None = None
    memory_limit: int | str | None = None
    threads: int = 0


def with_options(options: type) -> Callable[[_Function], _Function]:
    """Make a function's ``**options`` the fields of a class: in its signature, with their defaults, and no others.

    Raises
    ------
    TypeError
        When the function is called with a keyword that is none of them, with the one that was probably meant.
    """

    def decorate(function: _Function) -> _Function:
        own = signature(function)
        others = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        keywords = [
            Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
            for each in fields(options)
        ]
        known = {each.name for each in (*others, *keywords)}

        @wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            for name in given:
                if name not in known:
                    guess = meant_keyword(name, known)
                    raise TypeError(f"{_called(function, args)}() got an unexpected keyword argument {name!r}{guess}")
            return function(*args, **given)

        checked.__signature__ = own.replace(parameters=[*others, *keywords])  # type: ignore[attr-defined]
        return checked  # type: ignore[return-value]

    return decorate


def _called(function: Callable[..., Any], args: Sequence[Any]) -> str:
    """Return a function's name as its caller knows it: a method's by the class that has it, perhaps by inheritance."""
    of, _, name = function.__qualname__.rpartition(".")
    if of and args:
        of = (args[0] if isinstance(args[0], type) else type(args[0])).__name__
    return f"{of}.{name}" if of else name

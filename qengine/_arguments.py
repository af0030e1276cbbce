"""Arguments of wrong types, told by their names: what a public function takes is what its annotations say.

Before a call only its flags are looked at, since whatever is given is true or false. Where a call fails with an error
that isn't ours, its arguments are compared with the annotations, and the first that doesn't fit is told instead. So
calls take no longer, and what works without fitting goes on to work.
"""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from inspect import CO_VARKEYWORDS, Parameter, signature, unwrap
from itertools import islice
from types import NoneType, UnionType
from typing import Any, TypeVar

from qengine._elsewhere import meant_keyword
from qengine._printable import printable_line

_Public = TypeVar("_Public", bound=Callable[..., Any])
_Part = tuple[str, Any, Any]
"""An argument, or something in it: its name, its value, and the annotation that it should fit."""

_CALLED = {
    bool: "True or False", float: "a number", int: "an integer", Callable: "a function", Iterable: "a list",
    Mapping: "a dict", NoneType: "None", Sequence: "a list",
}  # fmt: skip
_NOTHING = ((), ("self",), ("cls",))
_UNKNOWN = re.compile(r"got an unexpected keyword argument '(\w+)'$")
_FEW = 1000  # parts of an argument that are compared
_SHOWN = 60  # characters of a value that are shown


def tells_arguments(public: _Public) -> _Public:
    """Make a function, or all public methods of a class, tell which argument is of a wrong type.

    Raises
    ------
    TypeError
        From what is called: at once for a flag that is no boolean, for others where the call would fail otherwise.
    """
    if not isinstance(public, type):
        return typing.cast(_Public, _telling(public))
    for name, member in list(vars(public).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(member, classmethod):
            setattr(public, name, classmethod(_telling(member.__func__)))
        elif callable(member) and not isinstance(member, type):
            setattr(public, name, _telling(member))
    return public


def _telling(function: Callable[..., Any]) -> Callable[..., Any]:
    code = unwrap(function).__code__
    if code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] in _NOTHING and not code.co_flags & CO_VARKEYWORDS:
        return function

    @wraps(function)
    def telling(*args: Any, **given: Any) -> Any:
        if given:
            for name in _flags(function) & given.keys():
                if not _fits(given[name], bool):
                    raise _wrong(function, (name, given[name], bool))
        try:
            return function(*args, **given)
        except Exception as error:
            if type(error).__module__.partition(".")[0] == __package__:
                raise
            part = _first_wrong(function, args, given)
            if part is None:
                if isinstance(error, TypeError) and ((unknown := _UNKNOWN.search(str(error))) and unknown[1] in given):
                    error.args = (f"{error}{meant_keyword(unknown[1], signature(unwrap(function)).parameters)}",)
                raise
            raise _wrong(function, part) from error

    return telling


@cache
def _flags(function: Callable[..., Any]) -> frozenset[str]:
    """Return which arguments are true or false."""
    return frozenset(name for name, kind in _annotations(function).items() if kind == "bool")


def _annotations(function: Callable[..., Any]) -> dict[str, str]:
    """Return the annotations of parameters, and of the keywords that ``**options`` stands for, as they are written."""
    found: dict[str, str] = {}
    for each in signature(unwrap(function)).parameters.values():
        if each.kind is Parameter.VAR_KEYWORD:
            keywords = _names(function).get(re.sub(r"^Unpack\[|\]$", "", each.annotation))
            found |= {name: one.__forward_arg__ for name, one in getattr(keywords, "__annotations__", {}).items()}
        elif each.annotation is not Parameter.empty:
            found[each.name] = each.annotation
    return found


def _names(function: Callable[..., Any]) -> dict[str, Any]:
    """Return what the names in a function's annotations may stand for: those of its module, and public ones."""
    return {**vars(sys.modules[__package__]), **getattr(unwrap(function), "__globals__", {})}


def _first_wrong(function: Callable[..., Any], args: tuple[Any, ...], given: dict[str, Any]) -> _Part | None:
    """Return the first argument, or part of one, that doesn't fit, None where all fit."""
    own = signature(unwrap(function))
    try:
        bound = own.bind(*args, **given).arguments
    except TypeError:  # Python has said which is missing, or one too many
        return None
    for each in own.parameters.values():
        if each.kind is Parameter.VAR_KEYWORD:
            bound |= bound.pop(each.name, {})
    for name, text in _annotations(function).items():
        if name in bound and (found := _misfit((name, bound[name], _kind(text, _names(function))))) is not None:
            return found
    return None


def _kind(text: str, names: dict[str, Any]) -> Any:
    """Return what an annotation stands for, ``Any`` where programs don't know a name in it, as type checkers do."""
    try:
        return eval(text, {}, names)
    except (NameError, TypeError):
        return Any


def _misfit(part: _Part) -> _Part | None:
    """Return what of an argument doesn't fit its annotation, as far down as that can be told, None where it fits."""
    name, given, kind = part
    origin: Any = typing.get_origin(kind)
    inner = typing.get_args(kind)
    if origin in (typing.Union, UnionType):
        misfits = [_misfit((name, given, each)) for each in inner]
        deeper = [each for each in misfits if each is not None and each[0] != name]
        return None if None in misfits else deeper[0] if len(deeper) == 1 else part
    if not _fits(given, kind):
        return part
    parts: Iterable[_Part] = ()
    if origin is Mapping:
        parts = ((f"{name}[{key!r}]", each, inner[1]) for key, each in given.items())
    elif origin in (Sequence, Iterable) and isinstance(given, list | tuple):
        parts = ((f"{name}[{place}]", each, inner[0]) for place, each in enumerate(given))
    return next((found for each in islice(parts, _FEW) if (found := _misfit(each)) is not None), None)


def _fits(given: Any, kind: Any) -> bool:
    """Tell whether a value is what an annotation names, its parts aside."""
    plain = typing.get_origin(kind) or kind
    if plain is typing.Literal:
        return any(given is each or (type(given) is str and given == each) for each in typing.get_args(kind))
    if plain is bool:
        return type(given).__name__ in ("bool", "bool_") or (type(given) is int and given in (0, 1))
    if plain in (int, float):  # of NumPy, too; but not its arrays
        return hasattr(given, f"__{'index' if plain is int else 'float'}__") and not getattr(given, "ndim", 0)
    if plain in (Sequence, Iterable):
        items = "__getitem__" if plain is Sequence else "__iter__"
        other = isinstance(given, str | bytes | Mapping | type) or not getattr(given, "ndim", 1)
        return hasattr(given, items) and not other
    return plain is Any or not isinstance(plain, type) or not _can_be_asked(plain) or isinstance(given, plain)


def _can_be_asked(kind: type) -> bool:
    """Tell whether ``isinstance`` takes a class: a protocol only where it says so."""
    return not getattr(kind, "_is_protocol", False) or getattr(kind, "_is_runtime_protocol", False)


def _wrong(function: Callable[..., Any], part: _Part) -> TypeError:
    """Return the error that tells what an argument should be."""
    name, given, kind = part
    shown = repr(given) if given is None or isinstance(given, str | int | float) else f"a {type(given).__name__}"
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    called = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    return TypeError(f"{called}() takes {_called(kind)} as `{name}`, not {printable_line(shown)}.")


def _called(kind: Any) -> str:
    """Return what an annotation is called in a sentence."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, UnionType):
        names = list(dict.fromkeys(_called(each) for each in inner))
        return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    if origin is typing.Literal:
        return " or ".join(map(repr, inner))
    plain = origin or kind
    name = getattr(plain, "__name__", str(plain))
    return _CALLED.get(plain) or ("a path" if name == "PathLike" else f"{'an' if name[0] in 'AEIO' else 'a'} {name}")

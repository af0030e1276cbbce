"""``frozen`` and ``record``: slotted dataclasses that are quick to define and to make, and ``replace``, quick to call.

That nobody sets a field of a frozen one is seen by mypy, and by the tests, which call ``refuse_changes``. To refuse it
always would take a twentieth of planning: a class that refuses it can't set its own fields directly either. What users
hold refuses it always (``held=True``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

_C = TypeVar("_C", bound=type)
_N = TypeVar("_N")


@overload
def frozen(cls: _C, /) -> _C: ...
@overload
def frozen(*, kw_only: bool = ..., held: bool = ...) -> Callable[[_C], _C]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, /, *, kw_only: bool = False, held: bool = False) -> Any:
    """Make a class a slotted dataclass that is hashed by its content, as ``dataclass(frozen=True, slots=True)`` does.

    That compiles eight methods for each class, which takes longer than a small query for the classes of trees and
    plans. Here only ``__init__`` is compiled, when it is first called; the other methods are shared. Fields work as in
    any dataclass. ``held``: by users, who are refused to set them.
    """
    if cls is None:
        return lambda decorated: _make(decorated, kw_only, held)
    return _make(cls, kw_only, held)


class KeptHash:
    """Base of frozen classes that are keys again and again: each object finds the hash of its content once."""

    __slots__ = ("_hash",)


@dataclass_transform(field_specifiers=(field,))
def record(cls: _C, /) -> _C:
    """Make a class a slotted dataclass, as ``dataclass(slots=True)`` does, in as little time as ``frozen``."""
    made = _made(cls, kw_only=False)
    made.__hash__ = None
    return made  # type: ignore[no-any-return]


def replace(node: _N, /, **changes: Any) -> _N:
    """Return a dataclass with other values in some fields, as ``dataclasses.replace`` does, in a third of its time."""
    kind = type(node)
    known = _contents.get(kind)
    if known is None:
        names = tuple(each.name for each in fields(kind))  # type: ignore[arg-type]
        known = _contents[kind] = names, (attrgetter(*names) if len(names) > 1 else partial(_alone, names[0]))
    names, content = known
    values = dict(zip(names, content(node), strict=True))
    values.update(changes)
    return kind(**values)


_contents: dict[type, tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]] = {}
"""Of each class that ``replace`` was called for the names of its fields, and what returns their values."""


def _alone(name: str, node: object) -> tuple[Any, ...]:
    return (getattr(node, name),)


def _make(cls: type, kw_only: bool, held: bool) -> type:
    made = _made(cls, kw_only)
    made.__setstate__ = _restore
    if held or _frozen.refuses:
        _refuse(made)
    else:
        _frozen.made.append(made)
    return made  # type: ignore[no-any-return]


class _Frozen:
    """All frozen classes, and whether they refuse that a field is set."""

    def __init__(self) -> None:
        self.made: list[Any] = []
        self.refuses = False


_frozen = _Frozen()


def refuse_changes() -> None:
    """From now on let no field of a frozen object be set or deleted."""
    _frozen.refuses = True
    for made in _frozen.made:
        _refuse(made)


def _refuse(made: Any) -> None:
    made.__setattr__ = _refuse_setting
    made.__delattr__ = _refuse_deleting
    made.__init__ = _deferred(made)


def _made(cls: type, kw_only: bool) -> Any:
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
    made.__init__ = _deferred(made)
    if "__repr__" not in cls.__dict__:
        made.__repr__ = _representation([each.name for each in fields(made) if each.repr])
    if "__eq__" not in cls.__dict__:
        compared = [each for each in fields(made) if each.compare]
        hashed = [each.name for each in compared if each.hash is not False]
        made.__eq__, made.__hash__ = _comparison([each.name for each in compared], hashed)
        if issubclass(made, KeptHash):
            made.__hash__ = _kept(made.__hash__)
    return made


def _deferred(made: Any) -> Callable[..., None]:
    """Return an ``__init__`` that puts the compiled one in its place."""

    def __init__(self: Any, *args: Any, **named: Any) -> None:  # noqa: N807
        made.__init__ = _initializer(made)
        made.__init__(self, *args, **named)

    return __init__


def _initializer(made: type) -> Callable[..., None]:
    """Compile ``__init__``: where setting is refused it stores through the slots' own descriptors, which is slower."""
    scope: dict[str, Any] = {"_MISSING": MISSING}
    setting: Any = made.__setattr__
    refused = setting is not object.__setattr__
    positional, keyword, body = ["self"], list[str](), list[str]()
    for each in fields(made):
        name = each.name
        if refused:
            scope[f"_set_{name}"] = getattr(made, name).__set__
        parameter = value = name
        if each.default is not MISSING:
            scope[f"_default_{name}"] = each.default
            parameter = f"{name}=_default_{name}"
        elif each.default_factory is not MISSING:
            scope[f"_make_{name}"] = each.default_factory
            parameter, value = f"{name}=_MISSING", f"_make_{name}() if {name} is _MISSING else {name}"
        (keyword if each.kw_only else positional).append(parameter)
        body.append(f" _set_{name}(self, {value})" if refused else f" self.{name} = {value}")
    signature = ", ".join([*positional, "*", *keyword] if keyword else positional)
    if hasattr(made, "__post_init__"):
        body.append(" self.__post_init__()")
    exec(f"def __init__({signature}):\n" + ("\n".join(body) or " pass"), scope)
    found: Callable[..., None] = scope["__init__"]
    found.__qualname__ = f"{made.__qualname__}.__init__"
    return found


def _comparison(names: list[str], hashed: list[str]) -> tuple[Callable[[Any, Any], Any], Callable[[Any], int]]:
    """Return ``__eq__`` by the content of some fields, and ``__hash__`` by that of some of these."""
    content: Callable[[Any], Any] = attrgetter(*names) if names else lambda node: ()
    own: Callable[[Any], Any] = attrgetter(*hashed) if hashed else lambda node: ()

    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self is other or content(self) == content(other)

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(own(self))

    return __eq__, __hash__


def _kept(find: Callable[[Any], int]) -> Callable[[Any], int]:
    keep: Callable[[Any, int], None] = KeptHash._hash.__set__  # type: ignore[attr-defined]

    def __hash__(self: Any) -> int:  # noqa: N807
        try:
            found: int = self._hash
        except AttributeError:
            keep(self, found := find(self))
        return found

    return __hash__


def _representation(names: list[str]) -> Callable[[Any], str]:
    """Return ``__repr__`` with these fields."""

    def __repr__(self: Any) -> str:  # noqa: N807
        content = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{type(self).__qualname__}({content})"

    return __repr__


def _refuse_setting(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deleting(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _restore(self: Any, state: tuple[None, dict[str, Any]]) -> None:
    """Take what ``copy`` and ``pickle`` found in the slots."""
    for name, value in state[1].items():
        if name != "_hash":  # which is another one in another process
            object.__setattr__(self, name, value)

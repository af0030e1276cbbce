"""What functions and operators are about to make: the bytes of each result that can be large, told before it is made.

A function that isn't named here gives a value that takes little, or one that was there before.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getsizeof
from typing import Any

from qengine.exec.scalar.text import TEXTUAL, scalar_text
from qengine.exec.scalar.values import NUMBERS, NodeHandle, PathHandle, RelationshipHandle, no_longer
from qengine.exec.sizes import ITEM, text_bytes, width

_POINTER = 8
_STRING = 76  # a string beside its characters
_NORMAL_FORMS = {"NFC": 3, "NFD": 4, "NFKC": 18, "NFKD": 18}  # characters of one at most, as Unicode tells
_ENTITIES = frozenset({NodeHandle, RelationshipHandle})
_FEW_NAMES = 128
_FEW_PROPERTIES = 400
_CASED = 3  # characters that one becomes in upper or lower case at most


def _joined(a: Any, b: Any) -> int:
    """Of ``a + b``, where one is a string or a list."""
    kind, other = type(a), type(b)
    if kind in NUMBERS and other in NUMBERS:
        return 0
    if kind is str and other is str:
        length = len(a) + len(b)
        no_longer(str, length)
        return _STRING + length if a.isascii() and b.isascii() else text_bytes(length, a, b)
    if kind is list or other is list:
        if a is None or b is None:
            return 0
        length = (len(a) if kind is list else 1) + (len(b) if other is list else 1)
        no_longer(list, length)
        return _POINTER * (length + 8)
    if kind is str and other in TEXTUAL:
        return _with_text(a, scalar_text(b))
    return _with_text(b, scalar_text(a)) if other is str and kind in TEXTUAL else 0


def _with_text(text: str, other: str) -> int:
    length = len(text) + len(other)
    no_longer(str, length)
    return _STRING + (length if text.isascii() else length * width(text))


def _copy(value: Any, *_: Any) -> int:
    """Of a part or another order of a string or list."""
    if type(value) is str:
        return getsizeof(value)
    return _POINTER * (len(value) + 8) if type(value) is list else 0


def _cased(value: Any) -> int:
    if type(value) is not str:
        return 0
    return text_bytes(len(value), value) if value.isascii() else _STRING + 4 * _CASED * len(value)


def _normal(value: Any, form: Any = "NFC") -> int:
    if type(value) is not str or value.isascii():
        return _copy(value)
    return _STRING + 4 * _NORMAL_FORMS.get(form.upper() if type(form) is str else "", 1) * len(value)


def _substring(value: Any, start: Any = 0, length: Any = None) -> int:
    if type(value) is not str or type(start) is not int:
        return 0
    most = max(0, len(value) - max(0, start))
    return _STRING + width(value) * (min(most, length) if type(length) is int else most) if value else _STRING


def _left(value: Any, length: Any) -> int:
    return _substring(value, 0, length)


def _replaced(text: Any, old: Any, new: Any) -> int:
    if not type(text) is type(old) is type(new) is str:
        return 0
    length = len(text)
    if len(new) > len(old):
        length += text.count(old) * (len(new) - len(old))
        no_longer(str, length)
    return _STRING + length * max(width(text) if text else 1, width(new) if new else 1)


def _pieces(text: Any, separators: Any) -> int:
    """Of the pieces of a string: the list and its strings; those of one ASCII character are there already."""
    if type(text) is not str:
        return 0
    most, count = 0, 1
    for separator in separators if type(separators) is list else [separators]:
        if type(separator) is str:
            pieces = text.count(separator) if separator else len(text)
            no_longer(list, pieces)
            count += pieces
            most += pieces * (_POINTER if not separator and text.isascii() else _POINTER + _STRING)
    return most + len(text) * (width(text) if text else 1) + _STRING + _POINTER * count


def _numbers(start: Any, end: Any, step: Any = 1) -> int:
    """Of ``range(…)``."""
    if not type(start) is type(end) is type(step) is int or step == 0:
        return 0
    length = max(0, (end - start) // step + 1)
    no_longer(list, length)
    return ITEM * length


def _converted(items: Any) -> int:
    """Of a list of which each item becomes a number or a short string."""
    return (ITEM + _STRING) * len(items) if type(items) is list else 0


def _texts(items: Any) -> int:
    if type(items) is not list:
        return 0
    return _converted(items) + sum(4 * len(item) for item in items if type(item) is str)


def _of_path(path: Any) -> int:
    return _POINTER * (len(path.nodes) + 8) if type(path) is PathHandle else 0


def _text(value: Any) -> int:
    return 0 if type(value) is str else _STRING


def _names(value: Any) -> int:
    """Of the keys of a map; of the keys or labels of a node or relationship, if they are as many as is usual."""
    if type(value) is dict:
        return _POINTER * (len(value) + 8)
    return _FEW_NAMES if type(value) in _ENTITIES else 0


def _properties(value: Any) -> int:
    """Of the map of an entity's properties, if they are as many as is usual."""
    return _FEW_PROPERTIES if type(value) in _ENTITIES else 0


GROWTH: dict[str, Callable[..., int]] = {
    "+": _joined,
    "||": _joined,
    "[..]": _copy,
    "[::]": _copy,
    "tail": _copy,
    "reverse": _copy,
    "range": _numbers,
    "split": _pieces,
    "replace": _replaced,
    "substring": _substring,
    "left": _left,
    "right": _left,
    "trim": _copy,
    "ltrim": _copy,
    "rtrim": _copy,
    "tolower": _cased,
    "toupper": _cased,
    "normalize": _normal,
    "tostring": _text,
    "tostringornull": _text,
    "tobooleanlist": _converted,
    "tointegerlist": _converted,
    "tofloatlist": _converted,
    "tostringlist": _texts,
    "nodes": _of_path,
    "relationships": _of_path,
    "keys": _names,
    "labels": _names,
    "properties": _properties,
}
"""By the name of the function: bytes of its result for these arguments, whatever they are; 0 where it will refuse them.

Raises
------
ExecutionError
    ``NumberOutOfRange`` where the result would be longer than the language allows.
"""

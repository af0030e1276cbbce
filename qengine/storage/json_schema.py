"""Compares JSON with the part of JSON Schema that the project's schemas use."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterator
from typing import Any

from qengine._assets import asset

_KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


@functools.cache
def schema(name: str) -> dict[str, Any]:
    """Return a schema of ``catalog/``, for example ``schema("manifest")``."""
    found: dict[str, Any] = json.loads(asset("catalog", f"{name}.schema.json").read_text())
    return found


def parse(text: bytes | str) -> Any:
    """Return the value that a JSON text stands for.

    Raises
    ------
    ValueError
        If it isn't JSON, names NaN or an infinity, or nests too deep.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def violations(value: Any, wanted: dict[str, Any], place: str) -> Iterator[str]:
    """Yield where a value breaks a schema."""
    kinds = wanted["type"] if isinstance(wanted["type"], list) else [wanted["type"]]
    kind = next((kind for kind in kinds if _is(value, kind)), None)
    if kind is None:
        yield f"{place} is no {' or '.join(kinds)}"
    elif kind == "object":
        for name in wanted.get("required", ()):
            if name not in value:
                yield f"{place} lacks {name}"
        for name, inside in value.items():
            inner = wanted.get("properties", {}).get(name, wanted.get("additionalProperties"))
            pattern = wanted.get("propertyNames", {}).get("pattern")
            if not inner or (pattern and not re.search(pattern, name)):
                yield f"{place} has {name!r}"
            else:
                yield from violations(inside, inner, f"{place}.{name}")
    elif kind == "array":
        least, most = wanted.get("minItems", 0), wanted.get("maxItems", math.inf)
        if not least <= len(value) <= most:
            yield f"{place} has {len(value)} items"
        for row, inside in enumerate(value):
            yield from violations(inside, wanted["items"], f"{place}[{row}]")
    elif kind == "string":
        if not re.search(wanted.get("pattern", ""), value):
            yield f"{place} is {value!r}"
    elif "enum" in wanted and value not in wanted["enum"]:
        yield f"{place} is {value}"
    elif kind in ("integer", "number") and not (
        wanted.get("minimum", -math.inf) <= value <= wanted.get("maximum", math.inf) and abs(value) < math.inf
    ):
        yield f"{place} is out of range"


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")

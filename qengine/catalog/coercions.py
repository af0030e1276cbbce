"""Which types can stand for which, loaded from ``catalog/types.toml``."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from qengine._asset_cache import toml
from qengine._assets import asset
from qengine.types import Kind


@functools.cache
def usable_as() -> Mapping[Kind, frozenset[Kind]]:
    """Return for each type those that a value of it can, or may turn out to, be used as; itself is one of them."""
    return {
        Kind(entry["name"]): frozenset(map(Kind, (entry["name"], *entry.get("fits", ()), *entry.get("open", ()))))
        for entry in toml(asset("catalog", "types.toml"))["type"]
    }

"""Constants that decide which way is worth the while, or how much is done at a time: any values give the same rows."""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_SIZES = (1, 3, 7)

THRESHOLDS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "optimizer.access": {"LEAST_ROWS": (0,)},
    "optimizer.existence": {"_A_STEP": (0.0, 1e9)},
    "optimizer.joins": {
        "_WORTH": (0,), "_MARGIN": (1e-9,), "_SURPRISE": (1e-9,), "_MOST_TOLD": (0.0, 3.0), "_ROWS_AT_ONCE": _SIZES,
        "_LEAST_SHARE": (0.0, 1e9),
    },
    "optimizer.matching": {"_COMPARED": (0,), "_LONG": (0,), "_MARGIN": (1e-9,)},
    "optimizer.order": {"EXACT": (1, 3), "_CHEAP": (0,)},
    "optimizer.elimination": {"_LEAST": (0,), "_A_QUOTIENT": (1e-3,), "_LEAST_SEARCHED": (0,)},
    "optimizer.elimination.searched": {"_A_SEARCH": (1e-3,), "_GAIN": (1e-9,)},
    "optimizer.elimination.vertices": {"_FEWER": (1e-9, 1e9), "_MOST_LEFT": (1, 3)},
    "optimizer.lower.bounded": {
        "_MARGIN": (1e-9,), "_LEAST_ROWS": (0,), "_LARGEST_SHARE": (1e9,), "_LARGEST_SHARE_OF_GROUPS": (1e9,),
    },
    "optimizer.lower.by_node": {
        "_LEAST": (0,), "_A_ROW": (0.0, 1e12), "_A_FOLDED_ROW": (0.0,), "_RELATIONSHIP": (0.0, 1e12),
    },
    "optimizer.lower.completed": {"_LEAST_ROWS": (0,)},
    "optimizer.lower.counted_values": {"_LEAST": (0,), "_REPEATED": (0,)},
    "optimizer.lower.match_by_value": {"_FEW_FOUND": (0, 1e9), "_OFTEN": (0, 1e9), "_MANY_PAIRS": (0,)},
    "optimizer.lower.match_pairs": {"_WORTH": (0,), "_ROW": (1e12,), "_PAIR": (0,), "_MARGIN": (1e-9,)},
    "optimizer.lower.match_strategy": {"_TRIANGLE": (1e-9, 1e9), "_FAR_MORE": (1e-9, 1e9), "_ASKED": (0, 1e12)},
    "optimizer.lower.members": {"_MARGIN": (1e-9,), "_WORTH": (0,), "_WORTH_ONCE": (0,)},
    "optimizer.lower.over_entries": {
        "SETUP": (0, 1e9), "_AN_ENTRY": (0, 1e9), "_AN_ELEMENT": (0, 1e9), "_COMPARED": (0, 1e9),
    },
    "optimizer.lower.tail": {"_FEW_WALKS": (0,)},
    "optimizer.lower.weighed_entries": {"_SETUP": (0,), "_A_WEIGHT": (0, 1e9)},
    "exec.common.columns": {"_MANY": _SIZES},
    "exec.common.dealing": {"_ALONE_SECONDS": (0,), "_A_THREAD": (1,)},
    "exec.common.element_columns": {"_RANGE": _SIZES, "_STORED": (0, 1e9), "_REPEATED": (0,), "_FEWER": (0,)},
    "exec.common.expressions.comparison": {"_FEW_LISTS": (0,), "_MOST_COMPARED": (0,)},
    "exec.common.expressions.over_items": {"_LEAST_ROWS": (0,), "_FEW_ITEMS": (0,), "_MOST_ITEMS": (1, 5)},
    "exec.common.expressions.paths": {"_FEW_ROWS": (0,)},
    "exec.common.expressions.row_wise": {"_FEW": (1,), "_CHECKED_ITEMS": (1,), "_LEAST_REPEATED": (2, 1e9)},
    "exec.common.few_rows": {"_ROOTS": (0, 1000), "_READS": (0, 100_000), "_ROWS": (0, 100_000)},
    "exec.common.grouping": {"_SPARSE": (0,)},
    "exec.common.map_column": {"_MOST_KEYS": (1,)},
    "exec.common.masks": {"_RANGE": _SIZES},
    "exec.common.merged_lists": {"MANY": (2,), "SEVERAL": (1000,), "_MERGE": (-1.0,)},
    "exec.common.operators.aggregate": {"_FEW": (0,)},
    "exec.common.operators.aggregate_by_node": {"_RANGE": _SIZES},
    "exec.common.operators.diverted_first_rows": {"_MOST_ROWS": (0,), "_A_ROW": (0,), "_STORED": (1, 1e9)},
    "exec.common.operators.first_rows": {"_FEW_TIES": (0,)},
    "exec.common.operators.folded_rows": {"_A_ROW": (0, 1e9), "_MORE_ROWS": (1000,), "_TOGETHER": (1,)},
    "exec.common.operators.look_up": {"_FEW_VALUES": (0, 1000)},
    "exec.common.operators.pair_condition": {"_ALIKE": (0,)},
    "exec.common.operators.partial_groups": {"_FEW_GROUPS": (1,)},
    "exec.common.operators.partners": {"_FIRST_FOUND": (1,)},
    "exec.common.operators.repeat": {"_ROWS": _SIZES, "_CELLS": (1, 20), "_TOGETHER": _SIZES},
    "exec.common.operators.repeat_ends": {"_PLACES": (1, 20), "_CELLS": (1, 20), "_TOGETHER": _SIZES},
    "exec.common.operators.repeat_ways": {"_KEPT_WAYS": (0, 3), "_SMALL_RUNS": (1,), "_FIRST": (1,)},
    "exec.common.operators.rows": {"_FILTER_SHARE": (1,)},
    "exec.common.operators.select_paths": {"_ROWS": _SIZES, "_STATES": (1, 20), "_CELLS": (1, 20)},
    "exec.common.operators.selected_walks": {"_CELLS": (1, 20)},
    "exec.common.operators.single_rows": {"_SAMPLED": (1,)},
    "exec.common.operators.sort": {"_FEW_ROWS": (0,)},
    "exec.common.operators.theta_join": {"_LEAST_PAIRS": (1, 3)},
    "exec.common.ordering": {"_FEW_ROWS": (2,), "_FEW_VALUES": (0,)},
    "exec.common.property_texts": {"_LEAST": (0,), "_MOST_DIFFERENT": (0.0, 1.0)},
    "exec.common.resolve": {"_HELD": (0,)},
    "exec.common.value_index": {"_FEW": (0,)},
    "exec.context": {"_ASIDE_ROWS": (0,)},
    "exec.host.eliminate": {"_PAIRS": (1, 5)},
    "exec.host.folds": {
        "_DENSE_BYTES": (0,), "_DENSE_SHARE": (0, 1000), "_FEW_PLACES": (0,), "_CHUNK": (1,), "_DISTINCT_BYTES": (0,),
    },
    "exec.host.hash_join": {"_DENSE": (0,)},
    "exec.host.neighbourhoods": {"_MOST_LINKS": (0,)},
    "exec.host.reach": {"_FEW_STARTS": (0,)},
    "exec.host.reach_kernel": {"_ROWS": _SIZES},
    "exec.host.walk_chains": {"_MANY": (0, 1)},
    "exec.scalar.environment": {"_ALONE": (0,), "_PAGE": (1, 3), "_PAGES_BYTES": (0,), "_CACHED_ENTITIES": (0,)},
}  # fmt: skip
"""Other values of constants, by module of ``qengine`` and name."""


@contextmanager
def others(seed: int | str, share: float = 0.5, only: Collection[str] | None = None) -> Iterator[dict[str, Any]]:
    """Give a part of the constants other values, and batches another size, while the block runs."""
    chance = random.Random(f"thresholds {seed}")
    chosen: dict[str, Any] = {}
    before: list[tuple[Any, str, Any]] = []
    try:
        for name, constants in THRESHOLDS.items():
            module = importlib.import_module(f"qengine.{name}")
            for constant, values in constants.items():
                drawn = chance.random() < share, chance.choice(values)
                if drawn[0] and (only is None or f"{name}.{constant}" in only):
                    value = chosen[f"{name}.{constant}"] = drawn[1]
                    before.append((module, constant, getattr(module, constant)))
                    setattr(module, constant, type(before[-1][2])(value))
        if chance.random() < share and (only is None or "BATCH_ROWS" in only):
            from qengine.exec.common.batch import BATCH_ROWS

            rows = chosen["BATCH_ROWS"] = chance.choice(_SIZES)
            for module in [each for key, each in sys.modules.items() if key.startswith("qengine.exec")]:
                if getattr(module, "BATCH_ROWS", None) == BATCH_ROWS:
                    before.append((module, "BATCH_ROWS", BATCH_ROWS))
                    module.BATCH_ROWS = rows
        yield chosen
    finally:
        for module, constant, value in reversed(before):
            setattr(module, constant, value)

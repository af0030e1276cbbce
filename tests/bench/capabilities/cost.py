"""What an engine costs before the first query: the import, and the packages that come with it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata

from tests.bench.capabilities.table import ENGINES
from tests.bench.report import markdown as table

_DISTRIBUTIONS = {"qengine": "qengine-graph"}
_RUNS = 5
_TIMED = "import time; begin = time.process_time(); import {}; print(time.process_time() - begin)"


def import_seconds(module: str) -> float:
    """Return the least processor time of an import, in processes of their own."""
    runs = [
        subprocess.run([sys.executable, "-c", _TIMED.format(module)], capture_output=True, text=True, check=True)
        for _ in range(_RUNS)
    ]
    return min(float(each.stdout) for each in runs)


def packages(distribution: str, seen: frozenset[str] = frozenset()) -> set[str]:
    """Return the packages that come with one, those of their own too, without extras; not NumPy and PyArrow."""
    found: set[str] = set()
    try:
        needed = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        return found
    for line in needed:
        name = re.split(r"[^\w.-]", line)[0].lower().replace("_", "-")
        if "extra ==" in line or "python_version <" in line or "sys_platform ==" in line or name in seen | found:
            continue
        if name not in ("numpy", "pyarrow"):
            found |= {name} | packages(name, seen | found | {name})
    return found


def version(engine: str) -> str:
    """Return the version of an engine."""
    return metadata.version(_DISTRIBUTIONS.get(engine, ENGINES[engine][0]))


def markdown(engines: Sequence[str]) -> str:
    """Return the table."""
    rows = [
        ["version", *map(version, engines)],
        ["`import`, processor seconds", *(f"{import_seconds(ENGINES[each][0]):.2f}" for each in engines)],
        [
            "packages beyond NumPy and PyArrow",
            *(str(len(packages(_DISTRIBUTIONS.get(each, ENGINES[each][0])))) for each in engines),
        ],
    ]
    return table(["", *engines], rows)

"""Finds the open graphs with true counts that some tests compare against.

They are too large to belong to the checkout. The root holds ``data/`` (one folder a graph) and ``tools/``
(the scripts that made them). ``QENGINE_TEST_DATA`` names it; else it is the folder ``shared`` beside the
checkout.
"""

from __future__ import annotations

import os
from pathlib import Path

ENVIRONMENT_VARIABLE = "QENGINE_TEST_DATA"
_CHECKOUT = Path(__file__).resolve().parents[2]


def shared_root() -> Path | None:
    """Folder that holds ``data/`` and ``tools/``, or None where this machine has none.

    A relative ``QENGINE_TEST_DATA`` is taken from the checkout, not from the working directory.
    """
    root = _CHECKOUT / os.environ.get(ENVIRONMENT_VARIABLE, "../shared")
    return root.resolve() if (root / "data").is_dir() else None


def data_set(name: str) -> Path:
    """Folder (or file) of one data set.

    Parameters
    ----------
    name
        Path below ``data/``, for example ``"yeast"`` or ``"enron16/q8d_0"``.

    Raises
    ------
    FileNotFoundError
        Where the root or this data set is absent.
    """
    return _below_root(Path("data") / name)


def tool(name: str) -> Path:
    """One of the scripts under ``tools/``, for example ``"gen_graph.py"``.

    Raises
    ------
    FileNotFoundError
        Where the root or this script is absent.
    """
    return _below_root(Path("tools") / name)


def corpus() -> Path:
    """Gzipped file of statements as people wrote them, one JSON object a line with its text as ``query``.

    Raises
    ------
    FileNotFoundError
        Where the root or this file is absent.
    """
    return _below_root(Path("corpus") / "statements.jsonl.gz")


def _below_root(relative: Path) -> Path:
    root = shared_root()
    if root is None:
        raise FileNotFoundError(f"no test data: set {ENVIRONMENT_VARIABLE} to the folder that holds data/")
    path = root / relative
    if not path.exists():
        raise FileNotFoundError(f"the test data has no {relative}: {path}")
    return path

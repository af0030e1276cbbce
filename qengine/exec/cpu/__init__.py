"""The CPU executor: native kernels for matching, Arrow and NumPy for rows."""

from __future__ import annotations

from qengine.exec.cpu.pipeline import run

__all__ = ["run"]

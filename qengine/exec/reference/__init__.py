"""The reference executor: runs logical plans by naive backtracking in plain Python.

It is the oracle that the other executors are compared with: written straight from the definitions, obviously right,
never fast. It shares nothing with them but the scalar semantics.
"""

from qengine.exec.reference.run import run

__all__ = ["run"]

"""Random statements that change a graph, what they mean in plain dictionaries, and whether the engine agrees."""

from qengine.testing.updates.agreement import Chain
from qengine.testing.updates.generate import Transaction, random_session

__all__ = ["Chain", "Transaction", "random_session"]

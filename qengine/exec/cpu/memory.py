"""Counts the bytes that operators hold, and refuses what goes beyond the query's limit."""

from __future__ import annotations

from qengine.errors import OutOfMemory

__all__ = ["Holding", "MemoryAccount"]


class MemoryAccount:
    """The bytes that the operators of one execution hold together.

    Parameters
    ----------
    limit
        The most bytes, None for no limit.
    """

    __slots__ = ("limit", "peak", "used")

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.used = 0
        self.peak = 0

    def holding(self, operator: str) -> Holding:
        """Return a holding of no bytes for an operator, named as EXPLAIN names it."""
        return Holding(self, operator)


class Holding:
    """What one operator holds; give it back with ``release`` or by leaving the ``with`` block."""

    __slots__ = ("_account", "_operator", "bytes")

    def __init__(self, account: MemoryAccount, operator: str) -> None:
        self._account = account
        self._operator = operator
        self.bytes = 0

    def __enter__(self) -> Holding:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def add(self, count: int) -> None:
        """Hold ``count`` bytes more.

        Raises
        ------
        OutOfMemory
            Where the limit doesn't allow it.
        """
        self.set(self.bytes + count)

    def set(self, count: int) -> None:
        """Hold ``count`` bytes in all.

        Raises
        ------
        OutOfMemory
            Where the limit doesn't allow it.
        """
        account = self._account
        used = account.used + count - self.bytes
        if account.limit is not None and used > account.limit:
            others = account.used - self.bytes
            raise OutOfMemory(
                f"{self._operator} needs {count:,} bytes for its rows, and other operators hold {others:,}: "
                f"more than the memory limit of {account.limit:,}.",
                hint="Raise memory_limit, filter earlier, return fewer columns, or add a LIMIT to ORDER BY.",
                code="OutOfMemory",
            )
        account.used = used
        account.peak = max(account.peak, used)
        self.bytes = count

    def release(self) -> None:
        """Give everything back."""
        self.set(0)

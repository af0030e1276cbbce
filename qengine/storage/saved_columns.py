"""A property column of a saved graph, whose values can't be had before they are checked."""

from __future__ import annotations

import threading
from typing import Any

import pyarrow as pa

from qengine._limits import stop_if_due
from qengine.storage.blocks import BlockFile
from qengine.storage.columns import PropertyColumn
from qengine.storage.normal import is_normal

_ROWS = 1 << 20  # of a flat array, validated between two looks at a query's limits
_WAIT = 0.05


class _Gate:
    """The attribute whose first reading checks the values; afterwards it is found in the object itself."""

    def __get__(self, column: Any, owner: type) -> Any:
        return self if column is None else column.check()


class SavedColumn(PropertyColumn):
    """A column whose Arrow array is part of a mapped file, checked when it is first read.

    Parameters
    ----------
    begin
        The first id.
    array
        As it stands in the file.
    file
        The file.
    name
        What errors call the column.

    Raises
    ------
    StorageError
        If properties never have the array's type.
    """

    _unchecked: Any
    _length: int
    _bytes: int
    _source: tuple[BlockFile, str]
    _lock: threading.Lock

    def __init__(self, begin: int, array: Any, file: BlockFile, name: str) -> None:
        if not is_normal(array.type):
            raise file.damaged(f"{name}: its type is {array.type}")
        own = {"begin": begin, "_unchecked": array, "_length": len(array), "_source": (file, name)}
        own |= {"_bytes": sum(buffer.size for buffer in array.buffers() if buffer is not None)}
        self.__dict__.update(own, _lock=threading.Lock())

    array = _Gate()

    @property
    def end(self) -> int:
        """One more than the last id that the array covers."""
        return self.begin + self._length

    @property
    def length(self) -> int:
        """How many ids the array covers."""
        return self._length

    @property
    def arrow_type(self) -> Any:
        """The array's type."""
        return self._unchecked.type

    @property
    def nbytes(self) -> int:
        """Bytes of the array's buffers."""
        return self._bytes

    def check(self) -> Any:
        """Return the array, checked.

        Raises
        ------
        StorageError
            If it is damaged.
        ResourceError
            If the query that reads it must stop.
        """
        while not self._lock.acquire(timeout=_WAIT):
            stop_if_due()
        try:
            if "array" not in self.__dict__:
                file, name = self._source
                if not file.trusted:
                    file.check_buffers(self._unchecked)
                    try:
                        validate(self._unchecked)
                    except (pa.ArrowException, ValueError) as error:
                        raise file.damaged(f"{name}: {str(error).splitlines()[0]}") from None
                self.__dict__["array"] = self._unchecked
            return self.__dict__["array"]
        finally:
            self._lock.release()


def validate(array: Any) -> None:
    """Check an Arrow array in full: offsets, texts, children, nulls.

    Raises
    ------
    ArrowInvalid, ValueError
        If it is malformed.
    """
    array.validate()
    if pa.types.is_nested(array.type):
        array.validate(full=True)
        return
    nulls = 0
    for begin in range(0, len(array), _ROWS):
        part = array.slice(begin, _ROWS)
        part.validate(full=True)
        nulls += part.null_count
        stop_if_due()
    if nulls != array.null_count:
        raise ValueError("the number of nulls is wrong")

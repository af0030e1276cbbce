"""What stands in the place of what a closed graph has let go of."""

from __future__ import annotations

from typing import NoReturn

from qengine.errors import StorageError


class Closed:
    """Refuses whatever is asked of it."""

    def __getattr__(self, name: str) -> NoReturn:
        raise StorageError("The graph is closed.", hint="Open or load it again, or query it inside of its with block.")

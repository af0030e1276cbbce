"""What qengine and its peers can do, found by doing it: the rows of the documentation's comparison.

``python -m tests.bench.capabilities`` runs each row on each engine that is installed and prints the
table. A cell is what a
function has found by trying; where nothing can be run here (no server, no extension without the network), it is
what the engine's documentation says, in italics.
"""

from __future__ import annotations

from tests.bench.capabilities.table import Cell, cells, markdown

__all__ = ["Cell", "cells", "markdown"]

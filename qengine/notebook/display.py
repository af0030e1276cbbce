"""Shows results in IPython: pictures as outputs of their own, which exported documents and code hosts show, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

from qengine.explain.page import html
from qengine.notebook.page import Shown, table


class _Drawn(Shown, Protocol):
    """A ``Result`` that may be drawn."""

    shows_plan: ClassVar[bool]

    def to_svg(self) -> str | None:
        """Return the picture."""

    def to_widget(self) -> Any:
        """Return the picture to walk through."""


def bundles(result: _Drawn, walkable: bool = False) -> Iterator[dict[str, Any]]:
    """Yield what a notebook shows of a result: for each output its forms by MIME type.

    ``walkable``: the picture is a widget where these run, and else what it is anyway.
    """
    drawn = result.to_svg()
    if result.shows_plan:
        yield {"text/plain": str(result), "image/svg+xml": drawn or ""}
        plan = result.plan
        told = html("", plan.device, plan.device_reason, result.notices, bool(plan.profile))
        yield {"text/plain": "", "text/html": told}
        return
    if drawn:
        widget = result.to_widget()._repr_mimebundle_()[0] if walkable else {}
        yield widget | {"text/plain": "(a picture)", "image/svg+xml": drawn}
    if result.columns or result.stats.changes is not None:
        yield {"text/plain": str(result), "text/html": table(result)}


def show(result: _Drawn, walkable: bool = False) -> None:
    """Show a result as the outputs of a cell, its picture ``walkable`` or still; in a terminal as its table."""
    from IPython.core.getipython import get_ipython
    from IPython.display import display

    if not hasattr(get_ipython(), "kernel"):
        print(result)
        return
    for bundle in bundles(result, walkable):
        display(bundle, raw=True)

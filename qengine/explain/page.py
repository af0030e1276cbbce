"""A plan's picture with its explanation, for notebooks and documents."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from qengine.errors import Notice

__all__ = ["html"]

_MEANING = (
    "~ rows are estimated: nine of ten times they are between the two numbers in parentheses. Lines are as thick as "
    "the rows that flow along them. Bars are shares of the time, red where the estimate is more than ten times off."
)


def html(picture: str, device: str, reason: str, notices: Iterable[Notice]) -> str:
    """Return a figure: the SVG, the warnings, where the plan runs and why, and what the picture's parts mean."""
    warnings = "".join(
        f"<li><b>{escape(each.message)}</b>{f' {escape(each.hint)}' if each.hint else ''}</li>" for each in notices
    )
    parts = [
        '<figure class="qengine-plan" style="margin:0;overflow-x:auto">',
        picture,
        f'<ul class="warnings" style="color:#a33a22">{warnings}</ul>' if warnings else "",
        f'<figcaption style="color:#5b6472;font-size:smaller">Runs on the {escape(device.upper())}: '
        f"{escape(reason.rstrip('.'))}. {_MEANING}</figcaption>",
        "</figure>",
    ]
    return "\n".join(part for part in parts if part)

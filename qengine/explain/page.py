"""A plan's picture with its explanation, for notebooks and documents."""

from __future__ import annotations

from collections.abc import Iterable

from qengine._html import warnings
from qengine._printable import in_markup
from qengine.errors import Notice

_MEANING = (
    "~ rows are estimated: nine of ten times they are between the two numbers in parentheses. Lines are as thick as "
    "the rows that flow along them."
)
_OF_PROFILES = " Bars are shares of the time, red where the estimate is more than ten times off."


def html(picture: str, device: str, reason: str, notices: Iterable[Notice], profiled: bool) -> str:
    """Return a figure: the SVG, the warnings, where the plan runs and why, and what the picture's parts mean."""
    parts = [
        '<figure class="qengine-plan" style="margin:0;overflow-x:auto">',
        picture,
        warnings(notices),
        f'<figcaption style="color:#5b6472;font-size:smaller">Runs on the {in_markup(device.upper())}: '
        f"{in_markup(reason.rstrip('.'))}. {_MEANING}{_OF_PROFILES if profiled else ''}</figcaption>",
        "</figure>",
    ]
    return "\n".join(part for part in parts if part)

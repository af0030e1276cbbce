"""What things cost on a device: ``catalog/cost/*.toml``, and over it what was measured on the user's machine.

``qengine calibrate`` writes what it measures to ``cost/cpu.toml`` in the user's configuration directory
(``QENGINE_CONFIG_DIR``, else ``qengine`` in ``XDG_CONFIG_HOME`` or ``~/.config``). A file there that can't be read or
holds anything but numbers above 0 is an error: plans would depend on half of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from qengine._assets import asset
from qengine._kept import toml
from qengine.errors import QengineError

__all__ = ["costs", "costs_file", "using"]

_instead: ContextVar[tuple[str, Mapping[str, float]] | None] = ContextVar("costs", default=None)


def costs(device: str, section: str) -> Mapping[str, float]:
    """Return the constants of one section of a device's file, by name.

    Raises
    ------
    QengineError
        For a damaged file in the user's configuration directory.
    """
    instead = _instead.get()
    if instead is not None and device == "cpu" and section == instead[0]:
        return instead[1]
    return _known(device, section)


@contextmanager
def using(constants: Mapping[str, float], section: str = "search") -> Iterator[None]:
    """Plan in this block with other constants of one section of the CPU's."""
    token = _instead.set((section, constants))
    try:
        yield
    finally:
        _instead.reset(token)


def costs_file(device: str) -> Path | None:
    """Return where the constants measured on this machine are kept, None where there is no place for them."""
    if folder := os.environ.get("QENGINE_CONFIG_DIR"):
        return Path(folder) / "cost" / f"{device}.toml"
    home = os.environ.get("XDG_CONFIG_HOME")
    try:
        return (Path(home) if home else Path.home() / ".config") / "qengine" / "cost" / f"{device}.toml"
    except RuntimeError:
        return None


@cache
def _known(device: str, section: str) -> Mapping[str, float]:
    found = dict(toml(asset("catalog", "cost", f"{device}.toml"))[section])
    path = costs_file(device)
    try:
        text = "" if path is None else path.read_text(encoding="utf-8")
    except OSError:
        text = ""
    except UnicodeDecodeError:
        raise _damaged(path, "it is no UTF-8 text") from None
    if not text:
        return found
    import tomllib

    try:
        own = tomllib.loads(text).get(section, {})
    except tomllib.TOMLDecodeError as error:
        raise _damaged(path, str(error)) from None
    for name, value in own.items() if isinstance(own, dict) else [(section, own)]:
        known = name in found and isinstance(value, int | float) and not isinstance(value, bool)
        if not known or not 0 < value < float("inf"):
            raise _damaged(path, f"`{name} = {value}` is not a known constant above 0")
        found[name] = float(value)
    return found


def _damaged(path: Path | None, reason: str) -> QengineError:
    return QengineError(
        f"The measured costs in {path} can't be used: {reason}.",
        hint="Run `qengine calibrate` again, or remove the file.",
        code="DamagedCosts",
    )

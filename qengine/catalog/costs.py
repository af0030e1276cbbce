"""What things cost on a device: ``catalog/cost/*.toml``, and over it what was measured on the user's machine.

``qengine calibrate`` writes what it measures to ``cost/cpu.toml`` in the user's configuration directory
(``QENGINE_CONFIG_DIR``, else ``qengine`` in ``XDG_CONFIG_HOME`` or ``~/.config``). A file there that can't be read or
holds anything but sections and constants that are known, with numbers above 0, is an error: plans would depend on half
of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from qengine._asset_cache import toml
from qengine._assets import asset
from qengine._nearest import nearest
from qengine.errors import QengineError

_only_built_in: ContextVar[bool] = ContextVar("only_built_in", default=False)
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
    return _built_in(device, section) if _only_built_in.get() else _known(device, section)


@contextmanager
def built_in() -> Iterator[None]:
    """Plan in this block with the constants that come with the engine, whatever was measured here."""
    token = _only_built_in.set(True)
    try:
        yield
    finally:
        _only_built_in.reset(token)


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
def _built_in(device: str, section: str) -> Mapping[str, float]:
    return dict(toml(asset("catalog", "cost", f"{device}.toml"))[section])


@cache
def _known(device: str, section: str) -> Mapping[str, float]:
    found = _built_in(device, section)
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
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _damaged(path, str(error)) from None
    known = toml(asset("catalog", "cost", f"{device}.toml"))
    for name, own in given.items():
        if name not in known:
            raise _damaged(path, f"there is no section [{name}]{_nearest(name, known)}")
        if not isinstance(own, dict):
            raise _damaged(path, f"`{name} = {own}` is no section")
        for key, value in own.items():
            if key not in known[name]:
                raise _damaged(path, f"[{name}] has no constant {key}{_nearest(key, known[name])}")
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise _damaged(path, f"`{key} = {value}` is not a number above 0")
    return {**found, **{name: float(value) for name, value in given.get(section, {}).items()}}


def _nearest(name: str, known: Iterable[str]) -> str:
    """Return a clause that names the known name that is nearest to another, or names all of them."""
    known = tuple(known)
    close = nearest(name, known)
    return f"; did you mean {close}?" if close else f", only {', '.join(known)}"


def _damaged(path: Path | None, reason: str) -> QengineError:
    return QengineError(
        f"The measured costs in {path} can't be used: {reason}.",
        hint="Run `qengine calibrate` again, or remove the file.",
        code="DamagedCosts",
    )

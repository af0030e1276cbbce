"""The command ``qengine calibrate``: measures what searches take on this machine, for the planner's cost model."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryFile

from qengine.cli.arguments import Parser
from qengine.errors import QengineError


def parser() -> Parser:
    """Return the command line's parser."""
    found = Parser(
        prog="qengine calibrate",
        description="Measure what searches, eliminations and joins take on this machine, a minute of an idle one, "
        "and keep it for the planner, in cost/cpu.toml of the user's configuration directory (QENGINE_CONFIG_DIR, else "
        "~/.config/qengine). Remove that file to plan by the built-in constants again.",
    )
    found.add_argument("--dry-run", action="store_true", help="show what was measured, and keep nothing")
    return found


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status.

    Raises
    ------
    QengineError
        If the file can't be written.
    """
    options = parser().parse_args(arguments)
    from qengine.calibration import SECTIONS, calibrate
    from qengine.catalog.costs import built_in, costs, costs_file

    path = costs_file("cpu")
    if not options.dry_run:
        if path is None:
            raise QengineError("There is no home directory to keep the costs in.", hint="Set QENGINE_CONFIG_DIR.")
        prepare(path)
    found = {}
    for section in SECTIONS:
        with built_in() if is_damaged(section) else nullcontext():
            before = costs("cpu", section)
            measured = calibrate(section, progress=_progress)
        found[section] = measured.constants
        _progress("")
        print(f"{section}, ns".ljust(20) + f"{'before':>10}{'measured':>10}")
        for name, value in measured.constants.items():
            print(f"{name:<20}{before[name]:>10.3g}{value:>10.3g}")
        print(f"Costs missed times by a factor of {measured.before:.2f} on average, now by {measured.after:.2f}.")
    if path is not None and not options.dry_run:
        write(path, found)
        print(f"Written to {path}.")
    return 0


def is_damaged(section: str) -> bool:
    """Tell whether the file to be replaced can't be used: what is measured is then compared with what is built in."""
    from qengine.catalog.costs import costs

    try:
        costs("cpu", section)
    except QengineError:
        return True
    return False


def prepare(path: Path) -> None:
    """Make the folder of a file that is to be written, and look whether it can be: before the minute of measuring.

    Raises
    ------
    QengineError
        If it can't.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        with TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise _unwritable(path, error) from None


def write(path: Path, constants: Mapping[str, Mapping[str, float]]) -> None:
    """Keep measured constants, by section, in a file, whole or not at all.

    Raises
    ------
    QengineError
        If it can't be written.
    """
    beside = path.with_name(path.name + ".new")
    lines = ["# Written by `qengine calibrate`."]
    for section, values in constants.items():
        lines += [f"[{section}]", *(f"{name} = {value:.4g}" for name, value in values.items())]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text("\n".join([*lines, ""]), encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> QengineError:
    return QengineError(f"{path} can't be written: {error}.", hint="Set QENGINE_CONFIG_DIR to a folder.")


def _progress(message: str) -> None:
    """Show in one line of a terminal what is under way."""
    if sys.stderr.isatty():
        print(f"\r\033[K{message[:100]}", end="", file=sys.stderr, flush=True)

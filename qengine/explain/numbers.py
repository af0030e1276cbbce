"""What is known of an operator, in a few words: expected and actual rows, time, bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qengine.explain.levels import Level


def note(entries: Mapping[str, Any]) -> str:
    """Return what stands behind an operator in a tree; ``entries`` as ``Explanation.entries``."""
    if not entries:
        return ""
    expected, notes = expectation(entries), "".join(f"; {each}" for each in entries.get("notes", ()))
    if "actual_rows" not in entries:
        return expected + notes
    device = " device=gpu" if entries["device"] == "gpu" else ""
    return (
        f"rows={entries['actual_rows']:,} expected={expected} q-error={entries['q_error']:.3g} "
        f"time={entries['own_seconds'] * 1e3:.2f} ms bytes={size(entries['bytes'])}{_spilled(entries)}{device}{notes}"
    )


def level_entries(level: Level) -> dict[str, Any]:
    """Return what is known of a search's level."""
    return {
        "name": level.name,
        "rows": level.rows,
        "exact": level.exact,
        "expected": level.expected,
        "q_error": level.q_error,
    }


def level_note(entries: Mapping[str, Any]) -> str:
    """Return what stands behind a level; ``entries`` as ``level_entries``."""
    rows = f"{entries['rows']:,.0f}" if entries["exact"] else f"~{amount(entries['rows'])}"
    return f"rows={rows} expected=~{amount(entries['expected'])} q-error={entries['q_error']:.3g}"


def _spilled(entries: Mapping[str, Any]) -> str:
    """Return what an operator wrote to disk, if it did."""
    if "spilled_files" not in entries:
        return ""
    files = entries["spilled_files"]
    return f" spilled={size(entries['spilled_bytes'])} in {files:,} {'file' if files == 1 else 'files'}"


def expectation(entries: Mapping[str, Any]) -> str:
    """Return the expected rows: "198 rows" where they are counted, else "~306 rows (90 to 1,000)"."""
    text = _around("row", *(entries[f"estimated_{part}"] for part in ("rows", "low", "high")))
    if "embeddings" in entries:
        numbers = (entries[key] for key in ("embeddings", "embeddings_low", "embeddings_high"))
        text += f" of {_around('embedding', *numbers)}"
    return text


def _around(noun: str, rows: float, low: float, high: float) -> str:
    number = amount(rows)
    nouns = noun if number == "1" else f"{noun}s"
    return (
        f"{number} {nouns}"
        if low == high
        else f"~{number} {nouns} ({amount(low) if low >= 0.5 else 0} to {amount(high)})"
    )


def amount(rows: float) -> str:
    """Return a number of rows with two or three figures that mean something."""
    if rows >= 1e7:
        return f"{rows:.1e}".replace("e+0", "e").replace("e+", "e")
    if rows >= 10:
        return f"{rows:,.0f}" if rows < 1000 else f"{float(f'{rows:.3g}'):,.0f}"
    return f"{rows:.2g}" if rows >= 0.01 else "0"


def size(count: int) -> str:
    """Return a number of bytes."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1000  # type: ignore[assignment]
    return f"{count:,.3g} GB"

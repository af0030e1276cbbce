"""Fills in the navigation: ``folder/*.md`` stands for a folder's pages, ``folder/`` for those of its folders, too.

A folder without pages is left out, so that parts of the documentation can be written apart.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

_INDEX = "index.md"


def on_config(config: Any) -> Any:
    """Replace the patterns in the navigation by the pages that there are."""
    config.nav = _entries(config.nav, Path(config.docs_dir))
    return config


def _entries(nav: list[Any], pages: Path) -> list[Any]:
    found: list[Any] = []
    for entry in nav:
        if isinstance(entry, dict):
            ((title, below),) = entry.items()
            inside = _of(below, pages) if isinstance(below, str) else _entries(below, pages)
            found += [{title: inside}] if inside else []
        else:
            inside = _of(entry, pages)
            found += inside if isinstance(inside, list) else [inside]
    return found


def _of(entry: str, pages: Path) -> str | list[Any]:
    """Return a page, or the pages that a pattern stands for."""
    if entry.endswith("/*.md"):
        names = sorted((pages / entry).parent.glob("*.md"), key=lambda path: (path.name != _INDEX, path.name))
        return [path.relative_to(pages).as_posix() for path in names]
    if entry.endswith("/"):
        folders = [each.name for each in sorted((pages / entry).glob("*/"))]
        below = ((name, _of(f"{entry}{name}/", pages)) for name in folders)
        return [*_of(f"{entry}*.md", pages), *({_title(name): inside} for name, inside in below if inside)]
    return entry


def _title(folder: str) -> str:
    return folder.replace("-", " ").capitalize()

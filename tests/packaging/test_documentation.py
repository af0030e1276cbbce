"""The documentation's site is built without a warning, its links lead somewhere, and nothing is fetched to read it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

pytest.importorskip("mkdocs")
pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page loads, where it leads, and which places it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.places.add(str(found["id"]))
        if tag in LOADED and (target := found.get(LOADED[tag])):
            self.loaded.append(target)
        if tag == "a" and (target := found.get("href")):
            self.links.append(target)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(command, cwd=CHECKOUT / "docs", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    return target


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = Page(path.read_text(encoding="utf-8"))
        assert [each for each in page.loaded if re.match(r"(https?:)?//", each)] == [], path
    for path in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", path.read_text(encoding="utf-8")), path


def test_every_link_and_every_place_is_there(site: Path) -> None:
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}
    for path, page in pages.items():
        for link in page.links:
            target, _, place = unquote(link).partition("#")
            if "://" in target or target.startswith("mailto:"):
                continue
            other = (path.parent / target).resolve() if target else path
            assert other.is_file(), f"{path.name}: {link}"
            assert not place or other.suffix != ".html" or place in pages[other].places, f"{path.name}: {link}"

"""The documentation's pages: their code runs and prints what they say, their links lead somewhere.

Blocks of ``python`` run in the order of the page, in one namespace; a block of ``text`` behind one is what it prints.
Those of ``cypher`` run on the page's ``graph``, else on the example graph, and a ``text`` behind is the table. Those of
``console`` hold commands behind ``$``, with what they print below; those of ``qengine`` run. Blocks of ``ipython`` are
cells of a notebook. What can't run here (installing, other products) is ``sh``, ``py`` and the like.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shlex
import sys
import tomllib
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import qengine
from qengine.cli.main import main

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = CHECKOUT / "docs" / "pages"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OURS = sorted(path for path in PAGES.rglob("*.md") if path.relative_to(PAGES).parts[0] != "language")
RUN = ("python", "cypher", "console", "ipython")
WITHOUT_RUNNING = {"text", "sh", "py", "toml", "yaml", "json", "csv", ""}


def name_of(path: Path) -> str:
    return path.relative_to(PAGES).as_posix()


def blocks(path: Path) -> Iterator[tuple[str, str, str | None]]:
    """Yield the language and the code of each block, and what it must print; None where that isn't said."""
    found = BLOCK.findall(path.read_text(encoding="utf-8"))
    for (language, code), following in zip_longest(found, found[1:]):
        if language in RUN:
            yield language, code, following[1] if following and following[0] == "text" else None


def printed(language: str, code: str, names: dict[str, Any], page: str) -> str:
    """Run a block and return what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if language == "python":
            exec(compile(code, page, "exec"), names)
        elif language == "cypher":
            print(names.setdefault("graph", qengine.example()).query(code))
        else:
            cell(code, names)
    return out.getvalue()


def cell(code: str, names: dict[str, Any]) -> None:
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    shell.history_manager.enabled = False
    shell.user_ns.update(names)
    shell.run_cell(code).raise_error()
    names.update({key: value for key, value in shell.user_ns.items() if not key.startswith("_")})


@pytest.mark.parametrize("path", OURS, ids=name_of)
def test_code_does_what_the_page_says(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # which IPython's shell replaces
    (tmp_path / "examples").symlink_to(CHECKOUT / "examples")
    names: dict[str, Any] = {"__name__": "__main__"}
    for language, code, expected in blocks(path):
        if language == "console":
            for command, wanted in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", code, re.MULTILINE):
                program, *arguments = shlex.split(command)
                assert program == "qengine"
                capsys.readouterr()
                main(arguments)
                assert "".join(capsys.readouterr()) == wanted, command
            continue
        found = printed(language, code, names, name_of(path))
        if expected is not None:
            assert found.rstrip() == expected.rstrip(), code
    if "IPython" in sys.modules:
        from IPython.core.interactiveshell import InteractiveShell

        InteractiveShell.clear_instance()


@pytest.mark.parametrize("path", OURS, ids=name_of)
def test_every_block_says_what_it_is(path: Path) -> None:
    languages = {language for language, _ in BLOCK.findall(path.read_text(encoding="utf-8"))}
    assert languages <= WITHOUT_RUNNING | set(RUN)


@pytest.mark.parametrize("path", sorted(PAGES.rglob("*.md")), ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    text = BLOCK.sub("", path.read_text(encoding="utf-8"))
    for target, section in re.findall(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", text):
        if "://" in target:
            continue
        page = path.parent / target if target else path
        assert page.is_file(), target
        if section and page.suffix == ".md" and "::: " not in page.read_text(encoding="utf-8"):
            headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
            assert section[1:] in {re.sub(r"[^\w -]", "", each).strip().lower().replace(" ", "-") for each in headings}


def test_the_navigation_holds_every_page() -> None:
    text = (CHECKOUT / "docs" / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    entries = re.findall(r"- (?:[^\n:]*: )?(\S+)$", text, re.MULTILINE)
    for path in PAGES.rglob("*.md"):
        name = name_of(path)
        folder = name.rpartition("/")[0]
        assert (
            name in entries or f"{folder}/*.md" in entries or any(name.startswith(e) for e in entries if e[-1] == "/")
        )


def test_every_public_name_is_in_the_reference() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (PAGES / "reference").glob("*.md"))
    documented = set(re.findall(r"^::: qengine\.(\w+)$", text, re.MULTILINE))
    documented |= set(re.findall(r"^::: qengine\.(?:\w+\.)+(\w+)$", text, re.MULTILINE))
    assert [name for name in qengine.__all__ if name not in documented] == []


def test_the_changelog_begins_with_this_version() -> None:
    text = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == qengine.__version__
    versions = re.findall(r"^## \[?(\d[\w.]*|Unreleased)", text, re.MULTILINE)
    assert versions and set(versions[:2]) & {"Unreleased", qengine.__version__}


def test_the_navigation_takes_whole_folders_and_leaves_empty_ones_out(tmp_path: Path) -> None:
    for name in ("language/index.md", "language/a.md", "language/path-modes/trail.md", "concepts/x.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "language" / "empty").mkdir()
    hooks = runpy.run_path(str(CHECKOUT / "docs" / "hooks.py"))
    nav = [
        "index.md",
        {"Language": "language/"},
        {"Concepts": ["concepts/*.md"]},
        {"None": ["no/*.md"]},
        {"Nor": "no/"},
    ]
    assert hooks["on_config"](SimpleNamespace(nav=nav, docs_dir=tmp_path)).nav == [
        "index.md",
        {"Language": ["language/index.md", "language/a.md", {"Path modes": ["language/path-modes/trail.md"]}]},
        {"Concepts": ["concepts/x.md"]},
    ]

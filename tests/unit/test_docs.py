"""The documents tell the truth: the paths that they name exist, and the README's code does what it says."""

from __future__ import annotations

import contextlib
import io
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from qengine import Graph, QengineError
from qengine.cli.main import parser

CHECKOUT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*CHECKOUT.glob("*.md"), *CHECKOUT.glob("kernels/*.md"), *CHECKOUT.glob("tests/bench/**/*.md")])
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall(README)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    targets = [each for each in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in each]
    assert [each for each in targets if not (path.parent / each).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_links_to_sections_lead_to_one(path: Path) -> None:
    for page, section in re.findall(r"\]\(([\w./-]*)#([\w-]+)\)", path.read_text(encoding="utf-8")):
        text = (path.parent / page if page else path).read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        assert section in {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}, page


TOURS = [CHECKOUT / "ARCHITECTURE.md", *sorted((CHECKOUT / "docs/pages/internals").glob("*.md"))]


@pytest.mark.parametrize("path", TOURS, ids=lambda path: path.stem)
def test_tours_of_the_code_name_only_what_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"(?:qengine|kernels|grammar|catalog|tests|examples|docs)/[\w./-]*\w", text))
    assert len(named) > (0 if path.stem == "index" else 10)
    within = [CHECKOUT, CHECKOUT / "qengine"]
    assert [name for name in sorted(named) if not any((place / name).exists() for place in within)] == []


def test_the_readme_python_prints_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    names: dict[str, Any] = {}
    checked = 0
    for (language, code), (_, expected) in pairwise(BLOCKS):
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, "README.md", "exec"), names)
            assert out.getvalue() == expected
            checked += 1
    assert checked == 3


def test_the_readme_shows_a_plan_and_an_error_as_they_are() -> None:
    world = Graph.from_csv(CHECKOUT / "examples" / "world")
    texts = [text for _, text in BLOCKS]
    (plan,) = [text for text in texts if text.startswith("Aggregate")]
    triangle = (
        "MATCH (a:Country)-[:borders]-(b:Country)-[:borders]-(c:Country)-[:borders]-(a) RETURN count(*) AS triangles"
    )
    assert str(world.explain(triangle)) == plan.rstrip("\n")
    (error,) = [text for text in texts if text.startswith("Syntax error")]
    with pytest.raises(QengineError) as caught:
        world.query("MATCH (c:Country) WHERE c.name == 'Peru' RETURN c")
    assert str(caught.value) == error.rstrip("\n")


def test_the_readme_names_every_option_of_the_command() -> None:
    options = {each for action in parser()._actions for each in action.option_strings if each.startswith("--")}
    short = {"--command": "-c", "--file": "-f", "--param": "-P"}
    left_out = {"--help", "--version"}
    assert [each for each in sorted(options - left_out) if short.get(each, each) not in README] == []

"""The format of query scripts, and its parser.

A script is plain text. Blank lines separate its paragraphs, of which there are three kinds::

    # Prose: what the following queries show.

    graph
      (ann:Person {name: 'Ann'})-[:KNOWS]->(bob:Person {name: 'Bob'})

    $name = 'Ann'
    plan> MATCH (:Person {name: $name})-[:KNOWS]->(b)
      RETURN b.name
    Project b.name
      ...
    -- rows
    b.name
    'Bob'

``graph`` describes the graph for the queries below it by path patterns, one or more per line. A relationship without an
arrow head makes its type undirected. ``graph social`` loads the description in ``graphs/social.txt``, ``graph world``
the package's example graph. All graphs have the procedures of ``procedures.py``, and ``LOAD CSV`` reads ``files/``.

A query follows a prompt; its continuation lines are indented by two spaces. Lines above the prompt set parameters.
Words before ``>`` ask for more than the rows, or expect something else:

- ``plan``: the physical plan before the rows, without estimates;
- ``steps``: the plan as bound, after each optimizer rule that changed it, and lowered;
- ``warns``: warnings after the rows;
- ``error``: an error with its full text instead of rows.

The lines after a query, up to the next blank line, are its output. Updating scripts rewrites only that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

WORDS = ("plan", "steps", "warns", "error")
_PROMPT = re.compile(r"([a-z ]*)> (.*)")
_PARAMETER = re.compile(r"\$(\w+) = (.+)")
_INDENT = "  "


class ScriptError(Exception):
    """A malformed script, or one whose expectations aren't met. The message begins with file and line."""


@dataclass(frozen=True)
class Prose:
    """A paragraph of comments."""

    line: int
    lines: tuple[str, ...]

    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True)
class GraphText:
    """A graph: its ``name``, or else the ``lines`` that describe it."""

    line: int
    name: str | None
    lines: tuple[str, ...]

    def text(self) -> str:
        return "\n".join(
            ["graph" if self.name is None else f"graph {self.name}", *(_INDENT + each for each in self.lines)]
        )


@dataclass(frozen=True)
class Query:
    """A query and its ``output``. ``parameters``: names and expressions. ``words``: those before the prompt."""

    line: int
    words: tuple[str, ...]
    query: str
    parameters: tuple[tuple[str, str], ...]
    output: str

    def text(self, output: str | None = None) -> str:
        """Return the paragraph, with ``output`` instead of its own if that is given."""
        given = [f"${name} = {value}" for name, value in self.parameters]
        prompt = " ".join(self.words) + "> "
        return "\n".join([*given, prompt + self.query.replace("\n", "\n" + _INDENT), output or self.output])


@dataclass(frozen=True)
class Script:
    path: Path
    paragraphs: tuple[Prose | GraphText | Query, ...] = field(default_factory=tuple)

    def fail(self, line: int, problem: str) -> NoReturn:
        raise ScriptError(f"{self.path.name}:{line}: {problem}")


def read(path: Path) -> Script:
    """Read a script.

    Raises
    ------
    ScriptError
        At the first malformed line.
    """
    script = Script(path)
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if line != line.rstrip() or "\t" in line:
            script.fail(number, "a line ends with a blank, or holds a tab.")
    paragraphs = tuple(_paragraph(script, number, block) for number, block in _blocks(lines))
    queries = [each for each in paragraphs if isinstance(each, Query)]
    if not queries:
        script.fail(1, "the script has no query.")
    first = next((each for each in paragraphs if not isinstance(each, Prose)), None)
    if isinstance(first, Query):
        script.fail(first.line, "no graph is given before the first query.")
    return Script(path, paragraphs)


def _blocks(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the paragraphs, each with the number of its first line."""
    block: list[str] = []
    for number, line in enumerate([*lines, ""], 1):
        if line:
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _paragraph(script: Script, line: int, block: list[str]) -> Prose | GraphText | Query:
    head = block[0]
    if head.startswith("#"):
        for number, each in enumerate(block, line):
            if not each.startswith("#"):
                script.fail(number, "a line of prose lacks its '#', or a blank line is missing above it.")
        return Prose(line, tuple(block))
    if re.match(r"graph\b", head):
        return _graph(script, line, block)
    return _query(script, line, block)


def _graph(script: Script, line: int, block: list[str]) -> GraphText:
    words = block[0].split()
    for number, each in enumerate(block[1:], line + 1):
        if not each.startswith(_INDENT):
            script.fail(number, "a line of a graph isn't indented, or a blank line is missing above it.")
    named, described = len(words) == 2, len(block) > 1
    if len(words) > 2 or named == described:
        script.fail(line, "write 'graph NAME', or 'graph' with its patterns in indented lines below it.")
    return GraphText(line, words[1] if named else None, tuple(each.removeprefix(_INDENT) for each in block[1:]))


def _query(script: Script, line: int, block: list[str]) -> Query:
    parameters: dict[str, str] = {}
    place = 0
    while place < len(block) and (given := _PARAMETER.fullmatch(block[place])):
        if given[1] in parameters:
            script.fail(line + place, f"parameter ${given[1]} is given twice.")
        parameters[given[1]] = given[2]
        place += 1
    prompt = _PROMPT.fullmatch(block[place]) if place < len(block) else None
    if prompt is None:
        where = min(place, len(block) - 1)
        script.fail(line + where, f"expected a query behind '> ', '# prose' or 'graph', found {block[where]!r}.")
    words = tuple(prompt[1].split())
    for word in words:
        if word not in WORDS or words.count(word) > 1:
            script.fail(
                line + place, f"'{word}' can't stand here; each of {', '.join(WORDS)} may stand before '>' once."
            )
    if "error" in words and len(words) > 1:
        script.fail(line + place, "'error' stands alone: a query that fails has no plan and no rows.")
    begin = place + 1
    while begin < len(block) and block[begin].startswith(_INDENT):
        begin += 1
    text = "\n".join([prompt[2], *(each.removeprefix(_INDENT) for each in block[place + 1 : begin])])
    return Query(line + place, words, text, tuple(parameters.items()), "\n".join(block[begin:]))

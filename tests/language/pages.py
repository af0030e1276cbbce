"""Makes the pages. What an example gives is asked of the engine, so a page can't promise what isn't so."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import qengine
from qengine.catalog.functions import Function, functions
from qengine.cli.values import to_text

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "pages" / "language"
_SOURCES = ROOT / "docs" / "language"
INNER = {"{}", "[::]", "path[..]"}
"""Operators that no expression writes."""
_MADE = (
    "<!-- Made by python -m tests.language; edit docs/language, catalog/functions.toml or grammar/cypher.lark. -->\n"
)
_STATEMENT = re.compile(r"(MATCH|UNWIND|CREATE|MERGE|RETURN|WITH|CALL|SHOW|FOR|LET|INSERT|USE)\b")


def pages() -> dict[str, str]:
    """Return the text of each page by its file's name."""
    clauses = read_source("clauses")
    examples = read_source("examples")
    graph = clauses["graph"]
    return {
        "index.md": _index(clauses),
        "clauses.md": _clauses(clauses),
        "operators.md": _operators(examples["operators"], graph),
        "functions.md": _functions(examples["functions"], graph),
        "differences.md": _differences(read_source("differences"), graph),
    }


def read_source(name: str) -> dict[str, Any]:
    """Return a file of docs/language."""
    return tomllib.loads((_SOURCES / f"{name}.toml").read_text(encoding="utf-8"))


def _index(clauses: dict[str, Any]) -> str:
    return f"""# The language

{_MADE}
Cypher, with the pattern language of GQL. [Clauses and patterns](clauses.md), [operators](operators.md),
[functions](functions.md), and [where we differ](differences.md) from Neo4j 5, openCypher 9 and GQL.

Each example was run when these pages were made, over this graph, anew each:

```cypher
{clauses["graph"].strip()}
```
"""


def _clauses(source: dict[str, Any]) -> str:
    rules = grammar_rules()
    parts = ["# Clauses and patterns\n", _MADE]
    for group in source["group"]:
        parts.append(f"\n## {group['title']}\n")
        for clause in group["clause"]:
            parts.append(f"\n### {clause['name']}\n\n{clause['text'].strip()}\n")
            if clause["rules"]:
                shown = "\n".join(rules[name] for name in clause["rules"])
                parts.append(f"\n```text\n{shown}\n```\n")
            parts += [_shown(example, source["graph"]) for example in clause["examples"]]
    return "".join(parts)


def grammar_rules() -> dict[str, str]:
    """Return the grammar's rules by name, without the names of what is built for each alternative."""
    text = (ROOT / "grammar" / "cypher.lark").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for match in re.finditer(r"^\??(\w+): (.*(?:\n +\S.*)*)", text, re.MULTILINE):
        alternatives = [re.sub(r"\s+-> \w+$", "", each.strip()) for each in match[2].split("\n")]
        found[match[1]] = "\n".join([f"{match[1]}: {alternatives[0]}", *(f"    {each}" for each in alternatives[1:])])
    return found


def _operators(examples: dict[str, str], graph: str) -> str:
    parts = ["# Operators\n", _MADE]
    parts.append(
        "\n`AND`, `OR` and `XOR` follow three-valued logic; chains such as `a < b <= c` are the conjunction of their"
        " links. From the loosest to the tightest: `OR`, `XOR`, `AND`, `NOT`, comparisons and predicates, `+` `-` `||`,"
        " `*` `/` `%`, `^`, unary signs, postfix forms.\n"
        "\n`AND`, `OR`, `CASE`, `coalesce()`, such chains, and `any`, `all`, `none` and `single` evaluate their parts"
        " from left to right, as far as needed: `coalesce(1, 1 / 0)` is 1. All other operators and functions evaluate"
        " all of their arguments, and lists all of their items. In `WHERE`, conditions that can fail come last, where"
        " the others hold. Time zones are those of the IANA database (the package `tzdata`), before 1970 too.\n"
    )
    spelt = {"neg": "unary -", "pos": "unary +", "[]": "x[i]", "[..]": "x[a..b]", "$all": ":$(…)", "$any": ":$any(…)"}
    known = [each for each in functions() if each.kind == "operator" and each.name not in INNER]
    parts += [_entry(each, spelt.get(each.name, each.name), examples[each.name], graph) for each in known]
    return "".join(parts)


def _functions(examples: dict[str, str], graph: str) -> str:
    parts = ["# Functions\n", _MADE]
    parts.append(
        "\nNames are matched without regard to case. `T` stands for one type throughout a signature, `?` marks an"
        " argument that may be absent, `...` one that may repeat. Functions of users are registered by"
        " `qengine.function` and `qengine.aggregate`.\n"
    )
    known = {each.name: each for each in functions() if each.kind != "operator" and each.available}
    for title, names in _sections():
        found = [known[name] for name in names if name in known]
        if found:
            parts.append(f"\n## {title.capitalize()}\n")
            parts += [_entry(each, f"{each.name}()", examples[each.name], graph) for each in found]
    return "".join(parts)


def _sections() -> Iterator[tuple[str, list[str]]]:
    """Give the catalogue's sections with the names in each."""
    text = (ROOT / "catalog" / "functions.toml").read_text(encoding="utf-8")
    for part in re.split(r"^# -{10,} ", text, flags=re.MULTILINE)[1:]:
        title = part.partition("\n")[0].partition(" (")[0]
        yield title, re.findall(r'^name = "(.+)"$', part, re.MULTILINE)


def _entry(function: Function, title: str, example: str, graph: str) -> str:
    mark = f"{title}  " if function.kind == "operator" else function.name
    signatures = "\n".join(f"{mark}{each}" for each in function.signatures)
    about = [function.doc]
    if function.kind == "aggregate":
        about.append("Nulls are left out.")
    elif function.strict and any(each.parameters for each in function.signatures):
        about.append("Null where an argument is null.")
    if function.aliases:
        about.append(f"Also called {', '.join(f'`{each}`' for each in function.aliases)}.")
    if not function.deterministic:
        about.append("It may give something else at each call.")
    if function.total:
        about.append("It never fails.")
    return f"\n### `{title}`\n\n{' '.join(about)}\n\n```text\n{signatures}\n```\n{_shown(example, graph)}"


def _differences(source: dict[str, Any], graph: str) -> str:
    rows = [
        f"| {id} | {name} | {_accepted(statement, graph)} | `{statement.replace('|', chr(92) + '|')}` |"
        for id, name, statement in source["features"]
    ]
    parts = ["# Differences\n", _MADE, "\n## GQL's optional features\n\n"]
    parts.append("By the ids of ISO/IEC 39075:2024. *no*: the statement is refused.\n\n")
    parts.append("| id | feature | here | such as |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")
    parts.append("\n## From Neo4j 5, openCypher 9 and GQL\n")
    for each in source["difference"]:
        parts.append(f"\n**{each['from']}.** {each['text']}\n")
        if "example" in each:
            parts.append(_shown(each["example"], graph))
    return "".join(parts)


def _accepted(statement: str, graph: str) -> str:
    try:
        _graph(graph).explain(statement)
    except (qengine.QuerySyntaxError, qengine.SemanticError, qengine.Unsupported):
        return "no"
    return "yes"


def _shown(example: str, graph: str) -> str:
    """Return an example with what it gives: a statement's rows, or an expression's value."""
    if not _STATEMENT.match(example) and not example.startswith("CYPHER"):
        (row,) = _graph(graph).query(f"RETURN {example} AS x").fetchall()
        return f"\n```cypher\n{example}\n```\n\n`{to_text(row[0], True)}`\n"
    result = _graph(graph).query(example)
    rows = result.fetchall()
    lines = [f"\n```cypher\n{example}\n```\n"]
    if result.columns:
        cells = [[_cell(value) for value in row] for row in rows]
        head = [each.replace("|", "\\|") for each in result.columns]
        lines += [f"| {' | '.join(each)} |" for each in (head, ["---"] * len(head), *cells)]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    return f"`{to_text(value, True)}`".replace("|", "\\|")


def _graph(statement: str) -> qengine.Graph:
    graph = qengine.Graph()
    graph.query(statement)
    return graph

"""Syntax trees as text: fields at their default are left out, names and values are written short."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from qengine.syntax import ast, parse

GOLDEN = "syntax_trees"
WIDTH = 110


def test_tree(golden_case: Any) -> None:
    golden_case.check("\n".join(dump(statement) for statement in parse(golden_case.query)))


def dump(node: Any, indent: str = "") -> str:
    flat = line(node)
    if len(indent) + len(flat) <= WIDTH or not is_dataclass(node):
        return indent + flat
    lines = [f"{indent}{type(node).__name__}"]
    for name, value in told(node):
        parts = value if isinstance(value, tuple) else (value,)
        if any(is_dataclass(part) for part in parts):
            lines += [f"{indent}  {name}:", *(dump(part, indent + "    ") for part in parts)]
        else:
            lines.append(f"{indent}  {name}: {line(value)}")
    return "\n".join(lines)


def line(value: Any) -> str:
    match value:
        case ast.Variable(name):
            return name if name.isidentifier() else f"`{name}`"
        case ast.Parameter(name):
            return f"${name}"
        case ast.LabelName(name):
            return f":{name}"
        case ast.Literal(constant):
            return repr(constant)
        case tuple():
            return f"({', '.join(line(part) for part in value)})"
    if not is_dataclass(value):
        return repr(value)
    return f"{type(value).__name__}({', '.join(f'{name}={line(part)}' for name, part in told(value))})"


def told(node: Any) -> list[tuple[str, Any]]:
    compared = [(field, getattr(node, field.name)) for field in fields(node) if field.compare]
    return [(f.name, v) for f, v in compared if v is not None and (f.default is MISSING or v != f.default)]

"""The language reference is what the grammar, the catalogue and its examples give."""

from __future__ import annotations

from qengine.catalog.functions import functions
from tests.language.pages import FOLDER, INNER, grammar_rules, pages, read_source


def test_the_pages_are_what_is_made_of_their_sources() -> None:
    made = pages()
    assert sorted(made) == sorted(path.name for path in FOLDER.iterdir())
    for name, text in made.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, f"run python -m tests.language: {name} is another"


def test_each_operator_and_function_has_an_example_and_no_other_is_there() -> None:
    examples = read_source("examples")
    for kind, is_operator in (("operators", True), ("functions", False)):
        known = {each.name for each in functions() if (each.kind == "operator") is is_operator and each.available}
        assert set(examples[kind]) == known - INNER


def test_each_rule_of_the_grammar_is_shown() -> None:
    """But those of sequences, and those that only choose among others."""
    shown = {
        name for group in read_source("clauses")["group"] for clause in group["clause"] for name in clause["rules"]
    }
    rules = grammar_rules()
    several = {name for name in rules if name.endswith(("s", "es")) and name.removesuffix("s") in rules}
    choices = {"clause", "single_query", "expression", "binary", "prefix", "label_term", "path_term", "properties"}
    others = {
        "expressions",
        "prefixes",
        "matches",
        "path",
        "pattern_expression",
        "projection_entries",
        "map_entries",
        "map_entry",
    }
    assert rules.keys() - shown <= several | choices | others

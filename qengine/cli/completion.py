"""Completion in the shell: keywords, functions, labels, types, properties, commands and what they take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from qengine._printable import printable_line
from qengine.catalog.functions import functions
from qengine.cli.commands import CHOICES, COMMANDS, OF_FILES, OF_QUERIES
from qengine.cli.session import Session
from qengine.cli.typed import Place, Typed
from qengine.graph import Graph

KEYWORDS = (
    "ALL SHORTEST", "AND", "ANY SHORTEST", "AS", "ASC", "CALL", "CASE", "CONTAINS", "CREATE", "CREATE CONSTRAINT",
    "CREATE INDEX", "DELETE", "DESC", "DETACH DELETE", "DIFFERENT NODES", "DIFFERENT RELATIONSHIPS", "DISTINCT",
    "DROP CONSTRAINT", "DROP INDEX", "ELSE", "END", "ENDS WITH", "EXISTS", "EXPLAIN", "FALSE", "FOREACH", "IN",
    "IN TRANSACTIONS", "IS NOT NULL", "IS NULL", "LIMIT", "LOAD CSV", "MATCH", "MERGE", "NOT", "NULL",
    "ON CREATE SET", "ON MATCH SET", "OPTIONAL MATCH", "OR", "ORDER BY", "PROFILE", "REMOVE", "REPEATABLE ELEMENTS",
    "RETURN", "SET", "SHORTEST", "SHOW CONSTRAINTS", "SHOW INDEXES", "SKIP", "STARTS WITH", "THEN", "TRUE", "UNION",
    "UNION ALL", "UNWIND", "WHEN", "WHERE", "WITH", "XOR", "YIELD",
)  # fmt: skip
_OF_FUNCTIONS = (":help", ":functions")


class ShellCompleter(Completer):
    """Completes the word before the cursor by what may stand there."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield the completions of the word before the cursor."""
        text = document.text_before_cursor
        line = text.rpartition("\n")[2]
        command, space, argument = line.partition(" ")
        if command.startswith(":") and not space:
            yield from _matching(command, COMMANDS)
        if not text.startswith(":"):
            yield from self._of_query(text)
        elif space and command in OF_FILES:
            yield from PathCompleter(expanduser=True).get_completions(Document(argument), complete_event)
        elif space and command in CHOICES:
            yield from _matching(argument, CHOICES[command])
        elif space and command in _OF_FUNCTIONS:
            yield from _matching(argument, _function_names())
        elif space and command in OF_QUERIES:
            yield from self._of_query(text.partition(" ")[2])

    def _of_query(self, text: str) -> Iterator[Completion]:
        typed = Typed(text)
        yield from _matching(typed.word, self._candidates(typed), names=typed.place is not Place.WORD)

    def _candidates(self, typed: Typed) -> Iterable[str]:
        graph = self._session.graph
        match typed.place:
            case Place.NOTHING:
                return ()
            case Place.PARAMETER:
                return [f"${name}" for name in self._session.parameters]
            case Place.LABEL:
                return graph.labels
            case Place.TYPE:
                return graph.relationship_types
            case Place.PROPERTY:
                return _property_keys(graph, typed)
            case Place.WORD:
                return (*typed.variables, *KEYWORDS, *_function_names())


def _property_keys(graph: Graph, typed: Typed) -> Iterable[str]:
    """Return the properties of the variable before the dot: of its labels or types, as far as these are known."""
    known = typed.variables.get(typed.owner)
    if known is None:
        return graph.property_keys
    schema = graph.schema
    owners = (
        [each.properties for each in schema.relationships if not known.names or each.type in known.names]
        if known.is_relationship
        else [each.properties for each in schema.nodes if not known.names or known.names.intersection(each.labels)]
    )
    return sorted({key for properties in owners for key in properties}) or graph.property_keys


def _function_names() -> list[str]:
    return [each.name for each in functions() if each.available and each.name.replace(".", "").isidentifier()]


def _matching(word: str, candidates: Iterable[str], names: bool = False) -> Iterator[Completion]:
    """Yield the candidates that begin with a word; ``names``: of a graph, which may need backticks.

    Names that can't be shown as they are can't be typed either, and are left out.
    """
    lowered = word.removeprefix("`").lower()
    for candidate in dict.fromkeys(candidates):
        if candidate.lower().startswith(lowered) and candidate != word and printable_line(candidate) == candidate:
            plain = not names or candidate.removeprefix("$").isidentifier()
            text = candidate if plain else f"`{candidate.replace('`', '``')}`"
            yield Completion(text, start_position=-len(word), display=candidate)

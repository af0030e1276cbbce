"""Completion in the shell: keywords, functions, labels, types, properties, commands, file names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from qengine.cli.commands import COMMANDS
from qengine.cli.session import Session

KEYWORDS = (
    "ALL SHORTEST", "AND", "ANY SHORTEST", "AS", "ASC", "CASE", "CONTAINS", "DESC", "DIFFERENT NODES",
    "DIFFERENT RELATIONSHIPS", "DISTINCT", "ELSE", "END", "ENDS WITH", "EXISTS", "EXPLAIN", "FALSE", "IN",
    "IS NOT NULL", "IS NULL", "LIMIT", "MATCH", "NOT", "NULL", "OPTIONAL MATCH", "OR", "ORDER BY", "PROFILE",
    "REPEATABLE ELEMENTS",
    "RETURN", "SHORTEST", "SKIP", "STARTS WITH", "THEN", "TRUE", "UNION", "UNWIND", "WHEN", "WHERE", "WITH", "XOR",
)  # fmt: skip

_WORD = re.compile(r"[\w`]*$")
_FILES = {":load", ":save"}


class ShellCompleter(Completer):
    """Completes by what stands before the word: ``:`` a label or type, ``.`` a property, else a word."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._functions: tuple[str, ...] | None = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield the completions of the word before the cursor."""
        text = document.text_before_cursor
        command, space, rest = text.partition(" ")
        if text.startswith(":") and not space:
            yield from _matching(text, COMMANDS)
            return
        if command in _FILES:
            yield from PathCompleter(expanduser=True).get_completions(Document(rest), complete_event)
            return
        found = _WORD.search(text)
        word = found.group() if found else ""
        before = text[: len(text) - len(word)].rstrip()
        yield from _matching(word, self._candidates(before, text))

    def _candidates(self, before: str, text: str) -> Iterable[str]:
        graph = self._session.graph
        if before.endswith((":", "|", "&", "!")):
            inside = text.rfind("[") > max(text.rfind("]"), text.rfind("("))
            return graph.relationship_types if inside else graph.labels
        if before.endswith("."):
            return graph.property_keys
        return (*KEYWORDS, *self._function_names(), *_names(text))

    def _function_names(self) -> tuple[str, ...]:
        if self._functions is None:
            from qengine.catalog.functions import functions

            names = (function.name for function in functions())
            self._functions = tuple(name for name in names if name.replace(".", "").isidentifier())
        return self._functions


def _names(text: str) -> list[str]:
    """Return the variables that the text has named so far."""
    return sorted(set(re.findall(r"[(\[]\s*([A-Za-z_]\w*)", text)) | set(re.findall(r"(?i)\bas\s+(\w+)", text)))


def _matching(word: str, candidates: Iterable[str]) -> Iterator[Completion]:
    lowered = word.lower()
    for candidate in dict.fromkeys(candidates):
        if candidate.lower().startswith(lowered) and candidate != word:
            yield Completion(candidate, start_position=-len(word))

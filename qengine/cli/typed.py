"""What of a query has been typed so far: the word before the cursor, what may stand there, and the variables."""

from __future__ import annotations

from enum import Enum

from qengine._frozen import record
from qengine.syntax import tokens

_WORDS = ("name", "property", "label", "function", "keyword")  # kinds of lexemes that are completed


class Place(Enum):
    """What the word before the cursor is."""

    NOTHING = "inside a string or a comment, or a number"
    PARAMETER = "parameter"
    LABEL = "label"
    TYPE = "relationship type"
    PROPERTY = "property"
    WORD = "keyword, function or variable"


@record
class Variable:
    """A variable of the query: a node's or a relationship's, with the labels or types that it is given."""

    is_relationship: bool
    names: set[str]


class Typed:
    """The text before the cursor, read by the language's own tokens.

    ``word``: what is being typed. ``place``: what it may be. ``owner``: the variable before its dot. ``variables``:
    those that the statement has named; None for one of which it isn't known what it stands for.
    """

    def __init__(self, text: str) -> None:
        self.variables: dict[str, Variable | None] = {}
        self.word, self.owner = "", ""
        found = tokens(text)
        pieces = [(each.kind, text[each.span.start : each.span.end]) for each in found]
        while ("punctuation", ";") in pieces:  # only the last statement counts
            pieces = pieces[pieces.index(("punctuation", ";")) + 1 :]
        self._pieces = pieces
        last = pieces[-1] if pieces and found[-1].span.end == len(text) else ("", "")
        if last[0] in _WORDS:
            self.word = pieces.pop()[1]
        self.place = self._place(last)
        self._find_variables()

    def _place(self, last: tuple[str, str]) -> Place:
        if last[0] in ("string", "comment", "number", "hint"):
            return Place.NOTHING
        if last[0] == "parameter" or last[1].startswith("$"):
            self.word = last[1]
            return Place.PARAMETER
        before = self._pieces[-1][1] if self._pieces else ""
        if before == "." and len(self._pieces) > 1:
            self.owner = _name(self._pieces[-2][1])
            return Place.PROPERTY
        if before in (":", "|", "&", "!") and (bracket := self._bracket_of_labels()):
            return Place.TYPE if bracket == "[" else Place.LABEL
        return Place.WORD

    def _bracket_of_labels(self) -> str:
        """Return the bracket around a label expression before the word, "" where none is before it."""
        place = len(self._pieces)
        while place:
            kind, text = self._pieces[place - 1]
            if kind not in ("label", "name") and text not in ("|", "&", "!", "(", ")"):
                break
            place -= 1
        if not place or self._pieces[place - 1][1] != ":":
            return ""
        depth = 0
        for _, text in reversed(self._pieces[: place - 1]):
            if text in (")", "]", "}"):
                depth += 1
            elif text in ("(", "[", "{"):
                if not depth:
                    return "" if text == "{" else text
                depth -= 1
        return "("  # a condition on labels

    def _find_variables(self) -> None:
        for place, (kind, text) in enumerate(self._pieces):
            before = self._pieces[place - 1][1] if place else ""
            if kind != "name":
                continue
            if before in ("(", "["):
                known = self.variables.setdefault(_name(text), Variable(before == "[", set()))
                if known is not None:
                    known.names |= self._labels_after(place + 1)
            elif before.upper() == "AS" and place > 1:
                self.variables.setdefault(_name(text), self.variables.get(_name(self._pieces[place - 2][1])))

    def _labels_after(self, place: int) -> set[str]:
        """Return the names in the label expression that begins here; none where it says what the labels are not."""
        found = set()
        if place < len(self._pieces) and self._pieces[place][1] == ":":
            for kind, text in self._pieces[place + 1 :]:
                if text in ("!", "%"):
                    return set()
                if kind == "label":
                    found.add(_name(text))
                elif text not in ("|", "&", ":", "(", ")"):
                    break
        return found


def _name(text: str) -> str:
    """Return a name without its backticks."""
    return text.strip("`").replace("``", "`") if text.startswith("`") else text

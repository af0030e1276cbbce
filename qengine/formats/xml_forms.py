"""Elements of XML that are written alike, read together: one pattern takes each of them, without a parser's events.

A *form* is what an element looks like, with its tags, attributes and white space, apart from the values. It is derived
from the first element that has it. Values that XML would change or refuse, such as entities, fit no form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from qengine._frozen import record

Place: TypeAlias = tuple[str, str]
"""Where a value stands in an element: its tag and attribute; of a child, the child's tag and the key that it has."""

_FORMS = 64
"""So many of a file are known at a time."""

_PLAIN = r"[^<>&\x00-\x1f\ufffe\uffff]"
_VALUE = _PLAIN.replace("<", '"<')
_NAME = r"[A-Za-z_][\w.-]*"
_TAG = re.compile(rf'<(/?)({_NAME})((?:\s+{_NAME}="{_VALUE}*")*)\s*(/?)>')
_ATTRIBUTE = re.compile(rf'(\s+)({_NAME})="({_VALUE}*)"')
_TEXT = re.compile(rf"{_PLAIN}*")
_SPACE = re.compile(r"\s*")
_TAGS = 400  # of an element
_DERIVING = 300  # as many trials of a form take the time in which one is derived
_GAIN = 5  # and so many that in which a parser takes an element
_MOST_GAINED = 4096


@record
class Form:
    """A form: the tag, the pattern of an element, and where the value of each of its groups stands."""

    tag: str
    pattern: re.Pattern[str]
    places: tuple[Place, ...]


class Forms:
    """The forms of a file's elements.

    Parameters
    ----------
    children
        For the tags of children that hold a property: the attributes that may name it, and the one that is its value,
        None where the text is.
    within
        Tags that only hold children.
    """

    def __init__(self, children: dict[str, tuple[tuple[str, ...], str | None]], within: Sequence[str] = ()) -> None:
        self._children = children
        self._within = frozenset(within)
        self._known: list[Form] = []
        self._gained = _MOST_GAINED

    @property
    def pay(self) -> bool:
        """Whether elements have lately been read in less time than a parser takes, or none were tried."""
        return self._gained > 0

    def runs(self, text: str, begin: int, tags: Sequence[str]) -> Iterator[tuple[Form, list[tuple[str, ...]], int]]:
        """Yield elements of one form that follow each other, from an index on: their values, and where they end.

        Where forms change so often that a parser takes less time, the first alone.
        """
        while True:
            tried = 0
            for form in self._known:
                tried += 1
                if (match := form.pattern.match(text, begin)) is not None:
                    break
            else:
                derived = self._derived(text, begin, tags)
                tried += _DERIVING
                match = None if derived is None else derived.pattern.match(text, begin)
                if derived is None or match is None:
                    return
                form = derived
            self._known = [form, *(each for each in self._known if each is not form)][:_FORMS]
            values, scanner = [], form.pattern.scanner(text, begin)  # type: ignore[attr-defined]
            while (match := scanner.match()) is not None:
                values.append(match.groups())
                begin = match.end()
            gained = self._gained + _GAIN * len(values) - tried
            self._gained = max(-_MOST_GAINED, min(gained, _MOST_GAINED))
            yield form, values, begin
            if not self.pay:
                return

    def _derived(self, text: str, begin: int, tags: Sequence[str]) -> Form | None:
        """Return the form of the element at an index, None where it isn't plain."""
        pieces, places, opened = [r"\s*"], list[Place](), list[str]()
        at = _SPACE.match(text, begin).end()  # type: ignore[union-attr]
        for _ in range(_TAGS):
            tag = _TAG.match(text, at)
            if tag is None:
                return None
            closing, name, attributes, closed = tag.groups()
            key = None
            if closing:
                if not opened or opened.pop() != name:
                    return None
                pieces.append(f"</{name}>")
            else:
                if len(found := _ATTRIBUTE.findall(attributes)) > len({each for _, each, _ in found}):
                    return None
                if name not in (self._within | self._children.keys() if opened else tags):
                    return None
                opening, key = self._opening(name, found, places, is_child=bool(opened))
                pieces.append(f"<{name}{opening}{re.escape(closed)}>")
                if not closed:
                    opened.append(name)
            at = tag.end()
            if not opened:
                return Form(name, re.compile("".join(pieces)), tuple(places))
            if key is not None and not closed:
                pieces.append(f"({_PLAIN}*)")
                places.append((name, key))
                at = _TEXT.match(text, at).end()  # type: ignore[union-attr]
            else:
                space = _SPACE.match(text, at)
                assert space is not None
                pieces.append(re.escape(space[0]))
                at = space.end()
        return None

    def _opening(
        self, name: str, found: list[tuple[str, str, str]], places: list[Place], *, is_child: bool
    ) -> tuple[str, str | None]:
        """Return the pattern of a tag's attributes, and what names the property that its text is the value of."""
        names, value = self._children.get(name, ((), None)) if is_child else ((), None)
        key = next((each for _, attribute, each in found if attribute in names), None)
        pieces = []
        for space, attribute, each in found:
            if attribute in names:
                part = re.escape(each)
            elif not is_child or (attribute == value and key is not None):
                part = f"({_VALUE}*)"
                places.append((name, attribute if not is_child else str(key)))
            else:
                part = f"{_VALUE}*"
            pieces.append(f'{re.escape(space)}{attribute}="{part}"')
        return "".join(pieces) + (r"\s*" if found else ""), key if value is None else None

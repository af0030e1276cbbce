"""Plans that statements share which differ in literals alone.

A text is cut at its numbers and strings: what stands between them, to the letter, and their kinds are its family. The
first text of a family is planned as it stands, and waits. When the second comes, the first is planned once more, with
parameters for those literals that stand for a value alone (``binder.lifting``); the other literals are part of what a
plan is found by. The plan with parameters is kept if it is the same as the one without once its values are put in:
then none of it came from a rule that has read a literal. So the second text needs no plan of its own where this one is
right for it; else it is planned as it stands, and waits for the third. Estimates may read literals. What they came out
to is noted (``optimizer.peeking``), and a text whose literals give others (a frequent value, a range ten times as
wide, a value that is nowhere) gets a plan of its own beside. So no estimate of a shared plan is off by more than a
factor of two because of it. What is lost: near ties of orders, what rules would have made of values that contradict
each other in a later text, and the rows that the result's plan shows as expected, which are those of the text that it
was made for.

Statements that change the graph share what they are bound to, where all that they read is found by the values of
properties: nothing else of it is planned beforehand (``update_plans``).

Statements with warnings, ranges of parameters, EXPLAIN, PROFILE, given cardinalities and the reference executor share
nothing, nor do texts of very many tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cache, partial
from typing import Any, TypeAlias

from qengine._cached import cached_property
from qengine._frozen import frozen, record, replace
from qengine._lru import LruCache
from qengine.binder.lifting import lifted_literals
from qengine.catalog.view import CatalogView
from qengine.errors import QuerySyntaxError, SemanticError, Span
from qengine.optimizer.open_ranges import ByValues
from qengine.optimizer.peeking import Assumption, peeking
from qengine.optimizer.selectivity import holds
from qengine.plan.fallible import is_read
from qengine.plan.traverse import with_values
from qengine.planned import Places, Planned
from qengine.planning import one_statement
from qengine.syntax import ast
from qengine.syntax.literals import MAX_INTEGER, parse_float, parse_integer, parse_string
from qengine.syntax.scanner import Token, Tokens, kinds, scanned

_FAMILIES = 256  # of texts that differ in literals alone, that plans are kept of
_TRIES = 8  # plans with parameters that are made for a family, be they of use or not
_TOKENS = 512  # of a text that is cut
_NAME = "literal "  # of a parameter, before its number

PlanAgain: TypeAlias = "Callable[[ast.Statement, str, Mapping[Span, str]], Planned]"
"""Plans a statement, and its text, with parameters of some names in some places."""

_PARSE: Mapping[str, Callable[[Token, str], Any]] = {
    "INTEGER": parse_integer,
    "FLOAT": parse_float,
    "STRING": parse_string,
}


@cache
def _literal_kinds() -> dict[int, str]:
    """Return the kinds of tokens that are literals, as the scanner numbers them, with their names."""
    return {kinds().index(kind): kind for kind in _PARSE}


@frozen
class CutText:
    """A text, its literals in their order, and its family: what stands between them, and their kinds."""

    text: str
    literals: tuple[Token, ...]
    family: tuple[tuple[str, ...], tuple[str, ...]]

    def value(self, place: int) -> Any:
        """Return the value of a literal, None where it has none that a parameter may have."""
        token = self.literals[place]
        try:
            value = _PARSE[token.type](token, self.text)
        except QuerySyntaxError:
            return None
        return None if type(value) is int and value > MAX_INTEGER else value

    @property
    def spans(self) -> list[Span]:
        """The literals' places."""
        return [Span(each.start_pos, each.end_pos) for each in self.literals]


class Scanned:
    """A text whose tokens are looked for once: where it is cut, and parsed."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def tokens(self) -> Tokens | None:
        """The text's tokens, None for one of many."""
        found = scanned(self.text, limit=_TOKENS)
        return found if len(found) <= _TOKENS else None

    @cached_property
    def cut(self) -> CutText | None:
        """The text cut at its literals; None for one without, and for one of many tokens."""
        text = self.text
        if (tokens := self.tokens) is None:
            return None
        names = _literal_kinds()
        places = [(at, names[kind]) for at, kind in enumerate(tokens.column(0)) if kind in names]
        if not places:
            return None
        starts, ends = tokens.column(1), tokens.column(2)
        literals, between, behind = list[Token](), list[str](), 0
        for at, kind in places:
            start, end = starts[at], ends[at]
            literals.append(Token(kind, text[start:end], start, end))
            between.append(text[behind:start])
            behind = end
        between.append(text[behind:])
        return CutText(text, tuple(literals), (tuple(between), tuple([kind for _, kind in places])))


@frozen
class _Slot:
    """A parameter and what gives its value: places among the literals, each with its sign; one, or those of a list.

    ``function``: what the plan makes a date or time of it by, "" for no such.
    """

    name: str
    items: tuple[tuple[int, int], ...]
    is_list: bool
    function: str

    def value(self, cut: CutText) -> Any:
        """Return the value in a text, None where it has none that a parameter may have."""
        values = [cut.value(place) for place, _ in self.items]
        if None in values or (self.function and not is_read(self.function, values[0])):
            return None
        signed = [-value if sign < 0 else value for value, (_, sign) in zip(values, self.items, strict=True)]
        return signed if self.is_list else signed[0]


@frozen
class SharedPlan:
    """A plan with parameters for some literals; ``fixed``: those that are none, as they are written."""

    planned: Planned
    slots: tuple[_Slot, ...]
    fixed: tuple[str | None, ...]
    assumptions: tuple[Assumption, ...]
    spans: Sequence[Span]


@frozen
class _Waiting:
    """A text that was planned as it stands for a version, until another text of its family comes.

    ``version``: what the version is told by.
    """

    version: object
    planned: Planned
    cut: CutText


@record
class Family:
    """The plans of texts that differ in literals alone. ``known``: one was planned, and waits or has waited."""

    plans: list[SharedPlan] = field(default_factory=list)
    waiting: _Waiting | None = None
    known: bool = False
    tries: int = 0


class SharedFamilies:
    """Families by what their texts have in common, and plans of texts that were found among theirs."""

    def __init__(self) -> None:
        self.families: LruCache[Family] = LruCache(_FAMILIES)
        self.found: LruCache[Planned] = LruCache(_FAMILIES)


class SharedPlans:
    """The shared plans of one graph; any number of threads may use them. ``kept``: those of the versions before."""

    def __init__(self, catalog: CatalogView, kept: SharedFamilies) -> None:
        self._catalog = catalog
        self._version = object()  # which plans that wait may outlive, unlike the catalogue
        self._families, self._found = kept.families, kept.found

    def scanned(self, text: str) -> Scanned:
        """Return a text to find a plan of."""
        return Scanned(text)

    def find(self, scanned: Scanned, gpu: bool) -> Planned | None:
        """Return the plan of a text, as a text of its family was planned; None where there is none that is right."""
        text = scanned.text
        if (known := self._found.find((text, gpu))) is not None:
            return known
        cut = scanned.cut
        family = None if cut is None else self._families.find((cut.family, gpu))
        if cut is None or family is None:
            return None
        for each in family.plans:
            if (values := self._values(each, cut)) is not None:
                return self._found.get((text, gpu), partial(_planned, each, cut, values))
        return None

    def _values(self, plan: SharedPlan, cut: CutText) -> dict[str, Any] | None:
        """Return the values of a plan's parameters in a text; None where the plan isn't right for it."""
        if any(text is not None and text != token.value for text, token in zip(plan.fixed, cut.literals, strict=True)):
            return None
        values = {slot.name: slot.value(cut) for slot in plan.slots}
        if None in values.values():
            return None
        return values if all(holds(each, values, self._catalog) for each in plan.assumptions) else None

    def shared(self, scanned: Scanned, gpu: bool, plan_again: PlanAgain) -> Planned | None:
        """Return the plan of a text, made with parameters of another one of its family, which has waited for it.

        None where there is none, or it isn't right. ``plan_again``: plans that text with parameters.
        """
        cut = scanned.cut
        family = None if cut is None else self._families.find((cut.family, gpu))
        if cut is None or family is None or (waiting := family.waiting) is None:
            return None
        family.waiting = None
        if waiting.version is not self._version:
            return None  # whose estimates were others
        family.known = False  # if this text needs a plan of its own, that will wait
        made = self._lifted(family, waiting, one_statement(waiting.planned.text), plan_again)
        values = None if made is None else self._values(made, cut)
        if made is None or values is None:
            return None
        return self._found.get((scanned.text, gpu), partial(_planned, made, cut, values))

    def learn(
        self, statement: ast.Statement, planned: Planned, scanned: Scanned, gpu: bool, plan_again: PlanAgain
    ) -> None:
        """Keep a plan of a text as it stands until another text of its family comes.

        Where others of its family have come already, and none of this version waits, it is planned again right away.

        Parameters
        ----------
        statement
            What the text was parsed to.
        planned
            Its plan as it stands.
        scanned
            The text.
        plan_again
            Plans it with parameters.
        """
        if (cut := scanned.cut) is None:
            return
        family = self._families.get((cut.family, gpu), Family)
        if planned.notices or statement.explain is not None:
            return
        if planned.by_values is not None and planned.by_values.noted.ranges:
            return
        if family.tries >= _TRIES:
            return
        waiting = _Waiting(self._version, planned, cut)
        if family.known:
            self._lifted(family, waiting, statement, plan_again)
        else:
            family.known, family.waiting = True, waiting

    def _lifted(
        self, family: Family, waiting: _Waiting, statement: ast.Statement, plan_again: PlanAgain
    ) -> SharedPlan | None:
        """Plan a text with parameters, and keep the plan for its family; None where rules have read its literals."""
        family.tries += 1
        planned, cut = waiting.planned, waiting.cut
        slots = _slots(statement, cut)
        values = {slot.name: slot.value(cut) for slot in slots.values()}
        if not slots:
            family.tries = _TRIES  # nor has another text of it any, but for few
        if not slots or None in values.values() or values.keys() & planned.parameters.keys():
            return None
        with peeking(values) as peeks:
            try:
                plan = plan_again(statement, planned.text, {span: slot.name for span, slot in slots.items()})
            except SemanticError:  # what is written twice is no longer the same, as a key to group by must be
                return None
        if with_values(_tree(plan), values) != _tree(planned):
            return None
        free = {place for slot in slots.values() for place, _ in slot.items}
        fixed = tuple(None if place in free else token.value for place, token in enumerate(cut.literals))
        plan = replace(plan, parameters=planned.parameters, by_values=planned.by_values)  # bounds of its own are known
        made = SharedPlan(plan, tuple(slots.values()), fixed, tuple(peeks.assumptions), cut.spans)
        family.plans.append(made)
        return made


def _tree(planned: Planned) -> Any:
    """Return what tells whether two plans are the same."""
    return planned.logical.root if planned.physical is None else planned.physical


def _planned(plan: SharedPlan, cut: CutText, values: Mapping[str, Any]) -> Planned:
    """Return a plan for the text that has these values."""
    places = Places(plan.spans, cut.spans)
    needed = {name: span and places.of(span) for name, span in plan.planned.parameters.items()}
    found = replace(plan.planned, text=cut.text, parameters=needed, values=values, places=places)
    return found if found.by_values is None else replace(found, by_values=ByValues(found.by_values.noted))


def _slots(statement: ast.Statement, cut: CutText) -> dict[Span, _Slot]:
    """Return the parameters that literals become, by their places; a literal in parentheses becomes none."""
    found: dict[Span, _Slot] = {}
    place_of = {token.end_pos: place for place, token in enumerate(cut.literals)}
    for number, lifted in enumerate(lifted_literals(statement)):
        expr = lifted.literal
        listed = expr.items if isinstance(expr, ast.ListLiteral) else (expr,)
        items = [_item(each, cut, place_of) for each in listed]
        known = tuple(item for item in items if item is not None)
        if len(known) == len(items):
            found[expr.span] = _Slot(f"{_NAME}{number}", known, isinstance(expr, ast.ListLiteral), lifted.function)
    return found


def _item(literal: ast.Expression, cut: CutText, place_of: Mapping[int, int]) -> tuple[int, int] | None:
    """Return a literal's place among the literals, and its sign, which the parser has made part of it."""
    start = literal.span.start
    place = place_of.get(literal.span.end)
    if place is None:
        return None
    if start == cut.literals[place].start_pos:
        return place, 1
    return (place, -1) if cut.text[start] == "-" else None

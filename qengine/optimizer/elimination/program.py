"""The steps of one elimination as they grow, and which of them are used in the end. Equal steps are one step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from qengine.plan.elimination import (
    AtPairs,
    Clique,
    MaskedForest,
    MaskedProduct,
    Matrix,
    Neighbourhoods,
    Product,
    Relation,
    Step,
    Term,
    Turned,
    moved,
    operands,
)


class StepBuilder:
    """The steps of one elimination as they grow."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._places: dict[Step, int] = {}
        self._turned: dict[int, int | None] = {}
        self._simple: set[int] = set()

    def add(self, step: Step) -> int:
        """Return the place of a step, a new one or the one that it already has."""
        place = self._places.setdefault(step, len(self.steps))
        if place == len(self.steps):
            self.steps.append(step)
        return place

    def product(self, factors: Sequence[int]) -> int | None:
        """Return the product of vectors or of matrices, None of none."""
        if len(factors) < 2:
            return factors[0] if factors else None
        return self.add(Product(tuple(sorted(factors))))

    def matrix(self, relations: Iterable[Relation], simple: bool, once: bool) -> int:
        """Return the place of the matrix of relations.

        ``simple``: it is one that links each pair at most once. ``once``: if it isn't, ask for that (``Matrix``).
        """
        ordered = _ordered(relations)
        single = len(ordered) == 1
        place = self.add(Matrix(ordered, once and single and not simple))
        if single and simple:
            self._simple.add(place)
        return place

    def is_once(self, place: int) -> bool:
        """Tell whether a matrix of relationships, or of neighbours, links each pair at most once."""
        match self.steps[place]:
            case Matrix(relations=relations, once=once):
                return once or place in self._simple or len(relations) > 1
            case Neighbourhoods(by=by):
                return self.is_once(by)
        return False

    def has_numbers(self, place: int) -> bool:
        """Tell whether such a matrix has numbers other than 1."""
        step = self.steps[place]
        return self.has_numbers(step.by) if isinstance(step, Neighbourhoods) else place not in self._simple

    def turned(self, place: int) -> int | None:
        """Return a matrix seen from the other end; None where that isn't made: of neighbours' own rows."""
        if place not in self._turned:
            self._turned[place] = self._made_turned(place)
        return self._turned[place]

    def _made_turned(self, place: int) -> int | None:
        match self.steps[place]:
            case Matrix(relations=relations, once=once):
                turned = Matrix(_ordered(relation.reversed() for relation in relations), once)
                made = self.add(turned)
                if place in self._simple:
                    self._simple.add(made)
                return made
            case MaskedProduct(across=across, left=left, right=right, vector=vector):
                back = self.turned(across)
                return None if back is None else self.add(MaskedProduct(back, right, left, vector))
            case MaskedForest(across=across) | AtPairs(pairs=across):
                back = self.turned(across)
                return None if back is None else self.add(Turned(back, place))
            case Turned(matrix=matrix):
                return matrix
            case Neighbourhoods(first=first, second=second, by=by):
                back = self.turned(by)
                return None if back is None else self.add(Neighbourhoods(second, first, back))
            case Product(factors=factors):
                backs = [each for factor in factors if (each := self.turned(factor)) is not None]
                return self.add(Product(tuple(sorted(backs)))) if len(backs) == len(factors) else None
        return None


def _ordered(relations: Iterable[Relation]) -> tuple[Relation, ...]:
    """Return the factors of a matrix in the order in which equal matrices have them."""
    found = tuple(relations)
    if len(found) < 2:
        return found
    return tuple(sorted(found, key=lambda each: (each.types, each.direction.value, repr(each.conditions))))


def reached(steps: Sequence[Step], places: Iterable[int | None], known: Set[int] = frozenset()) -> set[int]:
    """Return the places of the steps that those at ``places`` need, themselves included, beside ``known`` ones."""
    found: set[int] = set()
    waiting = [place for place in places if place is not None]
    while waiting:
        place = waiting.pop()
        if place not in found and place not in known:
            found.add(place)
            waiting += operands(steps[place])
    return found


def used(steps: Sequence[Step], terms: Sequence[Term]) -> tuple[tuple[Step, ...], tuple[Term, ...]]:
    """Return the steps that terms need, and what says of these what they are, and both with their places anew."""
    found = reached(steps, (place for term in terms for place in (*term.totals, term.output)))
    cliques = [place for place, step in enumerate(steps) if isinstance(step, Clique) and step.total in found]
    needed = [*sorted((reached(steps, cliques) | found).difference(cliques)), *cliques]
    place_of = {place: number for number, place in enumerate(needed)}
    return tuple(moved(steps[place], place_of) for place in needed), tuple(
        Term(
            term.factor,
            tuple(place_of[each] for each in term.totals),
            None if term.output is None else place_of[term.output],
            term.search,
        )
        for term in terms
    )

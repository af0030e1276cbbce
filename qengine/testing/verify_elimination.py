"""Checks the program of an ``Eliminate``: steps in order, operands of the right kind, terms of what is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qengine.plan import elimination
from qengine.plan.expr import Expr, Subquery
from qengine.plan.kernels import kernel
from qengine.plan.schedule import Call, Schedule
from qengine.plan.traverse import free_variables, preorder

_VECTOR, _MATRIX, _PAIRS = "vector", "matrix", "pairs"
_CROSSED = elimination.Matrix | elimination.Neighbourhoods


def verify_elimination(steps: Sequence[elimination.Step], terms: Sequence[elimination.Term], outputs: int) -> None:
    """Check a program and its terms; ``outputs``: of how many nodes the count is by, up to two.

    Steps read earlier steps alone, each what it can read, over the domains that it can; no step is there twice, and
    each is read. Matrices that are multiplied link the same pairs. Terms add up vectors; their outputs are none,
    vectors over the graph's vertices or pairs, as is asked.

    Raises
    ------
    AssertionError
        At the first step or term that breaks a rule.
    """
    program = _Program(steps)
    for place, step in enumerate(steps):
        late = [each for each in elimination.operands(step) if not 0 <= each < place]
        assert not late, f"step {place} reads {late}, which are not before it: {step}"
        program.step(step)
        assert steps.index(step) == place, f"step {place} repeats step {steps.index(step)}: {step}"
    for term in terms:
        program.term(term, outputs)
    assert len({(term.totals, term.output, term.search) for term in terms}) == len(terms), (
        f"terms that are one: {terms}"
    )
    used = {place for step in steps for place in elimination.operands(step)}
    used |= {place for term in terms for place in (*term.totals, term.output) if place is not None}
    used |= {place for place, step in enumerate(steps) if isinstance(step, elimination.Clique) and step.total in used}
    unused = set(range(len(steps))) - used
    assert not unused, f"steps {sorted(unused)} are not read"


def verify_schedule(steps: Sequence[elimination.Step], terms: Sequence[elimination.Term], schedule: Schedule) -> None:
    """Check what a device runs: each total and output is given by exactly one call, and so is each step that one reads.

    Steps are given before they are read. Kernels are rows of the table; those of ``otherwise`` take whatever comes.

    Raises
    ------
    AssertionError
        At the first call that breaks a rule.
    """
    _verify_calls(steps, terms, schedule.device, schedule.calls)
    rows = [kernel(schedule.device, call.kernel) for call in schedule.every]
    assert schedule.otherwise or not any(128 not in row.bits for row in rows), "numbers of 128 bits have no kernel"
    if schedule.otherwise:
        _verify_calls(steps, terms, schedule.device, schedule.otherwise)
        for call in Schedule(schedule.device, schedule.otherwise, 0.0).every:
            assert 128 in kernel(schedule.device, call.kernel).bits, f"{call.kernel} doesn't take whatever comes"


def _verify_calls(
    steps: Sequence[elimination.Step], terms: Sequence[elimination.Term], device: str, calls: Sequence[Call]
) -> None:
    given: set[int] = set()
    totals: set[int] = set()
    read: set[int] = set()
    every = Schedule(device, tuple(calls), 0.0).every
    for call in every:
        row = kernel(device, call.kernel)
        late = set(call.reads) - given
        assert not late, f"{call.kernel} reads {sorted(late)}, which no call before it gives"
        read.update(call.reads)
        known = totals if row.total else given
        assert not known.intersection(call.places), f"{call.kernel} gives {call.places} once more"
        assert len(set(call.places)) == len(call.places), f"{call.kernel} gives {call.places}"
        known.update(call.places)
        forms = {type(steps[place]) for place in call.places}
        assert row.groups is not None or row.total or forms == {row.step}, f"{call.kernel} gives {forms}"
    assert totals == {place for term in terms for place in term.totals}, f"totals {sorted(totals)} are found"
    outputs = {term.output for term in terms if term.output is not None}
    assert outputs <= given, f"outputs {sorted(outputs - given)} are not given"
    covered = {place for call in every if len(call.places) > 1 for place in call.places}
    idle = given - read - outputs - covered
    assert not idle, f"nothing reads {sorted(idle)}"


class _Program:
    """The steps, and of those that were checked what each gives; ``base``: of matrices what tells which pairs they
    have.

    A step's operands have been checked before it.
    """

    def __init__(self, steps: Sequence[elimination.Step]) -> None:
        self.steps = steps
        self.kinds: list[str] = []
        self.base: dict[int, object] = {}

    def step(self, step: elimination.Step) -> None:
        """Check one step, and note what it gives."""
        place, kind = len(self.kinds), _VECTOR
        match step:
            case elimination.NodeIndicator(nodes=nodes, loops=loops):
                for name, _, predicates in nodes:
                    _predicates(name, predicates)
                _relations(loops)
            case elimination.Matrix(relations=relations):
                assert relations, f"step {place}: a matrix of nothing"
                _relations(relations)
                kind, self.base[place] = _MATRIX, place
            case elimination.Product(factors=factors):
                assert len(factors) > 1, f"step {place}: a product of {len(factors)}"
                kind = self.kinds[factors[0]]
                self.are(kind, factors, place)
                assert kind != _PAIRS, f"step {place}: a product of pairs"
                if kind == _MATRIX:
                    bases = {self.base[factor] for factor in factors}
                    assert len(bases) == 1, f"step {place}: matrices {factors} link different pairs"
                    self.base[place] = self.base[factors[0]]
            case elimination.MatVec(matrix=matrix, vector=vector):
                self.are(_MATRIX, (matrix,), place)
                self.are(_VECTOR, (vector,), place)
                self.over(elimination.column_domain_of(self.steps, matrix), vector, place)
            case elimination.MaskedProduct(across=across, left=left, right=right, vector=vector):
                self.are(_MATRIX, (across, left, right), place)
                assert isinstance(self.steps[across], _CROSSED), f"step {place} goes across no Matrix"
                self.are(_VECTOR, (vector,), place)
                for side, domain_at in ((left, elimination.domain_of), (right, elimination.column_domain_of)):
                    assert elimination.domain_of(self.steps, side) == domain_at(self.steps, across), (
                        f"step {place}: no triangle"
                    )
                third = elimination.column_domain_of(self.steps, left)
                assert third == elimination.column_domain_of(self.steps, right), f"step {place}: no triangle"
                self.over(third, vector, place)
                kind, self.base[place] = _MATRIX, self.base[across]
            case elimination.RootedForest(nodes=arms, tops=tops, vector=vector):
                assert tops, f"step {place}: around nothing"
                self.nodes(arms, tops, place)
                self.are(_VECTOR, (vector,), place)
            case elimination.MaskedForest(across=across, nodes=arms, right=right):
                self.are(_MATRIX, (across, right), place)
                assert isinstance(self.steps[across], _CROSSED), f"step {place} goes across no Matrix"
                self.nodes(arms, (len(arms) - 1,), place)
                ends = elimination.column_domain_of(self.steps, across), elimination.domain_of(self.steps, right)
                assert ends[0] == ends[1], f"step {place}: step {right} has no rows of the ends"
                kind, self.base[place] = _MATRIX, self.base[across]
            case elimination.AtPairs(pairs=pairs, vector=vector):
                self.are(_MATRIX, (pairs,), place)
                self.are(_VECTOR, (vector,), place)
                self.over(pairs, vector, place)
                kind, self.base[place] = _MATRIX, self.base[pairs]
            case elimination.Turned(back=back, matrix=matrix):
                self.are(_MATRIX, (back, matrix), place)
                ends = elimination.domain_of(self.steps, back), elimination.column_domain_of(self.steps, back)
                turned = elimination.column_domain_of(self.steps, matrix), elimination.domain_of(self.steps, matrix)
                assert ends == turned, f"step {place}: other pairs"
                kind, self.base[place] = _MATRIX, self.base[back]
            case elimination.Pairs(nodes=arms, vector=vector):
                self.nodes(arms, (len(arms) - 1,) if arms else (), place)
                self.are(_VECTOR, (vector,), place)
                kind = _PAIRS
            case elimination.Neighbourhoods(first=first, second=second, by=by):
                self.are(_MATRIX, (first, second, by), place)
                roots = elimination.domain_of(self.steps, first)
                assert roots == elimination.domain_of(self.steps, second), f"step {place}: pairs of different roots"
                ends = elimination.column_domain_of(self.steps, first), elimination.column_domain_of(self.steps, second)
                linked = elimination.domain_of(self.steps, by), elimination.column_domain_of(self.steps, by)
                assert ends == linked, f"step {place}: step {by} doesn't link the ends"
                kind, self.base[place] = _MATRIX, (first, second, self.base[by])
            case elimination.EndRows(pairs=pairs, by=by):
                self.are(_MATRIX, (pairs, by), place)
                ends = elimination.column_domain_of(self.steps, pairs), elimination.domain_of(self.steps, by)
                assert ends[0] == ends[1], f"step {place}: step {by} has no rows of the ends"
                kind, self.base[place] = _MATRIX, (pairs, self.base[by])
            case elimination.OfPairs(pairs=pairs, matrix=matrix):
                self.are(_MATRIX, (pairs, matrix), place)
                assert self.base[matrix] == self.base[pairs], f"step {place}: other pairs"
            case elimination.AtEnds(pairs=pairs, vector=vector):
                self.are(_MATRIX, (pairs,), place)
                self.are(_VECTOR, (vector,), place)
                self.over(elimination.column_domain_of(self.steps, pairs), vector, place)
            case elimination.ByRoot(pairs=pairs, vector=vector):
                self.are(_MATRIX, (pairs,), place)
                self.are(_VECTOR, (vector,), place)
                self.over(pairs, vector, place)
            case elimination.NodeValues():
                pass
            case elimination.Clique(total=total, pairs=pairs, vectors=vectors, by=by):
                size = len(vectors)
                assert size > 2, f"step {place}: a clique of {size}"
                assert by is None or 0 <= by < size, f"step {place}: no role {by}"
                assert len(pairs) == size * (size - 1) // 2, f"step {place}: {len(pairs)} pairs of {size}"
                assert all(isinstance(self.steps[each], elimination.Matrix) for each in pairs), (
                    f"step {place}: pairs of no Matrix"
                )
                self.are(_VECTOR, (total, *vectors), place)
            case _:
                raise AssertionError(f"no step: {step!r}")
        self.kinds.append(kind)

    def nodes(self, arms: tuple[elimination.ForestNode, ...], tops: tuple[int, ...], place: int) -> None:
        """Check the arms of a forest: leaves first, all but the tops linked, each hanging somewhere."""
        assert all(0 <= top < len(arms) for top in tops), f"step {place}: tops {tops} of {len(arms)} arms"
        for number, arm in enumerate(arms):
            late = [each for each in arm.nodes if not 0 <= each < number]
            assert not late, f"step {place}: arm {number} has arms {late}, which are not before it"
            self.are(_MATRIX, (arm.start, arm.link), place)
            self.are(_VECTOR, (arm.vector,), place)
            top = number in tops
            assert top == (arm.link is None), f"step {place}: arm {number} is {'linked' if top else 'not linked'}"
        hanging = {each for arm in arms for each in arm.nodes}.union(tops)
        assert len(hanging) == len(arms), f"step {place}: arms that hang nowhere"

    def are(self, kind: str, places: Iterable[int | None], reader: int) -> None:
        """Check what is read; None stands for ones where there may be none."""
        for place in places:
            found = kind if place is None else self.kinds[place]
            assert found == kind, f"step {reader} reads step {place} as a {kind}, which is a {found}"

    def over(self, domain: elimination.Domain, vector: int | None, reader: int) -> None:
        """Check that a vector, if there is one, is over a domain."""
        found = domain if vector is None else elimination.domain_of(self.steps, vector)
        assert found == domain, f"step {reader} reads step {vector} over {domain}, which is over {found}"

    def term(self, term: elimination.Term, outputs: int) -> None:
        """Check one term."""
        assert term.factor, f"a term that counts nothing: {term}"
        places = (*term.totals, term.output)
        beyond = [place for place in places if place is not None and not 0 <= place < len(self.steps)]
        assert not beyond, f"a term of {beyond}, which are no steps: {term}"
        for place in term.totals:
            assert self.kinds[place] == _VECTOR, f"a term adds up a {self.kinds[place]}: {term}"
        found = None if term.output is None else self.kinds[term.output]
        wanted = (None, _VECTOR, _PAIRS)[outputs]
        assert found == wanted, f"a term gives {found} by {outputs} nodes: {term}"
        if outputs == 1:
            assert term.output is not None
            assert elimination.domain_of(self.steps, term.output) is None, f"a term gives a vector over pairs: {term}"


def _relations(relations: Iterable[elimination.Relation]) -> None:
    for relation in relations:
        for name, predicates in relation.conditions:
            _predicates(name, predicates)


def _predicates(name: str, predicates: Iterable[Expr]) -> None:
    for predicate in predicates:
        assert free_variables(predicate) <= {name}, f"{name or 'a node'}: {predicate}"
        assert not any(isinstance(part, Subquery) for part in preorder(predicate)), f"{name}: a subquery"

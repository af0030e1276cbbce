"""Which elements a query finds, and their scores: BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework:
BM25 and Beyond", Foundations and Trends in Information Retrieval 3(4), 2009), with Lucene's parameters.

A term of which ``f`` occur in a property of ``l`` terms counts ``idf * f / (f + k1 * (1 - b + b * l / mean l))``, where
``idf = ln(1 + (N - n + 0.5) / (n + 0.5))`` of ``N`` elements with the property, ``n`` of which have the term. A phrase
counts as a term whose idf is the sum of those of its terms. A pattern or a range counts 1. The score of a group is the
sum of those of its parts. Scores have single precision, and are computed step by step as Lucene's are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import log
from typing import Any

import numpy as np

from qengine._frozen import frozen
from qengine.fulltext.analyzers import Analyzer
from qengine.fulltext.index import TextIndex
from qengine.fulltext.patterns import like_pattern, like_range, nearly
from qengine.fulltext.phrases import matches
from qengine.fulltext.postings import Postings
from qengine.fulltext.syntax import Clause, Group, Phrase, Query, Range, Word, wrong
from qengine.storage.segments import Segment

_K1, _B = 1.2, 0.75
_MOST_FUZZY = 50
"""Terms that one fuzzy word stands for, at most: the nearest, then by their code points."""

_Found = tuple[Any, Any]
"""Rows of a segment (int32, ascending), and their scores (float64)."""


@frozen
class _Leaf:
    """What is looked up in one property: ``rows`` gives a segment's rows with weights that idf and length go into.

    ``idf``: 0 where each row counts 1.
    """

    field: int
    rows: Callable[[Segment], _Found]
    idf: float
    weight: float


@frozen
class _All:
    """Parts of which some must match (True), mustn't (False), or may (None)."""

    parts: tuple[tuple[_Plan, bool | None], ...]
    weight: float


_Plan = _Leaf | _All
_NOTHING: _Found = np.zeros(0, np.int32), np.zeros(0)


class Search:
    """A query about an index.

    Parameters
    ----------
    index
        What is searched.
    keys
        The properties of the index.
    analyzer
        Makes terms of the query's words.
    text
        The query, for errors.
    check
        Raises where the execution must stop.
    """

    def __init__(
        self, index: TextIndex, keys: Sequence[str], analyzer: Analyzer, text: str, check: Callable[[], None]
    ) -> None:
        self._index, self._analyzer, self._text, self._check = index, analyzer, text, check
        self._fields = {key: place for place, key in enumerate(keys)}

    def run(self, query: Group) -> tuple[Any, Any]:
        """Return the numbers of the elements that are found (int64), and their scores (float64), in no order.

        Raises
        ------
        ExecutionError
            ``InvalidFullTextQuery`` for a property that the index doesn't have, and for a wrong regular expression.
        """
        plan = self._group(query, tuple(self._fields.values()), 1.0)
        numbers, scores = [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
        for segment in self._index.segments if plan is not None else ():
            self._check()
            assert plan is not None
            rows, weights = self._found(segment, plan)
            if segment.alive is not None:
                living = segment.alive[rows]
                rows, weights = rows[living], weights[living]
            numbers.append(segment.numbers[rows])
            scores.append(weights.astype(np.float32))
        return np.concatenate(numbers), np.concatenate(scores).astype(np.float64)

    # ------------------------------------------------------------ what is asked

    def _group(self, group: Group, fields: tuple[int, ...], weight: float) -> _Plan | None:
        parts = [(self._clause(each, fields), each.needed) for each in group.clauses]
        kept = tuple((plan, needed) for plan, needed in parts if plan is not None)
        if len(kept) == 1 and kept[0][1] is not False and weight == 1:
            return kept[0][0]
        return _All(kept, weight) if kept else None

    def _clause(self, clause: Clause, fields: tuple[int, ...]) -> _Plan | None:
        """Return how a clause is looked up in some properties; None where stop words are all that it has."""
        if clause.field is not None and clause.field != "*":
            field = self._fields.get(clause.field)
            if field is None:
                hint = f"It is of {', '.join(self._fields)}. Write \\: for the sign itself."
                raise wrong(self._text, clause.at, f"The index has no property {clause.field!r}.", hint)
            fields = (field,)
        elif clause.field == "*":
            fields = tuple(self._fields.values())
        query = clause.query
        if isinstance(query, Group):
            return self._group(query, fields, clause.weight)
        return _either([self._leaf(query, field, clause.weight) for field in fields])

    def _leaf(self, query: Query, field: int, weight: float) -> _Plan | None:
        analyzer = self._analyzer
        match query:
            case Word(text="*", stars=(0,)):
                return _Leaf(field, lambda segment: _with_lengths(segment.fields[field]), 0.0, weight)
            case Word(edits=None, stars=(), regular=False):
                terms = [term for term, _ in analyzer.terms(query.text)]
                return _either([self._term(term, field, weight) for term in terms])
            case Word(edits=None):
                pattern = query if query.regular else _folded(query, analyzer)
                return self._any(field, weight, lambda postings: like_pattern(postings, pattern))
            case Word():
                return self._fuzzy(query, field, weight)
            case Range():
                low, high = (None if each is None else analyzer.fold(each) for each in (query.low, query.high))
                wanted = Range(low, high, query.has_low, query.has_high)
                return self._any(field, weight, lambda postings: like_range(postings, wanted))
            case Phrase():
                return self._phrase(analyzer.terms(query.text), query.slop, field, weight)
        raise AssertionError(query)

    def _term(self, term: str, field: int, weight: float) -> _Leaf:
        def rows(segment: Segment) -> _Found:
            postings = segment.fields[field]
            found = postings.find(term)
            return postings.of(found[0]) if found else _NOTHING

        return _Leaf(field, rows, self._idf(term, field), weight)

    def _any(self, field: int, weight: float, places: Callable[[Postings], Sequence[int]]) -> _Leaf:
        """Return what finds the rows that have any of some terms."""

        def rows(segment: Segment) -> _Found:
            self._check()
            return _having(segment.fields[field], places(segment.fields[field]))

        return _Leaf(field, rows, 0.0, weight)

    def _fuzzy(self, word: Word, field: int, weight: float) -> _Plan | None:
        """Return the terms that are nearly so, each with less weight the farther it is."""
        text = self._analyzer.fold(word.text)
        assert word.edits is not None
        edits = int(word.edits if word.edits >= 1 or not word.edits else min((1 - word.edits) * len(text), 2))
        near: dict[str, int] = {}
        for segment in self._index.segments:
            self._check()
            near.update(nearly(segment.fields[field], text, edits))
        nearest = sorted(near.items(), key=lambda each: (each[1], each[0]))[:_MOST_FUZZY]
        weighed = [(term, weight * (1 - apart / max(1, min(len(text), len(term))))) for term, apart in nearest]
        plan = _either([self._term(term, field, weighs) for term, weighs in weighed if weighs > 0])
        return plan or _All((), 1.0)

    def _phrase(self, terms: Sequence[tuple[str, int]], slop: int, field: int, weight: float) -> _Plan | None:
        if len(terms) < 2:
            return self._term(terms[0][0], field, weight) if terms else None

        def rows(segment: Segment) -> _Found:
            self._check()
            postings = segment.fields[field]
            places = [(postings.find(term), offset) for term, offset in terms]
            if not all(found for found, _ in places):
                return _NOTHING
            return matches(postings, [(found[0], offset) for found, offset in places], slop, self._check)

        return _Leaf(field, rows, sum(self._idf(term, field) for term, _ in terms), weight)

    def _idf(self, term: str, field: int) -> float:
        having = 0
        for segment in self._index.segments:
            postings = segment.fields[field]
            for place in postings.find(term):
                rows, _ = postings.of(place)
                having += len(rows) if segment.alive is None else int(np.count_nonzero(segment.alive[rows]))
        return log(1 + (self._index.totals[field][0] - having + 0.5) / (having + 0.5))

    # ------------------------------------------------------------ what is found

    def _found(self, segment: Segment, plan: _Plan) -> _Found:
        if isinstance(plan, _All):
            return self._group_found(segment, plan)
        rows, times = plan.rows(segment)
        if not plan.idf:
            return rows, np.full(len(rows), plan.weight)
        having, terms = self._index.totals[plan.field]
        lengths, times = (each.astype(np.float32) for each in (segment.fields[plan.field].lengths[rows], times))
        weight, mean = np.float32(plan.weight * plan.idf), np.float32(max(1, terms) / max(1, having))
        seen = 1 + times * (1 / (_K1 * ((1 - _B) + _B * lengths / mean)))
        return rows, (weight - weight / seen).astype(np.float64)

    def _group_found(self, segment: Segment, group: _All) -> _Found:
        found = [(self._found(segment, plan), needed) for plan, needed in group.parts]
        musts = sorted((each for each, needed in found if needed), key=lambda each: len(each[0]))
        mays = [each for each, needed in found if needed is None]
        if musts:
            rows = musts[0][0]
            for other, _ in musts[1:]:
                rows = rows[_among(rows, other)[0]]
            scores = np.zeros(len(rows))
            for others in (*musts, *mays):
                there, places = _among(rows, others[0])
                scores[there] += others[1][places[there]]
        else:
            rows, scores = _summed(mays, len(segment.numbers))
        for (other, _), needed in found:
            if needed is False:
                kept = ~_among(rows, other)[0]
                rows, scores = rows[kept], scores[kept]
        return rows, scores * group.weight


def _either(plans: Iterable[_Plan | None]) -> _Plan | None:
    """Return what finds what any of some plans do."""
    kept = [each for each in plans if each is not None]
    return kept[0] if len(kept) == 1 else _All(tuple((each, None) for each in kept), 1.0) if kept else None


def _folded(word: Word, analyzer: Analyzer) -> Word:
    """Return a word with wildcards as an analyzer folds it, piece by piece."""
    bounds = (-1, *word.stars, len(word.text))
    text, stars = "", []
    for before, place in pairwise(bounds):
        piece = word.text[before + 1 : place]
        text += analyzer.fold(piece) if piece else ""
        if place < len(word.text):
            stars.append(len(text))
            text += word.text[place]
    return Word(text, tuple(stars))


def _with_lengths(postings: Postings) -> _Found:
    """Return the rows that have any term."""
    return np.flatnonzero(postings.lengths).astype(np.int32), _NOTHING[1]


def _having(postings: Postings, places: Sequence[int]) -> _Found:
    """Return the rows that have any of some terms."""
    marks = np.zeros(len(postings.lengths), np.bool_)
    if isinstance(places, range):
        marks[postings.rows[postings.offsets[places.start] : postings.offsets[places.stop]]] = True
    else:
        for place in places:
            marks[postings.of(place)[0]] = True
    return np.flatnonzero(marks).astype(np.int32), _NOTHING[1]


def _among(rows: Any, others: Any) -> tuple[Any, Any]:
    """Tell which rows are among others (both ascending), and at which place these then are."""
    if not len(others):
        return np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.int64)
    places = np.minimum(np.searchsorted(others, rows), len(others) - 1)
    return others[places] == rows, places


def _summed(found: Sequence[_Found], count: int) -> _Found:
    """Return the rows of any, with the sums of their scores; of ``count`` rows in all."""
    if len(found) < 2:
        return found[0] if found else _NOTHING
    rows = np.concatenate([each for each, _ in found])
    scores = np.concatenate([each for _, each in found])
    if len(rows) * 16 > count:
        marks = np.zeros(count, np.bool_)
        marks[rows] = True
        kept = np.flatnonzero(marks)
        return kept.astype(np.int32), np.bincount(rows, scores, count)[kept]
    distinct, places = np.unique(rows, return_inverse=True)
    return distinct, np.bincount(places, scores)

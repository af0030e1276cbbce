"""Analyzers: how a text becomes the terms that a FULLTEXT index has of it, and a query asks for."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine._frozen import frozen
from qengine.fulltext.characters import cut
from qengine.fulltext.stems import stem

STOP_WORDS = frozenset(
    (
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if",
        "in", "into", "is", "it", "no", "not", "of", "on", "or", "such", "that",
        "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
    )
)  # fmt: skip
"""Words that say little of what an English text is about."""


@frozen
class Analyzer:
    """A way to read texts.

    ``rule``: how texts are cut, as ``characters.cut`` has it. ``fold``: what is done to each word; patterns of queries
    are folded, too. ``stop_words``: folded words that are left out; they keep their places, for phrases.
    ``stems``: whether words are English, and their stems are taken.
    """

    name: str
    description: str
    rule: str
    fold: Callable[[str], str]
    stop_words: frozenset[str] = frozenset()
    stems: bool = False

    def term(self, word: str) -> str | None:
        """Return the term that a word stands for, None for a stop word."""
        folded = self.fold(word)
        if self.stems:
            folded = folded.replace("\u2019", "'").removesuffix("'s")
        if folded in self.stop_words:
            return None
        return stem(folded) if self.stems else folded

    def terms(self, text: str) -> list[tuple[str, int]]:
        """Return the terms of one text with their positions."""
        words, _ = cut(pa.array([text], pa.string()), self.rule)
        found = ((self.term(word), place) for place, word in enumerate(words.to_pylist()))
        return [(term, place) for term, place in found if term is not None]

    def many(self, texts: Any) -> tuple[Any, Any, Any]:
        """Return the words of texts: codes into their terms (int32, -1 where left out), the terms, counts by text.

        Parameters
        ----------
        texts
            A StringArray without nulls.

        Returns
        -------
        int32[n words], StringArray (ascending by bytes, each once), int64[n texts]
        """
        words, counts = cut(texts, self.rule)
        encoded = words.dictionary_encode()
        terms = pa.array(map(self.term, encoded.dictionary.to_pylist()), pa.string())
        distinct = terms.drop_null().unique()
        distinct = distinct.take(pc.sort_indices(distinct))
        codes = pc.fill_null(pc.index_in(terms, value_set=distinct), -1) if len(terms) else pa.array([], pa.int32())
        return np.asarray(codes)[np.asarray(encoded.indices)], distinct, counts


def _without_accents(word: str) -> str:
    """Return a word in lower case without accents."""
    apart = unicodedata.normalize("NFKD", word.lower())
    return unicodedata.normalize("NFC", "".join(each for each in apart if not unicodedata.combining(each)))


ANALYZERS = (
    Analyzer("english", "English words without stop words, by their stems.", "words", str.lower, STOP_WORDS, True),
    Analyzer("keyword", "The whole text as one term.", "whole", str),
    Analyzer("simple", "Runs of letters in lower case.", "letters", str.lower),
    Analyzer("standard", "Words in lower case without English stop words.", "words", str.lower, STOP_WORDS),
    Analyzer("standard-folding", "Words in lower case without accents.", "words", _without_accents),
    Analyzer("standard-no-stop-words", "Words in lower case.", "words", str.lower),
    Analyzer("stop", "Runs of letters in lower case without English stop words.", "letters", str.lower, STOP_WORDS),
    Analyzer("whitespace", "What stands between white space, as it is written.", "spaces", str),
)
"""All analyzers by their names' order."""

_BY_NAME = {each.name: each for each in ANALYZERS}


def analyzer_named(name: str) -> Analyzer | None:
    """Return the analyzer with a name, None if there is none."""
    return _BY_NAME.get(name)

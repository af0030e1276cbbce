"""Full-text search against a slow reading of the same rules: each text alone, by its characters."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterator
from itertools import product
from math import log
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.catalog.rules import ANALYZERS as NAMES
from qengine.fulltext import index as indexes
from qengine.fulltext import search
from qengine.fulltext.analyzers import ANALYZERS
from qengine.fulltext.characters import cut
from qengine.fulltext.patterns import distance, like_range
from qengine.fulltext.phrases import narrowest
from qengine.fulltext.postings import Postings
from qengine.fulltext.syntax import Range

# ---------------------------------------------------------------- words

VOCABULARY = ["a", "ab", "abc", "b", "ba", "bc", "abd", "c1", "cab"]

CHARACTERS = st.text(
    st.sampled_from("abB9_ '.,’-é\u0301東ひタ\u203f\n\x85😀ß") | st.characters(codec="utf-8"), max_size=12
)


def kind(character: str) -> str:
    category = unicodedata.category(character)
    if category[0] in "LM" and any(
        low <= ord(character) < high
        for low, high in ((0x3040, 0x30A0), (0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00), (0x20000, 0x32000))
    ):
        return "ideograph"
    return {"L": "letter", "M": "letter", "N": "digit"}.get(category[0], "connector" if category == "Pc" else "")


def words(text: str, rule: str) -> list[str]:
    """Cut a text character by character."""
    if rule == "whole":
        return [text] if text else []
    found, word = [], ""
    for place, character in enumerate(text):
        here = kind(character)
        around = [kind(each) for each in (text[place - 1 : place], text[place + 1 : place + 2]) if each]
        if rule == "spaces":
            inside = not (unicodedata.category(character)[0] == "Z" or character in "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85")
        elif rule == "letters":
            inside = here in ("letter", "ideograph")
        else:
            inside = bool(here) or (
                around in (["letter", "letter"], ["digit", "digit"]) and character in "'.’"
            ) or (around == ["digit", "digit"] and character == ",")  # fmt: skip
        if rule == "words" and here == "ideograph":
            found += [word, character]
            word = ""
        elif inside:
            word += character
        else:
            found.append(word)
            word = ""
    found.append(word)
    return [
        each for each in found if each and (rule != "words" or any(kind(one) not in ("connector", "") for one in each))
    ]


@settings(max_examples=300)
@given(st.lists(CHARACTERS, max_size=5), st.sampled_from(["words", "letters", "spaces", "whole"]))
def test_texts_are_cut_as_characters_tell(texts: list[str], rule: str) -> None:
    found, counts = cut(pa.array(texts, pa.string()).slice(1), rule)
    expected = [words(text, rule) for text in texts[1:]]
    assert found.to_pylist() == [word for each in expected for word in each]
    assert counts.tolist() == list(map(len, expected))


@pytest.mark.parametrize("analyzer", ANALYZERS, ids=lambda each: each.name)
def test_the_terms_of_many_texts_are_those_of_each(analyzer: Any) -> None:
    texts = ["The Cats' runs", "", "no", "RUNNING cats: café, CAFÉ", "the cat's 1,5", "A.B"]
    codes, terms, counts = analyzer.many(pa.array(texts, pa.string()))
    by_text, at = [], 0
    for count in counts.tolist():
        own = codes[at : at + count].tolist()
        by_text.append([(terms[code].as_py(), place) for place, code in enumerate(own) if code >= 0])
        at += count
    assert by_text == [analyzer.terms(text) for text in texts]
    assert terms.to_pylist() == sorted(terms.to_pylist())


def test_the_names_of_analyzers_are_those_that_indexes_can_have() -> None:
    assert tuple(each.name for each in ANALYZERS) == NAMES


@settings(max_examples=200)
@given(st.text("abc", max_size=5), st.text("abc", max_size=5))
def test_distance(one: str, other: str) -> None:
    def slowly(a: str, b: str) -> int:
        if not a or not b:
            return len(a) + len(b)
        least = min(slowly(a[1:], b) + 1, slowly(a, b[1:]) + 1, slowly(a[1:], b[1:]) + (a[0] != b[0]))
        if a[:2] == b[1::-1] and len(a) > 1 and len(b) > 1:
            least = min(least, slowly(a[2:], b[2:]) + 1)
        return least

    assert distance(one, other, 9) == slowly(one, other)
    assert (distance(one, other, 1) <= 1) == (slowly(one, other) <= 1)


def test_ranges_hold_the_terms_between_their_bounds() -> None:
    terms = sorted(VOCABULARY)
    postings = Postings(ANALYZERS[0], pa.array([""]), np.zeros(1, np.int32), 1, lambda: None)
    postings.terms = pa.array(terms)
    for low, high in product([None, "", "az", *terms, "z"], repeat=2):
        for has_low, has_high in product([False, True], repeat=2):
            wanted = Range(low, high, has_low, has_high)
            assert [terms[place] for place in like_range(postings, wanted)] == [
                term
                for term in terms
                if (low is None or term > low or (has_low and term == low))
                and (high is None or term < high or (has_high and term == high))
            ]


# ---------------------------------------------------------------- queries

KEYS = ("x", "y")


class Oracle:
    """Documents as lists of positioned words by key; answers queries by trying each document."""

    def __init__(self, documents: dict[int, dict[str, list[tuple[str, int]]]]) -> None:
        self.documents = documents

    def idf(self, key: str, word: str) -> float:
        texts = [each[key] for each in self.documents.values() if each.get(key)]
        having = sum(any(word == one for one, _ in text) for text in texts)
        return log(1 + (len(texts) - having + 0.5) / (having + 0.5))

    def weighed(self, document: dict[str, Any], key: str, idf: float, times: float) -> float:
        texts = [each[key] for each in self.documents.values() if each.get(key)]
        mean = sum(map(len, texts)) / len(texts)
        return idf * times / (times + 1.2 * (0.25 + 0.75 * len(document[key]) / mean))

    def term(self, document: dict[str, Any], key: str, word: str) -> float | None:
        times = sum(word == one for one, _ in document.get(key, ()))
        return self.weighed(document, key, self.idf(key, word), times) if times else None

    def leaf(self, document: dict[str, Any], key: str, query: Any) -> float | None:
        text = document.get(key, [])
        terms = {one for one, _ in text}
        match query:
            case ("word", word):
                return self.term(document, key, word)
            case ("like", matches):
                return 1.0 if any(map(matches, terms)) else None
            case ("nearly", word, edits):
                every = {one for each in self.documents.values() for one, _ in each.get(key, ())}
                scores = [
                    found * (1 - apart / min(len(word), len(one)))
                    for one in every
                    if (apart := distance(word, one, 9)) <= edits and apart < min(len(word), len(one))
                    and (found := self.term(document, key, one)) is not None
                ]  # fmt: skip
                return sum(scores) if scores else None
            case ("phrase", wanted, slop):
                if len(wanted) == 1:
                    return self.term(document, key, wanted[0])
                places = [[at for one, at in text if one == word] for word in wanted]
                moves = [
                    max(shifted) - min(shifted)
                    for chosen in product(*places)
                    if len(set(chosen)) == len(chosen)
                    for shifted in [[at - offset for offset, at in enumerate(chosen)]]
                ]
                if not moves or min(moves) > slop:
                    return None
                idf = sum(self.idf(key, word) for word in wanted)
                times = moves.count(0) if not slop else 1 / (1 + min(moves))
                return self.weighed(document, key, idf, times)
        raise AssertionError(query)

    def score(self, document: dict[str, Any], query: Any, keys: tuple[str, ...] = KEYS) -> float | None:
        if query[0] != "group":
            found = [each for key in keys if (each := self.leaf(document, key, query)) is not None]
            return sum(found) if found else None
        total, optional, needs, has = 0.0, False, False, False
        for part, needed, key, weight in query[1]:
            found_here = self.score(document, part, (key,) if key else keys)
            needs |= needed is True
            if needed is False and found_here is not None:
                return None
            if needed is True and found_here is None:
                return None
            if needed is not False and found_here is not None:
                has, total = True, total + weight * found_here
            optional |= needed is None and found_here is not None
        return total if (needs or optional) and has else None


def queries(depth: int = 2) -> st.SearchStrategy[tuple[str, Any]]:
    """Texts of queries, with what they mean."""
    word = st.sampled_from(VOCABULARY)
    leaves = st.one_of(
        word.map(lambda each: (each, ("word", each))),
        word.map(lambda each: (each.upper(), ("word", each))),
        word.map(lambda each: (f"{each}*", ("like", lambda term: term.startswith(each)))),
        word.map(lambda each: (f"?{each}", ("like", lambda term: term[1:] == each))),
        word.map(lambda each: (f"*{each}*", ("like", lambda term: each in term))),
        word.map(
            lambda each: (f"/{each}.?/", ("like", lambda term: term.startswith(each) and len(term) < len(each) + 2))
        ),
        st.tuples(word, word).map(
            lambda two: (f"[{two[0]} TO {two[1]}}}", ("like", lambda term: two[0] <= term < two[1]))
        ),
        st.tuples(word, word).map(
            lambda two: (f"{{{two[0]} TO {two[1]}]", ("like", lambda term: two[0] < term <= two[1]))
        ),
        word.map(lambda each: (f"[* TO {each}]", ("like", lambda term: term <= each))),
        st.tuples(word, st.integers(1, 2)).map(lambda two: (f"{two[0]}~{two[1]}", ("nearly", *two))),
        st.tuples(st.lists(word, min_size=1, max_size=3), st.integers(0, 3)).map(
            lambda two: (f'"{" ".join(two[0])}"' + (f"~{two[1]}" if two[1] else ""), ("phrase", *two))
        ),
    )
    if not depth:
        return leaves
    below = st.one_of(leaves, leaves, queries(depth - 1).filter(lambda each: each[1][0] == "group"))
    part = st.tuples(below, st.sampled_from(["", "", "+", "-", "NOT "]), st.sampled_from([None, None, "x", "y"]),
                     st.sampled_from([1, 1, 2, 0.5]), st.sampled_from(["", "", "AND ", "OR ", "&& "]))  # fmt: skip
    return st.lists(part, min_size=1, max_size=3).map(_group)


def _group(parts: list[Any]) -> tuple[str, Any]:
    text, found = "", []
    for place, ((own, meaning), sign, key, weight, joined) in enumerate(parts):
        inner = f"({own})" if meaning[0] == "group" else own
        text += (joined if place else "") + sign + (f"{key}:" if key else "") + inner
        text += (f"^{weight}" if weight != 1 else "") + " "
        needed = {"": None, "+": True, "-": False, "NOT ": False}[sign]
        if place and joined.startswith(("AND", "&&")):
            if found[-1][1] is None:
                found[-1] = (found[-1][0], True, *found[-1][2:])
            needed = True if needed is None else needed
        found.append((meaning, needed, key, weight))
    return text, ("group", found)


def positioned(value: Any) -> list[tuple[str, int]]:
    """Return the words of a property's value with their places, as texts of one word or more between spaces."""
    texts = value if isinstance(value, list) else [value]
    found, at = [], 0
    for text in texts:
        for word in text.split() if isinstance(text, str) else ():
            found.append((word, at))
            at += 1
        at += 100 if isinstance(text, str) else 0
    return found


VALUES = st.lists(st.sampled_from(VOCABULARY), max_size=5).map(" ".join)
VALUES = st.one_of(VALUES, VALUES, st.none(), st.integers(0, 3), st.lists(VALUES, max_size=2))


def expected(graph: Graph, query: Any) -> Iterator[tuple[int, float]]:
    documents = {}
    for (node,) in graph.query("MATCH (n:A|B) RETURN n"):
        documents[node["k"]] = {key: positioned(value) for key, value in node.properties.items() if key in KEYS}
    oracle = Oracle(documents)
    for key, document in documents.items():
        score = oracle.score(document, query)
        if score is not None:
            yield key, score


def assert_found(graph: Graph, text: str, meaning: Any) -> None:
    rows = graph.query("CALL db.index.fulltext.queryNodes('t', $q) YIELD node, score RETURN node.k, score", {"q": text})
    found = [tuple(row) for row in rows]
    assert dict(found) == pytest.approx(dict(expected(graph, meaning))), text
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    first = "CALL db.index.fulltext.queryNodes('t', $q, {skip: 1, limit: 2}) YIELD node RETURN node.k"
    assert [row[0] for row in graph.query(first, {"q": text})] == [key for key, _ in found[1:3]]


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(["A", "B", "C"]), VALUES, VALUES), max_size=8), queries())
def test_searches_find_what_trying_each_text_finds(texts: list[Any], query: tuple[str, Any]) -> None:
    graph = Graph.from_records(
        [{"id": k, "labels": [label], "properties": {"k": k, "x": x, "y": y}} for k, (label, x, y) in enumerate(texts)],
        [],
    )
    graph.query("CREATE FULLTEXT INDEX t FOR (n:A|B) ON EACH [n.x, n.y]")
    assert_found(graph, *query)


@pytest.mark.parametrize("seed", range(8))
def test_later_versions_are_searched_as_they_are(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "_ROWS", 30)
    monkeypatch.setattr(indexes, "_PIECE", 7)
    chance = random.Random(seed)

    def text() -> Any:
        some = " ".join(chance.choices(VOCABULARY, k=chance.randrange(5)))
        return chance.choice([some, some, None, [some, "a b"], 7])

    def meaning() -> tuple[str, Any]:
        first, second = chance.choices(VOCABULARY, k=2)
        return chance.choice(
            [
                (f"{first} {second}", ("group", [(("word", first), None, None, 1), (("word", second), None, None, 1)])),
                (f'x:"{first} {second}"', ("group", [(("phrase", [first, second], 0), None, "x", 1)])),
                (f"{first}*", ("group", [(("like", lambda term: term.startswith(first)), None, None, 1)])),
            ]
        )

    graph = Graph.from_records(
        [
            {"id": k, "labels": [chance.choice("ABC")], "properties": {"k": k, "x": text(), "y": text()}}
            for k in range(chance.randrange(120))
        ],
        [],
    )
    graph.query("CREATE FULLTEXT INDEX t FOR (n:A|B) ON EACH [n.x, n.y]")
    for step in range(16):
        change = chance.choice(
            [
                "CREATE (:A {k: $new, x: $text, y: $other})",
                "UNWIND [1, 2, 3] AS i CREATE (:B {k: $new + i, x: $text})",
                "MATCH (n) WHERE n.k % 41 = $k SET n.x = $text",
                "MATCH (n) WHERE n.k % 31 = $k REMOVE n.y",
                "MATCH (n:A) WHERE n.k % 13 = $k REMOVE n:A SET n:C",
                "MATCH (n:C) WHERE n.k % 13 = $k SET n:B",
                "MATCH (n) WHERE n.k % 23 = $k DETACH DELETE n",
            ]
        )
        graph.query(change, {"new": 200 + 10 * step, "text": text(), "other": text(), "k": chance.randrange(3)})
        if chance.random() < 0.6:
            assert_found(graph, *meaning())
        if chance.random() < 0.2:
            with graph.transaction() as transaction:
                transaction.query("MATCH (n) WHERE n.k % 40 = 0 SET n.x = 'abd'")
                found = transaction.query("CALL db.index.fulltext.queryNodes('t', 'x:abd') YIELD node RETURN count(*)")
                there = transaction.query("MATCH (n:A|B) WHERE n.k % 40 = 0 OR n.x = 'abd' RETURN count(*)").fetchall()
                assert found.fetchall()[0][0] >= there[0][0]
                transaction.rollback()
    assert_found(graph, *meaning())


@pytest.mark.parametrize("change", ["SET n.x = 'c'", "DELETE n"])
def test_many_commits_leave_few_segments(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_records([{"id": k, "labels": ["A"], "properties": {"k": k, "x": "a b"}} for k in range(64)], [])
    graph.query("CREATE FULLTEXT INDEX t FOR (n:A) ON EACH [n.x]")
    graph.query("CALL db.index.fulltext.queryNodes('t', 'c') YIELD node RETURN count(*)").fetchall()
    monkeypatch.delattr(search, "made")  # the index isn't made again
    for k in range(40):
        graph.query(f"MATCH (n:A {{k: $k}}) {change}", {"k": k})
        graph.query("CALL db.index.fulltext.queryNodes('t', 'c') YIELD node RETURN count(*)").fetchall()
        with graph.transaction() as transaction:
            transaction.query("CREATE (:A {x: 'c'})")
            transaction.query("CALL db.index.fulltext.queryNodes('t', 'c') YIELD node RETURN count(*)").fetchall()
            transaction.rollback()
        (index,) = (index for index, _ in graph._store.kept._made.values())
        assert len(index.segments) <= 6
        assert all(2 * each.count >= len(each.numbers) for each in index.segments)
        assert sum(each.count for each in index.segments) == (64 if "SET" in change else 63 - k)


@settings(max_examples=200)
@given(st.data())
def test_the_narrowest_match_is_that_of_trying_all(data: Any) -> None:
    positions = data.draw(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True).map(sorted),
                                   min_size=1, max_size=3))  # fmt: skip
    offsets: list[list[int]] = [[] for _ in positions]
    for offset, word in enumerate(data.draw(st.lists(st.integers(0, len(positions) - 1), max_size=3))):
        offsets[word].append(offset)
    for place, wanted in enumerate(offsets):
        if not wanted:
            wanted.append(4 + place)
    pairs = [(word, offset) for word, wanted in enumerate(offsets) for offset in wanted]
    moves = [
        max(shifted) - min(shifted)
        for chosen in product(*(positions[word] for word, _ in pairs))
        if len({(word, at) for (word, _), at in zip(pairs, chosen, strict=True)}) == len(pairs)
        for shifted in [[at - offset for (_, offset), at in zip(pairs, chosen, strict=True)]]
    ]
    least = min(moves, default=None)
    assert narrowest(positions, offsets, 4) == (least if least is not None and least <= 4 else None)

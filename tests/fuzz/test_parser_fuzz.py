"""Random and mutated texts: the parser gives a tree or a ``QuerySyntaxError``, and nothing else ever."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from qengine.errors import QuerySyntaxError
from qengine.syntax import ast, is_complete, parse, tokens

SEEDS = [
    "MATCH (a:A:B {x: 1})-[r:R|S*1..3 {y: $p}]->(b WHERE b.x > 2)<--(c) WHERE a.x = b.y "
    "RETURN DISTINCT a, count(*) AS n",
    "MATCH p = ANY SHORTEST TRAIL (a)-[:R]->+(b), REPEATABLE = (c) RETURN p ORDER BY p.x DESC SKIP 1 LIMIT $k",
    "OPTIONAL MATCH (a) ((x)-[q]->(y) WHERE x.v < y.v){1,3} (b) WITH a, b AS c WHERE c:A|!B&% RETURN *",
    "UNWIND [1, 2, .5, 0x1F, 1e3] AS x RETURN CASE WHEN x > 1 THEN 'a' ELSE \"b\\n\" END, x[0..1], {a: x, `b c`: [x]}",
    "MATCH (a) WHERE EXISTS { (a)-->(b) WHERE b.x } AND NOT (a)<-[:R]-() OR COUNT { MATCH (a) RETURN a } > 1 RETURN a",
    "RETURN [x IN xs WHERE x:A|B | x.y], [p = (a)-->(b) | p], all(x IN xs WHERE x), reduce(s = 0, x IN xs | s + x)",
    "RETURN n {.*, .name, age: n.x + 1, other}, -a ^ b % c || d =~ 'x', a IS NOT NULL XOR b STARTS WITH c // end",
    "EXPLAIN STEPS /*+ hint */ MATCH DIFFERENT NODES (a) RETURN a UNION ALL MATCH shortestPath((a)-[*]-(b)) RETURN a",
    "MATCH (n) SET n.x = 1, n += {a: 1} DETACH DELETE n FOREACH (x IN [1] | CREATE (m)) "
    "MERGE (k) ON CREATE SET k.x = 1",
    "CALL { WITH n RETURN 1 AS y } IN TRANSACTIONS CALL db.labels() YIELD a AS b WHERE b RETURN b; "
    "LOAD CSV FROM 'x' AS r FIELDTERMINATOR ';' RETURN r",
]  # fmt: skip
WORDS = {piece for seed in SEEDS for piece in seed.replace("(", " ( ").replace(")", " ) ").split()}
PIECES = [
    *sorted(WORDS),
    *"()[]{}<>-=+*/%^|&!:;,.$'\"`\\#@?~",
    *("..", "-->", "<--", "--", "<>", "<=", "!=", "=>", "/*", "*/", "//", "/*+", "``", "\n", "\x00"),
    *("é", "\u0301", "\u200b", "\ud800", "日本", "😀", "—", "’"),
    *("9223372036854775808", "1e999", "0x", "'\\u12'"),
    *(
        "END",
        "NULL",
        "AS",
        "BY",
        "ASC",
        "FINISH",
        "LET x = 1",
        "FOR x IN y",
        "FILTER",
        "USE g",
        "SHOW x",
        "YIELD",
        "ON",
    ),
]


def random_bytes(source: random.Random) -> str:
    return source.randbytes(source.randrange(60)).decode("utf-8", source.choice(["replace", "surrogateescape"]))


def random_characters(source: random.Random) -> str:
    highest = source.choice([0x80, 0x250, 0x3000, 0x110000])
    return "".join(chr(source.randrange(highest)) for _ in range(source.randrange(40)))


def random_pieces(source: random.Random) -> str:
    return source.choice(["", " "]).join(source.choice(PIECES) for _ in range(source.randrange(1, 25)))


def mutated_characters(source: random.Random) -> str:
    text = list(source.choice(SEEDS))
    for _ in range(source.randrange(1, 6)):
        place = source.randrange(len(text))
        match source.randrange(4):
            case 0:
                del text[place]
            case 1:
                text.insert(place, source.choice("()[]{}<>-=+*/%^|&!:;,.$'\"`\\ \n1aé"))
            case 2:
                other = source.randrange(len(text))
                text[place], text[other] = text[other], text[place]
            case _:
                text[place : place + source.randrange(10)] = source.choice(PIECES)
        if not text:
            break
    return "".join(text)


def mutated_words(source: random.Random) -> str:
    words = source.choice(SEEDS).split(" ")
    for _ in range(source.randrange(1, 4)):
        place = source.randrange(len(words))
        match source.randrange(4):
            case 0 if len(words) > 1:
                del words[place]
            case 1:
                words.insert(place, source.choice(PIECES))
            case 2:
                words[place] = source.choice(source.choice(SEEDS).split(" "))
            case _:
                words[place:place] = source.choice(SEEDS).split(" ")[place : place + 4]
    return " ".join(words)


def cut(source: random.Random) -> str:
    text = source.choice(SEEDS)
    start = source.randrange(len(text)) if source.random() < 0.5 else 0
    return text[start : source.randrange(len(text) + 1)]


MAKERS: list[Callable[[random.Random], str]] = [
    random_bytes, random_characters, random_pieces, mutated_characters, mutated_words, cut,
]  # fmt: skip


def check(text: str) -> bool:
    """Return whether the text parsed."""
    for each in tokens(text):
        assert 0 <= each.span.start < each.span.end <= len(text)
    is_complete(text)
    try:
        statements = parse(text)
    except QuerySyntaxError as error:
        assert error.text == text and error.code and error.message
        assert error.span is not None
        assert 0 <= error.span.start <= error.span.end <= len(text), text
        assert str(error).startswith("Syntax error: ")
        return False
    assert all(isinstance(statement, ast.Statement) for statement in statements)
    for statement in statements:
        again = parse(text[statement.span.start : statement.span.end])
        assert again == (statement,), text
    return True


def fuzz(maker: Callable[[random.Random], str], seed: int, count: int) -> None:
    source = random.Random(f"{maker.__name__} {seed}")
    for number in range(count):
        text = maker(source)
        try:
            check(text)
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {error}\nseed {seed}, input {number}: {text!r}")


@pytest.mark.parametrize("maker", MAKERS)
def test_a_few_texts(maker: Callable[[random.Random], str]) -> None:
    fuzz(maker, seed=0, count=500)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("maker", MAKERS)
def test_many_texts(maker: Callable[[random.Random], str], seed: int) -> None:
    fuzz(maker, seed, count=3500)


def test_the_seeds_are_right() -> None:
    for seed in SEEDS:
        if "REPEATABLE = " not in seed:
            assert check(seed), seed

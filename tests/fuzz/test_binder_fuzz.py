"""Whatever parses is bound to a sound plan or refused with a clean error that has a place.

Queries of the golden files are mutated: words swapped for others of the same corpus, left out, doubled, and whole
clauses joined. Nearly all results mean nothing, which is the point; those that parse reach the binder.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from qengine.binder import bind
from qengine.builtin_procedures import BUILT_IN
from qengine.errors import QengineError, QuerySyntaxError, SemanticError, Unsupported
from qengine.plan.json import to_json
from qengine.plan.text import to_text
from qengine.syntax import parse
from qengine.testing.catalog import SOCIAL
from qengine.testing.verify import verify

GOLDEN = Path(__file__).parents[1] / "golden"
WORD = re.compile(r"'[^']*'|\d+\.\d+|\w+|\.\.|[<>=]+|\s+|.")
CLAUSE = re.compile(r"(?=\b(?:OPTIONAL MATCH|(?<!OPTIONAL )MATCH|WITH|UNWIND|RETURN)\b)")


def corpus() -> list[str]:
    files = sorted(GOLDEN.glob("logical_plans/*.txt")) + sorted(GOLDEN.glob("semantic_errors/*.txt"))
    blocks = [block for path in files for block in ("\n" + path.read_text()).split("\n### ")[1:]]
    return [block.partition("\n")[2].partition("\n----\n")[0] for block in blocks]


def mutated(chance: random.Random, queries: list[str], words: list[str]) -> str:
    if chance.random() < 0.4:  # clauses of two queries, one after the other
        first, second = (CLAUSE.split(chance.choice(queries)) for _ in range(2))
        cut = chance.randrange(1, len(first) + 1)
        return " ".join([*first[:cut], *second[chance.randrange(len(second)) :]])
    parts = WORD.findall(chance.choice(queries))
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(len(parts))
        match chance.randrange(4):
            case 0:
                del parts[place]
            case 1:
                parts.insert(place, parts[chance.randrange(len(parts))])
            case _:
                parts[place] = chance.choice(words)
        parts = parts or [" "]
    return "".join(parts)


def run(seed: int, count: int) -> tuple[int, int]:
    """Return how many of the mutated queries were bound, and how many refused by the binder."""
    chance = random.Random(seed)
    queries = corpus()
    words = sorted({word for query in queries for word in WORD.findall(query) if not word.isspace()})
    bound = refused = 0
    for _ in range(count):
        text = mutated(chance, queries, words)
        try:
            statements = parse(text)
        except QuerySyntaxError:
            continue
        for statement in statements:
            try:
                plan = bind(statement, text, SOCIAL, procedures=BUILT_IN).plan
            except (SemanticError, Unsupported) as error:
                refused += 1
                assert error.span is not None and 0 <= error.span.start <= error.span.end <= len(text), text
                assert str(error), text
            except QengineError as error:
                pytest.fail(f"{text!r} (seed {seed}): {error}")
            else:
                bound += 1
                verify(plan)
                to_text(plan)
                json.dumps(to_json(plan))
    return bound, refused


def test_mutated_queries() -> None:
    bound, refused = run(seed=1, count=4000)
    assert bound > 300 and refused > 300


@pytest.mark.slow
def test_many_mutated_queries() -> None:
    for seed in range(2, 22):
        run(seed, 5000)

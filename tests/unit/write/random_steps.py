"""Steps of updates that are drawn at random, as text."""

from __future__ import annotations

import random


def merge_of_a_path(chance: random.Random) -> str:
    """Return a MERGE of one to three relationships, each of whose nodes is one of two known ones or a new one."""

    def node(place: int) -> str:
        if chance.random() < 0.35:
            return chance.choice(["(a)", "(b)"])
        keys = chance.choice(["", "{id: r.a}", "{id: r.b}", "{w: r.w}", "{id: 1, w: r.a}", "{id: a.id}"])
        return f"(n{place}{chance.choice(['', ':Q', ':N', ':Q:N', *names])} {keys})"

    names = [
        f":$({each})" for each in ("CASE r.w WHEN 1 THEN 'Q' ELSE 'N' END", "['N', 'Q'][0..r.b]", "'Q'", "'L' + r.w")
    ]
    names = chance.choice([[], names])
    types = [*"RSTU", *(["$('T' + r.w)", "$(CASE r.a WHEN 1 THEN 'R' ELSE 'S' END)"] if names else [])]

    path = node(0)
    for place in range(chance.choice([1, 1, 2, 2])):
        keys = chance.choice(["", "", " {w: r.w}"])
        edge = f"-[k{place}:{chance.choice(types)}{keys}]-"
        path += chance.choice(["<{}", "{}>", "{}"]).format(edge) + node(place + 1)
    sets = chance.choice(
        ["", " ON CREATE SET k0.c = r.a", " ON MATCH SET k0.m = r.w", " ON CREATE SET k0.c = 1, k0.d = r.b"]
    )
    found = "UNWIND $links[2..12] AS r MATCH (a:P {id: r.a}), (b:P {id: r.b})"
    return f"{found} MERGE {path}{sets} RETURN k0.w, k0.c, r.w"


def settings_of(chance: random.Random) -> str:
    """Return a SET of several items, computed from properties of one node or of two, each found once or twice."""
    rows = chance.choice(["UNWIND [1, 2, 7] AS i", "UNWIND [7, 2, 7, 1, 2] AS i"])
    found = chance.choice(
        ["MATCH (a:P {id: i})", "MATCH (a:P {id: i}), (b:Q {id: 2})", "MATCH (b {id: 7}), (a:P {id: i})"]
    )
    names = "ab" if "(b" in found else "a"

    def value() -> str:
        reads = [f"{chance.choice(names)}.{chance.choice('xyz')}" for _ in range(2)]
        return chance.choice(["{0}", "coalesce({0}, i) + 1", "[{0}, {1}]", "{{v: {0}}}.v", "i", "1"]).format(*reads)

    items = []
    for _ in range(chance.randint(1, 4)):
        name, key = chance.choice(names), chance.choice("xyz")
        forms = [f"{name}.{key} = {value()}"] * 3
        forms += [f"{name} {sign} {{x: {value()}, {key}: {value()}}}" for sign in ("+=", "=")]
        items.append(chance.choice(forms))
    return f"{rows} {found} SET a.x = coalesce(a.x, a.id), {', '.join(items)} RETURN a.x, a.y"

"""Random matches with quantified paths of several relationships: group variables, names of parts, conditions, ``?``."""

from __future__ import annotations

import random

from qengine.testing.random_graph import RandomGraph

_QUANTIFIERS = ("{1,2}", "{2}", "{,2}", "{0,1}", "{1,3}", "+", "*", "?", "?")
_MODES = ("", "", "", "", "TRAIL ", "ACYCLIC ", "SIMPLE ", "ALL SHORTEST ", "SHORTEST 2 GROUPS ")


def random_repeat(seed: int | str, graph: RandomGraph) -> str:
    """Return a query, the same for the same seed, whose answer is one bag of rows."""
    return _Repeats(random.Random(f"repeat {seed}"), graph).query()


class _Repeats:
    """Draws the parts of one query; ``lists``: names that are lists outside, ``paths``: lists of paths."""

    def __init__(self, chance: random.Random, graph: RandomGraph) -> None:
        self.chance = chance
        self.labels, self.types = graph.labels or ("A",), graph.types or ("R",)
        self.count = 0
        self.returned: list[str] = []

    def query(self) -> str:
        chance = self.chance
        mode = chance.choice(_MODES)
        selects = "SHORTEST" in mode
        path = self._node("x")
        for place in range(chance.choice((1, 1, 1, 2))):
            path += self._repeated(selects)
            path += self._node("m" if place == 0 and chance.random() < 0.7 else "")
            if chance.random() < 0.2:
                path += f"{self._link('')}{self._node('')}"
        where = chance.choice(("", "", f" WHERE x.k {chance.choice('<>')} {chance.randrange(5)}"))
        if chance.random() < 0.2:
            return f"MATCH {mode}{path}{where} RETURN count(*) AS n"
        returned = ["x.k", *self.returned]
        named = ""
        if chance.random() < 0.5:
            named = "p = "
            returned += ["length(p)", "[n IN nodes(p) | n.k]"]
        chosen = [each for each in returned if chance.random() < 0.8] or returned[:1]
        distinct = "DISTINCT " if chance.random() < 0.3 else ""
        return f"MATCH {named}{mode}{path}{where} RETURN {distinct}{', '.join(chosen)}"

    def _name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def _labels(self) -> str:
        return f":{self.chance.choice(self.labels)}" if self.chance.random() < 0.3 else ""

    def _node(self, name: str) -> str:
        return f"({name}{self._labels()})"

    def _link(self, name: str) -> str:
        chance = self.chance
        type = f":{chance.choice(self.types)}" if chance.random() < 0.7 else ""
        condition = f" WHERE {name}.k < {chance.randrange(4, 12)}" if name and chance.random() < 0.15 else ""
        left, right = chance.choice((("-", "->"), ("-", "->"), ("<-", "-"), ("-", "-")))
        return f"{left}[{name}{type}{condition}]{right}"

    def _repeated(self, selects: bool) -> str:
        """Return a quantified path, and note what of it may be returned."""
        chance = self.chance
        quantifier = chance.choice(_QUANTIFIERS)
        nodes = [self._name("n") if chance.random() < 0.7 else ""]
        inside = self._node(nodes[0])
        links: list[str] = []
        for _ in range(chance.choice((1, 2, 2, 2, 3))):
            links.append(self._name("r") if chance.random() < 0.6 else "")
            nodes.append(self._name("n") if chance.random() < 0.7 else "")
            inside += self._link(links[-1]) + self._node(nodes[-1])
        named = [name for name in nodes if name]
        where = ""
        if len(named) > 1 and chance.random() < 0.4:
            one, other = chance.sample(named, 2)
            where = f" WHERE {one}.k {chance.choice(('<', '<>', '>='))} {other}.k"
        part = ""
        form = "{0}.k" if quantifier == "?" else "[e IN {0} | e.k]"
        self.returned += [form.format(name) for name in (*named, *links) if name]
        if not selects and chance.random() < 0.3:
            part = self._name("q")
            keys = f"[n IN nodes({part}) | n.k]" if quantifier == "?" else f"[e IN {part} | [n IN nodes(e) | n.k]]"
            self.returned.append(keys)
            part += " = "
        return f" ({part}{inside}{where}){quantifier} "

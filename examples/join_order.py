"""Feed another planner: cardinalities of all parts of a pattern, and the join order that they suggest to DuckDB.

Run it from anywhere: python examples/join_order.py
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import qengine
from qengine.estimate import EstimateTable

HERE = Path(__file__).resolve().parent
PATTERN = """
MATCH (r:River)-[:flows_through]->(a:Country)-[:borders]-(b:Country)-[:speaks]->(l:Language),
      (a)-[:speaks]->(l)
"""
RELATIONS = {
    "ra": "SELECT start AS r, \"end\" AS a FROM 'rels_River_flows_through_Country.csv'",
    "ab": "SELECT start AS a, \"end\" AS b FROM 'rels_Country_borders_Country.csv' "
    "UNION ALL SELECT \"end\", start FROM 'rels_Country_borders_Country.csv'",
    "bl": "SELECT start AS b, \"end\" AS l FROM 'rels_Country_speaks_Language.csv'",
    "al": "SELECT start AS a, \"end\" AS l FROM 'rels_Country_speaks_Language.csv'",
}


def cheapest_order(table: EstimateTable) -> tuple[tuple[str, ...], float]:
    """Return the left-deep order with the fewest intermediate rows, by dynamic programming over the table's parts."""
    best: dict[frozenset[str], tuple[float, tuple[str, ...]]] = {}
    for nodes in table:  # small parts first
        rows = table.rows(nodes)
        if rows is None:  # no sample hit this part: all that is known is a bound
            rows = table[nodes].upper_bound
        smaller = [(best[nodes - {last}], last) for last in sorted(nodes) if nodes - {last} in best]
        if len(nodes) == 1:
            best[nodes] = (0.0, tuple(nodes))
        else:
            (cost, order), last = min(smaller)
            best[nodes] = (cost + rows, (*order, last))
    cost, order = best[max(best, key=len)]
    return order, cost


def joins(order: tuple[str, ...]) -> str:
    """Return the pattern's joins in that order, for a planner that is told to leave it alone."""
    text, seen = "SELECT count(*) FROM", set[str]()
    for position in range(2, len(order) + 1):
        bound = set(order[:position])
        for name in (each for each in RELATIONS if set(each) <= bound and order[position - 1] in each):
            shared = ", ".join(sorted(set(name) & seen))
            text += f"\n  JOIN {name} USING ({shared})" if seen else f" {name}"
            seen |= set(name)
    return text


def main() -> None:
    """Print the estimates, the order, and the joins; with DuckDB, what they give."""
    graph = qengine.Graph.from_csv(HERE / "world")
    table = graph.estimate_all(PATTERN, samples=50_000, seed=1)
    for nodes, found in table.items():
        print(f"{' '.join(sorted(nodes)):8} {found.value:10,.0f}   [{found.low:,.0f}, {found.high:,.0f}]")
    order, cost = cheapest_order(table)
    print(f"\nbest order: {' → '.join(order)}, {cost:,.0f} intermediate rows\n{joins(order)}")
    print(f"counted here: {graph.query(PATTERN + 'RETURN count(*)').value():,}")
    if find_spec("duckdb"):
        import duckdb

        with duckdb.connect() as connection:
            connection.execute(f"SET file_search_path = '{HERE / 'world'}'; SET disabled_optimizers = 'join_order'")
            for name, text in RELATIONS.items():
                connection.execute(f"CREATE VIEW {name} AS {text}")
            (count,) = connection.execute(joins(order)).fetchone() or (0,)
            print(f"by DuckDB in this order: {count:,}")


if __name__ == "__main__":
    main()

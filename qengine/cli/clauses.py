"""What the clauses do, each with an example, for the shell's help."""

from __future__ import annotations

CLAUSES = {
    "MATCH": ("Find a pattern: a row for each way.", "MATCH (a:Person)-[r:KNOWS]->(b) RETURN a, r, b"),
    "OPTIONAL MATCH": (
        "Find a pattern; nulls where there is none.",
        "MATCH (a:Person) OPTIONAL MATCH (a)-[:KNOWS]->(b) RETURN a, b",
    ),
    "WHERE": ("Keep the rows of MATCH or WITH that fulfil a condition.", "MATCH (a) WHERE a.age > 30 RETURN a"),
    "RETURN": (
        "Say what the result's columns are; aggregates group by the others.",
        "MATCH (a)--(b) RETURN a.name AS name, count(*) AS number ORDER BY number DESC LIMIT 5",
    ),
    "WITH": (
        "Pass rows on to the next clause, as RETURN would give them.",
        "MATCH (a)--(b) WITH a, count(*) AS number WHERE number > 3 RETURN a",
    ),
    "ORDER BY": ("Sort rows.", "MATCH (a) RETURN a.name ORDER BY a.age DESC, a.name"),
    "SKIP": ("Leave out the first rows.", "MATCH (a) RETURN a.name ORDER BY a.name SKIP 10 LIMIT 10"),
    "LIMIT": ("Give so many rows at most.", "MATCH (a) RETURN a.name ORDER BY a.name LIMIT 10"),
    "UNWIND": ("Make a row of each item of a list.", "UNWIND [1, 2, 3] AS x RETURN x * x"),
    "UNION": (
        "Give the rows of both queries; UNION ALL keeps equal ones.",
        "MATCH (a:Person) RETURN a.name AS name UNION MATCH (c:City) RETURN c.name AS name",
    ),
    "CALL": (
        "Run a procedure, or a subquery for each row.",
        "MATCH (a) CALL (a) { MATCH (a)--(b) RETURN count(b) AS number } RETURN a, number",
    ),
    "CREATE": ("Make nodes and relationships.", "CREATE (a:Person {name: 'Ada'})-[:KNOWS]->(:Person {name: 'Bob'})"),
    "MERGE": (
        "Find a pattern, or make it where there is none.",
        "MERGE (a:Person {name: 'Ada'}) ON CREATE SET a.new = true",
    ),
    "SET": ("Set properties and labels.", "MATCH (a:Person {name: 'Ada'}) SET a.age = 36, a:Author"),
    "REMOVE": ("Take properties and labels away.", "MATCH (a:Person {name: 'Ada'}) REMOVE a.age, a:Author"),
    "DELETE": ("Delete elements; DETACH DELETE nodes with their relationships.", "MATCH (a:Old) DETACH DELETE a"),
    "FOREACH": ("Change something for each item of a list.", "FOREACH (x IN [1, 2] | CREATE (:N {x: x}))"),
    "LOAD CSV": (
        "Read a file, a row each line.",
        "LOAD CSV WITH HEADERS FROM 'file:///people.csv' AS row CREATE (:Person {name: row.name})",
    ),
    "CASE": ("Choose a value by conditions.", "MATCH (a) RETURN CASE WHEN a.age < 18 THEN 'young' ELSE 'old' END"),
    "EXISTS": ("Ask whether a pattern is there.", "MATCH (a) WHERE EXISTS { (a)-[:KNOWS]->(:Person) } RETURN a"),
    "EXPLAIN": ("Show the plan of a query; PROFILE runs it, too.", "EXPLAIN MATCH (a)--(b) RETURN count(*)"),
}
"""By name what a clause does, and an example."""

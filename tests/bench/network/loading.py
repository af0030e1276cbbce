"""The network in the engines beside ours: each with the tables that suit it best."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_DUCKDB = """
CREATE TABLE Message AS
  WITH message AS (
    SELECT *, NULL AS language, NULL AS imageFile, true AS isComment FROM nodes_Comment
    UNION ALL BY NAME SELECT *, false AS isComment FROM nodes_Post),
  creator AS (FROM rels_Post_hasCreator_Person UNION ALL FROM rels_Comment_hasCreator_Person),
  country AS (FROM rels_Post_isLocatedIn_Country UNION ALL FROM rels_Comment_isLocatedIn_Country),
  parent AS (FROM rels_Comment_replyOf_Post UNION ALL FROM rels_Comment_replyOf_Comment)
  SELECT m.*, c.end AS creator, n.end AS country, p.end AS parent, f.start AS forum
  FROM message m JOIN creator c ON c.start = m.id JOIN country n ON n.start = m.id
  LEFT JOIN parent p ON p.start = m.id LEFT JOIN rels_Forum_containerOf_Post f ON f.end = m.id ORDER BY m.id;
CREATE TABLE Forum AS
  SELECT f.*, m.end AS moderator FROM nodes_Forum f JOIN rels_Forum_hasModerator_Person m ON m.start = f.id;
CREATE TABLE Person AS
  SELECT p.*, c.end AS city FROM nodes_Person p JOIN rels_Person_isLocatedIn_City c ON c.start = p.id;
CREATE TABLE City AS SELECT c.*, n.end AS country FROM nodes_City c JOIN rels_City_isPartOf_Country n ON n.start = c.id;
CREATE TABLE Country AS
  SELECT n.*, c.end AS continent FROM nodes_Country n JOIN rels_Country_isPartOf_Continent c ON c.start = n.id;
CREATE TABLE University AS
  SELECT u.*, c.end AS city FROM nodes_University u JOIN rels_University_isLocatedIn_City c ON c.start = u.id;
CREATE TABLE Company AS
  SELECT e.*, n.end AS country FROM nodes_Company e JOIN rels_Company_isLocatedIn_Country n ON n.start = e.id;
CREATE TABLE Tag AS SELECT t.*, k.end AS class FROM nodes_Tag t JOIN rels_Tag_hasType_TagClass k ON k.start = t.id;
CREATE TABLE TagClass AS
  SELECT k.*, s.end AS parent FROM nodes_TagClass k LEFT JOIN rels_TagClass_isSubclassOf_TagClass s ON s.start = k.id;
CREATE TABLE knows AS
  SELECT "start" AS a, "end" AS b, creationDate FROM rels_Person_knows_Person
  UNION ALL SELECT "end", "start", creationDate FROM rels_Person_knows_Person ORDER BY ALL;
CREATE TABLE hasMember AS SELECT "start" AS forum, "end" AS person, joinDate FROM rels_Forum_hasMember_Person;
CREATE TABLE likes AS
  SELECT "start" AS person, "end" AS message, creationDate
  FROM (FROM rels_Person_likes_Post UNION ALL FROM rels_Person_likes_Comment) ORDER BY message, person;
CREATE TABLE hasTag AS
  SELECT "start" AS message, "end" AS tag
  FROM (FROM rels_Post_hasTag_Tag UNION ALL FROM rels_Comment_hasTag_Tag) ORDER BY ALL;
CREATE TABLE hasInterest AS SELECT "start" AS person, "end" AS tag FROM rels_Person_hasInterest_Tag;
CREATE TABLE studyAt AS SELECT "start" AS person, "end" AS university, classYear FROM rels_Person_studyAt_University;
CREATE TABLE workAt AS SELECT "start" AS person, "end" AS company, workFrom FROM rels_Person_workAt_Company;
"""
"""Whatever a row has one of is a column; friends are there both ways."""


def into_duckdb(folder: Path, threads: int) -> Any:
    """Return a connection to the tables of a folder, in memory."""
    import duckdb

    connection = duckdb.connect(":memory:", config={"threads": threads})
    stems = [file.stem for file in folder.glob("*.parquet")]
    for stem in stems:
        connection.execute(f"CREATE VIEW {stem} AS FROM read_parquet('{folder / stem}.parquet')")
    connection.execute(_DUCKDB)
    return connection


def into_kuzu(folder: Path, threads: int) -> Any:
    """Return a connection to the graph of a folder, in memory: a table a label and a type."""
    import kuzu

    database = kuzu.Database(":memory:", buffer_pool_size=8 << 30, max_num_threads=threads)
    connection = kuzu.Connection(database, num_threads=threads)
    ends: dict[str, list[tuple[str, str, Path]]] = defaultdict(list)
    for file in sorted(folder.glob("*.parquet")):
        kind, *words = file.stem.split("_")
        if kind == "nodes":
            connection.execute(f"CREATE NODE TABLE {words[0]}({', '.join(_columns(file))}, PRIMARY KEY(id))")
            connection.execute(f"COPY {words[0]} FROM '{file}'")
        else:
            ends[words[1]].append((words[0], words[2], file))
    for name, tables in ends.items():
        pairs = [f"FROM {start} TO {end}" for start, end, _ in tables]
        connection.execute(f"CREATE REL TABLE {name}({', '.join([*pairs, *_columns(tables[0][2])[2:]])})")
        for start, end, file in tables:
            which = f" (from='{start}', to='{end}')" if len(tables) > 1 else ""
            connection.execute(f"COPY {name} FROM '{file}'{which}")
    return connection


def _columns(file: Path) -> list[str]:
    return [f"`{field.name}` {_kuzu_type(field.type)}" for field in pq.read_schema(file)]


def _kuzu_type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"{_kuzu_type(kind.value_type)}[]"
    return {"int64": "INT64", "string": "STRING", "timestamp[ms]": "TIMESTAMP", "date32[day]": "DATE"}[str(kind)]

"""Kùzu, in memory, two threads."""

from __future__ import annotations

from pathlib import Path

import kuzu

from tests.bench.datasets import Dataset, PatternGraph
from tests.bench.dialects import cypher_for_kuzu
from tests.bench.engines.base import MEMORY, THREADS, Engine
from tests.bench.patterns import Pattern
from tests.bench.workloads import Answer, Load, Workload

_PATTERN_SCHEMA = """
CREATE NODE TABLE V(id INT64 PRIMARY KEY, label INT32);
CREATE REL TABLE O(FROM V TO V);
CREATE REL TABLE S(FROM V TO V);
COPY V FROM '{folder}/vertices.parquet';
COPY O FROM '{folder}/oriented.parquet';
COPY S FROM (LOAD FROM '{folder}/symmetric.parquet' RETURN src, dst);
"""
_SOCIAL_SCHEMA = """
CREATE NODE TABLE Person(id INT64 PRIMARY KEY, age INT64, name STRING);
CREATE NODE TABLE City(id INT64 PRIMARY KEY, name STRING);
CREATE NODE TABLE Post(id INT64 PRIMARY KEY, score DOUBLE, lang INT64);
CREATE NODE TABLE Tag(id INT64 PRIMARY KEY, name STRING);
CREATE REL TABLE knows(FROM Person TO Person, since INT64);
CREATE REL TABLE lives_in(FROM Person TO City);
CREATE REL TABLE likes(FROM Person TO Post);
CREATE REL TABLE has_tag(FROM Post TO Tag);
CREATE REL TABLE interest(FROM Person TO Tag);
"""


class Kuzu(Engine):
    """Symmetry is broken by the query, over ids by ascending degree."""

    def load(self, dataset: Dataset) -> None:
        self._database = kuzu.Database(":memory:", buffer_pool_size=MEMORY, max_num_threads=THREADS)
        self._connection = kuzu.Connection(self._database, num_threads=THREADS)
        if isinstance(dataset, PatternGraph):
            self._execute(_PATTERN_SCHEMA.format(folder=dataset.folder))
        else:
            self._execute(_SOCIAL_SCHEMA)
            for file in sorted(dataset.folder.glob("*.parquet")):
                self._execute(f"COPY {_table(file)} FROM '{file}'")

    def run(self, workload: Workload) -> Answer:
        if isinstance(workload, Pattern):
            return int(self._rows(cypher_for_kuzu(workload))[0][0])
        if isinstance(workload, Load):
            return int(self._rows("MATCH ()-[k:knows]->() RETURN count(*)")[0][0])
        return workload.answer(self._rows(workload.texts["kuzu"]))

    def _execute(self, text: str) -> None:
        self._connection.execute(text)

    def _rows(self, text: str) -> list[list[object]]:
        result = self._connection.execute(text)
        assert isinstance(result, kuzu.QueryResult)
        return [list(row) for row in result.get_all()]


def _table(file: Path) -> str:
    """Return the table of a file: ``nodes_Tag`` gives Tag, ``rels_Post_has_tag_Tag`` gives has_tag."""
    kind, _, rest = file.stem.partition("_")
    return rest if kind == "nodes" else "_".join(rest.split("_")[1:-1])

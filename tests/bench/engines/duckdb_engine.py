"""DuckDB, in memory, two threads."""

from __future__ import annotations

import duckdb

from tests.bench.datasets import Dataset, PatternGraph
from tests.bench.dialects import sql
from tests.bench.engines.base import MEMORY, THREADS, Engine
from tests.bench.patterns import Pattern
from tests.bench.workloads import Answer, Load, Workload


class DuckDB(Engine):
    """Symmetry is broken by the query, over ids by ascending degree."""

    def load(self, dataset: Dataset) -> None:
        spill = dataset.root / "duckdb.tmp"  # what a killed process leaves stays out of the checkout
        config = {"threads": THREADS, "memory_limit": f"{MEMORY >> 20}MiB", "temp_directory": str(spill)}
        self._connection = duckdb.connect(":memory:", config=config)
        if isinstance(dataset, PatternGraph):
            names = {"oriented": "oriented", "symmetric": "both_ways"}
        else:
            names = {
                file.stem: file.stem.removeprefix("nodes_")
                if file.stem.startswith("nodes_")
                else "_".join(file.stem.split("_")[2:-1])
                for file in dataset.folder.glob("*.parquet")
            }
        for stem, table in names.items():
            file = dataset.folder / f"{stem}.parquet"
            self._connection.execute(f"CREATE TABLE \"{table}\" AS FROM read_parquet('{file}')")

    def run(self, workload: Workload) -> Answer:
        if isinstance(workload, Pattern):
            return int(self._rows(sql(workload))[0][0])
        if isinstance(workload, Load):
            return int(self._rows("SELECT count(*) FROM knows")[0][0])
        return workload.answer(self._rows(workload.texts["duckdb"]))

    def _rows(self, text: str) -> list[list[object]]:
        return [list(row) for row in self._connection.execute(text).fetchall()]

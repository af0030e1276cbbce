"""``LoadCsv``: the rows of a CSV file for each input row."""

from __future__ import annotations

from collections.abc import Iterator

from qengine.exec.common.batch import Batch
from qengine.exec.common.expressions.compiler import compile_expression
from qengine.exec.common.operators.repeated_rows import repeated_rows
from qengine.exec.common.operators.stage import Build, Stage
from qengine.exec.scalar.csv_rows import file_rows
from qengine.plan import logical

__all__ = ["load_csv_stage"]


def load_csv_stage(operator: logical.LoadCsv, build: Build, first: int) -> Stage:
    """Emit each input row once for each row of its file."""
    runtime = build.runtime
    upstream = build(operator.input, first)
    url = compile_expression(operator.url, runtime)

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            urls = enumerate(url(batch).values())
            rows = ((place, row) for place, each in urls for row in file_rows(operator, each, runtime.context))
            yield from repeated_rows(batch, operator.added, rows, first, runtime.memory, "LoadCsv")

    return run

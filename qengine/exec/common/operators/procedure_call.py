"""``ProcedureCall``: a procedure's rows for each input row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from qengine.exec.common.batch import Batch
from qengine.exec.common.expressions.compiler import compile_expression
from qengine.exec.common.operators.repeated_rows import repeated_rows
from qengine.exec.common.operators.stage import Build, Stage
from qengine.exec.scalar.procedures import ProcedureCaller
from qengine.plan import logical


def procedure_call_stage(operator: logical.ProcedureCall, build: Build, first: int) -> Stage:
    """Emit each input row once for each row that the procedure gives for it."""
    runtime = build.runtime
    upstream = build(operator.input, first)
    args = [compile_expression(arg, runtime) for arg in operator.args]
    caller = ProcedureCaller(operator, runtime.store, lambda: runtime.store, runtime.context)
    names = [name for _, name in operator.outputs]

    def arguments(batch: Batch) -> list[tuple[Any, ...]]:
        if not args:
            return [()] * batch.length
        return list(zip(*(evaluate(batch).values() for evaluate in args), strict=True))

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            given = enumerate(arguments(batch))
            rows = ((place, values) for place, row in given for values in caller.rows(row))
            yield from repeated_rows(batch, names, rows, first, runtime.memory, "ProcedureCall")

    return run

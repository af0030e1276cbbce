"""The command: ``python -m tests.bench.atlas --suite five --graph rmat14 --device cpu …``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from tests.bench.atlas import graphs, records, suites, verified
from tests.bench.atlas.cells import Cell, Place, run
from tests.bench.atlas.checks import Key, checked
from tests.bench.atlas.patterns import Semantics
from tests.bench.atlas.suites import Query
from tests.bench.atlas.table import Table
from tests.bench.cells import Status

_SEMANTICS = {each.name.lower(): each for each in Semantics}


def main(arguments: list[str] | None = None) -> int:
    """Count all small patterns of suites on a graph and print their times; return 1 where a count is wrong."""
    options = _options(arguments)
    place = Place(options.graph, options.device, options.limit, options.memory << 30)
    recorded = records.read(options.out) if options.resume else []
    cells = {cell.key: cell for cell in recorded if (cell.graph, cell.device) == (place.graph, place.device)}
    elsewhere = [cell for cell in recorded if cells.get(cell.key) is not cell]
    if options.out:
        records.write(options.out, recorded)
    wrong = 0
    for suite in options.suite:
        semantics = [_SEMANTICS[name] for name in options.semantics]
        queries = [each for each in suites.queries(suite, place.graph, options.only) if each.semantics in semantics]
        for cell in run(_wanted(queries, cells), place):
            cells[cell.key] = cell
            _tell(cell)
            if options.out:
                records.append(options.out, cell)
        hinted = {hint: list(run(queries, place, hint=hint, repeats=0)) for hint in options.hints}
        cells = checked(cells, verified.of(place.graph), hinted)
        if options.out:
            records.write(options.out, [*elsewhere, *cells.values()])
        print(f"### {suite} on {place.graph}, {place.device}\n")
        table = Table(queries, cells, options.limit, options.target)
        print(table, end="\n\n", flush=True)
        wrong += table.wrong
    return 1 if wrong else 0


def _wanted(queries: Iterable[Query], known: Collection[Key]) -> list[Query]:
    """Return the queries and before them their bases, each text once, without those that are known."""
    bases = [query.base for query in queries if query.base is not None]
    wanted = {(query.kind, query.text): query for query in [*bases, *queries]}
    return [query for key, query in wanted.items() if key not in known]


def _tell(cell: Cell) -> None:
    told = f"{cell.count:,} in {cell.best:.3g} ms" if cell.status is Status.OK else f"{cell.status}: {cell.detail}"
    print(f"  {cell.kind} {cell.pattern}, {cell.form}, {cell.semantics.lower()}: {told}", file=sys.stderr, flush=True)


def _listed(known: Collection[str]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        names = text.split(",")
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
        return names

    return read


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.atlas", description=main.__doc__)
    add = parser.add_argument
    add("--suite", type=_listed(suites.SUITES), required=True, help=f"a,b of {', '.join(suites.SUITES)}")
    add("--graph", required=True, help="as rmat14, rmat18x4 (edge factor 4, else 16) or er20")
    add("--device", default="cpu", choices=("cpu", "gpu", "auto"), help="default: cpu")
    add("--only", type=lambda text: text.split(","), default=[], help="names of patterns, a,b; default: all")
    add("--semantics", type=_listed(_SEMANTICS), default=list(_SEMANTICS), help=f"a,b of {', '.join(_SEMANTICS)}")
    add("--limit", type=float, default=20.0, help="seconds for one run (default: 20)")
    add("--memory", type=int, default=12, help="GiB for the process (default: 12)")
    add("--target", type=float, help="milliseconds: name the cells that take more")
    add("--hints", type=_listed(("search", "extend", "eliminate")), default=[], help="a,b: count so, too, and compare")
    add("--out", type=Path, help="write all cells to this file, a JSON object a line")
    add("--resume", action="store_true", help="keep the cells that the file holds, and run the others")
    options = parser.parse_args(arguments)
    if not graphs.is_name(options.graph):
        parser.error(f"there is no graph {options.graph!r}; names are as rmat14, rmat18x4 and er20")
    if options.resume and options.out is None:
        parser.error("--resume needs --out")
    return options


if __name__ == "__main__":
    sys.exit(main())

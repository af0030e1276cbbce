"""Counts the labelled queries on email-Enron: ``python -m tests.bench.enron [--device gpu] [q8d_0]``.

For each query the milliseconds from text to count: the first time, when it is planned and the device gets what it
needs, and the best of the others. ``PEERS``: kernel times of other codes that visit every match, on one NVIDIA H200. A
wrong count ends the command with 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from math import exp, log

from tests.bench.estimates import SETS

PEERS = {
    "q8d_1": (233, 8.1), "q8s_0": (403, 22), "q8s_1": (272, 75), "q8s_3": (149, 274), "q8s_6": (695, 1_091),
    "q12d_1": (62, 487), "q12s_0": (312, 4_958),
}  # fmt: skip
"""Milliseconds of gMatch and of EGSM."""


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.enron", description=main.__doc__)
    parser.add_argument("names", nargs="*", help="queries; default: all")
    parser.add_argument("--device", default="gpu", help="gpu, cpu or auto")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    graph, cases = SETS["enron16"]()
    graph.query("MATCH (a:L0)--(b:L1)--(c:L2)--(d:L0) RETURN count(*)", device=options.device).value()  # compiles
    print(
        "| query | embeddings | first | again | gMatch | EGSM | the better one takes |\n|---|---|---|---|---|---|---|"
    )
    ratios, right = [], True
    for case in cases:
        if options.names and case.name not in options.names:
            continue
        times = []
        for _ in range(max(2, options.runs)):
            begin = time.perf_counter()
            count = graph.query(case.query, device=options.device).value()
            times.append(1e3 * (time.perf_counter() - begin))
            right = right and count == case.truth
        first, best = times[0], min(times[1:])
        row = f"| {case.name} | {count:,}{'' if count == case.truth else ' WRONG'} | {first:.2f} | {best:.2f} |"
        if case.name in PEERS:
            ratios.append((min(PEERS[case.name]) / first, min(PEERS[case.name]) / best))
            row += f" {PEERS[case.name][0]:,} | {PEERS[case.name][1]:,} | {ratios[-1][0]:.1f}×, {ratios[-1][1]:.1f}× |"
        else:
            row += " | | |"
        print(row, flush=True)
    for k, which in enumerate(("first time", "again")):
        if ratios:
            found = [each[k] for each in ratios]
            mean = exp(sum(map(log, found)) / len(found))
            print(f"{which}: the better peer takes {mean:.1f}× in the mean of {len(found)}, at least {min(found):.1f}×")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())

"""What the benchmarks ask of an engine."""

from __future__ import annotations

from abc import ABC, abstractmethod

from tests.bench.datasets import Dataset
from tests.bench.workloads import Answer, Workload

THREADS = 2
MEMORY = 8 << 30
# Matchers that visit embeddings one at a time, a few million a second or fewer, are not tried on more edges than this:
# the patterns have 10⁸ embeddings and more there.
MOST_EDGES_ONE_BY_ONE = 100_000


class UnsupportedWorkloadError(Exception):
    """The engine has no way, or no sensible way, to run a workload; the message says why."""


class Engine(ABC):
    """One engine in one process: it loads one data set, then runs workloads on it, again and again."""

    @abstractmethod
    def load(self, dataset: Dataset) -> None:
        """Take the data set in.

        Raises
        ------
        UnsupportedWorkloadError
            Where the engine cannot hold such a graph.
        """

    @abstractmethod
    def run(self, workload: Workload) -> Answer:
        """Run a workload to its answer: subgraphs each once, embeddings, or a query's result.

        Raises
        ------
        UnsupportedWorkloadError
            Where the engine is not for this.
        """

"""How many rows statements have, by sampling: the methods of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from qengine._arguments import tells_arguments
from qengine.options import EstimateKeywords, EstimateOptions, TableKeywords, TableOptions, with_options

if TYPE_CHECKING:
    from qengine.estimate import Estimate, EstimateTable
    from qengine.views import GraphView


@tells_arguments
class Estimating:
    """Has ``estimate``, ``estimate_many`` and ``estimate_all``."""

    _view: GraphView

    @with_options(EstimateOptions)
    def estimate(
        self, text: str, params: Mapping[str, Any] | None = None, **options: Unpack[EstimateKeywords]
    ) -> Estimate:
        """Estimate how many rows a pattern has, by sampling.

        Sampling ends at the first of ``rel_error``, ``budget_ms`` and ``samples`` that is reached; where none is given,
        at 5 % relative error or four million samples.

        Parameters
        ----------
        text
            ``MATCH … WHERE …``, with or without ``RETURN``: with ``RETURN count(*)`` or ``count(DISTINCT x)`` the count
            is estimated, else the number of rows: of groups and different rows, too, and of what SKIP and LIMIT leave.
        params
            Values of the ``$name`` in it.
        method
            "wanderjoin" and "alley" (gSWORD §2.2), "guided" (Alley with picks that are likelier the more trees stand
            below them, after Shin et al., PVLDB 2024; it builds a candidate graph, however large), "trawling" (§5:
            sampled prefixes, completed by counting; a sample is a haul of 256 prefixes), "exact" (count), or "auto":
            counts where that is cheap, as far as the budget goes (the estimate's method then is "slices"), else the
            sampler with the least variance for its work. Or an ``Estimator`` of
            yours, which Python runs, about a thousand samples a second, a ``BatchEstimator``, in NumPy, some hundred
            thousand, or a ``DeviceEstimator``, for the GPU.
        rel_error
            Half the interval's width as a share of the value.
        confidence
            Of the interval, between 0 and 1.
        budget_ms
            Milliseconds of all: planning, what is built and counted, and sampling. Where no time is left for samples
            (``method`` then is "statistics") the value is what the planner expects, and where few hit, what both say
            together; so it is of ``samples``, where none hits. The first estimate of a text may take some milliseconds
            more for what the next ones find. Planning
            ends after a second in any case. Of an ``Estimator`` of yours one sample is enough.
        samples
            Number of samples. Under "auto" fewer where one takes far longer than Alley's: so many as take four times as
            long as that number of Alley's.
        seed
            Any integer. The same seed and limits (other than ``budget_ms``) give the same estimate, whatever the
            threads and the device.
        device
            "cpu", "gpu" (or some, as for ``query``), or "auto": GPUs where there are any and a million samples or more
            are asked for. Samples are the same on all, sums differ by rounding. What completes trawled prefixes is
            counted on the CPU, and what follows the pattern runs there; the estimate's ``device`` says where samples
            were drawn.
        inheritance
            On the GPU, let walks that have ended go on from others' (gSWORD §4.1): unbiased, other samples for a seed.
        timeout, memory_limit, gpu_memory_limit, threads
            As for ``query``.

        Raises
        ------
        QuerySyntaxError, SemanticError, Unsupported
            For what is wrong with the text or the request.
        DeviceError
            If the device can't be used.
        QueryTimeout, QueryInterrupted, OutOfMemory, ExecutionError
            From sampling; ``QueryTimeout`` where planning takes too long for the budget or the timeout.
        """
        return self._view.estimates().estimate(text, params, EstimateOptions(**options))

    @with_options(EstimateOptions)
    def estimate_many(
        self, texts: Sequence[str], params: Mapping[str, Any] | None = None, **options: Unpack[EstimateKeywords]
    ) -> tuple[Estimate, ...]:
        """Estimate how many rows several statements have, in their order: as ``estimate`` does, under one budget.

        ``budget_ms`` is for all together, planning included. Texts that are there twice are estimated once; those that
        are expected to have few rows come first, and leave what they don't need to the others. For all parts of one
        pattern, which share their samples, there is ``estimate_all``.

        Raises
        ------
        QengineError
            As ``estimate``, for the first text that is wrong.
        """
        return self._view.estimates().estimate_many(texts, params, EstimateOptions(**options))

    @with_options(TableOptions)
    def estimate_all(
        self, text: str, params: Mapping[str, Any] | None = None, **options: Unpack[TableKeywords]
    ) -> EstimateTable:
        """Estimate the rows of every connected part of a pattern, for a planner's table of cardinalities.

        Parameters
        ----------
        text
            As for ``estimate``; the pattern has at most ten nodes.
        samples
            In all; parts that begin the same matching order share them.
        budget_ms
            Milliseconds of sampling, as for ``estimate``: all parts get as many samples as there is time for.

        Returns
        -------
        EstimateTable
            A mapping from sets of node names to estimates, with ``to_json()``, and ``notices``: warnings, as an
            estimate's. Where the text alone shows that there is no row, all nodes together are the only part.

        Raises
        ------
        QengineError
            As ``estimate``; ``Unsupported`` also for conditions that can't be checked node by node.
        """
        return self._view.estimates().estimate_all(text, params, TableOptions(**options))

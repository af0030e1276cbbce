"""Cardinality estimates by sampling: Horvitz–Thompson over random embeddings, with intervals (gSWORD, SIGMOD 2024).

``estimate`` takes the physical plan of a count. What it samples is the plan's first search, over the same levels,
sources, ranges and constraints that an exact count walks; the operators above run over the sampled embeddings as they
would over all.
"""

from __future__ import annotations

from qengine.estimate.device import DeviceEstimator
from qengine.estimate.groups import estimate_groups
from qengine.estimate.reference import Estimator
from qengine.estimate.request import METHODS, Request
from qengine.estimate.result import Estimate
from qengine.estimate.run import estimate
from qengine.estimate.table import EstimateTable, estimate_all
from qengine.estimate.vectorised import BatchEstimator

__all__ = [
    "METHODS",
    "BatchEstimator",
    "DeviceEstimator",
    "Estimate",
    "EstimateTable",
    "Estimator",
    "Request",
    "estimate",
    "estimate_all",
    "estimate_groups",
]

"""Loading of graphs that memory doesn't hold: what is large stands in files, sorted piece by piece."""

from qengine.storage.external.budget import Budget
from qengine.storage.external.build import from_sources
from qengine.storage.external.csv_sources import csv_source
from qengine.storage.external.scratch import Scratch
from qengine.storage.external.sources import Source, parquet_source

__all__ = ["Budget", "Scratch", "Source", "csv_source", "from_sources", "parquet_source"]

"""Databases of what was measured: in memory, in JSON files, in Python."""

from .database import Database, PyDatabase, TuningRecord, Workload, create
from .databases import JSONDatabase, MemoryDatabase, OrderedUnionDatabase, ScheduleFnDatabase, UnionDatabase

__all__ = [
    "Database",
    "JSONDatabase",
    "MemoryDatabase",
    "OrderedUnionDatabase",
    "PyDatabase",
    "ScheduleFnDatabase",
    "TuningRecord",
    "UnionDatabase",
    "Workload",
    "create",
]

"""The databases of the core."""

from __future__ import annotations

import os
from collections.abc import Callable

from ..._ffi import register_object
from ...autotvm.measure.confirm import left_to_rules
from ...tir.schedule import Schedule
from .. import _ffi_api
from ..utils import shash2hex
from .database import Database

__all__ = ["JSONDatabase", "MemoryDatabase", "OrderedUnionDatabase", "ScheduleFnDatabase", "UnionDatabase"]


@register_object("meta_schedule.JSONDatabase")
class JSONDatabase(Database):
    """Two files that grow, one JSON value a line. A line that cannot be read is reported by its number and skipped. A third one, with
    `.rules` behind the name of that of the records, says which workloads the schedule rules do better."""

    path_workload: str
    path_tuning_record: str

    def __init__(
        self,
        path_workload: str | None = None,
        path_tuning_record: str | None = None,
        *,
        work_dir: str | None = None,
        allow_missing: bool = True,
    ) -> None:
        if work_dir is not None:
            path_workload = path_workload or os.path.join(work_dir, "database_workload.json")
            path_tuning_record = path_tuning_record or os.path.join(work_dir, "database_tuning_record.json")
        if path_workload is None:
            raise ValueError("`path_workload` is not specified.")
        if path_tuning_record is None:
            raise ValueError("`path_tuning_record` is not specified.")
        self.__init_handle_by_constructor__(
            _ffi_api.DatabaseJSONDatabase, os.fspath(path_workload), os.fspath(path_tuning_record), allow_missing
        )
        left = {workload for workload, _ in left_to_rules(os.fspath(path_tuning_record))}
        if left:
            for record in self.get_all_tuning_records():
                if shash2hex(record.workload.mod) in left and not self.is_left_to_rules(record.workload.mod):
                    self.leave_to_rules(record.workload.mod)


@register_object("meta_schedule.MemoryDatabase")
class MemoryDatabase(Database):
    """Records that last as long as the process."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.DatabaseMemoryDatabase)


@register_object("meta_schedule.UnionDatabase")
class UnionDatabase(Database):
    """The fastest record of several databases."""

    def __init__(self, *databases: Database) -> None:
        self.__init_handle_by_constructor__(_ffi_api.DatabaseUnionDatabase, list(databases))


@register_object("meta_schedule.OrderedUnionDatabase")
class OrderedUnionDatabase(Database):
    """The record of the first of several databases that has one."""

    def __init__(self, *databases: Database) -> None:
        self.__init_handle_by_constructor__(_ffi_api.DatabaseOrderedUnionDatabase, list(databases))


@register_object("meta_schedule.ScheduleFnDatabase")
class ScheduleFnDatabase(Database):
    """A function schedules each module, and returns whether it knows it."""

    def __init__(self, schedule_fn: Callable[[Schedule], bool]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.DatabaseScheduleFnDatabase, schedule_fn)

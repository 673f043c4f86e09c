"""Databases of what was measured."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar

from ..._ffi import register_object
from ...ir import IRModule
from ...runtime import Object
from ...target import Target
from ...tir.schedule import Schedule, Trace
from .. import _ffi_api
from ..arg_info import ArgInfo, _plain

__all__ = ["Database", "PyDatabase", "TuningRecord", "Workload", "create"]


@register_object("meta_schedule.Workload")
class Workload(Object):
    """A module by what it computes."""

    mod: IRModule

    def __init__(self, mod: IRModule) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Workload, mod)

    def as_json(self) -> Any:
        """[hash, module as base64]."""
        return _plain(_ffi_api.WorkloadAsJSON(self))

    @staticmethod
    def from_json(json_obj: Any) -> Workload:
        """The workload that a JSON form means."""
        return _ffi_api.WorkloadFromJSON(json_obj)


@register_object("meta_schedule.TuningRecord")
class TuningRecord(Object):
    """A trace of a workload and how fast the program is that it makes."""

    trace: Trace
    workload: Workload

    def __init__(
        self,
        trace: Trace,
        workload: Workload,
        run_secs: list[float] | None = None,
        target: Target | None = None,
        args_info: list[ArgInfo] | None = None,
    ) -> None:
        seconds = None if run_secs is None else [float(each) for each in run_secs]
        self.__init_handle_by_constructor__(_ffi_api.TuningRecord, trace, workload, seconds, target, args_info)

    def as_measure_candidate(self) -> Any:
        """A candidate to measure again."""
        return _ffi_api.TuningRecordAsMeasureCandidate(self)

    def as_json(self) -> Any:
        """[trace, seconds, target, arguments]."""
        return _plain(_ffi_api.TuningRecordAsJSON(self))

    @staticmethod
    def from_json(json_obj: Any, workload: Workload) -> TuningRecord:
        """The record that a JSON form means."""
        return _ffi_api.TuningRecordFromJSON(json_obj, workload)


_entered = threading.local()


def _stack() -> list[Any]:
    if not hasattr(_entered, "databases"):
        _entered.databases = []
    return _entered.databases


@register_object("meta_schedule.Database")
class Database(Object):
    """Workloads and their records. `with database:` lets relay.build use them."""

    def has_workload(self, mod: IRModule) -> bool:
        """True where an equal module is known."""
        return bool(_ffi_api.DatabaseHasWorkload(self, mod))

    def commit_workload(self, mod: IRModule) -> Workload:
        """The workload of a module, made where there is none yet."""
        return _ffi_api.DatabaseCommitWorkload(self, mod)

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Adds a record."""
        _ffi_api.DatabaseCommitTuningRecord(self, record)

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """The fastest records of a workload."""
        return list(_ffi_api.DatabaseGetTopK(self, workload, top_k))

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """All records."""
        return list(_ffi_api.DatabaseGetAllTuningRecords(self))

    def __len__(self) -> int:
        return int(_ffi_api.DatabaseSize(self))

    def __bool__(self) -> bool:
        return True

    def query_tuning_record(self, mod: IRModule, target: Target, workload_name: str) -> TuningRecord | None:
        """The fastest record of a module; None where there is none."""
        return _ffi_api.DatabaseQueryTuningRecord(self, mod, target, workload_name)

    def query_schedule(self, mod: IRModule, target: Target, workload_name: str) -> Schedule | None:
        """The module as its fastest record schedules it."""
        return _ffi_api.DatabaseQuerySchedule(self, mod, target, workload_name)

    def query_ir_module(self, mod: IRModule, target: Target, workload_name: str) -> IRModule | None:
        """The scheduled module itself."""
        sch = self.query_schedule(mod, target, workload_name)
        return None if sch is None else sch.mod

    def query(self, mod: IRModule, target: Target, *, workload_name: str = "main", kind: str = "schedule") -> Any:
        """One of the three above: kind "record", "schedule" or "ir_module"."""
        if kind not in ("schedule", "record", "ir_module"):
            raise ValueError(f'Unknown kind: {kind}. Candidates are: "schedule", "record", "ir_module"')
        queries: dict[str, Callable[..., Any]] = {
            "schedule": self.query_schedule,
            "record": self.query_tuning_record,
            "ir_module": self.query_ir_module,
        }
        return queries[kind](mod, target, workload_name)

    def leave_to_rules(self, mod: IRModule, is_left: bool = True) -> None:
        """Says that the schedule rules are faster than the best record of a module: relay.build takes theirs."""
        _ffi_api.DatabaseLeaveToRules(self, mod, is_left)

    def is_left_to_rules(self, mod: IRModule) -> bool:
        """True where that was said."""
        return bool(_ffi_api.DatabaseIsLeftToRules(self, mod))

    def __enter__(self) -> Database:
        _stack().append(self)
        _ffi_api.DatabaseEnter(self)
        return self

    def __exit__(self, *args: Any) -> None:
        _stack().pop()
        _ffi_api.DatabaseExit()

    @staticmethod
    def current() -> Database | None:
        """The innermost database entered by `with`; None outside."""
        return _stack()[-1] if _stack() else None


@register_object("meta_schedule.PyDatabase")
class _PyDatabase(Database):
    def __init__(
        self,
        f_has_workload: Any = None,
        f_commit_workload: Any = None,
        f_commit_tuning_record: Any = None,
        f_get_top_k: Any = None,
        f_get_all_tuning_records: Any = None,
        f_query_tuning_record: Any = None,
        f_query_schedule: Any = None,
        f_query_ir_module: Any = None,
        f_size: Any = None,
    ) -> None:
        super().__setattr__("_queries", (f_query_schedule, f_query_ir_module))
        self.__init_handle_by_constructor__(
            _ffi_api.DatabasePyDatabase,
            f_has_workload,
            f_commit_workload,
            f_commit_tuning_record,
            f_get_top_k,
            f_get_all_tuning_records,
            f_query_tuning_record,
            f_size,
        )

    def query_schedule(self, mod: IRModule, target: Target, workload_name: str) -> Schedule | None:
        own = self._queries[0]
        return own(mod, target, workload_name) if own else super().query_schedule(mod, target, workload_name)

    def query_ir_module(self, mod: IRModule, target: Target, workload_name: str) -> IRModule | None:
        own = self._queries[1]
        return own(mod, target, workload_name) if own else super().query_ir_module(mod, target, workload_name)


class PyDatabase:
    """A database in Python: override its methods, and decorate the class with `derived_object`."""

    _tvm_metadata: ClassVar[dict[str, Any]] = {
        "cls": _PyDatabase,
        "methods": [
            "has_workload",
            "commit_workload",
            "commit_tuning_record",
            "get_top_k",
            "get_all_tuning_records",
            "query_tuning_record",
            "query_schedule",
            "query_ir_module",
            "__len__",
        ],
    }
    _outer: Any

    def has_workload(self, mod: IRModule) -> bool:
        """True where an equal module is known."""
        raise NotImplementedError

    def commit_workload(self, mod: IRModule) -> Workload:
        """The workload of a module, made where there is none yet."""
        raise NotImplementedError

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Adds a record."""
        raise NotImplementedError

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """The fastest records of a workload."""
        raise NotImplementedError

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """All records."""
        raise NotImplementedError

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str | None = None
    ) -> TuningRecord | None:
        """The fastest record of a module; by default what get_top_k says."""
        del target, workload_name
        return _ffi_api.DatabaseBestRecord(self._outer(), mod)

    def query_schedule(self, mod: IRModule, target: Target, workload_name: str | None = None) -> Schedule | None:
        """The module as its fastest record schedules it."""
        return _ffi_api.DatabaseQuerySchedule(self._outer(), mod, target, workload_name or "main")

    def query_ir_module(self, mod: IRModule, target: Target, workload_name: str | None = None) -> IRModule | None:
        """The scheduled module itself."""
        sch = self.query_schedule(mod, target, workload_name)
        return None if sch is None else sch.mod

    def __len__(self) -> int:
        raise NotImplementedError


def create(kind: str | Callable[[Schedule], bool] = "json", *args: Any, **kwargs: Any) -> Database:
    """A database of a kind: "json", "memory", "union", "ordered_union", or a function of schedules."""
    from . import JSONDatabase, MemoryDatabase, OrderedUnionDatabase, ScheduleFnDatabase, UnionDatabase

    if callable(kind):
        return ScheduleFnDatabase(kind, *args, **kwargs)
    kinds: dict[str, Any] = {
        "json": JSONDatabase,
        "memory": MemoryDatabase,
        "union": UnionDatabase,
        "ordered_union": OrderedUnionDatabase,
    }
    if kind not in kinds:
        raise ValueError(f"Unknown Database: {kind}; there are {', '.join(kinds)}, and functions of schedules")
    return kinds[kind](*args, **kwargs)

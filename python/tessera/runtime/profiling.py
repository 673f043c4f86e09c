"""What a run cost, call by call: metrics, reports, and collectors of other metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._ffi.registry import get_global_func, register_object
from .._ffi.runtime_ctypes import Device
from .module import Module
from .object import Object
from .object_generic import ObjectGeneric

__all__ = [
    "Count",
    "DeviceWrapper",
    "Duration",
    "MetricCollector",
    "Percent",
    "Ratio",
    "Report",
    "profile_function",
]


def _core(name: str) -> Any:
    return get_global_func(f"runtime.profiling.{name}")


@register_object("runtime.profiling.Count")
class Count(Object):
    """A number of things; `value` is an int."""

    def __init__(self, value: int):
        self.__init_handle_by_constructor__(_core("Count"), value)


@register_object("runtime.profiling.Duration")
class Duration(Object):
    """A time in `microseconds`."""

    def __init__(self, microseconds: float):
        self.__init_handle_by_constructor__(_core("Duration"), microseconds)


@register_object("runtime.profiling.Percent")
class Percent(Object):
    """A share of the whole run; `percent` is 100 for all of it."""

    def __init__(self, percent: float):
        self.__init_handle_by_constructor__(_core("Percent"), percent)


@register_object("runtime.profiling.Ratio")
class Ratio(Object):
    """A `ratio` of two metrics."""

    def __init__(self, ratio: float):
        self.__init_handle_by_constructor__(_core("Ratio"), ratio)


@register_object("runtime.profiling.Report")
class Report(Object):
    """The costs of one run: `calls` (a row a call), `device_metrics` (of the whole run) and `configuration`."""

    def __init__(
        self,
        calls: Sequence[Mapping[str, Object]],
        device_metrics: Mapping[str, Mapping[str, Object]],
        configuration: Mapping[str, Object] | None = None,
    ):
        self.__init_handle_by_constructor__(_core("Report"), calls, device_metrics, configuration or {})

    def csv(self) -> str:
        """One line a call, under a line with the names of the columns."""
        return _core("AsCSV")(self)

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """A table for people.

        `sort` puts the longest calls first; `aggregate` merges calls of one kernel with equal arguments; `col_sums` adds
        the sums of the columns and the totals of the devices.
        """
        return _core("AsTable")(self, sort, aggregate, col_sums)

    def json(self) -> str:
        """Everything as JSON, each value with its kind; `from_json` reads it back."""
        return _core("AsJSON")(self)

    @classmethod
    def from_json(cls, s: str) -> Report:
        """The report that `json` wrote."""
        return _core("FromJSON")(s)

    def __str__(self) -> str:
        return self.table()


@register_object("runtime.profiling.DeviceWrapper")
class DeviceWrapper(Object):
    """A device as an object; collectors are given these."""

    def __init__(self, dev: Device):
        self.__init_handle_by_constructor__(_core("DeviceWrapper"), dev)

    @property
    def device(self) -> Device:
        """The device itself."""
        return Device(self.device_type, self.device_id)


class MetricCollector(ObjectGeneric):
    """Counts something while calls run; a subclass defines `start_call` and `stop_call`.

    `prepare(devices)` is called before a run; `start_call(device)` before each call, and what it returns is given to
    `stop_call`, which returns metrics by name. ``None`` from `start_call` means that this call is not of interest.
    """

    def asobject(self) -> Object:
        """This collector as the core calls it."""
        started: dict[int, Any] = {}

        def start(wrapped: DeviceWrapper) -> int | None:
            value = self.start_call(wrapped.device)
            if value is None:
                return None
            ticket = max(started, default=0) + 1
            started[ticket] = value
            return ticket

        return _core("MetricCollector")(
            lambda devices: self.prepare([wrapped.device for wrapped in devices]),
            start,
            lambda ticket: self.stop_call(started.pop(ticket)),
        )

    def prepare(self, devices: list[Device]) -> None:
        """Called once before a run."""

    def start_call(self, device: Device) -> Any:
        """Called before each call."""
        raise NotImplementedError

    def stop_call(self, started: Any) -> Mapping[str, Object]:
        """Called after each call: its metrics by name."""
        raise NotImplementedError


def profile_function(
    mod: Module,
    dev: Device,
    collectors: Sequence[MetricCollector],
    func_name: str | None = None,
    warmup_iters: int = 10,
) -> Callable[..., Any]:
    """A function that runs one of `mod` with its arguments, and returns what that cost: metrics by name.

    The function runs `warmup_iters` times before the run that counts. `func_name` is the module's main function unless
    given.
    """
    name = mod.entry_name if func_name is None else func_name
    return _core("ProfileFunction")(mod, name, dev.device_type, dev.device_id, warmup_iters, collectors)

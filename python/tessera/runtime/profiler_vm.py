"""A virtual machine that reports what its kernels cost."""

from __future__ import annotations

from typing import Any

from .profiling import Report
from .vm import VirtualMachine

__all__ = ["VirtualMachineProfiler", "enabled"]


def enabled() -> bool:
    """The profiler is always built in."""
    return True


class VirtualMachineProfiler(VirtualMachine):
    """A virtual machine with `profile`."""

    _loader = "vm_profiler_load_executable"

    def profile(self, *args: Any, func_name: str = "main", collectors: Any = None, **kwargs: Any) -> Report:
        """Calls a function, each kernel measured on its own, and reports what it cost."""
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        return self.module["profile"](func_name, list(collectors or []))

    def get_stat(self, sort_by_time: bool = True) -> str:
        """The table of a run with the inputs set before."""
        return self.profile().table(sort=sort_by_time)

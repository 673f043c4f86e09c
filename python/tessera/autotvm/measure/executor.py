"""How builders and runners of one's own do their work: an executor gives a future for each call."""

from __future__ import annotations

from typing import Any

__all__ = ["ExecutionError", "Executor", "Future", "FutureError", "TimeoutError"]


class Executor:
    """What calls functions, here or elsewhere. One of its own kind defines `submit`; those of this package measure through
    `autotvm.measure_option`."""

    def submit(self, func: Any, *args: Any, **kwargs: Any) -> Future:
        """The future of a call."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it calls functions: define submit")


class Future:
    """The result of a call, once it is there."""

    def done(self) -> bool:
        """True when it is."""
        raise NotImplementedError(f"{type(self).__name__} does not say when it is done: define done")

    def get(self, timeout: float | None = None) -> Any:
        """Waits for it."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it waits: define get")


class FutureError(RuntimeError):
    """What a future ends with."""


class TimeoutError(FutureError):
    """It took too long."""


class ExecutionError(FutureError):
    """The call itself failed."""

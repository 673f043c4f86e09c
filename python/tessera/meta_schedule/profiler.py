"""Where the time of a search goes."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

__all__ = ["Profiler"]

_entered: list[Profiler] = []


class Profiler:
    """Counts seconds by name inside `with profiler:`."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._begin = 0.0
        self._total = 0.0

    def get(self) -> dict[str, float]:
        """Seconds by name; "Total" is all of them."""
        total = self._total + (time.perf_counter() - self._begin if self in _entered else 0.0)
        return {"Total": total, **self._seconds}

    def table(self) -> str:
        """The same as a table, most first."""
        seconds = self.get()
        total = seconds.pop("Total")
        rows = sorted(seconds.items(), key=lambda row: -row[1])
        rows.append(("Total", total))
        lines = [f"{'ID':>3} | {'Name':<32} | {'Time (min)':>12} | {'Percentage':>12}", "-" * 70]
        for i, (name, value) in enumerate(rows):
            share = 100 * value / total if total else 0.0
            number = str(i) if name != "Total" else ""
            lines.append(f"{number:>3} | {name:<32} | {value / 60:>12.4f} | {share:>12.4f}")
        return "\n".join(lines)

    def __enter__(self) -> Profiler:
        self._begin = time.perf_counter()
        _entered.append(self)
        return self

    def __exit__(self, *args: Any) -> None:
        _entered.remove(self)
        self._total += time.perf_counter() - self._begin

    @staticmethod
    def current() -> Profiler | None:
        """The innermost profiler entered by `with`; None outside."""
        return _entered[-1] if _entered else None

    @staticmethod
    @contextmanager
    def timeit(name: str) -> Generator[None, None, None]:
        """Counts the time inside under a name."""
        profiler, begin = Profiler.current(), time.perf_counter()
        try:
            yield
        finally:
            if profiler is not None:
                profiler._seconds[name] = profiler._seconds.get(name, 0.0) + time.perf_counter() - begin

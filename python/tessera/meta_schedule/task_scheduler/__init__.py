"""Task schedulers: which task is searched on next."""

from .task_scheduler import GradientBased, PyTaskScheduler, RoundRobin, TaskScheduler, create

__all__ = ["GradientBased", "PyTaskScheduler", "RoundRobin", "TaskScheduler", "create"]

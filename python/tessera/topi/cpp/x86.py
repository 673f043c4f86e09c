"""Schedules for CPUs, which take the target first."""

from ._by_target import install

__all__ = install(globals())

"""TOPI as v0.10's C++ has it: the functions of `topi`, and schedules that take the target first."""

from __future__ import annotations

from typing import Any

from ... import topi
from ...target import Target
from .. import image as image
from .. import nn as nn
from .. import vision as vision
from . import cuda as cuda
from . import generic as generic
from . import rocm as rocm
from . import x86 as x86


def TEST_create_target(target_str: str) -> Target:
    """A target from its text."""
    return Target(target_str)


def __getattr__(name: str) -> Any:
    """The functions of `topi`."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(topi, name)

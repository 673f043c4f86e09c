"""Operators that tell a pass something about their input."""

from .annotation import *
from .annotation import __all__ as __all__

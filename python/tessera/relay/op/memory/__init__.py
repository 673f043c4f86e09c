"""Operators that name memory."""

from .memory import *
from .memory import __all__ as __all__

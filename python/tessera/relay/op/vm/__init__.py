"""Operators that a virtual machine runs as they are."""

from .vm import *
from .vm import __all__ as __all__

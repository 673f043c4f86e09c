"""Operators that detect objects."""

from .._make import functions_of_records as _functions_of_records
from .boxes import *
from .nms import *

__getattr__ = _functions_of_records(__name__, "vision.")

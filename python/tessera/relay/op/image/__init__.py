"""Operators on images."""

from .._make import functions_of_records as _functions_of_records
from .image import *

__getattr__ = _functions_of_records(__name__, "image.")

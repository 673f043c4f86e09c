"""Operators that detect objects."""

from .boxes import *
from .nms import *

"""Quantised operators: integers that stand for real numbers, value = scale * (integer - zero point)."""

from .qnn import *

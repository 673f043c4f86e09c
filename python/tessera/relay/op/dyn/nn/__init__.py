"""Operators of networks whose shape arguments are tensors."""

from . import _make as _make

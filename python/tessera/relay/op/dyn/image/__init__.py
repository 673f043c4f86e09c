"""Operators of images whose shape arguments are tensors."""

from . import _make as _make

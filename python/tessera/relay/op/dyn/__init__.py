"""Operators whose shape arguments are tensors."""

from . import _make as _make
from . import image as image
from . import nn as nn

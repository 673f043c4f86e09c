"""Neural-network operators."""

from .nn import *

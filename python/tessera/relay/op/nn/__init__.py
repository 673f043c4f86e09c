"""Neural-network operators."""

from .nn import *  # noqa: F403

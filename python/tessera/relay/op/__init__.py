"""Operators of Relay."""

from . import nn, tensor
from ._make import call_op as _make_call
from .tensor import *  # noqa: F403

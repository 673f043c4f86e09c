"""Operators of Relay."""

from . import annotation, image, nn, reduce, tensor, transform
from ._make import call_op as _make_call
from .reduce import *
from .tensor import *
from .transform import *

__all__ = ["annotation", "image", "nn", *reduce.__all__, *tensor.__all__, *transform.__all__]

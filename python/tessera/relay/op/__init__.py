"""Operators of Relay."""

from typing import TYPE_CHECKING, Any

from . import algorithm, annotation, device, dyn, image, nn, op, reduce, strategy, tensor, transform, vision
from ._make import call_op as _make_call
from .algorithm import *
from .device import *
from .op import *
from .reduce import *
from .tensor import *
from .transform import *

__all__ = [
    "annotation",
    *algorithm.__all__,
    "dyn",
    "image",
    "nn",
    "vision",
    *device.__all__,
    *reduce.__all__,
    *tensor.__all__,
    *transform.__all__,
]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # functions of element-wise operators, made from the operator table

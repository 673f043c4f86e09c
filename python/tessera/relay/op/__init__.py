"""Operators of Relay."""

from ..expr import const as const
from . import (
    algorithm,
    annotation,
    contrib,
    device,
    dyn,
    image,
    memory,
    nn,
    op,
    op_attrs,
    random,
    reduce,
    strategy,
    tensor,
    transform,
    vision,
    vm,
)
from ._make import call_op as _make_call
from ._make import functions_of_records as _functions_of_records
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
    "random",
    "vision",
    *device.__all__,
    *reduce.__all__,
    *tensor.__all__,
    *transform.__all__,
]

__getattr__ = _functions_of_records(__name__)

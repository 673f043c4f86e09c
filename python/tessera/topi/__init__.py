"""Tensor operators as tensor expressions: what is computed, ready to be scheduled.

Importing this package also lets `+ - * / ...` work on tensors, by broadcasting.
"""

from . import adreno as adreno
from . import arm_cpu as arm_cpu
from . import bifrost as bifrost
from . import cpp as cpp
from . import cpu as cpu
from . import cuda as cuda
from . import generic as generic
from . import gpu as gpu
from . import hls as hls
from . import image as image
from . import intel_graphics as intel_graphics
from . import mali as mali
from . import nn as nn
from . import random as random
from . import rocm as rocm
from . import sparse as sparse
from . import tag, utils
from . import vision as vision
from . import x86 as x86
from .broadcast import (
    add as add,
)
from .broadcast import (
    bitwise_and as bitwise_and,
)
from .broadcast import (
    bitwise_not as bitwise_not,
)
from .broadcast import (
    bitwise_or as bitwise_or,
)
from .broadcast import (
    bitwise_xor as bitwise_xor,
)
from .broadcast import (
    broadcast_to as broadcast_to,
)
from .broadcast import (
    divide as divide,
)
from .broadcast import (
    equal as equal,
)
from .broadcast import (
    floor_divide as floor_divide,
)
from .broadcast import (
    floor_mod as floor_mod,
)
from .broadcast import (
    greater as greater,
)
from .broadcast import (
    greater_equal as greater_equal,
)
from .broadcast import (
    left_shift as left_shift,
)
from .broadcast import (
    less as less,
)
from .broadcast import (
    less_equal as less_equal,
)
from .broadcast import (
    logical_and as logical_and,
)
from .broadcast import (
    logical_not as logical_not,
)
from .broadcast import (
    logical_or as logical_or,
)
from .broadcast import (
    logical_xor as logical_xor,
)
from .broadcast import (
    maximum as maximum,
)
from .broadcast import (
    minimum as minimum,
)
from .broadcast import (
    mod as mod,
)
from .broadcast import (
    multiply as multiply,
)
from .broadcast import (
    not_equal as not_equal,
)
from .broadcast import (
    power as power,
)
from .broadcast import (
    right_shift as right_shift,
)
from .broadcast import (
    subtract as subtract,
)
from .generic_op_impl import bind_generic_ops as _bind_generic_ops
from .math import (
    abs as abs,
)
from .math import (
    acos as acos,
)
from .math import (
    acosh as acosh,
)
from .math import (
    asin as asin,
)
from .math import (
    asinh as asinh,
)
from .math import (
    atan as atan,
)
from .math import (
    atanh as atanh,
)
from .math import (
    cast as cast,
)
from .math import (
    ceil as ceil,
)
from .math import (
    ceil_log2 as ceil_log2,
)
from .math import (
    clip as clip,
)
from .math import (
    cos as cos,
)
from .math import (
    cosh as cosh,
)
from .math import (
    erf as erf,
)
from .math import (
    exp as exp,
)
from .math import (
    fast_erf as fast_erf,
)
from .math import (
    fast_exp as fast_exp,
)
from .math import (
    fast_tanh as fast_tanh,
)
from .math import (
    fixed_point_multiply as fixed_point_multiply,
)
from .math import (
    floor as floor,
)
from .math import (
    identity as identity,
)
from .math import (
    isfinite as isfinite,
)
from .math import (
    isinf as isinf,
)
from .math import (
    isnan as isnan,
)
from .math import (
    log as log,
)
from .math import (
    log2 as log2,
)
from .math import (
    log10 as log10,
)
from .math import (
    negative as negative,
)
from .math import (
    reinterpret as reinterpret,
)
from .math import (
    round as round,
)
from .math import (
    rsqrt as rsqrt,
)
from .math import (
    sigmoid as sigmoid,
)
from .math import (
    sign as sign,
)
from .math import (
    sin as sin,
)
from .math import (
    sinh as sinh,
)
from .math import (
    sqrt as sqrt,
)
from .math import (
    tan as tan,
)
from .math import (
    tanh as tanh,
)
from .math import (
    trunc as trunc,
)
from .reduction import (
    all as all,
)
from .reduction import (
    any as any,
)
from .reduction import (
    argmax as argmax,
)
from .reduction import (
    argmin as argmin,
)
from .reduction import (
    max as max,
)
from .reduction import (
    min as min,
)
from .reduction import (
    prod as prod,
)
from .reduction import (
    sum as sum,
)
from .search import *
from .tensor import (
    elemwise_sum as elemwise_sum,
)
from .tensor import (
    full as full,
)
from .tensor import (
    full_like as full_like,
)
from .transform import *
from .utils import get_const_tuple as get_const_tuple

_bind_generic_ops()

# The names that TOPI had for these before they broadcast.
broadcast_add, broadcast_sub, broadcast_mul, broadcast_div = add, subtract, multiply, divide
broadcast_maximum, broadcast_minimum = maximum, minimum


__all__ = ["tag"]

"""Tensor operators as tensor expressions: what is computed, ready to be scheduled.

Importing this package also lets `+ - * / ...` work on tensors, by broadcasting.
"""

from . import tag
from .broadcast import (
    add as add,
    bitwise_and as bitwise_and,
    bitwise_not as bitwise_not,
    bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor,
    broadcast_to as broadcast_to,
    divide as divide,
    equal as equal,
    floor_divide as floor_divide,
    floor_mod as floor_mod,
    greater as greater,
    greater_equal as greater_equal,
    left_shift as left_shift,
    less as less,
    less_equal as less_equal,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    maximum as maximum,
    minimum as minimum,
    mod as mod,
    multiply as multiply,
    not_equal as not_equal,
    power as power,
    right_shift as right_shift,
    subtract as subtract,
)
from .math import (
    abs as abs,
    acos as acos,
    acosh as acosh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atanh as atanh,
    cast as cast,
    ceil as ceil,
    ceil_log2 as ceil_log2,
    clip as clip,
    cos as cos,
    cosh as cosh,
    erf as erf,
    exp as exp,
    fast_erf as fast_erf,
    fast_exp as fast_exp,
    fast_tanh as fast_tanh,
    fixed_point_multiply as fixed_point_multiply,
    floor as floor,
    identity as identity,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    log as log,
    log10 as log10,
    log2 as log2,
    negative as negative,
    reinterpret as reinterpret,
    round as round,
    rsqrt as rsqrt,
    sigmoid as sigmoid,
    sign as sign,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    tan as tan,
    tanh as tanh,
    trunc as trunc,
)
from .reduction import (
    all as all,
    any as any,
    argmax as argmax,
    argmin as argmin,
    max as max,
    min as min,
    prod as prod,
    sum as sum,
)
from .tensor import (
    elemwise_sum as elemwise_sum,
    full as full,
    full_like as full_like,
)
from .generic_op_impl import bind_generic_ops as _bind_generic_ops

_bind_generic_ops()

__all__ = ["tag"]

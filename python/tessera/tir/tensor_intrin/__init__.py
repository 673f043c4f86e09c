"""Tensor intrinsics by name, for ``tir.Schedule.tensorize``; importing the package registers them."""

from .arm_cpu import *
from .cuda import *
from .dot_product_common import *
from .rocm import *
from .x86 import *

"""Matrices in compressed rows (`tvm.contrib.sparse.CSRNDArray`) times vectors and matrices."""

from .csrmm import csrmm
from .csrmv import csrmv
from .dense import dense

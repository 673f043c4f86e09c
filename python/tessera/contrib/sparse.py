"""Matrices in compressed rows (CSR): arrays of numbers, and placeholders of programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import te
from ..runtime import ndarray as nd

__all__ = ["CSRNDArray", "CSRPlaceholderOp", "SparsePlaceholderOp", "array", "csr_array", "placeholder"]

_INDEX = "int32"


class CSRNDArray:
    """A matrix in three tensors: the entries row by row, their columns, and where each row begins."""

    def __init__(self, arg1: Any, device: Any = None, shape: Any = None):
        """From a dense NumPy matrix, or from (data, indices, indptr)."""
        if isinstance(arg1, tuple):
            if len(arg1) != 3:
                raise ValueError(f"CSRNDArray takes (data, indices, indptr), got {len(arg1)} values")
            data, indices, indptr = (
                np.asarray(part.numpy() if isinstance(part, nd.NDArray) else part) for part in arg1
            )
            if shape is None:
                raise ValueError(
                    "CSRNDArray of three tensors needs a shape: they do not tell how many columns there are"
                )
        elif isinstance(arg1, np.ndarray):
            rows, indices = np.nonzero(arg1)
            data = arg1[rows, indices]
            indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=arg1.shape[0]))])
            shape = arg1.shape
        else:
            raise TypeError(f"CSRNDArray takes a NumPy matrix or three tensors, got {type(arg1).__name__}")
        self.shape = tuple(shape)
        self.dtype = str(data.dtype)
        self.stype = "csr"
        self.data = nd.array(data, device)
        self.indices = nd.array(indices.astype(_INDEX), device)
        self.indptr = nd.array(indptr.astype(_INDEX), device)

    def numpy(self) -> np.ndarray:
        """The dense matrix."""
        dense = np.zeros(self.shape, self.dtype)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr.numpy()))
        dense[rows, self.indices.numpy()] = self.data.numpy()
        return dense

    def asnumpy(self) -> np.ndarray:
        """`numpy`, by its old name."""
        return self.numpy()


csr_array = CSRNDArray


def array(source_array: Any, device: Any = None, shape: Any = None, stype: str = "csr") -> CSRNDArray:
    """A sparse matrix from a dense one, or from (data, indices, indptr)."""
    if stype != "csr":
        raise NotImplementedError(f"sparse matrices are csr, not {stype}")
    return CSRNDArray(source_array, device, shape)


class SparsePlaceholderOp:
    """A sparse input of a program."""

    def __init__(self, shape: Any, nonzeros: Any, dtype: str, name: str):
        self.shape = tuple(shape)
        self.dtype = dtype
        self.name = name
        self.stype = "unknown"
        self.nonzeros = nonzeros


class CSRPlaceholderOp(SparsePlaceholderOp):
    """A matrix in compressed rows as three placeholders: `data`, `indices` and `indptr`."""

    def __init__(self, shape: Any, nonzeros: Any, dtype: str, name: str):
        super().__init__(shape, nonzeros, dtype, name)
        self.stype = "csr"
        self.data = te.placeholder((nonzeros,), dtype=dtype, name=f"{name}_data")
        self.indices = te.placeholder((nonzeros,), dtype=_INDEX, name=f"{name}_indices")
        self.indptr = te.placeholder((self.shape[0] + 1,), dtype=_INDEX, name=f"{name}_indptr")


def placeholder(
    shape: Any, nonzeros: Any = None, dtype: str | None = None, name: str = "placeholder", stype: str | None = None
) -> CSRPlaceholderOp:
    """A sparse input of `nonzeros` entries."""
    if stype not in (None, "csr"):
        raise NotImplementedError(f"sparse matrices are csr, not {stype}")
    shape = shape if isinstance(shape, (list, tuple)) else (shape,)
    return CSRPlaceholderOp(shape, 0 if nonzeros is None else nonzeros, dtype or "float32", name)

"""A sparse matrix times a dense one."""

from __future__ import annotations

from typing import Any

from ... import te
from ...te import Tensor

__all__ = ["csrmm", "csrmm_default"]


def csrmm_default(
    data: Tensor, indices: Tensor, indptr: Tensor, weight: Tensor, bias: Tensor | None = None, name: str = "csrmm"
) -> Tensor:
    """out[i, j] = sum over k of A[i, k] * weight[k, j], plus bias[i], with A in three tensors."""

    def body(i: Any, j: Any) -> Any:
        entry = te.reduce_axis((0, indptr[i + 1] - indptr[i]), name="elem")
        at = indptr[i] + entry
        return te.sum(data[at] * weight[indices[at], j], axis=entry)

    shape = (indptr.shape[0] - 1, weight.shape[1])
    out = te.compute(shape, body, name=name, tag="csrmm")
    if bias is None:
        return out
    return te.compute(shape, lambda i, j: out[i, j] + bias[i], name=f"{name}_bias", tag="broadcast")


def csrmm(a: Any, b: Tensor, c: Tensor | None = None) -> Tensor:
    """a * b, plus c[i] in row i: `a` a placeholder of `tvm.contrib.sparse`."""
    return csrmm_default(a.data, a.indices, a.indptr, b, c)

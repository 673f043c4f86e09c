"""Contractions of uint8 and int8 in groups of four, as VNNI's instruction takes them."""

from __future__ import annotations

from typing import Any

from ... import te
from ...target import Target
from ...te import Schedule, Tensor
from .._records import const_int
from .utils import target_has_vnni

__all__ = [
    "batch_matmul_vnni_compute",
    "batch_matmul_vnni_schedule",
    "check_vnni_applicable",
    "dense_vnni",
    "dense_vnni_compute",
    "dense_vnni_schedule",
    "is_int8_hw_support",
    "schedule_batch_matmul_vnni",
    "schedule_dense_vnni",
]


def check_vnni_applicable(x: Any, y: Any) -> bool:
    """True where the current target has VNNI and the layer fits it: uint8 by int8, k by fours and n by sixteens."""
    target = Target.current(allow_none=True)
    fits = const_int(y.shape[-2]) % 16 == 0 and const_int(y.shape[-1]) % 4 == 0
    is_int8 = "int8" in str(x.dtype) and "int8" in str(y.dtype)
    return bool(target is not None and target_has_vnni(str(target.attrs.get("mcpu", ""))) and is_int8 and fits)


def is_int8_hw_support(data_dtype: str, kernel_dtype: str) -> bool:
    """True for uint8 data and an int8 weight on a CPU with at least SSE4.2, as the current target names it."""
    from .utils import current_cpu, target_has_sse42

    return data_dtype == "uint8" and kernel_dtype == "int8" and target_has_sse42(current_cpu())


def dense_vnni_compute(cfg: Any, X: Tensor, packed_w: Tensor, bias: Tensor | None = None) -> Tensor:
    """(m, k) by a weight (n / 16, k / 4, 16, 4): sums of int32."""
    del cfg
    blocks, _, rows, _ = (const_int(extent) for extent in packed_w.shape)
    k = te.reduce_axis((0, X.shape[1]), name="k")

    def element(i: Any, j: Any) -> Any:
        weight = packed_w[te.indexdiv(j, 16), te.indexdiv(k, 4), te.indexmod(j, 16), te.indexmod(k, 4)]
        return te.sum(X[i, k].astype("int32") * weight.astype("int32"), axis=k)

    out = te.compute((X.shape[0], blocks * rows), element, tag="dense_vnni", name="dense_vnni")
    if bias is None:
        return out
    return te.compute(out.shape, lambda i, j: out[i, j] + bias[j], tag="broadcast")


def dense_vnni(
    cfg: Any, data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | None = None
) -> Tensor:
    """Linear layer with a weight (n / 16, k / 4, 16, 4)."""
    del out_dtype  # sums are int32
    return dense_vnni_compute(cfg, data, weight, bias)


def batch_matmul_vnni_compute(cfg: Any, x: Tensor, y: Tensor, *_: Any) -> Tensor:
    """(b, m, k) by (b, n, k): sums of int32."""
    del cfg
    k = te.reduce_axis((0, x.shape[2]), name="k")
    shape = (x.shape[0], x.shape[1], y.shape[1])
    return te.compute(
        shape,
        lambda b, i, j: te.sum(x[b, i, k].astype("int32") * y[b, j, k].astype("int32"), axis=k),
        tag="batch_matmul_vnni",
        name="batch_matmul_vnni",
    )


def dense_vnni_schedule(cfg: Any, s: Schedule, C: Tensor, O: Tensor, do_parallel: bool = True) -> tuple[Schedule, Any]:
    """Sixteen columns at a time, rows side by side; gives the schedule and the loop that threads share."""
    del cfg
    row, column = O.op.axis[-2:]
    outer, inner = s[O].split(column, 16)
    (k,) = s[C].op.reduce_axis
    if C == O:
        s[O].reorder(row, outer, k, inner)
    else:
        s[O].reorder(row, outer, inner)
        s[C].compute_at(s[O], outer)
        _, block = s[C].split(s[C].op.axis[-1], 16)
        s[C].reorder(k, block)
        s[C].vectorize(block)
    s[O].vectorize(inner)
    if do_parallel:
        s[O].parallel(row)
    return s, row


def batch_matmul_vnni_schedule(cfg: Any, s: Schedule, C: Tensor, O: Tensor, layout_trans: Any) -> Schedule:
    """The same for each of a batch; `layout_trans` is the packed weight, where there is one."""
    s, row = dense_vnni_schedule(cfg, s, C, O, do_parallel=False)
    s[O].parallel(s[O].fuse(O.op.axis[0], row))
    if layout_trans is not None:
        s[layout_trans].parallel(s[layout_trans].op.axis[0])
    return s


def _schedule(outs: Any, tag: str) -> Schedule:
    from .._schedules import as_list, schedule_for

    del tag
    return schedule_for(as_list(outs), Target.current(allow_none=True) or Target("llvm"))


def schedule_dense_vnni(cfg: Any, outs: Any) -> Schedule:
    """A schedule for a linear layer and what is fused with it."""
    del cfg
    return _schedule(outs, "dense_vnni")


def schedule_batch_matmul_vnni(cfg: Any, outs: Any) -> Schedule:
    """A schedule for batched matmuls and what is fused with them."""
    del cfg
    return _schedule(outs, "batch_matmul_vnni")

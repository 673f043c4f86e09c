"""Layers with a sparse operand, or of packed bits."""

from __future__ import annotations

from typing import Any

from ....runtime import ndarray as nd
from ...expr import Call, Constant, Expr, TupleWrapper
from .._make import call_op, int_tuple
from .conv import both_sides

__all__ = ["bitpack", "bitserial_conv2d", "bitserial_dense", "sparse_add", "sparse_dense", "sparse_transpose"]


def _parts(sparse_mat: Any) -> list[Expr]:
    """data, indices and indptr: of a matrix of SciPy or `contrib.sparse`, or three expressions."""
    if not hasattr(sparse_mat, "indices"):
        return list(sparse_mat)
    parts = (sparse_mat.data, sparse_mat.indices, sparse_mat.indptr)
    return [
        part if isinstance(part, Expr) else Constant(part if isinstance(part, nd.NDArray) else nd.array(part))
        for part in parts
    ]


def sparse_dense(dense_mat: Expr, sparse_mat: Any, sparse_lhs: bool = False) -> Call:
    """Linear layer of which one operand is sparse (CSR or BSR): the weight, or the data where `sparse_lhs` says so."""
    return call_op("nn.sparse_dense", [dense_mat, *_parts(sparse_mat)], {"sparse_lhs": sparse_lhs})


def sparse_add(dense_mat: Expr, sparse_mat: Any) -> Call:
    """A dense matrix plus one in CSR."""
    return call_op("nn.sparse_add", [dense_mat, *_parts(sparse_mat)])


def sparse_transpose(x: Any) -> TupleWrapper:
    """data, indices and indptr of the transpose of a square matrix in CSR."""
    return TupleWrapper(call_op("nn.sparse_transpose", _parts(x)), 3)


def bitpack(
    data: Expr, bits: int = 1, pack_axis: int = 1, bit_axis: int = 2, pack_type: str = "uint32", name: str = "BitPack"
) -> Call:
    """Words of the elements along `pack_axis`, a plane of each bit along `bit_axis`."""
    attrs = {"bits": bits, "pack_axis": pack_axis, "bit_axis": bit_axis, "pack_type": pack_type, "name": name}
    return call_op("nn.bitpack", [data], attrs)


def bitserial_conv2d(
    data: Expr,
    weight: Expr,
    strides: Any = (1, 1),
    padding: Any = (0, 0),
    channels: Any = None,
    kernel_size: Any = (3, 3),
    activation_bits: int = 1,
    weight_bits: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    pack_dtype: str = "uint32",
    out_dtype: str = "int16",
    unipolar: bool = True,
) -> Call:
    """Convolution of integers of few bits; the weight is OIHW for NCHW data, HWIO for NHWC, or packed before (`bitpack`)."""
    attrs = {key: value for key, value in locals().items() if key not in ("data", "weight")}
    attrs.update(
        strides=int_tuple(strides, 2), padding=both_sides(padding, 2), kernel_size=int_tuple(kernel_size or (3, 3), 2)
    )
    return call_op("nn.bitserial_conv2d", [data, weight], attrs)


def bitserial_dense(
    data: Expr,
    weight: Expr,
    units: Any = None,
    data_bits: int = 1,
    weight_bits: int = 1,
    pack_dtype: str = "uint32",
    out_dtype: str = "int16",
    unipolar: bool = True,
) -> Call:
    """Linear layer of integers of few bits; the weight may be packed before (`bitpack`)."""
    attrs = {key: value for key, value in locals().items() if key not in ("data", "weight")}
    return call_op("nn.bitserial_dense", [data, weight], attrs)

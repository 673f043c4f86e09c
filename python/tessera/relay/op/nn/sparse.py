"""Operators on sparse matrices and packed bits, written in Python over TOPI: registered when they are first used."""

from __future__ import annotations

from functools import cache
from typing import Any, Callable

from ....ir import Op
from ....ir.attrs import make_node
from ....runtime import ndarray as nd
from ...expr import Call, Constant, Expr
from ...ty import TensorType
from .. import op as _registry

__all__ = ["bitpack", "bitserial_dense", "sparse_add", "sparse_dense"]


@cache
def _operator(name: str, arguments: str, type_rule: Callable[..., Any], compute: Callable[..., Any]) -> Op:
    """An operator of tensors: type_rule(types, attrs) gives its type, compute(attrs, tensors) its tensor."""
    _registry.register(name, f"{name}, computed by TOPI.")
    op = _registry.get(name)
    names = arguments.split()
    op.set_num_inputs(len(names))
    for argument in names:
        op.add_argument(argument, "Tensor", "")
    op.add_type_rel(name.replace(".", "_"), type_rule)
    _registry.register_pattern(name, _registry.OpPattern.OPAQUE)

    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> Any:
        from .... import topi  # which is loaded when a program is compiled

        del inputs, out_type, target
        chosen = _registry.OpStrategy()
        chosen.add_implementation(
            lambda attrs, inputs, out_type: [compute(attrs, inputs)],
            lambda attrs, outs, target: topi.generic.default_schedule_for(outs),
            name=f"{name.split('.')[-1]}.generic",
        )
        return chosen

    _registry.register_strategy(name, strategy)
    return op


def _parts(sparse_mat: Any) -> list[Expr]:
    """data, indices and indptr: of a matrix of SciPy or `contrib.sparse`, or three expressions."""
    if not hasattr(sparse_mat, "indices"):
        return list(sparse_mat)
    parts = (sparse_mat.data, sparse_mat.indices, sparse_mat.indptr)
    return [
        part if isinstance(part, Expr) else Constant(part if isinstance(part, nd.NDArray) else nd.array(part))
        for part in parts
    ]


def _flag(attrs: Any, name: str) -> Any:
    return attrs[name] if attrs is not None else 0


def _sparse_dense_type(types: Any, attrs: Any) -> TensorType:
    dense, data, _, indptr = types
    rows = (indptr.shape[0] - 1) * (int(data.shape[1]) if len(data.shape) == 3 else 1)
    shape = [rows, dense.shape[0]] if _flag(attrs, "sparse_lhs") else [dense.shape[0], rows]
    return TensorType(shape, dense.dtype)


def _sparse_dense(attrs: Any, inputs: Any) -> Any:
    from .... import topi

    dense, data, indices, indptr = inputs
    return topi.nn.sparse_dense(dense, data, indices, indptr, bool(_flag(attrs, "sparse_lhs")))


def sparse_dense(dense_mat: Expr, sparse_mat: Any, sparse_lhs: bool = False) -> Call:
    """Linear layer of which one operand is sparse (CSR or BSR): the weight, or the data where `sparse_lhs` says so."""
    arguments = "dense_data sparse_data sparse_indices sparse_indptr"
    op = _operator("nn.sparse_dense", arguments, _sparse_dense_type, _sparse_dense)
    attrs = make_node("DictAttrs", sparse_lhs=1) if sparse_lhs else None
    return Call(op, [dense_mat, *_parts(sparse_mat)], attrs)


def _type_of_the_first(types: Any, attrs: Any) -> Any:
    del attrs
    return types[0]


def _sparse_add(attrs: Any, inputs: Any) -> Any:
    from .... import topi

    del attrs
    return topi.nn.sparse_add(*inputs)


def sparse_add(dense_mat: Expr, sparse_mat: Any) -> Call:
    """A dense matrix plus one in CSR."""
    arguments = "dense_data sparse_data sparse_indices sparse_indptr"
    op = _operator("nn.sparse_add", arguments, _type_of_the_first, _sparse_add)
    return Call(op, [dense_mat, *_parts(sparse_mat)])


def _bitpack_type(types: Any, attrs: Any) -> TensorType:
    width = int("".join(filter(str.isdigit, str(attrs["pack_type"]))))
    shape = [int(extent) for extent in types[0].shape]
    shape[int(attrs["pack_axis"])] //= width
    shape.insert(int(attrs["bit_axis"]), int(attrs["bits"]))
    return TensorType(shape, str(attrs["pack_type"]))


def _bitpack(attrs: Any, inputs: Any) -> Any:
    from .... import topi

    axes = int(attrs["pack_axis"]), int(attrs["bit_axis"])
    return topi.nn.bitpack(inputs[0], int(attrs["bits"]), *axes, str(attrs["pack_type"]), str(attrs["name"]))


def bitpack(
    data: Expr, bits: int = 1, pack_axis: int = 1, bit_axis: int = 2, pack_type: str = "uint32", name: str = "BitPack"
) -> Call:
    """Words of the elements along `pack_axis`, a plane of each bit along `bit_axis`."""
    attrs = {"bits": bits, "pack_axis": pack_axis, "bit_axis": bit_axis, "pack_type": pack_type, "name": name}
    op = _operator("nn.bitpack", "data", _bitpack_type, _bitpack)
    return Call(op, [data], make_node("DictAttrs", **attrs))


def _bitserial_dense_type(types: Any, attrs: Any) -> TensorType:
    return TensorType([types[0].shape[0], types[1].shape[0]], str(attrs["out_dtype"]))


def _bitserial_dense(attrs: Any, inputs: Any) -> Any:
    from .... import topi

    data, weight = inputs
    return topi.nn.bitserial_dense(
        data,
        weight,
        int(attrs["data_bits"]),
        int(attrs["weight_bits"]),
        str(attrs["pack_dtype"]),
        str(attrs["out_dtype"]),
        bool(attrs["unipolar"]),
    )


def bitserial_dense(
    data: Expr,
    weight: Expr,
    units: int | None = None,
    data_bits: int = 1,
    weight_bits: int = 1,
    pack_dtype: str = "uint32",
    out_dtype: str = "int16",
    unipolar: bool = True,
) -> Call:
    """Linear layer of integers of few bits; the weight may be packed before (`bitpack`)."""
    del units  # the weight says it
    attrs = {
        "data_bits": data_bits,
        "weight_bits": weight_bits,
        "pack_dtype": pack_dtype,
        "out_dtype": out_dtype,
        "unipolar": int(unipolar),
    }
    op = _operator("nn.bitserial_dense", "data weight", _bitserial_dense_type, _bitserial_dense)
    return Call(op, [data, weight], make_node("DictAttrs", **attrs))

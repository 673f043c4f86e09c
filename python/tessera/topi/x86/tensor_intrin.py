"""Instructions of x86 for `Stage.tensorize`: sixteen dot products of uint8 and int8."""

from __future__ import annotations

from typing import Any

from ... import te, tir
from ...te.tensor_intrin import TensorIntrin
from ...tir.op_calls import call_intrin, call_llvm_pure_intrin
from .utils import current_cpu, target_has_vnni

__all__ = [
    "dot_16x1x16_uint8_int8_int16",
    "dot_16x1x16_uint8_int8_int32",
    "dot_16x1x16_uint8_int8_int32_cascadelake",
    "dot_16x1x16_uint8_int8_int32_skylake",
]

_LANES = 16


def _declare(out_dtype: str, lanes: int, elements: int, vectors: int, dot: Any) -> TensorIntrin:
    """C[i] = sum over k of data[k] * kernel[i, k] in `vectors` vectors, by `dot(data word, kernel vector, before)`."""
    count = lanes * vectors
    data = te.placeholder((elements,), dtype="uint8", name="data")
    kernel = te.placeholder((count, elements), dtype="int8", name="kernel")
    k = te.reduce_axis((0, elements), name="k")
    out = te.compute(
        (count,), lambda i: te.sum(data[k].astype(out_dtype) * kernel[i, k].astype(out_dtype), axis=k), name="C"
    )
    vector = f"{out_dtype}x{lanes}"

    def instruction(ins: Any, outs: Any) -> Any:
        def step(kind: str) -> Any:
            builder = tir.ir_builder.create()
            zero = tir.const(0, vector)
            for i in range(vectors):
                if kind == "reset":
                    builder.emit(outs[0].vstore([i * lanes], zero))
                    continue
                left = ins[0].vload([0], f"uint8x{elements}")
                right = ins[1].vload([i * lanes, 0], f"int8x{lanes * elements}")
                before = zero if kind == "body" else outs[0].vload([i * lanes], vector)
                builder.emit(outs[0].vstore([i * lanes], dot(left, right, before)))
            return builder.get()

        return step("body"), step("reset"), step("update")

    binds = {
        data: tir.decl_buffer(data.shape, "uint8", name="a_buffer", offset_factor=1, strides=[1]),
        kernel: tir.decl_buffer(kernel.shape, "int8", name="b_buffer", offset_factor=1, strides=[te.var("ldw"), 1]),
    }
    params = {"data_alignment": 64, "offset_factor": 1}
    return te.decl_tensor_intrin(out.op, instruction, binds=binds, default_buffer_params=params)


def _reinterpret(dtype: str, value: Any) -> Any:
    return call_intrin(dtype, "tir.reinterpret", value)


def dot_16x1x16_uint8_int8_int32_skylake() -> TensorIntrin:
    """By AVX-512 BW: pairs of int8 multiplied and added with saturation to int16, pairs of those to int32."""

    def dot(left: Any, right: Any, before: Any) -> Any:
        data = _reinterpret("int8x64", tir.Broadcast(_reinterpret("int32", left), _LANES))
        pairs = call_llvm_pure_intrin("int16x32", "llvm.x86.avx512.pmaddubs.w.512", tir.const(0, "uint32"), data, right)
        ones = tir.const(1, "int16x32")
        sums = call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.pmaddw.d.512", tir.const(0, "uint32"), pairs, ones)
        return before + sums

    return _declare("int32", _LANES, 4, 1, dot)


def dot_16x1x16_uint8_int8_int32_cascadelake() -> TensorIntrin:
    """By AVX-512 VNNI."""

    def dot(left: Any, right: Any, before: Any) -> Any:
        return call_llvm_pure_intrin(
            "int32x16",
            "llvm.x86.avx512.vpdpbusd.512",
            tir.const(0, "uint32"),
            before,
            tir.Broadcast(_reinterpret("int32", left), _LANES),
            _reinterpret("int32x16", right),
        )

    return _declare("int32", _LANES, 4, 1, dot)


def dot_16x1x16_uint8_int8_int32() -> TensorIntrin:
    """The instruction for the current target: VNNI where it has that, else AVX-512 BW."""
    has_vnni = target_has_vnni(current_cpu())
    return dot_16x1x16_uint8_int8_int32_cascadelake() if has_vnni else dot_16x1x16_uint8_int8_int32_skylake()


def dot_16x1x16_uint8_int8_int16() -> TensorIntrin:
    """By AVX-512 BW: 128 sums of two multiplications each, int16 with saturation."""

    def dot(left: Any, right: Any, before: Any) -> Any:
        data = _reinterpret("int8x64", tir.Broadcast(_reinterpret("int16", left), 32))
        sums = call_llvm_pure_intrin("int16x32", "llvm.x86.avx512.pmaddubs.w.512", tir.const(0, "uint32"), data, right)
        return before + sums

    return _declare("int16", 32, 2, 4, dot)

"""Intrinsics of 64-bit ARM: four dot products of four int8, with the dot product extension and without."""

from ...script import tir as T
from ._register import register
from .dot_product_common import DP4A_INTRIN

__all__ = ["DP4A_INTRIN", "ARM_DOT_4x4_i8_NEON_INTRIN", "ARM_DOT_4x4_i8_SDOT_INTRIN"]


@T.prim_func
def dot_product_4x4_i8i8i32_desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4,), "int8", offset_factor=1)
    B = T.match_buffer(b, (4, 4), "int8", offset_factor=1)
    C = T.match_buffer(c, (4,), "int32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:4], A[0:4], B[0:4, 0:4])
        T.writes(C[0:4])
        for i, k in T.grid(4, 4):
            with T.block("update"):
                vi, vk = T.axis.remap("SR", [i, k])
                C[vi] = C[vi] + T.cast(A[vk], "int32") * T.cast(B[vi, vk], "int32")


@T.prim_func
def dot_product_4x4_i8i8i32_neon(a: T.handle, b: T.handle, c: T.handle) -> None:
    """Products of 16 bits, added in pairs to 32 bits, twice: for rows 0 and 1, and for rows 2 and 3."""
    A = T.match_buffer(a, (4,), "int8", offset_factor=1)
    B = T.match_buffer(b, (4, 4), "int8", offset_factor=1)
    C = T.match_buffer(c, (4,), "int32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:4], A[0:4], B[0:4, 0:4])
        T.writes(C[0:4])
        twice = T.reinterpret(T.broadcast(T.reinterpret(A.vload([0], "int8x4"), dtype="int32"), 2), dtype="int8x8")
        low = T.call_llvm_pure_intrin(
            T.llvm_lookup_intrinsic_id("llvm.aarch64.neon.smull.v8i16"),
            T.uint32(2),
            twice,
            T.vectorlow(B.vload([0, 0], "int8x16"), dtype="int8x8"),
            dtype="int16x8",
        )
        high = T.call_llvm_pure_intrin(
            T.llvm_lookup_intrinsic_id("llvm.aarch64.neon.smull.v8i16"),
            T.uint32(2),
            twice,
            T.vectorhigh(B.vload([0, 0], "int8x16"), dtype="int8x8"),
            dtype="int16x8",
        )
        C[T.ramp(0, 1, 4)] = C[T.ramp(0, 1, 4)] + T.call_llvm_pure_intrin(
            T.llvm_lookup_intrinsic_id("llvm.aarch64.neon.addp.v4i32"),
            T.uint32(2),
            T.call_llvm_pure_intrin(
                T.llvm_lookup_intrinsic_id("llvm.aarch64.neon.saddlp.v4i32.v8i16"), T.uint32(1), low, dtype="int32x4"
            ),
            T.call_llvm_pure_intrin(
                T.llvm_lookup_intrinsic_id("llvm.aarch64.neon.saddlp.v4i32.v8i16"), T.uint32(1), high, dtype="int32x4"
            ),
            dtype="int32x4",
        )


@T.prim_func
def dot_product_4x4_i8i8i32_sdot(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4,), "int8", offset_factor=1)
    B = T.match_buffer(b, (4, 4), "int8", offset_factor=1)
    C = T.match_buffer(c, (4,), "int32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:4], A[0:4], B[0:4, 0:4])
        T.writes(C[0:4])
        C[T.ramp(0, 1, 4)] = T.call_llvm_pure_intrin(
            T.llvm_lookup_intrinsic_id("llvm.aarch64.neon.sdot.v4i32.v16i8"),
            T.uint32(3),
            C[T.ramp(0, 1, 4)],
            T.reinterpret(T.broadcast(T.reinterpret(A.vload([0], "int8x4"), dtype="int32"), 4), dtype="int8x16"),
            B.vload([0, 0], "int8x16"),
            dtype="int32x4",
        )


ARM_DOT_4x4_i8_NEON_INTRIN = register(
    "dot_4x4_i8i8s32_neon", (dot_product_4x4_i8i8i32_desc, dot_product_4x4_i8i8i32_neon)
)
ARM_DOT_4x4_i8_SDOT_INTRIN = register(
    "dot_4x4_i8i8s32_sdot", (dot_product_4x4_i8i8i32_desc, dot_product_4x4_i8i8i32_sdot)
)

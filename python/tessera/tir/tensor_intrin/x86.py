"""Intrinsics of x86: sixteen dot products of four int8 by AVX-512 VNNI."""

from ...script import tir as T
from ._register import register

__all__ = ["VNNI_DOT_16x4_INTRIN", "dot_product_16x4_u8i8i32_desc", "dot_product_16x4_u8i8i32_vnni"]


@T.prim_func
def dot_product_16x4_u8i8i32_desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4,), "uint8", offset_factor=1)
    B = T.match_buffer(b, (16, 4), "int8", offset_factor=1)
    C = T.match_buffer(c, (16,), "int32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        for i, k in T.grid(16, 4):
            with T.block("update"):
                vi, vk = T.axis.remap("SR", [i, k])
                C[vi] = C[vi] + T.cast(A[vk], "int32") * T.cast(B[vi, vk], "int32")


@T.prim_func
def dot_product_16x4_u8i8i32_vnni(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4,), "uint8", offset_factor=1)
    B = T.match_buffer(b, (16, 4), "int8", offset_factor=1)
    C = T.match_buffer(c, (16,), "int32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        C[T.ramp(0, 1, 16)] = T.call_llvm_pure_intrin(
            T.llvm_lookup_intrinsic_id("llvm.x86.avx512.vpdpbusd.512"),
            T.uint32(3),
            C[T.ramp(0, 1, 16)],
            T.broadcast(T.reinterpret(A.vload([0], "uint8x4"), dtype="int32"), 16),
            T.reinterpret(B.vload([0, 0], "int8x64"), dtype="int32x16"),
            dtype="int32x16",
        )


VNNI_DOT_16x4_INTRIN = register("dot_16x4_vnni", (dot_product_16x4_u8i8i32_desc, dot_product_16x4_u8i8i32_vnni))

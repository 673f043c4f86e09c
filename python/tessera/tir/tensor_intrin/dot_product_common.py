"""The dot product of four int8: what GPUs of several makers do in one instruction."""

from __future__ import annotations

from typing import Any, Callable

from ...script import tir as T
from ..expr import IntImm, PrimExpr
from ..function import PrimFunc
from ..op import call_pure_extern
from ._register import register

__all__ = ["DP4A_INTRIN"]


def dot4(in_dtype: str, instruction: Callable[[Any, Any], PrimExpr]) -> tuple[PrimFunc, PrimFunc]:
    """C += A . B of four bytes in shared memory; `instruction` gives the sum of two vectors of them."""

    @T.prim_func
    def desc(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (4,), in_dtype, align=4, offset_factor=1, scope="shared")
        B = T.match_buffer(b, (4,), in_dtype, align=4, offset_factor=1, scope="shared")
        C = T.match_buffer(c, (1,), "int32", align=4, offset_factor=1, scope="local")
        with T.block("root"):
            T.reads(C[0], A[0:4], B[0:4])
            T.writes(C[0])
            for i in T.serial(4):
                with T.block("update"):
                    vi = T.axis.reduce(4, i)
                    C[0] = C[0] + T.cast(A[vi], "int32") * T.cast(B[vi], "int32")

    @T.prim_func
    def impl(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (4,), in_dtype, align=4, offset_factor=1, scope="shared")
        B = T.match_buffer(b, (4,), in_dtype, align=4, offset_factor=1, scope="shared")
        C = T.match_buffer(c, (1,), "int32", align=4, offset_factor=1, scope="local")
        with T.block("root"):
            T.reads(C[0], A[0:4], B[0:4])
            T.writes(C[0])
            C[0] = C[0] + instruction(A, B)

    return desc, impl


def _dp4a(a: Any, b: Any) -> PrimExpr:
    return call_pure_extern("int32", "__dp4a", a.vload([0], "int8x4"), b.vload([0], "int8x4"), IntImm("int32", 0))


dp4a_desc, dp4a_impl = dot4("int8", _dp4a)
DP4A_INTRIN = register("dp4a", (dp4a_desc, dp4a_impl))

"""Intrinsics of AMD GPUs."""

from __future__ import annotations

from typing import Any

from ..expr import IntImm, PrimExpr
from ..op import call_llvm_pure_intrin, reinterpret
from ._register import register
from .dot_product_common import dot4

__all__ = ["AMDGPU_SDOT4_INTRIN"]


def _sdot4(a: Any, b: Any) -> PrimExpr:
    return call_llvm_pure_intrin(
        "int32",
        "llvm.amdgcn.sdot4",
        IntImm("uint32", 4),
        reinterpret("int32", a.vload([0], "int8x4")),
        reinterpret("int32", b.vload([0], "int8x4")),
        IntImm("int32", 0),
        IntImm("bool", 1),
    )


_desc, sdot4 = dot4("int8", _sdot4)
AMDGPU_SDOT4_INTRIN = register("sdot4", (_desc, sdot4))

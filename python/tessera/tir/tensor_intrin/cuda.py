"""Intrinsics of NVIDIA GPUs by name: dot products of int8, wmma fragments, mma.sync."""

# ruff: noqa: F401 - some names of this module live in the files beside it

from __future__ import annotations

from ._register import register
from .cuda_mma import (
    get_ldmatrix_intrin,
    get_mma_fill_intrin,
    get_mma_intrin,
    get_mma_store_intrin,
    index_map_shared_16x16_to_ldmatrix_32x8_layout,
    shared_16x16_to_ldmatrix_32x8_layout,
    shared_16x32_to_ldmatrix_32x16_layout,
    shared_32x16_to_ldmatrix_32x16_layout,
)
from .cuda_wmma import (
    get_wmma_fill_intrin,
    get_wmma_fragment_index,
    get_wmma_load_intrin,
    get_wmma_store_intrin,
    get_wmma_sync_intrin,
)
from .dot_product_common import DP4A_INTRIN

# ---- mma.sync ----
LDMATRIX_16x16_A_INTRIN = register("mma.ldmatrix_16x16_a", get_ldmatrix_intrin(16, "float16", False, False))
LDMATRIX_16x16_B_INTRIN = register("mma.ldmatrix_16x16_b", get_ldmatrix_intrin(16, "float16", True, False))
LDMATRIX_16x16_A_DYN_INTRIN = register(
    "mma.ldmatrix_16x16_a_dyn", get_ldmatrix_intrin(16, "float16", False, False, "shared.dyn")
)
LDMATRIX_16x16_B_DYN_INTRIN = register(
    "mma.ldmatrix_16x16_b_dyn", get_ldmatrix_intrin(16, "float16", True, False, "shared.dyn")
)
LDMATRIX_16x16_B_TRANS_INTRIN = register("mma.ldmatrix_16x16_b_trans", get_ldmatrix_intrin(16, "float16", True, True))
LDMATRIX_16x32_A_INTRIN = register("mma.ldmatrix_16x32_a", get_ldmatrix_intrin(32, "int8", False, False))
LDMATRIX_32x16_B_INTRIN = register("mma.ldmatrix_32x16_b", get_ldmatrix_intrin(32, "int8", True, False))
LDMATRIX_16x32_B_TRANS_INTRIN = register("mma.ldmatrix_16x32_b_trans", get_ldmatrix_intrin(32, "int8", True, True))
MMA_f16f16f32_INTRIN = register("mma_f16f16f32", get_mma_intrin(16, "float32", False))
MMA_f16f16f32_TRANS_INTRIN = register("mma_f16f16f32_trans", get_mma_intrin(16, "float32", True))
MMA_f16f16f16_INTRIN = register("mma_f16f16f16", get_mma_intrin(16, "float16", False))
MMA_f16f16f16_TRANS_INTRIN = register("mma_f16f16f16_trans", get_mma_intrin(16, "float16", True))
MMA_i8i8i32_INTRIN = register("mma_i8i8i32", get_mma_intrin(32, "int32", False))
MMA_i8i8i32_TRANS_INTRIN = register("mma_i8i8i32_trans", get_mma_intrin(32, "int32", True))
MMA_fill_16x16_f32_INTRIN = register("mma_fill_16x16_f32", get_mma_fill_intrin("float32", 8))
MMA_fill_16x16_f16_INTRIN = register("mma_fill_16x16_f16", get_mma_fill_intrin("float16", 8))
MMA_fill_16x16_i32_INTRIN = register("mma_fill_16x16_i32", get_mma_fill_intrin("int32", 8))
MMA_store_16x16_f32_global_INTRIN = register("mma_store_16x16_f32_global_", get_mma_store_intrin("float32", 8))
MMA_store_16x16_f16_global_INTRIN = register("mma_store_16x16_f16_global_", get_mma_store_intrin("float16", 8))
MMA_store_16x16_i32_global_INTRIN = register("mma_store_16x16_i32_global_", get_mma_store_intrin("int32", 8))


# ---- wmma ----
def _sync(name: str, in_dtype: str, out_dtype: str, transposed: bool) -> str:
    return register("wmma_sync_16x16x16_" + name, get_wmma_sync_intrin(16, 16, 16, in_dtype, out_dtype, transposed))


def _load(name: str, dtype: str, is_b: bool, by_columns: bool) -> str:
    return register("wmma_load_16x16x16_" + name, get_wmma_load_intrin(16, 16, 16, dtype, "shared", is_b, by_columns))


def _fill(name: str, dtype: str) -> str:
    return register("wmma_fill_16x16x16_" + name, get_wmma_fill_intrin(16, 16, 16, dtype))


def _store(name: str, dtype: str, scope: str) -> str:
    return register("wmma_store_16x16x16_" + name, get_wmma_store_intrin(16, 16, 16, dtype, scope))


WMMA_SYNC_16x16x16_f16f16f32_INTRIN = _sync("f16f16f32", "float16", "float32", False)
WMMA_SYNC_16x16x16_f16f16f32_TRANS_INTRIN = _sync("f16f16f32_trans", "float16", "float32", True)
WMMA_SYNC_16x16x16_f16f16f16_INTRIN = _sync("f16f16f16", "float16", "float16", False)
WMMA_SYNC_16x16x16_f16f16f16_TRANS_INTRIN = _sync("f16f16f16_trans", "float16", "float16", True)
WMMA_SYNC_16x16x16_s8s8s32_INTRIN = _sync("s8s8s32", "int8", "int32", False)
WMMA_SYNC_16x16x16_s8s8s32_TRANS_INTRIN = _sync("s8s8s32_trans", "int8", "int32", True)
WMMA_LOAD_16x16x16_F16_A_INTRIN = _load("f16_a", "float16", False, False)
WMMA_LOAD_16x16x16_F16_B_INTRIN = _load("f16_b", "float16", True, False)
WMMA_LOAD_16x16x16_F16_A_TRANS_INTRIN = _load("f16_a_trans", "float16", False, True)
WMMA_LOAD_16x16x16_F16_B_TRANS_INTRIN = _load("f16_b_trans", "float16", True, True)
WMMA_LOAD_16x16x16_S8_A_INTRIN = _load("s8_a", "int8", False, False)
WMMA_LOAD_16x16x16_S8_B_INTRIN = _load("s8_b", "int8", True, False)
WMMA_LOAD_16x16x16_S8_A_TRANS_INTRIN = _load("s8_a_trans", "int8", False, True)
WMMA_LOAD_16x16x16_S8_B_TRANS_INTRIN = _load("s8_b_trans", "int8", True, True)
WMMA_FILL_16x16x16_F32_INTRIN = _fill("f32", "float32")
WMMA_FILL_16x16x16_F16_INTRIN = _fill("f16", "float16")
WMMA_FILL_16x16x16_S32_INTRIN = _fill("s32", "int32")
WMMA_STORE_16x16x16_F32_SHARED_INTRIN = _store("f32_shared", "float32", "shared")
WMMA_STORE_16x16x16_F16_SHARED_INTRIN = _store("f16_shared", "float16", "shared")
WMMA_STORE_16x16x16_S32_SHARED_INTRIN = _store("s32_shared", "int32", "shared")
WMMA_STORE_16x16x16_F32_GLOBAL_INTRIN = _store("f32_global", "float32", "global")
WMMA_STORE_16x16x16_F16_GLOBAL_INTRIN = _store("f16_global", "float16", "global")
WMMA_STORE_16x16x16_S32_GLOBAL_INTRIN = _store("s32_global", "int32", "global")


def get_wmma_intrin_group(store_scope: str, in_dtype: str, out_dtype: str, trans_b: bool) -> dict[str, str]:
    """The intrinsics that a matmul needs, by what they do: init, load_a, load_b, compute, store."""
    inputs, outputs = {"float16": "f16", "int8": "s8"}, {"float16": "f16", "float32": "f32", "int32": "s32"}
    if store_scope not in ("global", "shared") or in_dtype not in inputs or out_dtype not in outputs:
        raise ValueError(f"there is no wmma matmul of {in_dtype} to {out_dtype} in {store_scope} memory")
    taken, given, suffix = inputs[in_dtype], outputs[out_dtype], "_trans" if trans_b else ""
    return {
        "init": f"wmma_fill_16x16x16_{given}",
        "load_a": f"wmma_load_16x16x16_{taken}_a",
        "load_b": f"wmma_load_16x16x16_{taken}_b{suffix}",
        "compute": f"wmma_sync_16x16x16_{taken}{taken}{given}{suffix}",
        "store": f"wmma_store_16x16x16_{given}_{store_scope}",
    }


__all__ = [name for name in dir() if name.endswith("_INTRIN") or name.startswith(("get_", "shared_", "index_map_"))]
